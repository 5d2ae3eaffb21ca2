"""What a monitor reads: the limit of lr along a direction, and how near a run is to it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """What one check saw."""

    step: int
    lr: float
    momentum: float
    curvature: float
    """Along the tracked direction, on this batch and those before."""
    limit: float
    """The largest lr that is stable in mean square along it."""
    margin: float
    """lr over the limit: above 1 the direction grows."""
    rise: float
    """Smoothed loss over its minimum."""
    steps_left: float
    """Until the loss is ten times its start, at the pace of the last six; infinite: not rising."""
    danger: float
    """Margin, rise and height of the loss against its noise in one number; it warns above 3.55."""
    risk: float
    """Calibrated probability of a blow-up within 40 steps."""
    level: str
    """"calm", "edge" or "warning"."""
    message: str
    """Cause and remedy; empty when calm."""
    action: str
    """What the monitor did about it; empty when nothing."""

    @property
    def headroom(self) -> float:
        """How many times as large lr could be."""
        return math.inf if self.margin == 0.0 else 1.0 / self.margin


def stability_limit(first: float, second: float, momentum: float, gamma: float) -> float:
    """The lr at which a direction of random curvature is just stable in mean square.

    With c the mean of the curvature, m₂ that of its square and V = m₂ - c², V Var_y = 1 is
    a₂ lr² + a₁ lr = 2c(1 - momentum²) with a₂ = c m₂ gamma (1 + 2 gamma) and
    a₁ = V(1 + momentum) - c²(2 gamma (1 + momentum) - (1 - momentum)(1 + 2 gamma)).

    Examples
    --------
    >>> stability_limit(2.0, 4.0, 0.0, 0.0)  # 2 / curvature
    1.0
    >>> round(stability_limit(1.0, 1.0, 0.9, 0.9), 6)  # (2 + 2 m)/(1 + 2 m)
    1.357143
    """
    if first <= 0.0:
        return math.inf

    variance = max(second - first**2, 0.0)
    square = first * (first**2 + variance) * gamma * (1.0 + 2.0 * gamma)
    inside = 2.0 * gamma * (1.0 + momentum) - (1.0 - momentum) * (1.0 + 2.0 * gamma)
    linear = variance * (1.0 + momentum) - first**2 * inside
    constant = 2.0 * first * (1.0 - momentum**2)
    # The root in the form that does not cancel.
    root = math.sqrt(max(linear**2 + 4.0 * square * constant, 0.0))
    if linear >= 0.0:
        return 2.0 * constant / (linear + root)

    return (root - linear) / (2.0 * square)
