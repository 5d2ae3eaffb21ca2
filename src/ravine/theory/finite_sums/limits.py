"""Limits of time, of a computed radius, and of a mean that was estimated."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray

CONFIDENCE = 0.95
"""Probability that an interval holds the true mean, if the replicas are close to normal."""


class Deadline:
    """A time limit in seconds from now; ``None`` for no limit.

    Iterations check ``passed`` between their steps. What they return then is a bracket that holds,
    only wider. Without a deadline the same input always gives the same result.

    Examples
    --------
    >>> Deadline(None).passed, Deadline(0.0).passed
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end


NEVER = Deadline(None)
"""No time limit."""


class Root(NamedTuple):
    """A spectral radius: its value, limits that hold, and whether the value is settled."""

    value: float
    low: float
    high: float
    settled: bool


def settled(value: float) -> Root:
    """A radius known to rounding."""
    return Root(value, value, value, True)


class Interval(NamedTuple):
    """A value with its confidence limits."""

    value: float
    low: float
    high: float


def means_and_half_widths(replicas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over the first axis, and half the widths of their 95 % confidence intervals.

    The half-width is t s/√k, with s the standard deviation of k replicas and t the quantile of
    Student's distribution with k - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    k = len(replicas)
    quantile = float(stdtrit(k - 1, 0.5 * (1.0 + CONFIDENCE)))
    error = replicas.std(axis=0, ddof=1) / math.sqrt(k)
    return np.asarray(replicas.mean(axis=0)), np.asarray(quantile * error)


def interval(replicas: FloatArray) -> Interval:
    """Mean of two or more independent replicas, shape (k,), with its 95 % limits.

    Examples
    --------
    >>> estimate = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(estimate.value, 6), round(estimate.high, 6)
    (2.0, 4.484138)
    """
    mean, half = means_and_half_widths(np.asarray(replicas, dtype=np.float64))
    return Interval(float(mean), float(mean - half), float(mean + half))
