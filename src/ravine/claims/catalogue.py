"""All claims, in the order of the paper."""

from __future__ import annotations

from ravine.claims import (
    additive_noise,
    additive_noise_runs,
    conclusions,
    convergent_parameters,
    divergence,
    foundations,
)
from ravine.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *foundations.CLAIMS,
    *additive_noise.CLAIMS,
    *additive_noise_runs.CLAIMS,
    *divergence.CLAIMS,
    *convergent_parameters.CLAIMS,
    *conclusions.CLAIMS,
)
