"""When a monitor warns, and in which words."""

from __future__ import annotations

from ravine.torch.reading import Reading, stability_limit
from ravine.torch.trend import LossTrend

EDGE = 0.8
"""Margin from which a run is at the edge of stability."""

SAFE = 0.7
"""Margin to which a warning advises to go back."""

RISEN = 1.65
SOON = 7.0
"""A warning is given when the smoothed loss is so many times its least, and at its pace blows up
within so many steps."""

LATER = 20.0
BEYOND = 1.6
"""Within so many steps is enough where the margin is above this as well."""

FAR_RISEN = 7.5
"""A smoothed loss that is so many times its least, rises, and has a margin above 1 is enough: with
a loss far below its start the way to a blow-up is long at the pace of now, and the pace grows."""

JUMP = 1.35
FAR_BEYOND = 2.7
"""Or at once, when lr became so many times what it was 5 steps before, and the margin is now above
this. All these numbers were chosen on the tasks ``benchmarks.torch_tasks.WATCHED``, for most
warnings of late blow-ups at a tenth of false alarms; ``docs/torch.md`` has the counts."""


def warns(trend: LossTrend, margin: float, lr_ratio: float) -> bool:
    """Whether losses, margin and a change of lr say that a blow-up is near.

    Parameters
    ----------
    trend
        The losses of the run.
    margin
        lr over its mean-square limit along the tracked direction.
    lr_ratio
        lr over what it was 5 steps before.
    """
    if lr_ratio > JUMP and margin > FAR_BEYOND:
        return True

    rise = trend.rise
    if rise <= RISEN:
        return False

    left = trend.steps_left
    if left < SOON or (left < LATER and margin > BEYOND):
        return True

    return rise > FAR_RISEN and margin > 1.0 and trend.rising


def lowered(margin: float) -> float:
    """What to multiply lr with at a warning: back to ``SAFE``, by a half to a tenth."""
    return min(0.5, max(0.1, SAFE / margin)) if margin > 0.0 else 0.5


def margin_words(step: int, margin: float, momentum: float) -> str:
    """How far lr is beyond its limit."""
    return (
        f"step {step}: lr is {margin:.2g} times the limit of momentum {momentum:g} on these batches"
    )


def curvature_words(step: int, curvature: float, before: list[Reading]) -> str:
    """How much the curvature grew over the readings before; empty where it did not."""
    if not before or before[0].curvature <= 0.0 or curvature <= 1.5 * before[0].curvature:
        return ""

    growth = curvature / before[0].curvature
    return f", whose curvature grew {growth:.2g} times in {step - before[0].step} steps"


def loss_words(trend: LossTrend) -> str:
    """How far the loss has risen, and when it blows up; empty where it has not risen."""
    if trend.rise <= RISEN:
        return ""

    words = f", and the loss is {trend.rise:.2g} times its least"
    if trend.steps_left < LATER:
        words += f" and at its pace ten times its start in {trend.steps_left:.0f} steps"

    return words


def remedy_words(
    lr: float, margin: float, first: float, second: float, momentum: float, gamma: float
) -> str:
    """What to do: another lr, or the largest usual momentum that is stable with this one."""
    words = f"; lower lr to {lr * lowered(margin):.2g}"
    for other in (0.9, 0.8, 0.5, 0.0):
        look = other if gamma else 0.0
        if other < momentum and lr < EDGE * stability_limit(first, second, other, look):
            return f"{words} or set momentum {other:g}"

    return words
