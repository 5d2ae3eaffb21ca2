"""All claims, in the order of the paper."""

from __future__ import annotations

from ravine.claims import conclusions, finite_sums, foundations, stochastic_approximation
from ravine.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *foundations.CLAIMS,
    *stochastic_approximation.CLAIMS,
    *finite_sums.CLAIMS,
    *conclusions.CLAIMS,
)
