"""All claims, in the order of the paper."""

from __future__ import annotations

from ravine.claims import (
    additive_noise,
    conclusions,
    convergent_parameters,
    divergence,
    exact_gradients,
    runs_with_noise,
)
from ravine.claims.claim import Claim, statements

_MODULES = (
    exact_gradients,
    additive_noise,
    runs_with_noise,
    divergence,
    convergent_parameters,
    conclusions,
)

_MEASURED = {
    one.id: one for module in _MODULES for one in vars(module).values() if isinstance(one, Claim)
}

CLAIMS: tuple[Claim, ...] = tuple(_MEASURED[name] for name in statements())
