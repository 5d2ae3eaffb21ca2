"""Every statement of the paper, measured and judged: one entry a statement, one an erratum."""

from ravine.claims import (
    additive_noise,
    conclusions,
    convergent_parameters,
    divergence,
    exact_gradients,
    runs_with_noise,
)
from ravine.claims.claim import Claim, statements

__all__ = ["CLAIMS"]

_MODULES = (
    additive_noise,
    conclusions,
    convergent_parameters,
    divergence,
    exact_gradients,
    runs_with_noise,
)
_MEASURED = {
    one.id: one for module in _MODULES for one in vars(module).values() if isinstance(one, Claim)
}

CLAIMS: tuple[Claim, ...] = tuple(_MEASURED[name] for name in statements())
"""All claims, in the order of the paper."""
