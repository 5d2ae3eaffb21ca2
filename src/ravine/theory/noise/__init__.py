"""Exact second moments under additive noise."""

from ravine.theory.noise.moments import (
    StationaryVariance,
    exact_noise_coefficient,
    noise_floor,
    paper_noise_coefficient,
    second_moment,
    stationary_variance,
)
from ravine.theory.noise.powers import TransientPeak, transient_peak

__all__ = [
    "StationaryVariance",
    "TransientPeak",
    "exact_noise_coefficient",
    "noise_floor",
    "paper_noise_coefficient",
    "second_moment",
    "stationary_variance",
    "transient_peak",
]
