"""Quantities that the plane can show in colour, with the functions that compute them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.inconsistent_term import inconsistent_term_rate
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.rungs import RUNGS, Rung
from ravine.theory.noise.moments import exact_noise_coefficient
from ravine.theory.tuning.budget import moment_after

if TYPE_CHECKING:
    from ravine.web.view import View


@dataclass(frozen=True)
class Quantity:
    """A quantity that the plane can show."""

    name: str
    """Its name in the list."""
    label: str
    """The label of the colour bar."""
    values: Callable[[View, Method], FloatArray]
    """Computes an array from a view and a plane of methods."""
    rate: bool = True
    """A rate per step is shown below 1, on a linear scale; anything else on a logarithmic one."""
    needs: tuple[str, ...] = ()
    """Settings that it depends on, in addition to those of the regions."""


def _rung_rate(rung: Rung, view: View, plane: Method) -> FloatArray:
    return np.asarray(rung.rate(view.curvature, plane, view.batches).upper)


def _noise_floor(view: View, plane: Method) -> FloatArray:
    return view.sigma2 * np.asarray(exact_noise_coefficient(view.curvature, plane))


def _moments_after(view: View, plane: Method) -> FloatArray:
    """E r² after K steps at lambda = mu and lambda = L, from r = 1; shape (..., 2)."""
    alpha, beta, gamma = np.broadcast_arrays(plane.alpha, plane.beta, plane.gamma)
    each = Method(alpha[..., None], beta[..., None], gamma[..., None])
    return moment_after(np.array([1.0, view.Q]), each, sigma2=view.sigma2, steps=view.K)


def _error_after(view: View, plane: Method) -> FloatArray:
    return np.asarray(_moments_after(view, plane).max(axis=-1))


def _excess_after(view: View, plane: Method) -> FloatArray:
    return np.asarray((0.5 * np.array([1.0, view.Q]) * _moments_after(view, plane)).max(axis=-1))


def _sum_rate(view: View, plane: Method) -> FloatArray:
    """Root-mean-square rate on the sum with one inconsistent term, in the order chosen."""
    third = inconsistent_term_rate(1.0, view.Q, plane, n=view.n, sampling=view.sampling)
    return np.maximum(third, np.asarray(spectral_radius(view.curvature, plane)))


_BUDGET = ("sigma2", "K")
QUANTITIES: dict[str, Quantity] = {
    **{rung.key: Quantity(rung.title, rung.title, partial(_rung_rate, rung)) for rung in RUNGS},
    "sum": Quantity(
        "rate with one inconsistent term",
        "root-mean-square rate",
        _sum_rate,
        needs=("n", "sampling"),
    ),
    "floor": Quantity(
        "noise floor", "E‖y − x*‖², k → ∞", _noise_floor, rate=False, needs=("sigma2",)
    ),
    "error": Quantity(
        "distance after K steps", "E‖y − x*‖² after K", _error_after, rate=False, needs=_BUDGET
    ),
    "excess": Quantity(
        "loss after K steps", "E f − f* after K", _excess_after, rate=False, needs=_BUDGET
    ),
}
"""Quantities by their name in an address. A new rung is included automatically."""
