"""Claims on finite sums that diverge: sections 4.1 and 4.2, appendix D."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import Claim, Data, Evidence, either
from ravine.curvature import Curvature
from ravine.figures.inconsistent_batch import growth_agreement
from ravine.methods import nesterov
from ravine.problems.counterexample import counterexample, theorem2
from ravine.sampling import Sampling
from ravine.theory.blocks import block, lemma1_product, lemma1_radius
from ravine.theory.finite_sums.counterexample_growth import counterexample_growth
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.worst_case import worst_case_rate

_PAPER = Curvature(0.05, 100.0)
_ROUNDING = 1e-9


def _radius(matrix: FloatArray) -> float:
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def _gaps() -> list[tuple[int, ...]]:
    rng = np.random.default_rng(0)
    return [
        tuple(int(k) for k in rng.integers(1, 30, size=s))
        for s in (1, 2, 3, 5, 8)
        for _ in range(4)
    ]


def _lemma1(_: Evidence) -> Data:
    worst = 0.0
    for curvature in (Curvature(1.0, 4.0), Curvature(1.0, 32.0), _PAPER):
        for gaps in _gaps():
            exact = float(lemma1_radius(curvature, gaps))
            worst = max(worst, abs(_radius(lemma1_product(curvature, gaps)) / exact - 1.0))
    return {"largest_difference": worst, "products": 3 * len(_gaps())}


def _erratum1(_: Evidence) -> Data:
    """Appendix D ends the product with one more B(L)."""
    curvature = Curvature(1.0, 32.0)
    steep = block(curvature.L, nesterov(curvature))
    main, longer = 0.0, 0.0
    for gaps in _gaps():
        product, exact = lemma1_product(curvature, gaps), float(lemma1_radius(curvature, gaps))
        main = max(main, abs(_radius(product) / exact - 1.0))
        # Eigenvalues of a nilpotent matrix come out as the root of the rounding.
        longer = max(longer, _radius(product @ steep) / float(np.linalg.norm(product @ steep)))
    return {"main_text": main, "appendix": longer}


def _theorem3(_: Evidence) -> Data:
    """Growth of E‖·‖ on the construction of the proof, and where no sum at all can diverge."""
    from ravine.engine.kernels.finite_sum import ensemble

    growths = [
        float(counterexample_growth(_PAPER, n, sampling="iid-no-repeat", sense="mean"))
        for n in (3, 10, 50, 250, 1000)
    ]
    x0 = np.array([3.0, 1.0, -2.0, 5.0])
    finals = []
    for interpolate in (True, False):
        problem = theorem2(x0, 0.05, 100.0, 10, interpolate=interpolate)
        found = ensemble(
            problem, nesterov(problem.curvature), [0, 1500], trajectories=200,
            sampling=Sampling.IID_NO_REPEAT,
        )  # fmt: skip
        finals.append(float(np.median(found.norms[1]) / found.norms[0, 0]))
    low = Curvature(1.0, 11.0)
    return {
        "mean_growth": growths,
        "least_growth": min(growths),
        "median_after_1500": finals,
        "worst_rate_below": float(worst_case_rate(low, nesterov(low))),
    }


def _erratum8(_: Evidence) -> Data:
    ratios = np.array([10.0, 17.0, 17.0553550856, 17.06, 32.0])
    curvature = Curvature(np.ones(5), ratios)
    found = commuting_rate(curvature, nesterov(curvature))
    return {
        "Q": ratios.tolist(),
        "rate": np.asarray(found.upper).tolist(),
        "below": float(np.asarray(found.upper)[1]),
        "above": float(np.asarray(found.lower)[3]),
    }


def _erratum9(_: Evidence) -> Data:
    n = 50
    found = {
        rule: float(counterexample_growth(_PAPER, n, sampling=rule, sense="almost-sure"))
        for rule in ("cyclic", "iid-no-repeat", "reshuffle-no-repeat")
    }
    stated = (1.0 - 2000.0**-0.5) * 49.0 ** (1.0 / 50.0)
    return {
        "stated": stated,
        "cyclic": found["cyclic"],
        "iid": found["iid-no-repeat"],
        "reshuffled": found["reshuffle-no-repeat"],
    }


def _figure2(evidence: Evidence) -> Data:
    data = evidence.figures["figure-2"]
    rule = Sampling.IID_NO_REPEAT.value
    one = data.sel(sampling=rule)
    return {
        "n": data["n"].values.tolist(),
        "exact": one["almost_sure_exact"].values.tolist(),
        "measured": one["almost_sure_measured"].values.tolist(),
        "cyclic": data["almost_sure_exact"].sel(sampling="cyclic").values.tolist(),
        **growth_agreement(data),
    }


def _zero(evidence: Evidence) -> Data:
    data = evidence.figures["figure-2"].isel(n=0)
    share = {rule: float(data["zero_measured"].sel(sampling=rule)) for rule in ("iid", "reshuffle")}
    exact = {rule: float(data["zero_exact"].sel(sampling=rule)) for rule in ("iid", "reshuffle")}
    steep = block(_PAPER.L, nesterov(_PAPER))
    return {
        "n": int(data["n"]),
        "iid": share["iid"],
        "iid_exact": exact["iid"],
        "reshuffle": share["reshuffle"],
        "reshuffle_exact": exact["reshuffle"],
        "square": float(np.abs(steep @ steep).max()),
    }


def _example(_: Evidence) -> Data:
    """First and second coordinate of the example: finite, and at Nesterov's rate."""
    from ravine.engine.run import run

    problem = counterexample(0.05, 100.0, 50)
    trace = run(problem, nesterov(problem.curvature), 400, sampling="iid-no-repeat")
    first, second = np.abs(trace.y_errors[:, 0]), np.abs(trace.y_errors[:, 1])
    # k rho^k: two points tell k from rho.
    rho = float((second[400] / second[200] * (200 + 45.7) / (400 + 45.7)) ** (1.0 / 200.0))
    return {
        "zero_after": int(np.flatnonzero(first == 0.0)[0]),
        "stays_zero": bool((first[np.flatnonzero(first == 0.0)[0] :] == 0.0).all()),
        "rate": rho,
        "exact_rate": 1.0 - 2000.0**-0.5,
    }


def _monotone(_: Evidence) -> Data:
    n = np.array([5, 10, 50, 250, 1000, 10**4, 10**6])
    values = np.asarray(counterexample_growth(_PAPER, n, sampling="cyclic", sense="mean"))
    return {
        "growth": values.tolist(),
        "limit": 1.0 - 2000.0**-0.5,
        "decreasing": bool((np.diff(values) < 0).all()),
    }


def _erratum11(_: Evidence) -> Data:
    """The matrices {2, 1} of one row, with the order 2, 1, 1, 1, ...: a bounded product."""
    k = np.arange(1, 10_001)
    product = np.full(len(k), 2.0)
    return {
        "least_root": float((product ** (1.0 / k)).min()),
        "limit_of_root": float(product[-1] ** (1.0 / k[-1])),
        "largest_product": float(product.max()),
    }


def _erratum13(_: Evidence) -> Data:
    """Almost sure growth with mini-batches of one and of two terms, n = 250, Q = 2000."""
    from ravine.engine.kernels.finite_sum import ensemble

    problem = counterexample(0.05, 100.0, 250)
    out = {}
    for batch in (1, 2):
        found = ensemble(
            problem, nesterov(problem.curvature), [1250, 5000], trajectories=4000,
            sampling=Sampling.RESHUFFLE_NO_REPEAT if batch == 1 else Sampling.RESHUFFLE,
            batch=batch,
        )  # fmt: skip
        early, late = np.abs(found.errors[:, :, 2])
        kept = late > 0.0
        logs = np.log(late[kept] / early[kept]) / 3750.0
        out[f"batch_{batch}"] = float(np.exp(logs.mean()))
        out[f"half_{batch}"] = float(1.96 * logs.std() / np.sqrt(kept.sum()))
    return out


def _joint(_: Evidence) -> Data:
    """Q = 16: joint spectral radius below 1, and products of 1000 blocks in the worst orders."""
    curvature = Curvature(1.0, 16.0)
    method = nesterov(curvature)
    upper = float(commuting_rate(curvature, method).upper)
    flat, steep = block(1.0, method), block(16.0, method)
    norms = []
    for k in range(1, 11):
        word = np.linalg.matrix_power(flat, k) @ steep
        norms.append(float(np.linalg.norm(np.linalg.matrix_power(word, 1000 // (k + 1)), 2)))
    return {"upper": upper, "largest": max(norms), "gap": int(np.argmax(norms)) + 1}


CLAIMS = (
    Claim(
        "joint-spectral-radius",
        "Proof of Theorem 3",
        "The trajectory is stable if the joint spectral radius of the blocks is below one.",
        "Q = 16, shared eigenvectors: bound {upper:.4f}; largest norm of 1000 blocks, one L "
        "after every 1 to 10 of mu: {largest:.1e}, at {gap}",
        "4^(1/5) (1 - 1/√Q), below 1 for Q < 17.0553550856",
        _joint,
        lambda d: either(d["upper"] < 1.0 and d["largest"] < 1e-2),
    ),
    Claim(
        "lemma-1",
        "Lemma 1",
        "At the usual parameters the product B(L) B(mu)^k1 ... B(L) B(mu)^ks of k factors has "
        "spectral radius (1 - 1/√Q)^k k1 ... ks.",
        "largest relative difference over {products} products: {largest_difference:.1e}",
        "an identity",
        _lemma1,
        lambda d: either(d["largest_difference"] < 1e-6),
    ),
    Claim(
        "erratum-1",
        "Proof of Lemma 1, Appendix D",
        "The same spectral radius belongs to the product with one more B(L) at its end.",
        "that product has spectral radius {appendix:.1e} of its norm; without the last factor "
        "the formula is right to {main_text:.1e}",
        "zero: B(L)² = 0, the product is nilpotent. The form in the main text is right",
        _erratum1,
        lambda d: either(d["appendix"] > 1e-3, False),
    ),
    Claim(
        "theorem-3",
        "Theorem 3 (a finite sum on which the usual parameters diverge)",
        "For n >= 3 and any start there are L-smooth, mu-strongly convex quadratics on which the "
        "usual parameters diverge when no term is drawn twice in a row, interpolation or not.",
        "Q = 2000: growth of E‖y - x*‖ a step at least {least_growth:.4f} for n = 3 to 1000; "
        "median distance after 1500 steps, n = 10: {median_after_1500[0]:.1e} times the start with "
        "interpolation, {median_after_1500[1]:.1e} without",
        "needs Q > 6 + 4√2 = 11.657: at Q = 11 no sum in any order grows by more than "
        "{worst_rate_below:.4f} a step",
        _theorem3,
        lambda d: either(
            d["least_growth"] > 1.0
            and min(d["median_after_1500"]) > 1.0
            and d["worst_rate_below"] >= 1.0,
            d["least_growth"] > 1.0 and min(d["median_after_1500"]) > 1.0,
        ),
    ),
    Claim(
        "erratum-8",
        "Proof of Theorem 3",
        "The construction, with shared eigenvectors, diverges for every condition number.",
        "largest growth over all orders: {below:.6f} at Q = 17, {above:.6f} at Q = 17.06",
        "4^(1/5) (1 - 1/√Q) exceeds 1 only for Q > 17.05535508563",
        _erratum8,
        lambda d: either(d["below"] > 1.0, d["above"] > 1.0),
    ),
    Claim(
        "erratum-9",
        "Proof of Theorem 3",
        "For large k, E (k1 ... ks)^(1/k) is about (n-1)^(1/n), whatever the order.",
        "n = 50, Q = 2000, growth a step: cyclic {cyclic:.5f}, reshuffled {reshuffled:.5f}, iid "
        "without repeat {iid:.5f}",
        "{stated:.5f} is right for the cyclic order; by Jensen it is an upper bound for others",
        _erratum9,
        lambda d: either(
            max(abs(d[k] - d["stated"]) for k in ("cyclic", "iid", "reshuffled")) < 1e-4,
            abs(d["cyclic"] - d["stated"]) < 1e-9
            and max(d["iid"], d["reshuffled"]) <= d["stated"] + _ROUNDING,
        ),
    ),
    Claim(
        "erratum-10",
        "Figure 2 and Section 4.2",
        "Along the third coordinate the iterates diverge for n = 50, 250 and 1000.",
        "growth a step without repeat, measured: {measured[0]:.5f}, {measured[1]:.5f}, "
        "{measured[2]:.5f}; {inside:.0f} of {compared:.0f} measured growths and shares have the "
        "closed form within their limits",
        "almost surely {exact[0]:.5f}, {exact[1]:.5f}, {exact[2]:.5f}; in cyclic order "
        "{cyclic[0]:.5f}, {cyclic[1]:.5f}, {cyclic[2]:.5f}",
        _figure2,
        lambda d: either(min(d["measured"]) > 1.0, max(d["measured"]) > 1.0),
        ("figure-2",),
    ),
    Claim(
        "example-coordinates",
        "Section 4.2",
        "The first coordinate converges in finitely many steps, the second at the rate 1 - 1/√Q.",
        "first coordinate zero after {zero_after} steps, for good: {stays_zero}; rate of the "
        "second {rate:.5f}",
        "B(L)² = 0; rate {exact_rate:.5f}",
        _example,
        lambda d: either(
            d["stays_zero"] and d["zero_after"] <= 2 and abs(d["rate"] - d["exact_rate"]) < 1e-3
        ),
    ),
    Claim(
        "example-large-n",
        "Section 4.2",
        "The growth factor (n-1)^(1/n) tends to one, so that many terms tame the bad one.",
        "growth a step from n = 5 to 10⁶ falls from {growth[0]:.4f} to {growth[6]:.6f}; monotone: "
        "{decreasing}",
        "limit 1 - 1/√Q = {limit:.6f}",
        _monotone,
        lambda d: either(d["decreasing"] and d["growth"][-1] - d["limit"] < 1e-4),
    ),
    Claim(
        "erratum-11",
        "Proof of Theorem 3",
        "If the k-th root of the spectral radius of the product exceeds one for all large k, the "
        "iterates diverge.",
        "the matrices 2, 1, 1, 1, ...: every root exceeds one (least {least_root:.5f}), the "
        "product stays at {largest_product:.0f}",
        "the limit of the roots must exceed one, here it is 1",
        _erratum11,
        lambda d: either(not (d["least_root"] > 1.0 and d["largest_product"] < 1e6)),
    ),
    Claim(
        "erratum-12",
        "Condition (18)",
        "Drawing with replacement, or reshuffling every epoch, diverges as drawing without repeat.",
        "n = {n}: {iid:.2%} of the iid and {reshuffle:.3%} of the reshuffled trajectories are at "
        "the optimum exactly",
        "{iid_exact:.2%} and {reshuffle_exact:.3%} so far, and almost every one in the end: B(L)² "
        "= {square:.0f}, two visits in a row end it. The condition matters",
        _zero,
        lambda d: either(d["iid"] == 0.0 and d["reshuffle"] == 0.0),
        ("figure-2",),
    ),
    Claim(
        "erratum-13",
        "Proof of Theorem 3",
        "Mini-batches of one term stand for all: larger ones behave the same.",
        "n = 250, Q = 2000, growth a step: {batch_1:.5f} for one term, {batch_2:.5f} for two",
        "the bad term comes twice as often, with half the weight: that is enough to diverge",
        _erratum13,
        lambda d: either((d["batch_1"] > 1.0) == (d["batch_2"] > 1.0)),
    ),
)
"""In the order of the paper."""
