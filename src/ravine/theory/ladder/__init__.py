"""The ladder of rates: from exact gradients to every finite sum in every order."""

from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.iid import (
    critical_batch_size,
    iid_noise_floor,
    iid_rate,
    smallest_stable_batch,
)
from ravine.theory.ladder.ladder import Ladder, ladder
from ravine.theory.ladder.rates import contraction, spectral_radius, stable
from ravine.theory.ladder.rungs import RUNGS, Rung
from ravine.theory.ladder.safety import adam_limit, largest_step, safe_momentum, safe_step
from ravine.theory.ladder.transfer import CircleRate, circle_rate
from ravine.theory.ladder.worst_case import Certificate, certificate, turning_angle, worst_case_rate

__all__ = [
    "RUNGS",
    "Certificate",
    "CircleRate",
    "Ladder",
    "Rung",
    "adam_limit",
    "certificate",
    "circle_rate",
    "commuting_rate",
    "contraction",
    "critical_batch_size",
    "iid_noise_floor",
    "iid_rate",
    "ladder",
    "largest_step",
    "safe_momentum",
    "safe_step",
    "smallest_stable_batch",
    "spectral_radius",
    "stable",
    "turning_angle",
    "worst_case_rate",
]
