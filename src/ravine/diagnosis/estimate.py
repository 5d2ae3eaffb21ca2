"""A number with its limits, and where it comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.limits import interval


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % limits, which are equal to it where it is exact.

    ``basis`` says where it comes from: "moments" (computed) or "runs" (measured on the data).
    """

    value: float
    low: float
    high: float
    exact: bool
    basis: str = "runs"


def over_runs(values: FloatArray) -> Estimate | None:
    """Mean of runs with Student's 95 % limits; None where a run diverged."""
    if not np.isfinite(values).all():
        return None
    if len(values) < 2:
        return Estimate(float(values[0]), 0.0, math.inf, False)

    # Squares of large losses would overflow in the variance.
    scale = max(float(np.abs(values).max()), 1e-300)
    mean, low, high = (scale * limit for limit in interval(values / scale))
    return Estimate(mean, max(0.0, low), high, False)
