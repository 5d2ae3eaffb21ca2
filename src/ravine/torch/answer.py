"""``Advice``: what ``advise`` recommends and why, as text, table, picture, JSON and notebook."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from ravine.torch.curvature import LocalCurvature
from ravine.torch.lr_map import USUAL_MOMENTA, LrLimit, lr_limits
from ravine.torch.trial import set_parameters


@dataclass(frozen=True, eq=False)
class Row:
    """One learning rate that was tried."""

    lr: float
    momentum: float | None
    steps: int
    loss: float
    outcome: str


@dataclass(frozen=True, eq=False)
class Advice:
    """What ``advise`` recommends and why."""

    lr: float
    """For the first parameter group; the others keep their proportion to it."""
    momentum: float | None
    """None where the optimizer has none."""
    lrs: list[float]
    """For each parameter group."""
    improves: bool
    """Whether any lr lowered the loss within the steps that were tried."""
    start_loss: float
    loss: float
    """Of the run that won, at its end."""
    rows: list[Row]
    steps: int
    """Real steps taken, on copies."""
    curvature: LocalCurvature | None
    """None for optimizers that are not of the momentum family."""
    gamma: float | None
    budget: str

    @property
    def limit(self) -> float | None:
        """The largest lr that is stable in mean square with this momentum and the user's batches.

        Exact for quadratics with all directions measured, otherwise local: of the curvature here.
        """
        if self.curvature is None or self.momentum is None:
            return None

        return self.curvature.limit(self.momentum, self._look())

    @property
    def critical_batch_size(self) -> float | None:
        """The batch from which lr and momentum are stable in mean square, by the curvature here."""
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
        """What the curvature's limits hold for."""
        if self.curvature is None:
            return "no limits: not a momentum method"
        if not self.curvature.quadratic:
            return "local: the curvature at these weights, which changes as they do"
        if self.curvature.complete:
            return "exact: the loss is quadratic"

        return "quadratic loss, its leading directions"

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

        return lr_limits(self.curvature, self._look(), momenta, batch_sizes)

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
            return f"no lr improved the loss within {longest} steps; the least harmful: {pair}"

        return f"{pair}: the loss went from {self.start_loss:.4g} to {self.loss:.4g} in real steps"

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
        return (
            f"stable in mean square up to lr {self.limit:.3g} with your batches, "
            f"{self.iid_limit:.3g} with any of this curvature; critical batch size "
            f"{self.critical_batch_size:.3g} ({self.scope})"
        )

    def __str__(self) -> str:
        parts = [self.sentence, self.table()]
        if self.limit is not None:
            parts += [self._limit_words(), self.map_table()]

        parts.append(f"{self.steps} steps on copies; nothing of yours was changed")
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        tried = [
            (f"{r.lr:.3g}", "" if r.momentum is None else f"{r.momentum:g}", str(r.steps),
             f"{r.loss:.4g}", r.outcome)
            for r in self.rows
        ]  # fmt: skip
        page = f"<p><b>{self.sentence}</b></p>"
        page += _html_table(("lr", "momentum", "steps", "loss", "outcome"), tried)
        if self.limit is not None:
            allowed = [
                (f"{r.momentum:g}", str(r.batch_size), f"{r.limit:.3g}", f"{r.iid_limit:.3g}")
                for r in self.map()
            ]
            page += f"<p>{self._limit_words()}</p>"
            page += _html_table(("momentum", "batch", "limit of lr", "any batches"), allowed)

        return page

    def to_json(self) -> str:
        """Everything as JSON; numbers that are not finite are null."""
        return json.dumps(
            _finite(
                {
                    "lr": self.lr,
                    "momentum": self.momentum,
                    "lrs": self.lrs,
                    "improves": self.improves,
                    "start_loss": self.start_loss,
                    "loss": self.loss,
                    "steps": self.steps,
                    "budget": self.budget,
                    "limit": self.limit,
                    "iid_limit": self.iid_limit,
                    "critical_batch_size": self.critical_batch_size,
                    "scope": self.scope,
                    "rows": [asdict(row) for row in self.rows],
                    "map": [asdict(row) for row in self.map()],
                }
            ),
            indent=2,
        )

    def plot(self, path: str | None = None) -> Any:
        """Loss against lr, and the map of what the curvature allows; saved to ``path`` if given."""
        from ravine.torch.pictures import draw_advice

        return draw_advice(self, path)


def _html_table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{value}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _finite(value: Any) -> Any:
    """The same with None in place of numbers that are not finite, all the way down."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None

    return value
