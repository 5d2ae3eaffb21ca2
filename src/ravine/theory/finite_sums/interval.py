"""Student's 95 % interval of a mean over independent replicas: the one place that computes it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray

CONFIDENCE = 0.95
"""Chance that an interval holds the true mean, if the replicas are close to normal."""


class Interval(NamedTuple):
    """A value with its confidence limits."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low


def means_and_reaches(replicas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over the first axis, and half the widths of their confidence intervals.

    The half-width is t s/√k, with s the standard deviation of k replicas and t the quantile of
    Student's law with k - 1 degrees of freedom.
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
    >>> found = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(found.value, 6), round(found.high, 6)
    (2.0, 4.484138)
    """
    mean, reach = means_and_reaches(np.asarray(replicas, dtype=np.float64))
    return Interval(float(mean), float(mean - reach), float(mean + reach))
