"""What the plane can show in colour: each quantity is data, with the function that computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.inconsistent_term import inconsistent_term_rate
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.iid import iid_rate
from ravine.theory.ladder.rates import contraction, spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.noise.moments import exact_noise_coefficient
from ravine.theory.tuning.noise_budget import budget_error

if TYPE_CHECKING:
    from ravine.web.view import View


@dataclass(frozen=True)
class Quantity:
    """One thing that the plane can show.

    Attributes
    ----------
    name
        What people pick from the list.
    label
        What stands beside the colour bar.
    values
        From a view and a plane of methods to an array.
    rate
        Whether it is a growth a step: then it is shown below 1 only, on a linear scale; anything
        else is shown on a logarithmic one.
    needs
        Settings that it depends on, besides those that the regions depend on.
    """

    name: str
    label: str
    values: Callable[[View, Method], FloatArray]
    rate: bool = True
    needs: tuple[str, ...] = ()


def _spectral_radius(view: View, plane: Method) -> FloatArray:
    return np.asarray(spectral_radius(view.curvature, plane))


def _commuting_rate(view: View, plane: Method) -> FloatArray:
    return np.asarray(commuting_rate(view.batches.terms(view.curvature), plane).upper)


def _worst_case_rate(view: View, plane: Method) -> FloatArray:
    return np.asarray(worst_case_rate(view.batches.terms(view.curvature), plane))


def _iid_rate(view: View, plane: Method) -> FloatArray:
    return np.asarray(
        iid_rate(
            view.curvature,
            plane,
            L_max=view.batches.L_max,
            batch_size=view.batches.batch_size,
        )
    )


def _contraction(view: View, plane: Method) -> FloatArray:
    return np.asarray(contraction(view.batches.terms(view.curvature), plane))


def _noise_floor(view: View, plane: Method) -> FloatArray:
    return view.sigma2 * np.asarray(exact_noise_coefficient(view.curvature, plane))


def _moments_after(view: View, plane: Method) -> FloatArray:
    """E r² after K steps at lambda = mu and lambda = L, from r = 1; shape (..., 2)."""
    alpha, beta, gamma = _spread(plane)
    ends = np.array([1.0, view.Q])
    noise = np.float64(view.sigma2)
    return budget_error(alpha, beta, ends, noise, np.float64(1.0), view.K, gamma=gamma)


def _spread(plane: Method) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Step size, momentum and look-ahead of every pixel."""
    alpha, beta, gamma = np.broadcast_arrays(plane.alpha, plane.beta, plane.gamma)
    return alpha, beta, gamma


def _error_after(view: View, plane: Method) -> FloatArray:
    return np.asarray(_moments_after(view, plane).max(axis=-1))


def _excess_after(view: View, plane: Method) -> FloatArray:
    weights = 0.5 * np.array([1.0, view.Q])
    return np.asarray((weights * _moments_after(view, plane)).max(axis=-1))


def _odd_sum_rate(view: View, plane: Method) -> FloatArray:
    """Root-mean-square rate of the paper's sum, in the order that is chosen."""
    third = inconsistent_term_rate(1.0, view.Q, plane, n=view.n, sampling=view.sampling)
    return np.maximum(third, _spectral_radius(view, plane))


QUANTITIES: dict[str, Quantity] = {
    "regions": Quantity("regions of convergence", "", _spectral_radius),
    "rate": Quantity("rate with exact gradients", "spectral radius ρ", _spectral_radius),
    "worst": Quantity("worst case over every sum", "worst-case rate r*", _worst_case_rate),
    "iid": Quantity("random batches, mean square", "iid rate r₂", _iid_rate),
    "commuting": Quantity("worst case, shared eigenvectors", "commuting rate", _commuting_rate),
    "contraction": Quantity("the paper's guarantee", "contraction R", _contraction),
    "sum": Quantity(
        "mean square of the odd sum",
        "√ growth of E‖y − x*‖²",
        _odd_sum_rate,
        needs=("n", "sampling"),
    ),
    "floor": Quantity(
        "noise floor", "E‖y − x*‖², k → ∞", _noise_floor, rate=False, needs=("sigma2",)
    ),
    "error": Quantity(
        "distance after K steps",
        "E‖y − x*‖² after K steps",
        _error_after,
        rate=False,
        needs=("sigma2", "K"),
    ),
    "excess": Quantity(
        "loss after K steps",
        "E f − f* after K steps",
        _excess_after,
        rate=False,
        needs=("sigma2", "K"),
    ),
}
