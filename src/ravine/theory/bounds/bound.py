"""A bound: the quantity that it bounds, its rate, its floor, and its curve over the steps.

Every bound has the form

    transient(k) · distance^p + noise(k) · sigma^p,

with p = 1 for a distance and p = 2 for a squared distance or an objective. ``distance`` is
‖x_0 - x*‖. ``sigma`` is the size of the gradient noise: its root-mean-square for additive noise,
the mean of ‖∇f_i(x*)‖ over the terms for a finite sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Refusal,
    one_number,
    overflow_allowed,
    refuse_too_large,
    whole,
)
from ravine.values import Value

ITERATE = "E ‖y_{k+1} - x*‖"
ITERATE_SQUARED = "E ‖y_{k+1} - x*‖²"
OBJECTIVE = "E f(y_{k+1}) - f*"
EXACT_OBJECTIVE = "f(x_k) - f*"

Kind: TypeAlias = Literal["upper", "lower", "estimate"]
Curve: TypeAlias = Callable[[int], FloatArray]
"""Computes the values for k = 0, ..., steps, per unit of distance or sigma."""

_BYTES_A_STEP = 64
"""Memory per step of an envelope: eight numbers, including temporary ones."""
SCALAR = "a bound is one curve over k, so give scalar parameters"


@dataclass(frozen=True, eq=False, repr=False)
class Envelope(Value):
    """A curve over k that bounds or estimates an error.

    The index k counts gradients: k = 0 is the start, where y_1 = x_0.
    """

    steps: npt.NDArray[np.int64]
    """k = 0, 1, ..."""
    values: FloatArray
    """The curve; infinite where the statement does not apply."""
    bounds: str
    """The bounded quantity, e.g. ``E ‖y_{k+1} - x*‖²``."""
    kind: Kind
    """Whether the quantity stays below the curve, above it, or only near it."""
    statement: str
    """The theorem or equation, with its assumptions."""
    rate: float
    """Factor per step of the transient of this quantity (a square has a squared rate)."""
    floor: float
    """The limit for large k."""


@dataclass(frozen=True, eq=False, repr=False)
class Bound(Value):
    """A statement about the error of a method.

    Examples
    --------
    >>> from ravine import Curvature, bounds
    >>> bound = bounds.nesterov(Curvature(1, 4))
    >>> bound.bounds, bound.kind, bound.rate
    ('f(x_k) - f*', 'upper', 0.5)
    >>> bound.envelope(steps=2).values.tolist()
    [4.0, 2.0, 1.0]
    """

    bounds: str
    """The bounded quantity, e.g. ``E ‖y_{k+1} - x*‖²``."""
    kind: Kind
    """Whether the quantity stays below the bound, above it, or only near it."""
    statement: str
    """The theorem or equation, with its assumptions."""
    rate: float
    """Factor per step of the transient of this quantity (a square has a squared rate)."""
    noise_gain: float | None
    """Limit of the noise term per unit of sigma^p; None for statements on exact gradients."""
    transient: Curve = field(repr=False)
    """The remaining initial error, per unit of distance^p."""
    noise: Curve = field(repr=False)
    """The error due to noise, per unit of sigma^p."""
    holds: bool = True
    """Whether the statement applies; if not, its curve is infinite."""

    @overflow_allowed
    def floor(self, sigma: float = 0.0) -> float:
        """The limit for large k, the noise gain times sigma^p; infinite if it does not apply."""
        level = self._noise_level(sigma)
        if not self.holds:
            return np.inf

        return level * (self.noise_gain or 0.0) if level else 0.0

    @overflow_allowed
    def envelope(self, *, steps: int, distance: float = 1.0, sigma: float = 0.0) -> Envelope:
        """The curve of the bound for k = 0, ..., steps.

        Parameters
        ----------
        steps
            Number of gradients, zero or more.
        distance
            ‖x_0 - x*‖, zero or more.
        sigma
            Size of the gradient noise, zero or more: its root-mean-square (of all coordinates
            together) for additive noise, the mean of ‖∇f_i(x*)‖ for a finite sum.
        """
        count = whole("steps", steps, 0, remedy="give the number of steps, e.g. steps=100")
        refuse_too_large("steps", _BYTES_A_STEP * count, count, "take fewer steps")
        remedy = "give the distance of the start from the minimiser, e.g. distance=1.0"
        start = one_number("distance", distance, "nonnegative", remedy=remedy) ** self._power
        level = self._noise_level(sigma)

        if self.holds:
            values = times(start, self.transient, count) + times(level, self.noise, count)
        else:
            values = np.full(count + 1, np.inf)

        return Envelope(
            steps=np.arange(count + 1),
            values=values,
            bounds=self.bounds,
            kind=self.kind,
            statement=self.statement,
            rate=self.rate,
            floor=self.floor(sigma),
        )

    @property
    def _power(self) -> int:
        return 1 if self.bounds == ITERATE else 2

    def _noise_level(self, sigma: float) -> float:
        """Check sigma, and return sigma^p."""
        remedy = "give the noise level, e.g. sigma=1.0"
        level = one_number("sigma", sigma, "nonnegative", remedy=remedy)
        if self.noise_gain is None and level > 0.0:
            raise Refusal(
                "sigma", "omitted", f"{level:g}", "this bound is for exact gradients: pick another"
            )

        return level**self._power


def times(factor: float, curve: Curve, steps: int) -> FloatArray:
    """Return factor times the curve, with zero times infinity equal to zero."""
    return factor * curve(steps) if factor else np.zeros(steps + 1)


# Curves are module functions with bound numbers, so that a bound can be pickled and copied.


def geometric(first: float, rate: float, steps: int) -> FloatArray:
    """The curve first · rate^k, for k = 0 ... ``steps``."""
    return np.asarray(first * np.float64(rate) ** np.arange(steps + 1))
