"""Claims on additive noise, measured in runs: section 3, its figures and those of the appendix."""

from __future__ import annotations

import xarray as xr

from ravine.claims.claim import Measurements, stated
from ravine.engine.sweep import sweep
from ravine.figures.logistic import advantage
from ravine.figures.noise_floor_slopes import slopes
from ravine.figures.noise_plane import agreement
from ravine.methods import nesterov
from ravine.problems import worst_case_quadratic
from ravine.theory.noise.moments import paper_noise_coefficient

_RATE_SHARE = 0.99
"""Smallest share of pixels that must have the predicted rate or floor. On the others, runs barely
move before they end, and fits are inaccurate."""

_OUTCOME_SHARE = 0.995
"""Smallest share of pixels away from the contour that must have the predicted outcome."""

_HALF_OR_ONE = 0.75
"""Threshold between the exponents 1/2 and 1 of Q in the paper."""


@stated(
    "erratum-5",
    needs=("noise-floors",),
    holds=lambda m: m["iterate_nesterov"] < _HALF_OR_ONE < m["iterate_sgd"],
    corrected=lambda m: m["objective_nesterov"] < _HALF_OR_ONE < m["objective_sgd"],
)
def exponents(data: xr.Dataset) -> Measurements:
    """Exponents of Q in the noise floors of the iterate and of the objective."""
    iterate = slopes(data["measured"], above=100.0)

    # Above this the closed forms are within a few per cent of their power laws. Adding zero turns
    # -0.0 into 0.0.
    objective = {
        name: round(slope, 9) + 0.0
        for name, slope in slopes(data["objective"], above=1000.0).items()
    }
    return {
        "iterate_nesterov": iterate["nesterov"],
        "iterate_sgd": iterate["sgd"],
        "objective_nesterov": objective["nesterov"],
        "objective_sgd": objective["sgd"],
        "objective_small_step": objective["gradient_descent"],
    }


@stated("erratum-6", holds=lambda m: abs(m["sup_ratio_rescaled"] / m["sup_ratio"] - 1.0) < 0.05)
def units_of_figure_1() -> Measurements:
    """Plotted value divided by its reference, for two units of length."""
    # As in Figure 1: variance of a coordinate of the noise, and coordinates.
    sigma2 = 0.0025
    dimension = 100
    sup_ratios = []
    total_ratios = []
    for mu in (1.0, 100.0):
        problem = worst_case_quadratic(8.0, dimension, mu=mu)
        method = nesterov(problem.curvature)
        floors = sweep(
            problem, method.alpha, method.beta, steps=2000, sigma2=sigma2, start=0.0,
            measure=("floor_sup", "floor"),
        )  # fmt: skip
        paper = paper_noise_coefficient(problem.curvature, method, c_epsilon=True)
        sup_ratios.append(floors["floor_sup"].item() / sigma2**0.5 / paper)
        total_ratios.append(floors["floor"].item() ** 2 / sigma2 / paper)

    return {
        "sup_ratio": sup_ratios[0],
        "sup_ratio_rescaled": sup_ratios[1],
        "total_ratio": total_ratios[0],
        "total_ratio_rescaled": total_ratios[1],
        "dimension": dimension,
    }


def _plane(data: xr.Dataset) -> Measurements:
    """Shares of the plane where runs and theory agree, for every Q, and the smallest."""
    shares = agreement(data)
    negative = agreement(data.sel(beta=slice(-1.0, 0.0)))
    return {
        "Q": data["Q"].values,
        **shares,
        "least_outcome": min(shares["outcome"]),
        "least_rate": min(shares["rate"]),
        "least_floor": min(shares["floor"]),
        "most_below": max(shares["below_paper"]),
        "least_negative": min(*negative["outcome"], *negative["rate"]),
    }


def _rates_agree(m: Measurements) -> bool:
    return bool(m["least_outcome"] >= _OUTCOME_SHARE and m["least_rate"] >= _RATE_SHARE)


figure_1_rates = stated("figure-1-rates", needs=("figure-1",), holds=_rates_agree)(_plane)

figure_1_noise = stated(
    "figure-1-noise",
    needs=("figure-1",),
    holds=lambda m: m["most_below"] == 0.0,
    corrected=lambda m: m["least_floor"] >= _RATE_SHARE,
)(_plane)

least_squares = stated(
    "figure-least-squares",
    needs=("least-squares",),
    holds=lambda m: _rates_agree(m) and m["most_below"] == 0.0,
    corrected=_rates_agree,
)(_plane)

negative_momentum = stated(
    "negative-momentum-guarantees",
    needs=("figure-1",),
    holds=lambda m: m["least_negative"] >= _RATE_SHARE,
)(_plane)


@stated(
    "figure-logistic",
    needs=("logistic",),
    holds=lambda m: min(m["speed_up"]) > 1.0 and m["speed_up"] == sorted(m["speed_up"]),
    corrected=lambda m: min(m["speed_up"]) > 1.0,
)
def logistic(data: xr.Dataset) -> Measurements:
    """The gain of momentum on the logistic problems."""
    return {"Q": data["Q"].values, "local_Q": data["local_Q"].values, **advantage(data)}
