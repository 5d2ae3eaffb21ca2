"""All claims, in the order of the paper."""

from __future__ import annotations

from ravine.claims import (
    additive_noise,
    additive_noise_runs,
    conclusions,
    convergent_parameters,
    divergence,
    divergent_example,
    exact_gradients,
    linear_recursion,
)
from ravine.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *exact_gradients.CLAIMS,
    *linear_recursion.CLAIMS,
    *additive_noise.CLAIMS,
    *additive_noise_runs.CLAIMS,
    *divergence.CLAIMS,
    *divergent_example.CLAIMS,
    *convergent_parameters.CLAIMS,
    *conclusions.CLAIMS,
)
