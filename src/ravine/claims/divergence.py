"""Claims on finite sums that diverge: Theorem 3, its proof in section 4.1 and appendix D."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import Evidence, Measurements, judgement, stated
from ravine.curvature import Curvature
from ravine.methods import nesterov
from ravine.problems import counterexample, divergent_sum
from ravine.sampling import Sampling
from ravine.theory.blocks import block, lemma1_product, lemma1_radius
from ravine.theory.finite_sums.counterexample_growth import counterexample_growth
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.worst_case import worst_case_rate

_PAPER = Curvature(0.05, 100.0)
"""Of the paper's example: Q = 2000."""

_ROUNDING = 1e-9
"""Relative excess over a bound that is put down to rounding."""


def _radius(matrix: FloatArray) -> float:
    """Spectral radius of a small matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def _gaps() -> list[tuple[int, ...]]:
    """Twenty sequences k_1, ..., k_s of visits to B(mu) between those to B(L)."""
    rng = np.random.default_rng(0)
    return [
        tuple(int(k) for k in rng.integers(1, 30, size=length))
        for length in (1, 2, 3, 5, 8)
        for _ in range(4)
    ]


def _lemma1(_: Evidence) -> Measurements:
    """The stated radius against that of the product."""
    curvatures = (Curvature(1.0, 4.0), Curvature(1.0, 32.0), _PAPER)
    largest = 0.0
    for curvature in curvatures:
        for gaps in _gaps():
            exact = float(lemma1_radius(curvature, gaps))
            numerical = _radius(lemma1_product(curvature, gaps))
            largest = max(largest, abs(numerical / exact - 1.0))

    return {"largest_difference": largest, "products": len(curvatures) * len(_gaps())}


def _erratum1(_: Evidence) -> Measurements:
    """Appendix D ends the product with one more B(L)."""
    curvature = Curvature(1.0, 32.0)
    steep = block(curvature.L, nesterov(curvature))

    main_text = 0.0
    appendix = 0.0
    for gaps in _gaps():
        product = lemma1_product(curvature, gaps)
        exact = float(lemma1_radius(curvature, gaps))
        main_text = max(main_text, abs(_radius(product) / exact - 1.0))

        # Eigenvalues of a nilpotent matrix come out as the root of the rounding.
        longer = product @ steep
        appendix = max(appendix, _radius(longer) / float(np.linalg.norm(longer)))

    return {"main_text": main_text, "appendix": appendix}


def _theorem3(_: Evidence) -> Measurements:
    """Growth of E‖·‖ on the construction of the proof, and where no sum at all can diverge."""
    from ravine.engine.kernels.finite_sum import ensemble

    growths = [
        float(counterexample_growth(_PAPER, n, sampling="iid-no-repeat", sense="mean"))
        for n in (3, 10, 50, 250, 1000)
    ]

    # Any start will do; the construction is made for it.
    start = np.array([3.0, 1.0, -2.0, 5.0])
    medians = []
    for interpolate in (True, False):
        problem = divergent_sum(start, 0.05, 100.0, 10, interpolate=interpolate)
        runs = ensemble(
            problem, nesterov(problem.curvature), [0, 1500], trajectories=200,
            sampling=Sampling.IID_NO_REPEAT,
        )  # fmt: skip
        medians.append(float(np.median(runs.norms[1]) / runs.norms[0, 0]))

    # Below 6 + 4√2 = 11.657, where the worst case over all sums and orders passes 1.
    low = Curvature(1.0, 11.0)

    return {
        "mean_growth": growths,
        "least_growth": min(growths),
        "median_after_1500": medians,
        "worst_rate_below": float(worst_case_rate(low, nesterov(low))),
    }


def _erratum8(_: Evidence) -> Measurements:
    """The largest growth over all orders of sums with shared eigenvectors, around Q = 17.055."""
    ratios = np.array([10.0, 17.0, 17.0553550856, 17.06, 32.0])
    curvature = Curvature(np.ones_like(ratios), ratios)
    rate = commuting_rate(curvature, nesterov(curvature))

    # Convergence is shown by the upper bound, divergence by the lower.
    upper = np.asarray(rate.upper)
    lower = np.asarray(rate.lower)

    return {
        "Q": ratios.tolist(),
        "rate": upper.tolist(),
        "below": float(upper[1]),
        "above": float(lower[3]),
    }


def _erratum9(_: Evidence) -> Measurements:
    """Almost sure rate per step in three orders, n = 50, against the stated one."""
    n = 50
    growths = {
        rule: float(counterexample_growth(_PAPER, n, sampling=rule, sense="almost-sure"))
        for rule in (Sampling.CYCLIC, Sampling.IID_NO_REPEAT, Sampling.RESHUFFLE_NO_REPEAT)
    }
    stated = (1.0 - 2000.0**-0.5) * (n - 1.0) ** (1.0 / n)

    return {
        "stated": stated,
        "cyclic": growths[Sampling.CYCLIC],
        "iid": growths[Sampling.IID_NO_REPEAT],
        "reshuffled": growths[Sampling.RESHUFFLE_NO_REPEAT],
    }


def _erratum11(_: Evidence) -> Measurements:
    """The matrices {2, 1} of one row, with the order 2, 1, 1, 1, ...: a bounded product."""
    k = np.arange(1, 10_001)
    product = np.full(len(k), 2.0)
    roots = product ** (1.0 / k)

    return {
        "least_root": float(roots.min()),
        "limit_of_root": float(roots[-1]),
        "largest_product": float(product.max()),
    }


def _erratum13(_: Evidence) -> Measurements:
    """Almost sure growth with mini-batches of one and of two terms, n = 250, Q = 2000."""
    from ravine.engine.kernels.finite_sum import ensemble

    n = 250
    problem = counterexample(0.05, 100.0, n)

    # Growth between the fifth and the twentieth epoch: the start is forgotten by then.
    early = 5 * n
    late = 20 * n

    measurements = {}
    for batch, rule in ((1, Sampling.RESHUFFLE_NO_REPEAT), (2, Sampling.RESHUFFLE)):
        runs = ensemble(
            problem, nesterov(problem.curvature), [early, late], trajectories=4000,
            sampling=rule, batch=batch,
        )  # fmt: skip
        third = np.abs(runs.errors[:, :, 2])

        # Batches of two may repeat, and some trajectories are at the optimum: no growth to take.
        moving = third[1] > 0.0
        logs = np.log(third[1, moving] / third[0, moving]) / (late - early)

        measurements[f"batch_{batch}"] = float(np.exp(logs.mean()))
        # Half the width of the 95 % limits.
        measurements[f"half_{batch}"] = float(1.96 * logs.std() / np.sqrt(moving.sum()))

    return measurements


def _joint(_: Evidence) -> Measurements:
    """Q = 16: joint spectral radius below 1, and products of 1000 blocks in the worst orders."""
    curvature = Curvature(1.0, 16.0)
    method = nesterov(curvature)
    upper = float(commuting_rate(curvature, method).upper)

    flat = block(1.0, method)
    steep = block(16.0, method)
    factors = 1000
    norms = []
    for k in range(1, 11):
        word = np.linalg.matrix_power(flat, k) @ steep
        product = np.linalg.matrix_power(word, factors // (k + 1))
        norms.append(float(np.linalg.norm(product, 2)))

    return {"upper": upper, "largest": max(norms), "gap": int(np.argmax(norms)) + 1}


CLAIMS = (
    stated(
        "joint-spectral-radius",
        _joint,
        lambda m: judgement(m["upper"] < 1.0 and m["largest"] < 1e-2),
    ),
    stated("lemma-1", _lemma1, lambda m: judgement(m["largest_difference"] < 1e-6)),
    stated("erratum-1", _erratum1, lambda m: judgement(m["appendix"] > 1e-3, False)),
    stated(
        "theorem-3",
        _theorem3,
        lambda m: judgement(
            m["least_growth"] > 1.0
            and min(m["median_after_1500"]) > 1.0
            and m["worst_rate_below"] >= 1.0,
            m["least_growth"] > 1.0 and min(m["median_after_1500"]) > 1.0,
        ),
    ),
    stated("erratum-8", _erratum8, lambda m: judgement(m["below"] > 1.0, m["above"] > 1.0)),
    stated(
        "erratum-9",
        _erratum9,
        lambda m: judgement(
            max(abs(m[k] - m["stated"]) for k in ("cyclic", "iid", "reshuffled")) < 1e-4,
            abs(m["cyclic"] - m["stated"]) < 1e-9
            and max(m["iid"], m["reshuffled"]) <= m["stated"] + _ROUNDING,
        ),
    ),
    stated(
        "erratum-11",
        _erratum11,
        lambda m: judgement(not (m["least_root"] > 1.0 and m["largest_product"] < 1e6)),
    ),
    stated(
        "erratum-13", _erratum13, lambda m: judgement((m["batch_1"] > 1.0) == (m["batch_2"] > 1.0))
    ),
)
"""In the order of the paper."""
