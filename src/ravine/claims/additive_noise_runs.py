"""Claims on additive noise, seen in runs: section 3, its figures and those of the appendix."""

from __future__ import annotations

import numpy as np

from ravine.claims.claim import Evidence, Measurements, judgement, stated
from ravine.figures.logistic import advantage
from ravine.figures.noise_floor_slopes import slopes
from ravine.figures.noise_plane import agreement
from ravine.methods import nesterov
from ravine.problems import worst_case_quadratic
from ravine.theory.noise.moments import paper_noise_coefficient

_RATE_SHARE = 0.99
"""Least share of the pixels with the rate, or the floor, that theory predicts: fits of runs that
barely move before they end miss on the rest."""

_OUTCOME_SHARE = 0.995
"""Least share of the pixels away from the contour with the outcome that theory predicts."""

_HALF_OR_ONE = 0.75
"""Between the exponents 1/2 and 1 of Q that the paper tells apart."""


def _erratum5(evidence: Evidence) -> Measurements:
    """Exponents of Q in the noise floors, of the iterate and of the objective."""
    data = evidence.figures["noise-floors"]
    iterate = slopes(data)

    # Above this the closed forms are within a few per cent of their power laws.
    large = data["Q"].values >= 1000.0
    x = np.log(data["Q"].values[large])

    objective = {}
    for name, floors in zip(data["algorithm"].values, data["objective"].values, strict=True):
        slope = float(np.polyfit(x, np.log(floors[large]), 1)[0])
        # Adding zero turns -0.0 into 0.0.
        objective[str(name)] = round(slope, 9) + 0.0

    return {
        "iterate_nesterov": iterate["nesterov"],
        "iterate_sgd": iterate["sgd"],
        "objective_nesterov": objective["nesterov"],
        "objective_sgd": objective["sgd"],
        "objective_small_step": objective["gradient_descent"],
    }


def _erratum6(_: Evidence) -> Measurements:
    """What the figure plots over what it is compared with, at two units of length."""
    from ravine.engine.sweep import sweep

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

        paper = float(paper_noise_coefficient(problem.curvature, method, c_epsilon=True))
        sup_ratios.append(float(floors["floor_sup"].item()) / sigma2**0.5 / paper)
        total_ratios.append(float(floors["floor"].item()) ** 2 / sigma2 / paper)

    return {
        "sup_ratio": sup_ratios[0],
        "sup_ratio_rescaled": sup_ratios[1],
        "total_ratio": total_ratios[0],
        "total_ratio_rescaled": total_ratios[1],
        "dimension": dimension,
    }


def _plane(evidence: Evidence, name: str) -> Measurements:
    """Shares of the plane on which runs and theory agree, for every Q and at the worst."""
    data = evidence.figures[name]
    shares = {key: values.tolist() for key, values in agreement(data).items()}
    negative = agreement(data.sel(beta=slice(-1.0, 0.0)))

    return {
        "Q": data["Q"].values.tolist(),
        **shares,
        "least_outcome": min(shares["outcome"]),
        "least_rate": min(shares["rate"]),
        "least_floor": min(shares["floor"]),
        "most_below": max(shares["below_paper"]),
        "least_negative": float(min(negative["outcome"].min(), negative["rate"].min())),
    }


def _logistic(evidence: Evidence) -> Measurements:
    """What momentum gains on the logistic problems."""
    data = evidence.figures["logistic"]
    return {
        "Q": data["Q"].values.tolist(),
        "local_Q": data["local_Q"].values.tolist(),
        **advantage(data),
    }


def _rates_agree(m: Measurements) -> bool:
    return bool(m["least_outcome"] >= _OUTCOME_SHARE and m["least_rate"] >= _RATE_SHARE)


CLAIMS = (
    stated(
        "erratum-5",
        _erratum5,
        lambda m: judgement(
            m["iterate_nesterov"] < _HALF_OR_ONE < m["iterate_sgd"],
            m["objective_nesterov"] < _HALF_OR_ONE < m["objective_sgd"],
        ),
        needs=("noise-floors",),
    ),
    stated(
        "figure-1-rates",
        lambda e: _plane(e, "figure-1"),
        lambda m: judgement(_rates_agree(m)),
        needs=("figure-1",),
    ),
    stated(
        "figure-1-noise",
        lambda e: _plane(e, "figure-1"),
        lambda m: judgement(m["most_below"] == 0.0, m["least_floor"] >= _RATE_SHARE),
        needs=("figure-1",),
    ),
    stated(
        "erratum-6",
        _erratum6,
        lambda m: judgement(abs(m["sup_ratio_rescaled"] / m["sup_ratio"] - 1.0) < 0.05),
    ),
    stated(
        "figure-least-squares",
        lambda e: _plane(e, "least-squares"),
        lambda m: judgement(_rates_agree(m) and m["most_below"] == 0.0, _rates_agree(m)),
        needs=("least-squares",),
    ),
    stated(
        "negative-momentum-guarantees",
        lambda e: _plane(e, "figure-1"),
        lambda m: judgement(m["least_negative"] >= _RATE_SHARE),
        needs=("figure-1",),
    ),
    stated(
        "figure-logistic",
        _logistic,
        lambda m: judgement(
            all(s > 1.0 for s in m["speed_up"]) and m["speed_up"] == sorted(m["speed_up"]),
            all(s > 1.0 for s in m["speed_up"]),
        ),
        needs=("logistic",),
    ),
)
"""In the order of the paper."""
