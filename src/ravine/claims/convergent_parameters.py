"""Claims on parameters that converge on every finite sum: section 4.3, appendices E and F."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ravine.claims.claim import ROUNDING, Measurements, stated
from ravine.curvature import Curvature
from ravine.engine.kernels.finite_sum import ensemble
from ravine.figures.sgd_finite_sum import tightness
from ravine.methods import Method, sgd
from ravine.problems import QuadraticSum, partitioned_least_squares, turning_quadratics
from ravine.theory import bounds
from ravine.theory.blocks import block, system
from ravine.theory.ladder.rates import contraction


def _largest_ratio(problem: QuadraticSum, method: Method, bound: bounds.Bound) -> float:
    """The largest ratio, over all steps, of the mean distance of 200 runs to a bound."""
    # The start is far above the noise floor; 300 steps reach the floor at every step size tried.
    steps = 300
    away = np.array([30.0, -10.0])
    runs = ensemble(
        problem, method, np.arange(steps + 1), trajectories=200, sampling="iid",
        start=problem.minimiser + away,
    )  # fmt: skip
    envelope = bound.envelope(
        steps=steps, distance=float(np.linalg.norm(away)), sigma=problem.mean_gradient_norm
    )
    return float((runs.norms.mean(axis=1) / envelope.values).max())


@stated("theorem-4", holds=lambda m: m["largest_ratio"] <= 1.0 + ROUNDING)
def theorem_4() -> Measurements:
    """The bound on two sums, in random order, with parameters for which R < 1."""
    ratios = []
    for problem in (partitioned_least_squares(2000, 2, 20, Q=8.0), turning_quadratics(1.0, 8.0)):
        for beta in (-0.3, 0.0, 0.3):
            method = Method(0.5 / float(problem.curvature.L), beta)
            bound = bounds.contraction(problem.curvature, method)
            ratios.append(_largest_ratio(problem, method, bound))

    return {"largest_ratio": max(ratios)}


@stated("lemma-3", holds=lambda m: m["largest_ratio"] <= 1.0 + ROUNDING)
def lemma_3() -> Measurements:
    """‖A‖ over R on random Hessians with eigenvalues between 0.1 and 1."""
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(200):
        basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        H = (basis * rng.uniform(0.1, 1.0, 4)) @ basis.T
        method = Method(rng.uniform(0.0, 2.0), rng.uniform(-1.0, 1.0))
        norm = np.linalg.norm(system((H + H.T) / 2, method), 2)
        ratios.append(norm / contraction(Curvature(0.1, 1.0), method))

    return {"largest_ratio": max(ratios)}


@stated(
    "erratum-14",
    holds=lambda m: m["distance"] <= m["appendix"],
    corrected=lambda m: m["distance"] <= m["statement"],
)
def noise_of_theorem_4() -> Measurements:
    """One direction, two terms with minimisers ±1, and a sampling that draws only the first."""
    alpha = 0.1
    R = contraction(Curvature(1.0, 1.0), Method(alpha))

    # 0.9^400 = 5e-19: the run has reached the minimiser of its term.
    x = 0.0
    for _ in range(400):
        x -= alpha * (x - 1.0)

    # alpha √((1+beta)² + 1) at beta = 0, times sigma = 1.
    gain = alpha * np.sqrt(2.0)
    return {"distance": x, "statement": gain / (1.0 - R), "appendix": gain / (1.0 - R**2)}


@stated(
    "erratum-15",
    holds=lambda m: m["sum_ratio"] <= 1.0,
    corrected=lambda m: m["root_ratio"] <= m["R"] + ROUNDING and m["R"] < 1.0,
)
def falling_norm() -> Measurements:
    """One step from every state (r, v) on the circle, with parameters for which R < 1."""
    method = Method(0.45, 0.75)

    # Half a circle suffices: a state and its opposite behave alike.
    angle = np.linspace(0.0, np.pi, 2001)
    state = np.stack([np.cos(angle), np.sin(angle)])
    after = block(np.array([0.5, 1.0]), method) @ state
    return {
        "sum_ratio": (np.abs(after).sum(axis=1) / np.abs(state).sum(axis=0)).max(),
        "root_ratio": np.linalg.norm(after, axis=1).max(),
        "R": contraction(Curvature(0.5, 1.0), method),
    }


@stated("corollary-4.1", holds=lambda m: m["largest_ratio"] <= 1.0 + ROUNDING)
def corollary_4_1() -> Measurements:
    """SGD at four steps below 2/L on two sums, against the bound."""
    ratios = []
    for Q in (4.0, 16.0):
        problem = partitioned_least_squares(2000, 2, 20, Q=Q)
        for scale in (0.3, 1.0, 1.6, 1.9):
            method = Method(scale / float(problem.curvature.L))
            bound = bounds.sgd_finite_sum(problem.curvature, method)
            ratios.append(_largest_ratio(problem, method, bound))

    return {"largest_ratio": max(ratios)}


@stated(
    "corollary-4.2",
    needs=("figure-3",),
    holds=lambda m: m["largest_mean_ratio"] <= 1.0 + ROUNDING,
)
def corollary_4_2(data: xr.Dataset) -> Measurements:
    """Means, drawn runs and all runs of Figure 3, divided by the bound."""
    return {
        "Q": data["Q"].values,
        "largest_mean_ratio": (data["mean"] / data["bound"]).max(),
        "drawn_ratio": (data["runs"] / data["bound"]).max(),
        "run_ratio": max(tightness(data)["largest"]),
        "runs": data.attrs["trajectories"],
    }


@stated(
    "erratum-16",
    holds=lambda m: all(r <= k + ROUNDING for r, k in zip(m["R"], m["kappa"], strict=True)),
    corrected=lambda m: np.allclose(m["own_proof"], m["kappa"], rtol=0.0, atol=1e-12),
)
def corollaries_from_theorem_4() -> Measurements:
    """R at the step size of the corollaries, against their rate and the rate of a direct proof."""
    Q = np.array([2.0, 16.0, 64.0])
    curvature = Curvature(np.ones_like(Q), Q)
    method = sgd(curvature)
    return {
        "Q": Q,
        "R": contraction(curvature, method),
        "kappa": (Q - 1.0) / (Q + 1.0),
        # max |1 - alpha lambda| over mu = 1 and L = Q.
        "own_proof": np.maximum(np.abs(1.0 - method.alpha), np.abs(1.0 - method.alpha * Q)),
    }


@stated(
    "figure-3",
    needs=("figure-3",),
    holds=lambda m: m["least_rate_ratio"] > 0.99 and m["largest_floor_ratio"] < 1.5,
    corrected=lambda m: m["least_rate_ratio"] > 0.99,
)
def figure_3(data: xr.Dataset) -> Measurements:
    """How close the rate and floor of Figure 3 come to those of the bound."""
    closeness = tightness(data)
    return {
        "Q": data["Q"].values,
        "rate_ratio": closeness["rate"],
        "least_rate_ratio": min(closeness["rate"]),
        "floor_ratio": closeness["floor"],
        "largest_floor_ratio": max(closeness["floor"]),
    }
