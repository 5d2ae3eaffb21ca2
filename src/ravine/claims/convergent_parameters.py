"""Claims on parameters that converge on every finite sum: section 4.3, appendices E and F."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import Evidence, Measurements, judgement, stated
from ravine.curvature import Curvature
from ravine.figures.sgd_finite_sum import tightness
from ravine.methods import Method, sgd
from ravine.problems import QuadraticSum, partitioned_least_squares, turning_quadratics
from ravine.theory import bounds
from ravine.theory.blocks import block, system
from ravine.theory.ladder.rates import contraction

_ROUNDING = 1e-9
"""Relative excess over a bound that is put down to rounding."""

_AWAY = np.array([30.0, -10.0])
"""From the minimiser to where the runs of two features start: far above the noise floor."""

_STEPS = 300
"""Steps of the runs that are held against a bound: into the floor at every step size tried."""


def _largest_ratio(problem: QuadraticSum, method: Method, bound: FloatArray) -> float:
    """The largest mean distance of 200 runs over a bound, over all steps."""
    from ravine.engine.kernels.finite_sum import ensemble

    runs = ensemble(
        problem, method, np.arange(_STEPS + 1), trajectories=200, sampling="iid",
        start=problem.minimiser + _AWAY,
    )  # fmt: skip
    return float((runs.norms.mean(axis=1) / bound).max())


def _theorem4(_: Evidence) -> Measurements:
    """The bound on two sums, in random order, with parameters for which R < 1."""
    sums = (partitioned_least_squares(2000, 2, 20, Q=8.0), turning_quadratics(1.0, 8.0))
    distance = float(np.linalg.norm(_AWAY))

    largest = 0.0
    for problem in sums:
        for beta in (-0.3, 0.0, 0.3):
            method = Method(0.5 / float(problem.curvature.L), beta)
            bound = bounds.contraction(problem.curvature, method).envelope(
                steps=_STEPS, distance=distance, sigma=problem.mean_gradient_norm
            )
            largest = max(largest, _largest_ratio(problem, method, bound.values))

    return {"largest_ratio": largest}


def _erratum14(_: Evidence) -> Measurements:
    """One direction, two terms with minimisers ±1, and a sampling that keeps to its first term."""
    alpha = 0.1
    R = float(contraction(Curvature(1.0, 1.0), Method(alpha)))

    # 0.9^400 = 5e-19: the run has reached the minimiser of its term.
    x = 0.0
    for _step in range(400):
        x -= alpha * (x - 1.0)

    # alpha √((1+beta)² + 1) at beta = 0, times sigma = 1.
    gain = alpha * np.sqrt(2.0)

    return {
        "distance": x,
        "statement": float(gain / (1.0 - R)),
        "appendix": float(gain / (1.0 - R**2)),
    }


def _lemma3(_: Evidence) -> Measurements:
    """‖A‖ over R on random Hessians with eigenvalues between 0.1 and 1."""
    rng = np.random.default_rng(5)
    curvature = Curvature(0.1, 1.0)

    largest = 0.0
    for _draw in range(200):
        basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        H = (basis * rng.uniform(0.1, 1.0, 4)) @ basis.T
        symmetric = (H + H.T) / 2
        method = Method(rng.uniform(0.0, 2.0), rng.uniform(-1.0, 1.0))

        norm = float(np.linalg.norm(system(symmetric, method), 2))
        largest = max(largest, norm / float(contraction(curvature, method)))

    return {"largest_ratio": largest}


def _erratum15(_: Evidence) -> Measurements:
    """One step from every state (r, v) on the circle, with parameters for which R < 1."""
    curvature = Curvature(0.5, 1.0)
    method = Method(0.45, 0.75)
    R = float(contraction(curvature, method))

    # Half a circle will do: a state and its opposite behave alike.
    angle = np.linspace(0.0, np.pi, 2001)
    state = np.stack([np.cos(angle), np.sin(angle)])
    before = np.abs(state).sum(axis=0)

    sums = []
    roots = []
    for lam in (0.5, 1.0):
        after = block(lam, method) @ state
        sums.append((np.abs(after).sum(axis=0) / before).max())
        roots.append(np.linalg.norm(after, axis=0).max())

    return {"sum_ratio": float(max(sums)), "root_ratio": float(max(roots)), "R": R}


def _corollary41(_: Evidence) -> Measurements:
    """SGD at four steps below 2/L on two sums, against the bound."""
    distance = float(np.linalg.norm(_AWAY))

    largest = 0.0
    for Q in (4.0, 16.0):
        problem = partitioned_least_squares(2000, 2, 20, Q=Q)
        for scale in (0.3, 1.0, 1.6, 1.9):
            method = Method(scale / float(problem.curvature.L))
            bound = bounds.sgd_finite_sum(problem.curvature, method).envelope(
                steps=_STEPS, distance=distance, sigma=problem.mean_gradient_norm
            )
            largest = max(largest, _largest_ratio(problem, method, bound.values))

    return {"largest_ratio": largest}


def _corollary42(evidence: Evidence) -> Measurements:
    """Means, drawn runs and all runs of Figure 3 over the bound."""
    data = evidence.figures["figure-3"]
    return {
        "Q": data["Q"].values.tolist(),
        "largest_mean_ratio": float((data["mean"] / data["bound"]).max()),
        "drawn_ratio": float((data["runs"] / data["bound"]).max()),
        "run_ratio": max(tightness(data)["largest"]),
        "runs": int(data.attrs["trajectories"]),
    }


def _figure3(evidence: Evidence) -> Measurements:
    """How close rate and floor of Figure 3 come to those of the bound."""
    data = evidence.figures["figure-3"]
    closeness = tightness(data)
    rates = [float(ratio) for ratio in closeness["rate"]]

    return {
        "Q": data["Q"].values.tolist(),
        "rate_ratio": rates,
        "least_rate_ratio": min(rates),
        "floor_ratio": closeness["floor"],
        "largest_floor_ratio": max(closeness["floor"]),
    }


def _erratum16(_: Evidence) -> Measurements:
    """R at the step of the corollaries, against their rate and that of a proof of their own."""
    ratios = [2.0, 16.0, 64.0]
    contractions = []
    rates = []
    own_proof = []
    for Q in ratios:
        curvature = Curvature(1.0, Q)
        contractions.append(float(contraction(curvature, sgd(curvature))))
        rates.append((Q - 1.0) / (Q + 1.0))

        # max |1 - alpha lambda| over mu = 1 and L = Q, at alpha = 2/(1 + Q).
        own_proof.append(max(abs(1 - 2 / (1 + Q)), abs(1 - 2 * Q / (1 + Q))))

    return {"Q": ratios, "R": contractions, "kappa": rates, "own_proof": own_proof}


CLAIMS = (
    stated("theorem-4", _theorem4, lambda m: judgement(m["largest_ratio"] <= 1.0 + _ROUNDING)),
    stated("lemma-3", _lemma3, lambda m: judgement(m["largest_ratio"] <= 1.0 + _ROUNDING)),
    stated(
        "erratum-14",
        _erratum14,
        lambda m: judgement(m["distance"] <= m["appendix"], m["distance"] <= m["statement"]),
    ),
    stated(
        "erratum-15",
        _erratum15,
        lambda m: judgement(
            m["sum_ratio"] <= 1.0, m["root_ratio"] <= m["R"] + _ROUNDING and m["R"] < 1.0
        ),
    ),
    stated(
        "corollary-4.1", _corollary41, lambda m: judgement(m["largest_ratio"] <= 1.0 + _ROUNDING)
    ),
    stated(
        "corollary-4.2",
        _corollary42,
        lambda m: judgement(m["largest_mean_ratio"] <= 1.0 + _ROUNDING),
        needs=("figure-3",),
    ),
    stated(
        "erratum-16",
        _erratum16,
        lambda m: judgement(
            all(r <= k + _ROUNDING for r, k in zip(m["R"], m["kappa"], strict=True)),
            all(abs(o - k) < 1e-12 for o, k in zip(m["own_proof"], m["kappa"], strict=True)),
        ),
    ),
    stated(
        "figure-3",
        _figure3,
        lambda m: judgement(
            m["least_rate_ratio"] > 0.99 and m["largest_floor_ratio"] < 1.5,
            m["least_rate_ratio"] > 0.99,
        ),
        needs=("figure-3",),
    ),
)
"""In the order of the paper."""
