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
be told from growth, sixteen tell growth from one bad batch."""

CALM_BEFORE = 8
NOISE_MEMORY = 0.98
"""The noise is that of the losses before the last eight, which may be a rise already, with a memory
of fifty steps."""

USUAL_NOISE = 0.3
"""Until there is any: that of batches of 8 to 128."""

LARGEST_CHANGE = 1.0
"""Of the logarithm of the loss, to the noise: one spike must not hide the next."""


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
        self.count = 0
        self._sum = 0.0
        self._weight = 0.0
        self._recent = 0.0
        self._noise = 0.0
        self._noise_weight = 0.0
        self._changes: deque[float] = deque()
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=LONG)
        self._least = math.inf

    def add(self, loss: float) -> None:
        """Take the next loss."""
        self._sum = SMOOTHING * self._sum + (1.0 - SMOOTHING) * loss
        self._weight = SMOOTHING * self._weight + 1.0 - SMOOTHING
        self._recent = loss if self.count == 0 else 0.5 * (self._recent + loss)
        if self._last:
            self._add_change(self._last[-1], loss)

        self._last.append(loss)
        if len(self._first) < FIRST:
            self._first.append(loss)

        # The first losses are no mean yet.
        self.count += 1
        if self.count > 5 or self.count == 1:
            self._least = min(self._least, self.smoothed)

    def _add_change(self, before: float, loss: float) -> None:
        change = LARGEST_CHANGE
        if before > 0.0 and 0.0 < loss < math.inf:
            change = min(abs(math.log(loss) - math.log(before)), LARGEST_CHANGE)

        self._changes.append(change)
        if len(self._changes) > CALM_BEFORE:
            old = self._changes.popleft()
            self._noise = NOISE_MEMORY * self._noise + (1.0 - NOISE_MEMORY) * old
            self._noise_weight = NOISE_MEMORY * self._noise_weight + 1.0 - NOISE_MEMORY

    @property
    def noise(self) -> float:
        """Mean change of the logarithm of the loss from a batch to the next, at most 1."""
        return self._noise / self._noise_weight if self._noise_weight else USUAL_NOISE

    @property
    def over_start(self) -> float:
        """The last losses, with a memory of two steps, over those of the start; 0 if not positive.

        Infinite where the loss is not a number.
        """
        if self.count == 0 or min(self._first) <= 0.0:
            return 0.0
        if not math.isfinite(self._recent):
            return math.inf

        return self._recent * len(self._first) / sum(self._first)

    @property
    def smoothed(self) -> float:
        """Exponential mean, corrected for its start."""
        return self._sum / self._weight

    @property
    def rise(self) -> float:
        """Smoothed loss over its minimum; 1 before there is any, or where it is not positive."""
        if self.count == 0:
            return 1.0
        if not math.isfinite(self._sum):
            return math.inf

        return self.smoothed / self._least if self._least > 0.0 else 1.0

    @property
    def rising(self) -> bool:
        """Whether the loss rises over the last sixteen steps, by more than its standard error."""
        if self.count and not math.isfinite(self._sum):
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
        if self.count and not math.isfinite(self._sum):
            return 0.0
        if not self.rising or min(self._first) <= 0.0:
            return math.inf

        pace = _pace([math.log(loss) for loss in self._last][-SHORT:])
        if pace <= 0.0:
            return math.inf

        return max(math.log(BLOWN_UP / self.over_start), 0.0) / pace


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
