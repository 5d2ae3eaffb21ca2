"""An error envelope over the steps of a run, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, one_number, whole
from ravine.curvature import Curvature

ITERATE = "E ‖y_{k+1} - x*‖"
ITERATE_SQUARED = "E ‖y_{k+1} - x*‖²"
OBJECTIVE = "E f(y_{k+1}) - f*"

_SCALAR = "an envelope is one curve over k, so give scalar parameters"


@dataclass(frozen=True, eq=False)
class Envelope:
    """A curve over k that limits, or estimates, one error quantity.

    The index k counts gradients: k = 0 is the start, where y_1 = x_0.
    """

    steps: npt.NDArray[np.int64]
    """k = 0, 1, ..."""
    values: FloatArray
    """The curve, infinite where the statement promises nothing."""
    bounds: str
    """The quantity in question, e.g. ``E ‖y_{k+1} - x*‖²``."""
    kind: Literal["upper", "lower", "estimate"]
    """Whether the quantity stays below, above, or merely near the curve."""
    statement: str
    """The theorem or equation, with its assumptions."""
    rate: float
    """Factor per step of the transient of that quantity (a square decays with a squared rate)."""
    floor: float
    """What remains as k grows."""


def geometric(
    steps: int,
    *,
    first: float,
    rate: float,
    floor: float,
    bounds: str,
    statement: str,
    kind: Literal["upper", "lower", "estimate"] = "upper",
) -> Envelope:
    """Envelope first rate^k + floor; infinite everywhere if the floor is."""
    k = np.arange(steps + 1)
    with np.errstate(over="ignore", under="ignore"):
        curve = np.float64(rate) ** k
    curve = times(first, curve) if np.isfinite(floor) else np.zeros(k.shape)
    return Envelope(k, curve + floor, bounds, kind, statement, float(rate), float(floor))


def times(factor: float, curve: FloatArray) -> FloatArray:
    """Return factor times curve, where nothing times infinity is nothing."""
    return factor * curve if factor else np.zeros_like(curve)


def count_steps(steps: Any) -> int:
    """Check the number of steps."""
    return whole("steps", steps, 0, remedy="give the number of steps, e.g. steps=100")


def check_distance(distance: Any) -> float:
    """Check ‖x_0 - x*‖."""
    remedy = "give the distance of the start from the minimiser, e.g. distance=1.0"
    return one_number("distance", distance, "nonnegative", remedy=remedy)


def check_sigma(name: str, value: Any) -> float:
    """Check a noise level."""
    return one_number(name, value, "nonnegative", remedy=f"give the noise level, e.g. {name}=1.0")


def one_curvature(curvature: Curvature) -> tuple[float, float]:
    """Return scalar mu and L, or refuse arrays."""
    mu = one_number("mu", curvature.mu, remedy=_SCALAR)
    return mu, one_number("L", curvature.L, remedy=_SCALAR)
