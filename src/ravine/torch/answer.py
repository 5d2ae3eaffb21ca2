"""``Advice``: what ``advise`` recommends and why, as text, table, picture, JSON and notebook."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise
from typing import Any

import torch

from ravine.torch.curvature import LocalCurvature, LrLimit
from ravine.torch.direction import DirectionalCurvature
from ravine.torch.schedule import Schedule
from ravine.torch.trial import set_parameters

USUAL_MOMENTA = (0.0, 0.5, 0.9, 0.99)
"""The momenta of a map unless others are asked for."""

FLAT = 0.02
"""lrs whose loss is within this share of the best one are as good."""


@dataclass(frozen=True, eq=False)
class Row:
    """One trial."""

    lr: float
    momentum: float | None
    steps: int
    """Length of the trial; one that blew up may have ended earlier."""
    loss: float
    """Mean training loss of its last fifth; infinite where it blew up."""
    outcome: str
    """"won", "blew up" or empty."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What ``advise`` recommends and why."""

    lr: float
    """The largest lr of the schedule, for the first parameter group."""
    momentum: float | None
    """None where the optimizer has none that ``advise`` understands."""
    lrs: list[float]
    """For each parameter group, in their old proportion."""
    schedule: Schedule
    improves: bool
    """Whether any lr lowered the loss within the trials."""
    start_loss: float
    loss: float
    """Mean training loss at the end of the winning trial."""
    loss_range: tuple[float, float]
    """Between which eight of ten training losses at the end of the winning trial lie."""
    rows: list[Row]
    steps: int
    """Steps that the trials took."""
    curvature: LocalCurvature | None
    """Of SGD and ASG, and models of up to a million parameters."""
    gamma: float | None
    direction: DirectionalCurvature | None
    """Of Adam, AdamW and RMSprop at the end of the trial with the least loss; of SGD and ASG with
    large models at the start."""
    direction_limit: float | None
    budget: str
    optimizer: str
    """The optimizer as code, with places for lr and momentum."""

    @property
    def limit(self) -> float | None:
        """The largest lr that is stable in mean square with the user's batches.

        Exact for quadratics with all directions measured, otherwise of the curvature at one place.
        """
        if self.curvature is None or self.momentum is None:
            return self.direction_limit

        return self.curvature.limit(self.momentum, self._look())

    @property
    def critical_batch_size(self) -> float | None:
        """The smallest batch that is stable in mean square with this lr, by the curvature here."""
        if self.curvature is None or self.momentum is None:
            return None

        return self.curvature.critical_batch_size(self.lr, self.momentum, self._look())

    @property
    def iid_limit(self) -> float | None:
        """The largest lr that is stable in mean square on every problem with this curvature.

        The rung of independent batches: whatever the law of the samples, of curvature up to the
        largest measured.
        """
        if self.curvature is None or self.momentum is None:
            return None

        return self.curvature.iid_limit(self.momentum, self._look())

    def _look(self) -> float | None:
        return 0.0 if self.gamma == 0.0 else None

    @property
    def scope(self) -> str:
        """What the limits hold for."""
        if self.curvature is None and self.direction is None:
            return "no limit is known for this optimizer"
        if self.curvature is None:
            if self.momentum is not None:
                return "local: along the sharpest direction at these weights"
            return (
                "with the preconditioner held fixed, at the end of the best trial. It does not "
                "apply to the first steps without warm-up, nor where the curvature changes within "
                "steps, as with cross-entropy. Beyond it Adam does not diverge: its preconditioner "
                "grows until the limit holds, and learning slows down"
            )
        if not self.curvature.quadratic:
            return "local: the curvature at these weights, which changes as they do"
        if self.curvature.complete:
            return "exact: the loss is quadratic"

        return "quadratic loss, its leading directions"

    @property
    def flat_range(self) -> tuple[float, float]:
        """The lrs whose trials end within 2 % of the best loss, interpolated between those tried.

        An end that no trial reached is the smallest or largest lr tried at this length.
        """
        won = next((row for row in self.rows if row.outcome == "won"), None)
        if won is None:
            return (self.lr, self.lr)

        same = [r for r in self.rows if (r.steps, r.momentum) == (won.steps, won.momentum)]
        same.sort(key=lambda row: row.lr)
        at = same.index(won)
        bound = won.loss + FLAT * abs(won.loss)
        return _reach(same[at::-1], bound), _reach(same[at:], bound)

    @property
    def code(self) -> str:
        """Optimizer and schedule as code to paste."""
        lines = self.optimizer.format(lr=f"{self.lr:.3g}", momentum=self.momentum)
        code = f"optimizer = {lines}\n"
        if len(self.lrs) > 1:
            lrs = ", ".join(f"{lr:.3g}" for lr in self.lrs)
            code = f"for group, lr in zip(optimizer.param_groups, [{lrs}]):\n"
            code += '    group["lr"] = lr\n'

        return code + self.schedule.code

    def apply(self, optimizer: torch.optim.Optimizer) -> None:
        """Set lr of every group, and momentum, of the user's optimizer."""
        set_parameters(optimizer, self.lr, self.momentum)

    def map(
        self, momenta: tuple[float, ...] = USUAL_MOMENTA, batch_sizes: tuple[int, ...] = ()
    ) -> list[LrLimit]:
        """What the curvature allows: the largest stable lr by momentum and batch size.

        Batch sizes are a quarter, one and four times the user's unless given. Empty for optimizers
        that are not of the momentum family.
        """
        if self.curvature is None:
            return []

        return self.curvature.limits(momenta, batch_sizes, self._look())

    def limits(
        self, momenta: tuple[float, ...] = USUAL_MOMENTA, batch_sizes: tuple[int, ...] = ()
    ) -> dict[tuple[float, int], float]:
        """The mean-square limits of ``map`` by (momentum, batch size)."""
        return {(row.momentum, row.batch_size): row.limit for row in self.map(momenta, batch_sizes)}

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
            return f"no lr lowered the loss within {longest} steps; the least harmful: {pair}"

        return f"{pair}; {self.schedule.name}, {self.schedule.steps} steps"

    def _expectation(self) -> str:
        low, high = self.loss_range
        least, most = self.flat_range
        length = max((row.steps for row in self.rows if row.outcome == "won"), default=0)
        return (
            f"The best trial went through the schedule in {length} steps: loss "
            f"{self.start_loss:.4g} to {self.loss:.4g}, single steps {low:.4g} to {high:.4g}. "
            f"Expect the planned run to end there or lower.\n"
            f"Trials with lr from {least:.3g} to {most:.3g} ended within {FLAT:.0%} of it."
        )

    def table(self) -> str:
        """Every lr that was tried, and what became of it."""
        lines = [f"{'lr':>10} {'momentum':>9} {'steps':>6} {'loss':>10}  outcome"]
        for row in self.rows:
            momentum = "" if row.momentum is None else f"{row.momentum:g}"
            lines.append(
                f"{row.lr:10.3g} {momentum:>9} {row.steps:6d} {row.loss:10.4g}  {row.outcome}"
            )

        return "\n".join(lines)

    def map_table(self) -> str:
        """The map as text; empty where there is none."""
        rows = self.map()
        if not rows:
            return ""

        lines = [f"{'momentum':>10} {'batch':>9} {'limit of lr':>12} {'any batches':>12}"]
        lines += [
            f"{row.momentum:10g} {row.batch_size:9d} {row.limit:12.3g} {row.iid_limit:12.3g}"
            for row in rows
        ]
        return "\n".join(lines)

    def _limit_words(self) -> str:
        words = f"Stable in mean square up to lr {self.limit:.3g} with your batches"
        if self.curvature is not None:
            words += (
                f", {self.iid_limit:.3g} with any of this curvature; smallest stable batch "
                f"{self.critical_batch_size:.3g}"
            )

        return f"{words} ({self.scope})."

    def __str__(self) -> str:
        parts = [self.sentence]
        if self.improves:
            parts += [self._expectation(), self.code]
        parts.append(self.table())
        if self.limit is not None:
            parts.append(self._limit_words())
        if self.curvature is not None:
            parts.append(self.map_table())

        parts.append(f"{self.steps} steps in trials; nothing of yours was changed")
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        first, rest = str(self).split("\n", 1)
        return f"<p><b>{escape(first)}</b></p><pre>{escape(rest)}</pre>"

    def to_json(self) -> str:
        """Everything as JSON; numbers that are not finite are null."""
        names = (
            "lr", "momentum", "lrs", "code", "improves", "start_loss", "loss", "loss_range",
            "flat_range", "steps", "budget", "limit", "iid_limit", "critical_batch_size", "scope",
        )  # fmt: skip
        data = {name: getattr(self, name) for name in names}
        data |= {"schedule": self.schedule.name, "planned_steps": self.schedule.steps}
        data |= {"rows": [asdict(row) for row in self.rows]}
        data |= {"map": [asdict(row) for row in self.map()]}
        return json.dumps(_finite(data), indent=2)

    def plot(self, path: str | None = None) -> Any:
        """Loss against lr, and the map of what the curvature allows; saved to ``path`` if given."""
        from ravine.torch.pictures import draw_advice

        return draw_advice(self, path)


def _reach(rows: list[Row], bound: float) -> float:
    """How far from the first row's lr the loss stays below a bound, straight lines in log lr."""
    for near, far in pairwise(rows):
        if far.loss > bound:
            share = (bound - near.loss) / (far.loss - near.loss) if far.loss < math.inf else 0.0
            return float(near.lr * (far.lr / near.lr) ** share)

    return rows[-1].lr


def _finite(value: Any) -> Any:
    """The same with None in place of numbers that are not finite, all the way down."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None

    return value
