"""Claims on finite sums that diverge: Theorem 3, its proof, and the paper's example."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ravine.arguments import FloatArray
from ravine.claims.claim import ROUNDING, Measurements, stated
from ravine.curvature import Curvature
from ravine.engine.kernels.finite_sum import ensemble
from ravine.engine.run import run
from ravine.figures.inconsistent_batch import growth_agreement
from ravine.methods import nesterov
from ravine.problems import counterexample, divergent_sum
from ravine.theory.blocks import block, lemma1_product, lemma1_radius
from ravine.theory.finite_sums.inconsistent_term import counterexample_growth
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.worst_case import worst_case_rate

_PAPER = Curvature(0.05, 100.0)
"""Curvature of the paper's example: Q = 2000."""

_RATE = 1.0 - 2000.0**-0.5
"""Nesterov's rate at this curvature."""


def _gaps() -> list[tuple[int, ...]]:
    """Twenty sequences k_1, ..., k_s of visits to B(mu) between those to B(L)."""
    rng = np.random.default_rng(0)
    return [
        tuple(int(k) for k in rng.integers(1, 30, size=length))
        for length in (1, 2, 3, 5, 8)
        for _ in range(4)
    ]


def _radius(matrix: FloatArray) -> float:
    """Spectral radius of a small matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def _off(curvature: Curvature) -> list[float]:
    """The radius that Lemma 1 states against the radius of each product."""
    return [
        abs(_radius(lemma1_product(curvature, gaps)) / lemma1_radius(curvature, gaps) - 1.0)
        for gaps in _gaps()
    ]


@stated("joint-spectral-radius", holds=lambda m: m["upper"] < 1.0 and m["largest"] < 1e-2)
def stable_products() -> Measurements:
    """Q = 16: joint spectral radius below 1, and products of 1000 blocks in the worst orders."""
    curvature = Curvature(1.0, 16.0)
    method = nesterov(curvature)
    norms = []
    for k in range(1, 11):
        word = np.linalg.matrix_power(block(1.0, method), k) @ block(16.0, method)
        product = np.linalg.matrix_power(word, 1000 // (k + 1))
        norms.append(np.linalg.norm(product, 2))

    upper = commuting_rate(curvature, method).upper
    return {"upper": upper, "largest": max(norms), "gap": np.argmax(norms) + 1}


@stated("lemma-1", holds=lambda m: m["largest_difference"] < 1e-6)
def lemma_1() -> Measurements:
    """The stated radius against the radius of the product."""
    off = [_off(one) for one in (Curvature(1.0, 4.0), Curvature(1.0, 32.0), _PAPER)]
    return {"largest_difference": np.max(off), "products": np.size(off)}


@stated("erratum-1", holds=lambda m: m["appendix"] > 1e-3)
def longer_product() -> Measurements:
    """In Appendix D, the product ends with one more B(L)."""
    curvature = Curvature(1.0, 32.0)
    steep = block(curvature.L, nesterov(curvature))

    # Computed eigenvalues of a nilpotent matrix are as large as the root of the rounding error.
    longer = [lemma1_product(curvature, gaps) @ steep for gaps in _gaps()]
    shares = [_radius(product) / np.linalg.norm(product) for product in longer]
    return {"main_text": max(_off(curvature)), "appendix": max(shares)}


@stated(
    "theorem-3",
    holds=lambda m: (
        m["least_growth"] > 1.0
        and min(m["median_after_1500"]) > 1.0
        and m["worst_rate_below"] >= 1.0
    ),
    corrected=lambda m: m["least_growth"] > 1.0 and min(m["median_after_1500"]) > 1.0,
)
def theorem_3() -> Measurements:
    """Growth of E‖·‖ on the construction of the proof, and the range where no sum can diverge."""
    n = np.array([3, 10, 50, 250, 1000])
    growths = counterexample_growth(_PAPER, n, sampling="iid-no-repeat", sense="mean")

    # Any start works, because the construction depends on it.
    start = np.array([3.0, 1.0, -2.0, 5.0])
    medians = []
    for interpolate in (True, False):
        problem = divergent_sum(start, 0.05, 100.0, 10, interpolate=interpolate)
        method = nesterov(problem.curvature)
        runs = ensemble(problem, method, [0, 1500], trajectories=200, sampling="iid-no-repeat")
        medians.append(np.median(runs.norms[1]) / runs.norms[0, 0])

    # Below 6 + 4√2 = 11.657, where the worst case over all sums and orders passes 1.
    low = Curvature(1.0, 11.0)
    return {
        "mean_growth": growths,
        "least_growth": np.min(growths),
        "median_after_1500": medians,
        "worst_rate_below": worst_case_rate(low, nesterov(low)),
    }


@stated("erratum-8", holds=lambda m: m["below"] > 1.0, corrected=lambda m: m["above"] > 1.0)
def every_condition_number() -> Measurements:
    """The largest growth over all orders of sums with shared eigenvectors, around Q = 17.055."""
    ratios = np.array([10.0, 17.0, 17.0553550856, 17.06, 32.0])
    curvature = Curvature(np.ones_like(ratios), ratios)
    rate = commuting_rate(curvature, nesterov(curvature))

    # Convergence is shown by the upper bound, divergence by the lower.
    upper = np.asarray(rate.upper)
    lower = np.asarray(rate.lower)
    return {"Q": ratios, "rate": upper, "below": upper[1], "above": lower[3]}


@stated(
    "erratum-9",
    holds=lambda m: max(abs(m[k] - m["stated"]) for k in ("cyclic", "iid", "reshuffled")) < 1e-4,
    corrected=lambda m: (
        abs(m["cyclic"] - m["stated"]) < 1e-9
        and max(m["iid"], m["reshuffled"]) <= m["stated"] + ROUNDING
    ),
)
def any_order() -> Measurements:
    """Almost sure rate per step in three orders, n = 50, against the stated one."""
    n = 50
    rules = {"cyclic": "cyclic", "iid": "iid-no-repeat", "reshuffled": "reshuffle-no-repeat"}
    growths = {
        name: counterexample_growth(_PAPER, n, sampling=rule, sense="almost-sure")
        for name, rule in rules.items()
    }
    return {"stated": _RATE * (n - 1.0) ** (1.0 / n), **growths}


@stated("erratum-11", holds=lambda m: not (m["least_root"] > 1.0 and m["largest_product"] < 1e6))
def roots_above_one() -> Measurements:
    """The matrices {2, 1} of one row, with the order 2, 1, 1, 1, ...: a bounded product."""
    k = np.arange(1, 10_001)
    product = np.full(len(k), 2.0)
    roots = product ** (1.0 / k)
    return {
        "least_root": roots.min(),
        "limit_of_root": roots[-1],
        "largest_product": product.max(),
    }


@stated("erratum-13", holds=lambda m: (m["batch_1"] > 1.0) == (m["batch_2"] > 1.0))
def larger_batches() -> Measurements:
    """Almost sure growth with mini-batches of one and of two terms, n = 250, Q = 2000."""
    n = 250
    problem = counterexample(0.05, 100.0, n)

    # Growth between the fifth and the twentieth epoch, when the start no longer matters.
    early = 5 * n
    late = 20 * n
    measurements = {}
    for batch, rule in ((1, "reshuffle-no-repeat"), (2, "reshuffle")):
        runs = ensemble(
            problem, nesterov(problem.curvature), [early, late], trajectories=4000,
            sampling=rule, batch=batch,
        )  # fmt: skip
        third = np.abs(runs.errors[:, :, 2])

        # Batches of two may repeat, and some trajectories reach the optimum and have no growth
        # rate.
        moving = third[1] > 0.0
        logs = np.log(third[1, moving] / third[0, moving]) / (late - early)

        measurements[f"batch_{batch}"] = np.exp(logs.mean())
        # Half the width of the 95 % confidence interval.
        measurements[f"half_{batch}"] = 1.96 * logs.std() / np.sqrt(moving.sum())

    return measurements


@stated(
    "erratum-10",
    holds=lambda m: min(m["measured"]) > 1.0,
    corrected=lambda m: max(m["measured"]) > 1.0,
)
def third_coordinate(figure_2: xr.Dataset) -> Measurements:
    """Growth along the third coordinate, measured and exact, for every n of the figure."""
    no_repeat = figure_2.sel(sampling="iid-no-repeat")
    cyclic = figure_2.sel(sampling="cyclic")
    return {
        "n": figure_2["n"].values,
        "exact": no_repeat["almost_sure_exact"].values,
        "measured": no_repeat["almost_sure_measured"].values,
        "cyclic": cyclic["almost_sure_exact"].values,
        **growth_agreement(figure_2),
    }


@stated(
    "example-coordinates",
    holds=lambda m: (
        m["stays_zero"] and m["zero_after"] <= 2 and abs(m["rate"] - m["exact_rate"]) < 1e-3
    ),
)
def other_coordinates() -> Measurements:
    """The example's first coordinate vanishes after a few steps, its second at Nesterov's rate."""
    problem = counterexample(0.05, 100.0, 50)
    trace = run(problem, nesterov(problem.curvature), 400, sampling="iid-no-repeat")
    first, second, _ = np.abs(trace.y_errors).T

    # B(mu) has a double eigenvalue: the second coordinate is (k + √Q + 1) rho^k up to a factor,
    # with Q = 2000. Two points, divided by the linear part, give rho.
    offset = 2000.0**0.5 + 1.0
    linear = (200 + offset) / (400 + offset)
    zero_after = np.flatnonzero(first == 0.0)[0]
    return {
        "zero_after": zero_after,
        "stays_zero": (first[zero_after:] == 0.0).all(),
        "rate": (second[400] / second[200] * linear) ** (1.0 / 200.0),
        "exact_rate": _RATE,
    }


@stated("example-large-n", holds=lambda m: m["decreasing"] and m["growth"][-1] - m["limit"] < 1e-4)
def many_terms() -> Measurements:
    """Mean rate per step in cyclic order, from few terms to a million."""
    n = np.array([5, 10, 50, 250, 1000, 10**4, 10**6])
    growths = counterexample_growth(_PAPER, n, sampling="cyclic", sense="mean")
    return {"growth": growths, "limit": _RATE, "decreasing": (np.diff(growths) < 0).all()}


@stated("erratum-12", holds=lambda m: m["iid"] == 0.0 and m["reshuffle"] == 0.0)
def ended_by_a_repeat(figure_2: xr.Dataset) -> Measurements:
    """Shares of the trajectories that two successive visits to the inconsistent term have ended."""
    fewest = figure_2.isel(n=0)
    steep = block(_PAPER.L, nesterov(_PAPER))
    return {
        "n": fewest["n"],
        "iid": fewest["zero_measured"].sel(sampling="iid"),
        "iid_exact": fewest["zero_exact"].sel(sampling="iid"),
        "reshuffle": fewest["zero_measured"].sel(sampling="reshuffle"),
        "reshuffle_exact": fewest["zero_exact"].sel(sampling="reshuffle"),
        "square": np.abs(steep @ steep).max(),
    }
