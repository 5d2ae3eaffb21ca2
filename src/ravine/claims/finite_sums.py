"""Claims on finite sums: section 4, appendices D to F."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import Claim, Data, Evidence, either
from ravine.curvature import Curvature
from ravine.figures.inconsistent_batch import growth_agreement
from ravine.figures.sgd_finite_sum import tightness
from ravine.methods import Method, nesterov, sgd
from ravine.problems.counterexample import counterexample, theorem2, turning_quadratics
from ravine.problems.least_squares import partitioned_least_squares
from ravine.sampling import Sampling
from ravine.theory.blocks import block, lemma1_product, lemma1_radius, system
from ravine.theory.commuting import commuting_rate
from ravine.theory.counterexample_growth import counterexample_growth
from ravine.theory.finite_sum_bounds import contraction_bound, sgd_finite_sum_bound
from ravine.theory.rates import contraction
from ravine.theory.worst_case import worst_case_rate

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
    from ravine.engine.finite_sum import ensemble

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
    from ravine.engine.finite_sum import ensemble

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


def _theorem4(_: Evidence) -> Data:
    """The bound on two sums, in random order, with parameters for which R < 1."""
    from ravine.engine.finite_sum import ensemble

    largest = 0.0
    sums = [partitioned_least_squares(2000, 2, 20, Q=8.0), turning_quadratics(1.0, 8.0)]
    for problem in sums:
        for beta in (-0.3, 0.0, 0.3):
            method = Method(0.5 / float(problem.curvature.L), beta)
            start = problem.minimiser + np.array([30.0, -10.0])
            bound = contraction_bound(
                problem.curvature, method, steps=300, distance=float(np.hypot(30.0, 10.0)),
                sigma=problem.gradient_spread,
            )  # fmt: skip
            found = ensemble(
                problem, method, np.arange(301), trajectories=200, sampling="iid", start=start
            )
            largest = max(largest, float((found.norms.mean(axis=1) / bound.values).max()))
    return {"largest_ratio": largest}


def _erratum14(_: Evidence) -> Data:
    """One direction, two terms with minimisers ±1, and a sampling that keeps to its first term."""
    h = 0.1
    R = float(contraction(Curvature(1.0, 1.0), Method(h)))
    x = 0.0
    for _step in range(400):
        x -= h * (x - 1.0)
    gain = h * np.sqrt(2.0)
    return {
        "distance": x,
        "statement": float(gain / (1.0 - R)),
        "appendix": float(gain / (1.0 - R**2)),
    }


def _lemma3(_: Evidence) -> Data:
    rng = np.random.default_rng(5)
    largest = 0.0
    for _draw in range(200):
        basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        H = (basis * rng.uniform(0.1, 1.0, 4)) @ basis.T
        method = Method(rng.uniform(0.0, 2.0), rng.uniform(-1.0, 1.0))
        R = float(contraction(Curvature(0.1, 1.0), method))
        largest = max(largest, float(np.linalg.norm(system((H + H.T) / 2, method), 2)) / R)
    return {"largest_ratio": largest}


def _erratum15(_: Evidence) -> Data:
    """The state r = 0, v = 1 in one direction, with parameters for which R < 1."""
    curvature, method = Curvature(0.5, 1.0), Method(0.45, 0.75)
    R = float(contraction(curvature, method))
    angle = np.linspace(0.0, np.pi, 2001)
    state = np.stack([np.cos(angle), np.sin(angle)])
    sums, roots = [], []
    for lam in (0.5, 1.0):
        after = block(lam, method) @ state
        sums.append((np.abs(after).sum(axis=0) / np.abs(state).sum(axis=0)).max())
        roots.append(np.linalg.norm(after, axis=0).max())
    return {"sum_ratio": float(max(sums)), "root_ratio": float(max(roots)), "R": R}


def _corollary41(_: Evidence) -> Data:
    from ravine.engine.finite_sum import ensemble

    largest = 0.0
    for Q in (4.0, 16.0):
        problem = partitioned_least_squares(2000, 2, 20, Q=Q)
        for scale in (0.3, 1.0, 1.6, 1.9):
            method = Method(scale / float(problem.curvature.L))
            start = problem.minimiser + np.array([30.0, -10.0])
            bound = sgd_finite_sum_bound(
                problem.curvature, method, steps=300, distance=float(np.hypot(30.0, 10.0)),
                sigma=problem.gradient_spread,
            )  # fmt: skip
            found = ensemble(
                problem, method, np.arange(301), trajectories=200, sampling="iid", start=start
            )
            largest = max(largest, float((found.norms.mean(axis=1) / bound.values).max()))
    return {"largest_ratio": largest}


def _corollary42(evidence: Evidence) -> Data:
    data = evidence.figures["figure-3"]
    mean = float((data["mean"] / data["bound"]).max())
    return {
        "Q": data["Q"].values.tolist(),
        "largest_mean_ratio": mean,
        "drawn_ratio": float((data["runs"] / data["bound"]).max()),
        "run_ratio": max(tightness(data)["largest"]),
        "runs": int(data.attrs["trajectories"]),
    }


def _figure3(evidence: Evidence) -> Data:
    data = evidence.figures["figure-3"]
    found = tightness(data)
    rates = [float(v) for v in found["rate"]]
    return {
        "Q": data["Q"].values.tolist(),
        "rate_ratio": rates,
        "least_rate_ratio": min(rates),
        "floor_ratio": found["floor"],
        "largest_floor_ratio": max(found["floor"]),
    }


def _erratum16(_: Evidence) -> Data:
    ratios = [2.0, 16.0, 64.0]
    kappa = [(Q - 1.0) / (Q + 1.0) for Q in ratios]
    R = [float(contraction(Curvature(1.0, Q), sgd(Curvature(1.0, Q)))) for Q in ratios]
    own = [max(abs(1 - 2 / (1 + Q)), abs(1 - 2 * Q / (1 + Q))) for Q in ratios]
    return {"Q": ratios, "R": R, "kappa": kappa, "own_proof": own}


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
    Claim(
        "theorem-4",
        "Theorem 4",
        "If R(alpha, beta) < 1, then on any finite sum E‖y_k - x*‖ is at most R^k times the "
        "distance of the start, plus alpha √((1+beta)²+1)/(1-R) times sigma.",
        "largest mean distance over the bound, two sums, beta = -0.3, 0, 0.3: {largest_ratio:.4f}",
        "at most 1",
        _theorem4,
        lambda d: either(d["largest_ratio"] <= 1.0 + _ROUNDING),
    ),
    Claim(
        "lemma-3",
        "Lemma 3, Appendix E",
        "The norm of every A_k is at most R(alpha, beta), the larger of its values at mu and L.",
        "largest ‖A_k‖/R over 200 random Hessians: {largest_ratio:.6f}",
        "at most 1",
        _lemma3,
        lambda d: either(d["largest_ratio"] <= 1.0 + _ROUNDING),
    ),
    Claim(
        "erratum-14",
        "Proof of Theorem 4, Appendix E",
        "The noise term of Theorem 4 has 1 - R² below.",
        "a sampling that keeps to its first term ends at distance {distance:.4f} per unit of sigma",
        "with 1 - R² the bound is {appendix:.4f}, with 1 - R as in the statement {statement:.4f}",
        _erratum14,
        lambda d: either(d["distance"] <= d["appendix"], d["distance"] <= d["statement"]),
    ),
    Claim(
        "erratum-15",
        "Section 4.3, after Theorem 4",
        "R < 1 makes ‖r‖ + ‖v‖ fall at every step.",
        "R = {R:.4f}: the sum of norms can grow by {sum_ratio:.4f} in a step",
        "the root of ‖r‖² + ‖v‖² falls (largest ratio {root_ratio:.4f}), when sigma = 0",
        _erratum15,
        lambda d: either(
            d["sum_ratio"] <= 1.0, d["root_ratio"] <= d["R"] + _ROUNDING and d["R"] < 1.0
        ),
    ),
    Claim(
        "corollary-4.1",
        "Corollary 4.1",
        "SGD with any step below 2/L on a finite sum: E‖y_k - x*‖ is at most rho^k times the "
        "distance of the start, plus alpha sigma/(1 - rho), rho = max |1 - alpha lambda|.",
        "largest mean distance over the bound, Q = 4 and 16, four steps: {largest_ratio:.4f}",
        "at most 1",
        _corollary41,
        lambda d: either(d["largest_ratio"] <= 1.0 + _ROUNDING),
    ),
    Claim(
        "corollary-4.2",
        "Corollary 4.2",
        "SGD with step 2/(mu+L) on a finite sum: E‖y_k - x*‖ is at most ((Q-1)/(Q+1))^k times the "
        "distance of the start, plus sigma/mu.",
        "largest mean distance over the bound {largest_mean_ratio:.4f}; largest of the ten drawn "
        "runs {drawn_ratio:.4f}, of {runs} runs at any step {run_ratio:.3f}",
        "at most 1 for the mean, which is what the corollary bounds",
        _corollary42,
        lambda d: either(d["largest_mean_ratio"] <= 1.0 + _ROUNDING),
        ("figure-3",),
    ),
    Claim(
        "erratum-16",
        "Section 4.3",
        "The two corollaries on SGD are Theorem 4 at beta = 0.",
        "R(2/(mu+L), 0) for Q = 2, 16, 64: {R[0]:.3f}, {R[1]:.3f}, {R[2]:.3f}",
        "(Q-1)/(Q+1) = {kappa[0]:.3f}, {kappa[1]:.3f}, {kappa[2]:.3f}: they have a proof of their "
        "own",
        _erratum16,
        lambda d: either(
            all(r <= k + _ROUNDING for r, k in zip(d["R"], d["kappa"], strict=True)),
            all(abs(o - k) < 1e-12 for o, k in zip(d["own_proof"], d["kappa"], strict=True)),
        ),
    ),
    Claim(
        "figure-3",
        "Figure 3",
        "Rate and variance bound of Corollary 4.2 are tight on partitioned least squares.",
        "measured rate over (Q-1)/(Q+1): {least_rate_ratio:.5f} or more; the bound's floor over "
        "the measured one, Q = 16, 32, 64: {floor_ratio[0]:.1f}, {floor_ratio[1]:.1f}, "
        "{floor_ratio[2]:.1f}",
        "with two features every step contracts by exactly (Q-1)/(Q+1); drawn independently, the "
        "floor lies √Q below the bound",
        _figure3,
        lambda d: either(
            d["least_rate_ratio"] > 0.99 and d["largest_floor_ratio"] < 1.5,
            d["least_rate_ratio"] > 0.99,
        ),
        ("figure-3",),
    ),
)
"""In the order of the paper."""
