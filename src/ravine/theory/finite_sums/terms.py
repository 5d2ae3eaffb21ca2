"""Arguments of growth on a finite sum (terms, one method, a sense), and its result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import Choice, FloatArray, Refusal, real
from ravine.methods import LinearMethod, Method

CONFIDENCE = 0.95
"""Probability that an interval contains the true mean, for nearly normal replicas."""
_SHAPES = "of shape (n, d, d), or (n, d) when all terms share eigenvectors"
_REMEDY = "stack one symmetric Hessian for each mini-batch"


class Sense(Choice):
    """The kind of growth: along one path, of the mean norm, or of the mean square.

    Every function that takes a sense accepts a member or its value.

    Examples
    --------
    >>> Sense("mean-square").sentence
    'the factor by which E‖y - x*‖² changes per step'
    """

    ALMOST_SURE = (
        "almost-sure",
        "the factor by which ‖y - x*‖ changes per step along almost every path",
    )
    MEAN = "mean", "the factor by which E‖y - x*‖ changes per step"
    MEAN_SQUARE = "mean-square", "the factor by which E‖y - x*‖² changes per step"

    @property
    def power(self) -> int:
        """Power of the norm that is averaged; 1 for a path, which is not averaged."""
        return 2 if self is Sense.MEAN_SQUARE else 1


@dataclass(frozen=True, eq=False)
class Terms:
    """The distinct Hessians of a sum, (m, d, d), or (m, d) if they share eigenvectors."""

    hessians: FloatArray
    counts: FloatArray
    order: npt.NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of terms."""
        return int(self.order.size)

    @property
    def shared(self) -> bool:
        """Whether the terms share eigenvectors, so that each direction is a separate problem."""
        return self.hessians.ndim == 2

    @property
    def blocks(self) -> FloatArray:
        """The Hessians as separate blocks, (m, blocks, k, k): one block, or one per direction."""
        H = self.hessians
        return H[:, :, None, None] if self.shared else H[:, None]

    @property
    def weights(self) -> FloatArray:
        """Share of every distinct Hessian among the terms."""
        return np.asarray(self.counts / self.counts.sum())

    def directions(self) -> Iterator[Terms]:
        """One-dimensional sums, one for each distinct direction of shared eigenvectors."""
        for column in np.unique(self.hessians, axis=1).T:
            yield _gather(column[self.order][:, None, None])


def one_method(method: Method) -> Method:
    """Refuse arrays of parameters, and other kinds of methods."""
    if isinstance(method, LinearMethod):
        known = "run it, or ask for iid_rate and worst_case_rate"
        raise Refusal("method", "a Method for a given sum", "a LinearMethod", known)

    return Method(*method.single("give one method at a time"))


def hessian_stack(hessians: npt.ArrayLike) -> FloatArray:
    """Check the Hessians; return (n, d, d), or (n, d) if they are all diagonal."""
    stack = np.asarray(real("hessians", hessians, remedy=_REMEDY))
    if stack.ndim == 3 and stack.shape[1] == stack.shape[2]:
        flipped = np.swapaxes(stack, 1, 2)
        skew = np.abs(stack - flipped).max()
        if skew > 1e-10 * np.abs(stack).max():
            raise Refusal("hessians", "symmetric", f"a difference of {skew:.3g}", _REMEDY)
        diagonal = np.diagonal(stack, axis1=1, axis2=2)
        if np.count_nonzero(stack) == np.count_nonzero(diagonal):
            return np.ascontiguousarray(diagonal)
        return 0.5 * (stack + flipped)

    if stack.ndim != 2:
        raise Refusal("hessians", _SHAPES, f"shape {stack.shape}", _REMEDY)

    return stack


def finite_sum(hessians: npt.ArrayLike) -> Terms:
    """Check the Hessians and merge equal ones."""
    return _gather(hessian_stack(hessians))


def _gather(stack: FloatArray) -> Terms:
    flat, order, counts = np.unique(
        stack.reshape(stack.shape[0], -1), axis=0, return_inverse=True, return_counts=True
    )
    distinct = flat.reshape(-1, *stack.shape[1:])
    return Terms(distinct, counts.astype(np.float64), np.asarray(order).reshape(-1))


class Interval(NamedTuple):
    """A value with its limits, which equal the value if it is exact up to rounding."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether the value is exact up to rounding."""
        return self.low == self.high


def exactly(value: float) -> Interval:
    """A value that is exact up to rounding."""
    return Interval(value, value, value)


def largest(intervals: Iterable[Interval]) -> Interval:
    """The largest of several values, with its limits."""
    return Interval(*(max(column) for column in zip(*intervals, strict=True)))


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
