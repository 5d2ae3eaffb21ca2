"""Exact second moments under additive noise."""

from ravine.theory.noise.moments import (
    StationaryVariance,
    exact_noise_coefficient,
    noise_floor,
    paper_noise_coefficient,
    second_moment,
    stationary_variance,
)

__all__ = [
    "StationaryVariance",
    "exact_noise_coefficient",
    "noise_floor",
    "paper_noise_coefficient",
    "second_moment",
    "stationary_variance",
]
