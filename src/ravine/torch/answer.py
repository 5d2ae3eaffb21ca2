"""``Advice``: the recommendation of ``advise``, as text, table, picture, JSON and notebook card."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from ravine.markup import Cell, card, table
from ravine.torch.curvature import LocalCurvature, LrLimit
from ravine.torch.direction import DirectionalCurvature
from ravine.torch.schedule import Schedule
from ravine.torch.trial import Trial, set_parameters

USUAL_MOMENTA = (0.0, 0.5, 0.9, 0.99)
"""The default momenta of a map."""

_TONES = {"won": "good", "blew up": "bad"}
"""Tones of the outcomes on a card."""

FLAT = 0.02
"""lrs whose loss is within this share of the best one count as equally good."""


@dataclass(frozen=True, eq=False)
class Advice:
    """The recommendation of ``advise``, with its reasons."""

    lr: float
    """The largest lr of the schedule, for the first parameter group."""
    momentum: float | None
    """None if the optimizer has no momentum that ``advise`` understands."""
    lrs: list[float]
    """For each parameter group, with the same ratios as before."""
    schedule: Schedule
    start_loss: float
    rows: list[Trial]
    """Every lr that was tried, with its momentum, steps, loss and outcome."""
    curvature: LocalCurvature | None
    """For SGD and ASG, and models of up to a million parameters."""
    gamma: float | None
    """None if it follows momentum, as in Nesterov's method."""
    direction: DirectionalCurvature | None
    """For Adam, AdamW and RMSprop, at the end of the trial with the smallest loss; for SGD and ASG
    with large models, at the start."""
    direction_limit: float | None
    budget: str
    optimizer: str
    """The optimizer as code, with fields for lr and momentum; empty if the user's is kept."""

    @cached_property
    def _won(self) -> Trial | None:
        return next((row for row in self.rows if row.won), None)

    @property
    def loss(self) -> float:
        """Mean training loss at the end of the winning trial."""
        return math.nan if self._won is None else self._won.loss

    @property
    def loss_range(self) -> tuple[float, float]:
        """The range of the middle 80 % of training losses at the end of the winning trial."""
        losses = [math.nan] if self._won is None else self._won.last
        low, high = np.quantile(losses, [0.1, 0.9])
        return float(low), float(high)

    @property
    def improves(self) -> bool:
        """Whether any lr lowered the loss within the trials."""
        return self.loss < self.start_loss

    @property
    def steps(self) -> int:
        """Steps of all trials together."""
        return sum(row.taken for row in self.rows)

    @property
    def limit(self) -> float | None:
        """The largest lr that is stable in mean square with the user's batches.

        Exact for quadratics if all directions are measured; otherwise for the curvature at one
        point.
        """
        if self.curvature is None or self.momentum is None:
            return self.direction_limit

        return self.curvature.limit(self.momentum, self.gamma)

    @property
    def critical_batch_size(self) -> float | None:
        """The smallest batch that is stable in mean square with this lr, by the local curvature."""
        if self.curvature is None or self.momentum is None:
            return None

        return self.curvature.critical_batch_size(self.lr, self.momentum, self.gamma)

    @property
    def iid_limit(self) -> float | None:
        """The largest lr that is stable in mean square on every problem with this curvature.

        This is the rung of independent batches: it holds for every distribution of samples whose
        curvature is at most the largest measured.
        """
        if self.curvature is None or self.momentum is None:
            return None

        return self.curvature.iid_limit(self.momentum, self.gamma)

    @property
    def scope(self) -> str:
        """The scope of the limits."""
        if self.curvature is None and self.direction is None:
            return "no limit is known for this optimizer"
        if self.curvature is None:
            if self.momentum is not None:
                return "local: along the sharpest direction at these weights"
            return (
                "for a fixed preconditioner, the one at the end of the best trial. The limit does "
                "not apply to the first steps without warm-up, nor where the curvature changes "
                "within steps, as with cross-entropy. Beyond it Adam does not diverge: its "
                "preconditioner grows until the limit holds, and learning slows down"
            )
        if not self.curvature.quadratic:
            return "local: the curvature at these weights, which changes as they do"
        if self.curvature.complete:
            return "exact: the loss is quadratic"

        return "quadratic loss, its leading directions"

    @property
    def flat_range(self) -> tuple[float, float]:
        """The range of lrs whose trials end within 2 % of the best loss, interpolated.

        If no trial brackets an end, it is the smallest or largest lr tried at this length.
        """
        won = self._won
        if won is None:
            return (self.lr, self.lr)

        length = (won.steps, won.momentum)
        same = [row for row in self.rows if (row.steps, row.momentum) == length]
        same.sort(key=lambda row: row.lr)
        at = same.index(won)
        bound = won.loss + FLAT * abs(won.loss)
        return _reach(same[at::-1], bound), _reach(same[at:], bound)

    @property
    def code(self) -> str:
        """Optimizer and schedule as code to copy."""
        if self.optimizer:
            made = self.optimizer.format(lr=f"{self.lr:.3g}", momentum=self.momentum)
            return f"optimizer = {made}\n{self.schedule.code}"

        lrs = ", ".join(f"{lr:.3g}" for lr in self.lrs)
        loop = f"for group, lr in zip(optimizer.param_groups, [{lrs}]):"
        return f'{loop}\n    group["lr"] = lr\n{self.schedule.code}'

    def apply(self, optimizer: torch.optim.Optimizer) -> None:
        """Set lr of every group, and momentum, of the user's optimizer."""
        set_parameters(optimizer, self.lr, self.momentum)

    def map(
        self, momenta: tuple[float, ...] = USUAL_MOMENTA, batch_sizes: tuple[int, ...] = ()
    ) -> list[LrLimit]:
        """The largest stable lr by momentum and batch size.

        Default batch sizes: a quarter, one and four times the user's. Empty for optimizers outside
        the momentum family.
        """
        if self.curvature is None:
            return []

        return self.curvature.limits(momenta, batch_sizes, self.gamma)

    @property
    def sentence(self) -> str:
        """The recommendation in a line."""
        pair = f"lr = {self.lr:.3g}"
        if self.momentum is not None:
            pair += f", momentum = {self.momentum:g}"
        if len(self.lrs) > 1:
            pair += f" (groups: {', '.join(f'{lr:.3g}' for lr in self.lrs)})"
        if not self.improves:
            longest = max((row.steps for row in self.rows), default=0)
            return f"no lr lowered the loss within {longest} steps; the least harmful is {pair}"

        return f"{pair}; {self.schedule.name}, {self.schedule.steps} steps"

    def _trials(self) -> list[tuple[str, ...]]:
        """The texts of every row of the table of trials, the header first."""
        rows = [
            (
                f"{row.lr:.3g}",
                "" if row.momentum is None else f"{row.momentum:g}",
                f"{row.steps}",
                f"{row.loss:.4g}",
                row.outcome,
            )
            for row in self.rows
        ]
        return [("lr", "momentum", "steps", "loss", "outcome"), *rows]

    def _limits(self) -> list[tuple[str, ...]]:
        """The texts of every row of the map, the header first; none without a map."""
        rows = [
            (f"{r.momentum:g}", f"{r.batch_size}", f"{r.limit:.3g}", f"{r.iid_limit:.3g}")
            for r in self.map()
        ]
        return [("momentum", "batch", "limit of lr", "any batches"), *rows] if rows else []

    def table(self) -> str:
        """Every lr that was tried, and its outcome."""
        return "\n".join(
            f"{lr:>10} {momentum:>9} {steps:>6} {loss:>10}  {outcome}"
            for lr, momentum, steps, loss, outcome in self._trials()
        )

    def map_table(self) -> str:
        """The map as text; empty if there is none."""
        return "\n".join(
            f"{momentum:>10} {batch:>9} {limit:>12} {iid:>12}"
            for momentum, batch, limit, iid in self._limits()
        )

    @property
    def _outlook(self) -> list[str]:
        """What to expect of the planned run; empty if no lr lowers the loss."""
        if self._won is None or not self.improves:
            return []

        low, high = self.loss_range
        least, most = self.flat_range
        return [
            f"The best trial went through the schedule in {self._won.steps} steps: loss "
            f"{self.start_loss:.4g} to {self.loss:.4g}, single steps {low:.4g} to {high:.4g}. "
            "Expect the planned run to end there or lower.",
            f"Trials with lr from {least:.3g} to {most:.3g} ended within {FLAT:.0%} of it.",
        ]

    @property
    def _stability(self) -> list[str]:
        """The sentence on the limit of lr, if there is one."""
        if self.limit is None:
            return []

        words = f"Stable in mean square up to lr {self.limit:.3g} with your batches"
        if self.curvature is not None:
            words += (
                f", {self.iid_limit:.3g} with any of this curvature; smallest stable batch "
                f"{self.critical_batch_size:.3g}"
            )
        return [f"{words}; {self.scope}."]

    @property
    def _cost(self) -> str:
        return f"{self.steps} steps in trials; your model and optimizer are unchanged"

    def __str__(self) -> str:
        outlook = [*self._outlook, self.code] if self._outlook else []
        tables = [self.table(), *self._stability, self.map_table(), self._cost]
        return "\n".join(part for part in (self.sentence, *outlook, *tables) if part)

    def _repr_html_(self) -> str:
        """The same as a card, for notebooks."""

        def cells(row: tuple[str, ...]) -> list[Cell]:
            return [Cell(one, _TONES.get(one, ""), place < 4) for place, one in enumerate(row)]

        head, *rows = map(cells, self._trials())
        code = f"<pre>{escape(self.code)}</pre>" if self._outlook else ""
        limits = [cells(row) for row in self._limits()]
        return card(
            self.sentence,
            rows,
            head=head,
            sentences=[*self._outlook, *self._stability, self._cost],
            below=code + (table(limits[0], limits[1:]) if limits else ""),
        )

    def to_json(self) -> str:
        """Everything as JSON; numbers that are not finite are null."""
        names = (
            "lr", "momentum", "lrs", "code", "improves", "start_loss", "loss", "loss_range",
            "flat_range", "steps", "budget", "limit", "iid_limit", "critical_batch_size", "scope",
        )  # fmt: skip
        data = {name: getattr(self, name) for name in names}
        data |= {"schedule": self.schedule.name, "planned_steps": self.schedule.steps}
        kept = ("lr", "momentum", "steps", "loss", "outcome")
        data |= {"rows": [{name: getattr(row, name) for name in kept} for row in self.rows]}
        data |= {"map": [asdict(row) for row in self.map()]}
        finite = json.loads(json.dumps(data), parse_constant=lambda name: None)
        return json.dumps(finite, indent=2)

    def plot(self, path: str | None = None) -> Any:
        """Draw loss against lr, and the map of lr limits; saved to ``path`` if given."""
        from matplotlib.figure import Figure

        count = 1 if self.curvature is None else 2
        figure = Figure(figsize=(1.0 + 4.0 * count, 3.2), layout="constrained")
        panels = figure.subplots(1, count, squeeze=False)[0]
        _draw_losses(panels[0], self)
        if self.curvature is not None:
            _draw_map(panels[1], self, self.curvature)
        if path is not None:
            figure.savefig(path, dpi=150)

        return figure


def _reach(rows: list[Trial], bound: float) -> float:
    """The lr at which the loss crosses a bound, from the first row on; straight lines in log lr."""
    for near, far in pairwise(rows):
        if far.loss > bound:
            share = (bound - near.loss) / (far.loss - near.loss) if far.loss < math.inf else 0.0
            return float(near.lr * (far.lr / near.lr) ** share)

    return rows[-1].lr


def _draw_losses(axes: Any, advice: Advice) -> None:
    for momentum, steps in dict.fromkeys((row.momentum, row.steps) for row in advice.rows):
        kept = [
            row for row in advice.rows
            if (row.momentum, row.steps) == (momentum, steps) and row.outcome != "blew up"
        ]  # fmt: skip
        name = f"{steps} steps" + ("" if momentum is None else f", momentum {momentum:g}")
        kept.sort(key=lambda row: row.lr)
        axes.plot([r.lr for r in kept], [r.loss for r in kept], "o-", ms=4, label=name)

    lost = [row.lr for row in advice.rows if row.outcome == "blew up"]
    axes.plot(lost, [advice.start_loss] * len(lost), "x", color="firebrick", label="blew up")
    axes.axhline(advice.start_loss, color="grey", lw=0.8, ls=":")
    axes.axvline(advice.lr, color="seagreen", lw=1.2, label=f"lr = {advice.lr:.3g}")
    if advice.limit is not None:
        axes.axvline(advice.limit, color="firebrick", lw=0.8, ls="--", label="mean-square limit")

    axes.set(xscale="log", xlabel="lr", ylabel="loss")
    axes.legend(fontsize=7)


def _draw_map(axes: Any, advice: Advice, curvature: LocalCurvature) -> None:
    """Limits of lr against the batch size, by momentum: for these batches, and for any (dashed)."""
    for i, momentum in enumerate(USUAL_MOMENTA):
        own = advice.map((momentum,))
        sizes = [row.batch_size for row in own]
        axes.plot(sizes, [r.limit for r in own], f"C{i}-", label=f"momentum {momentum:g}")
        axes.plot(sizes, [r.iid_limit for r in own], f"C{i}--")

    axes.plot([curvature.batch_size], [advice.lr], "*", ms=9, color="seagreen", label="advised")
    axes.set(xscale="log", yscale="log", xlabel="batch size", ylabel="limit of lr")
    axes.set_title(advice.scope.split(":")[0] + "; dashed: any batches", fontsize=8)
    axes.legend(fontsize=7)
