"""Every statement of the paper and every erratum, measured and judged."""

from importlib import import_module

from ravine.claims.claim import Claim, statements

__all__ = ["CLAIMS"]

_MODULES = ("additive_noise", "convergent_parameters", "divergence", "exact_gradients")
_MEASURED = {
    one.id: one
    for name in _MODULES
    for one in vars(import_module(f"ravine.claims.{name}")).values()
    if isinstance(one, Claim)
}

CLAIMS: tuple[Claim, ...] = tuple(_MEASURED[name] for name in statements())
"""All claims, in the order of the paper."""
