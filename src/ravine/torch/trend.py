"""Where the losses of a run are going: how far they have risen, and how soon they blow up."""

from __future__ import annotations

import math
from collections import deque

SMOOTHING = 0.9
"""Of the loss, a step: a memory of ten steps."""

FIRST = 3
"""Losses that are averaged into the start of a run: the first batch alone may be odd."""

BLOWN_UP = 10.0
"""A loss of so many times the start has blown up."""

SHORT = 6
LONG = 16
"""Losses over which a pace is fitted. Six steps are the shortest in which the noise of a batch can
be told from growth, sixteen tell growth from one bad batch; of 4 to 40 these two, together, saw
most blow-ups at a tenth of false alarms on the tasks ``benchmarks.torch_tasks.WATCHED``."""


class LossTrend:
    """The losses of a run, one after the other.

    An unstable direction grows by a factor a step, and the loss with it, so its logarithm rises in
    a straight line: the line through the last losses says when they will have blown up.

    Examples
    --------
    >>> trend = LossTrend()
    >>> for step in range(20):
    ...     trend.add(1.0)
    >>> for step in range(12):
    ...     trend.add(1.2**step)
    >>> round(trend.steps_left)  # ln(10 / 1.2¹¹) / ln 1.2 = 1.6
    2
    """

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0
        self._weight = 0.0
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=LONG)
        self._least = math.inf

    def add(self, loss: float) -> None:
        """Take the next loss."""
        self._sum = SMOOTHING * self._sum + (1.0 - SMOOTHING) * loss
        self._weight = SMOOTHING * self._weight + 1.0 - SMOOTHING
        self._last.append(loss)
        if len(self._first) < FIRST:
            self._first.append(loss)

        # The first losses are no mean yet.
        self._count += 1
        if self._count == 1 or self._count > 5:
            self._least = min(self._least, self.smoothed)

    @property
    def smoothed(self) -> float:
        """Exponential mean, corrected for its start."""
        return self._sum / self._weight

    @property
    def rise(self) -> float:
        """Smoothed loss over its minimum; 1 before there is any, or where it is not positive."""
        if self._count == 0:
            return 1.0
        if not math.isfinite(self._sum):
            return math.inf

        return self.smoothed / self._least if self._least > 0.0 else 1.0

    @property
    def rising(self) -> bool:
        """Whether the loss rises over the last sixteen steps, by more than its standard error."""
        if self._count and not math.isfinite(self._sum):
            return True
        if len(self._last) < LONG or min(self._last) <= 0.0:
            return False

        return _pace([math.log(loss) for loss in self._last]) > 0.0

    @property
    def steps_left(self) -> float:
        """Steps until the loss is ten times its start, at the pace of the last six.

        The pace is the slope of the logarithm less its standard error. Infinite where the loss does
        not rise over the last six and the last sixteen steps, or is not positive; 0 where it has
        blown up.
        """
        if self._count and not math.isfinite(self._sum):
            return 0.0
        if not self.rising or min(self._first) <= 0.0:
            return math.inf

        pace = _pace([math.log(loss) for loss in self._last][-SHORT:])
        if pace <= 0.0:
            return math.inf

        # Of the last losses the later count double each: a memory of two steps.
        recent = sum(loss * 2.0 ** (i - LONG) for i, loss in enumerate(self._last))
        recent /= 1.0 - 2.0**-LONG
        end = math.log(BLOWN_UP * sum(self._first) / len(self._first))
        return max(end - math.log(recent), 0.0) / pace


def _pace(values: list[float]) -> float:
    """Slope of the least-squares line through values one step apart, less its standard error."""
    n = len(values)
    middle = (n - 1) / 2.0
    mean = sum(values) / n
    # Σ (t - middle)² over t = 0 ... n - 1.
    spread = n * (n * n - 1) / 12.0
    slope = sum((t - middle) * v for t, v in enumerate(values)) / spread
    rest = sum((v - mean - slope * (t - middle)) ** 2 for t, v in enumerate(values))
    return slope - math.sqrt(rest / (n - 2) / spread)
