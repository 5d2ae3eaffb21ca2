"""When a monitor warns, and in which words."""

from __future__ import annotations

import math
from functools import lru_cache

from ravine.torch.reading import Reading, stability_limit
from ravine.torch.trend import LossTrend

JUMP_OF_LR = 5
GROWTH_OF_LR = 20
"""Steps over which a change of lr counts as a jump, and as growth."""

EDGE = 0.8
"""Margin from which a run is at the edge of stability."""

SAFE = 0.7
"""Margin to which a warning advises to go back."""

OF_MARGIN = 1.2
OF_HEIGHT = 0.5
OF_GROWTH = 0.5
OF_MOMENTUM = 0.2
"""Weights of ``danger``. These, ``WARNING`` and ``JUMP`` were chosen on the tasks
``benchmarks.torch_monitor_tasks.WATCHED``; ``docs/torch.md`` has the counts."""

MARGINS = (math.exp(-1.0), math.exp(0.8))
RISES = math.exp(3.0)
HIGHEST_MOMENTUM = 0.99
LOW = math.exp(-2.0)
HIGH = math.exp(2.0)
"""What is beyond these (of the margin, of the rise, of momentum, of the loss over its start) counts
no more: networks live far beyond the limit, and a loss far below its start is no merit."""

HALF_NOISE = 0.5
FLOOR = 0.1
"""The logarithm of the smoothed loss differs by about half the noise of a batch by itself, and by
this much without any."""

GROWN = 1.08
"""lr that became so many times what it was 20 steps before is growing, and will go on."""

WARNING = 3.55
"""Danger from which it warns."""

JUMP = 1.35
BEYOND = 1.8
"""It also warns, at once, when lr became so many times what it was 5 steps before, and the margin
is now above this."""

FAST = 1.25
IN_PROPORTION = (0.95, 1.1)
TOO_FAR = 1.4
"""It also warns when lr grew by so much in 20 steps, and as fast in the last 5 (the logarithms of
both growths, for as many steps, in such a proportion), and will be so many times its limit in 20
steps. Such growth does not end by itself; that of a warm-up, in equal steps, is slower at last."""

FIRST_WARNING = 10
"""Losses before the first warning: the least of fewer says little."""

RISEN = 1.2
SOON = 20.0
"""From such a rise the words of a warning name the loss, and what comes within so many steps."""


def danger(
    trend: LossTrend,
    margin: float,
    growth_of_lr: float = 1.0,
    jump_of_lr: float = 1.0,
    momentum: float = 0.0,
) -> float:
    """How near a blow-up is, from losses, margin, schedule and momentum.

    The sum of the logarithms of the rise of the smoothed loss against what the noise of the batches
    explains; 1.2 times of the margin; half of the loss over its start; a fifth of the steps that
    momentum remembers; and a half while lr grows. No one of them makes a blow-up: networks live
    beyond the limit for long, and noisy losses rise by themselves.

    Parameters
    ----------
    trend
        The losses of the run.
    margin
        lr over its mean-square limit along the tracked direction.
    growth_of_lr, jump_of_lr
        lr over what it was 20 and 5 steps before.
    momentum
        Of the optimizer; a negative one counts as none.

    Examples
    --------
    >>> trend = LossTrend()
    >>> for loss in [8.0] * 5 + [1.0] * 60:
    ...     trend.add(loss)
    >>> round(danger(trend, margin=2.0), 1)  # at rest
    0.8
    """
    if math.isnan(margin):
        return math.inf

    # The first losses, which the least does not count, may be below it.
    rise = math.log(min(max(trend.rise, 1.0), RISES))
    result = (
        math.log((rise + FLOOR) / (HALF_NOISE * trend.noise + FLOOR))
        + OF_MARGIN * math.log(min(max(margin, MARGINS[0]), MARGINS[1]))
        + OF_HEIGHT * math.log(min(max(trend.over_start, LOW), HIGH) / LOW)
        + OF_MOMENTUM * _memory(momentum)
    )
    if growth_of_lr > GROWN:
        result += OF_GROWTH
    if jump_of_lr > JUMP and margin > BEYOND:
        result = max(result, WARNING)
    if margin_to_come(margin, growth_of_lr, jump_of_lr) > TOO_FAR:
        result = max(result, WARNING)

    return result


def _memory(momentum: float) -> float:
    """Logarithm of the steps that momentum remembers."""
    return -math.log(1.0 - min(max(momentum, 0.0), HIGHEST_MOMENTUM))


def margin_to_come(margin: float, growth_of_lr: float, jump_of_lr: float) -> float:
    """The margin in 20 steps where lr grows in proportion, by a quarter or more; else 0.

    Examples
    --------
    >>> round(margin_to_come(1.0, 1.02**20, 1.02**5), 2)
    1.49
    >>> margin_to_come(1.0, 60 / 40, 60 / 55)  # a warm-up, in equal steps
    0.0
    """
    if growth_of_lr <= FAST or jump_of_lr <= 0.0:
        return 0.0

    low, high = IN_PROPORTION
    lately = GROWTH_OF_LR / JUMP_OF_LR * math.log(jump_of_lr) / math.log(growth_of_lr)
    return margin * growth_of_lr if low < lately < high else 0.0


@lru_cache(maxsize=8)
def at_rest(momentum: float) -> float:
    """The rise below which nothing can come to a warning while lr stays.

    The largest margin and height do not reach, even without noise. It saves a monitor from
    computing the danger at most steps.
    """
    others = (
        OF_MARGIN * math.log(MARGINS[1])
        + OF_HEIGHT * math.log(HIGH / LOW)
        + OF_MOMENTUM * _memory(momentum)
    )
    return math.exp(FLOOR * (math.exp(WARNING - others) - 1.0))


def warns(trend: LossTrend, danger: float) -> bool:
    """Whether so much danger is worth a warning."""
    return danger >= WARNING and trend.count > FIRST_WARNING


def lowered(margin: float) -> float:
    """What to multiply lr with at a warning: back to ``SAFE``, by a half to a tenth."""
    return min(0.5, max(0.1, SAFE / margin)) if margin > 0.0 else 0.5


def margin_words(step: int, margin: float, momentum: float) -> str:
    """How far lr is beyond its limit."""
    return (
        f"step {step}: lr is {margin:.2g} times the limit of momentum {momentum:g} on these batches"
    )


def growth_words(to_come: float) -> str:
    """What the margin will be; empty where that is no cause of a warning."""
    if to_come <= TOO_FAR:
        return ""

    return f", and will be {to_come:.2g} times it in {GROWTH_OF_LR} steps"


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
    if trend.steps_left < SOON:
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
