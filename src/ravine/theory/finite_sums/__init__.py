"""A given finite sum under a given sampling: growth and stationary moments."""

from ravine.theory.finite_sums.growth import Growth, growth
from ravine.theory.finite_sums.inconsistent_term import (
    counterexample_growth,
    inconsistent_term_moment,
)
from ravine.theory.finite_sums.mean_square import StationaryCovariance, stationary_covariance
from ravine.theory.finite_sums.terms import Sense

__all__ = [
    "Growth",
    "Sense",
    "StationaryCovariance",
    "counterexample_growth",
    "growth",
    "inconsistent_term_moment",
    "stationary_covariance",
]
