"""What a monitor reads: the limit of lr along a direction, and how near a run is to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

EDGE = 0.8
"""Margin from which a run is at the edge of stability."""

SAFE = 0.7
"""Margin to which a message advises to go down."""


@dataclass(frozen=True)
class Reading:
    """What one check saw."""

    step: int
    lr: float
    """That the optimizer uses: the scheduler's, times what the guard made of it."""
    momentum: float
    """Or beta1."""
    curvature: float
    """Along the tracked direction in the optimizer's coordinates, over the last batches."""
    limit: float
    """The largest lr that is stable in mean square along it; NaN where theory knows none."""
    margin: float
    """lr over the limit: above 1 the direction grows while the preconditioner stays."""
    loss: float
    """Smoothed over ten steps."""
    rise: float
    """How far the smoothed loss is above its least, as a share of its decrease."""
    level: str
    """"calm", "edge" (margin above 0.8) or "warning" (the loss has risen by 0.3)."""
    adaptive: bool
    """Whether the optimizer is Adam, AdamW or RMSprop."""
    action: str
    """What the monitor did about it; empty when nothing."""

    @property
    def headroom(self) -> float:
        """How many times as large lr could be."""
        return math.inf if self.margin == 0.0 else 1.0 / self.margin

    @property
    def message(self) -> str:
        """Cause and remedy; empty when calm."""
        if self.level == "calm":
            return ""

        parts = []
        if self.level == "warning":
            parts.append(
                f"the loss has risen by {self.rise:.0%} of its decrease"
                if math.isfinite(self.rise)
                else "the loss is not a number"
            )
        if math.isfinite(self.margin):
            parts.append(f"lr is {self.margin:.2g} times its limit along the sharpest direction")
        if self.margin > EDGE:
            parts.append(f"below lr {SAFE * self.limit:.2g} that direction is stable")
        elif self.level == "warning":
            parts.append("the curvature does not explain it: look at the data and the warm-up")
        if self.adaptive and self.level == "edge":
            parts.append("Adam's preconditioner usually grows until the limit holds")

        return "; ".join(parts)

    def __str__(self) -> str:
        line = f"step {self.step}: {self.level}, lr {self.lr:.3g}, loss {self.loss:.4g}"
        if math.isfinite(self.margin):
            line += f", margin {self.margin:.2g} (limit {self.limit:.3g})"

        return "; ".join(part for part in (line, self.message, self.action) if part)
