"""Claims on parameters that converge on every finite sum, and on what the paper suggests at last.

Section 4.3, appendices E and F, and the closing section.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import xarray as xr

from ravine.claims.claim import ROUNDING, Measurements, stated
from ravine.curvature import Curvature
from ravine.engine.kernels.finite_sum import ensemble
from ravine.figures.noise_floors import COMPARED_RATE
from ravine.figures.parameter_map import areas
from ravine.figures.regression import tightness
from ravine.methods import Method, sgd
from ravine.problems import QuadraticSum, partitioned_least_squares, turning_quadratics
from ravine.theory import bounds
from ravine.theory.blocks import block, system
from ravine.theory.ladder.rates import contraction

_SAME = 1e-6
"""Largest relative difference at which a measured growth counts as equal to the closed form."""


def _largest_ratio(
    bound: Callable[[Curvature, Method], bounds.Bound],
    problems: Sequence[QuadraticSum],
    parameters: Sequence[tuple[float, float]],
) -> Measurements:
    """The largest ratio, over all (alpha L, beta) and steps, of the mean distance to a bound."""
    # The start is far above the noise floor; 300 steps reach the floor at every step size tried.
    steps = 300
    away = np.array([30.0, -10.0])
    ratios = []
    for problem, (step, beta) in product(problems, parameters):
        method = Method(step / float(problem.curvature.L), beta)
        runs = ensemble(
            problem, method, np.arange(steps + 1), trajectories=200, sampling="iid",
            start=problem.minimiser + away,
        )  # fmt: skip
        distance = float(np.linalg.norm(away))
        envelope = bound(problem.curvature, method).envelope(
            steps=steps, distance=distance, sigma=problem.mean_gradient_norm
        )
        ratios.append((runs.norms.mean(axis=1) / envelope.values).max())

    return {"largest_ratio": max(ratios)}


@stated("theorem-4", holds=lambda m: m["largest_ratio"] <= 1.0 + ROUNDING)
def theorem_4() -> Measurements:
    """The bound on two sums, in random order, with parameters for which R < 1."""
    problems = partitioned_least_squares(2000, 2, 20, Q=8.0), turning_quadratics(1.0, 8.0)
    return _largest_ratio(bounds.contraction, problems, [(0.5, -0.3), (0.5, 0.0), (0.5, 0.3)])


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
    problems = [partitioned_least_squares(2000, 2, 20, Q=Q) for Q in (4.0, 16.0)]
    steps = [(0.3, 0.0), (1.0, 0.0), (1.6, 0.0), (1.9, 0.0)]
    return _largest_ratio(bounds.sgd_finite_sum, problems, steps)


@stated("corollary-4.2", holds=lambda m: m["largest_mean_ratio"] <= 1.0 + ROUNDING)
def corollary_4_2(figure_3: xr.Dataset) -> Measurements:
    """Means, drawn runs and all runs of Figure 3, divided by the bound."""
    return {
        "Q": figure_3["Q"].values,
        "largest_mean_ratio": (figure_3["mean"] / figure_3["bound"]).max(),
        "drawn_ratio": (figure_3["runs"] / figure_3["bound"]).max(),
        "run_ratio": max(tightness(figure_3)["largest"]),
        "runs": figure_3.attrs["trajectories"],
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
    holds=lambda m: m["least_rate_ratio"] > 0.99 and m["largest_floor_ratio"] < 1.5,
    corrected=lambda m: m["least_rate_ratio"] > 0.99,
)
def closeness_of_figure_3(figure_3: xr.Dataset) -> Measurements:
    """How close the rate and floor of Figure 3 come to those of the bound."""
    closeness = tightness(figure_3)
    return {
        "Q": figure_3["Q"].values,
        "rate_ratio": closeness["rate"],
        "least_rate_ratio": min(closeness["rate"]),
        "floor_ratio": closeness["floor"],
        "largest_floor_ratio": max(closeness["floor"]),
    }


@stated(
    "sufficient-not-necessary",
    holds=lambda m: (
        m["nested"] == 1.0
        and all(c > g for c, g in zip(m["convergent"], m["guaranteed"], strict=True))
    ),
)
def sufficient(nested_regions: xr.Dataset) -> Measurements:
    """Shares of the plane with a guarantee, and of the plane where every sum converges."""
    shares = areas(nested_regions)
    return {
        "Q": nested_regions["Q"].values,
        "guaranteed": shares["contraction"],
        "convergent": shares["worst_case_rate"],
        "nested": min(shares["nested"]),
    }


@stated(
    "joint-spectral-radius-difficult",
    holds=lambda m: m["largest_difference"] > _SAME,
    corrected=lambda m: m["last_convergent"] < m["threshold"] < m["first_divergent"],
)
def tightest(turning_quadratics: xr.Dataset) -> Measurements:
    """Measured growth on the turning quadratics against the closed form, and where it crosses 1."""
    measured = turning_quadratics["measured"]
    return {
        "largest_difference": np.abs(measured / turning_quadratics["worst_case"] - 1.0).max(),
        "last_convergent": turning_quadratics["Q"].where(measured <= 1.0).max(),
        "first_divergent": turning_quadratics["Q"].where(measured > 1.0).min(),
        "threshold": turning_quadratics.attrs["threshold"],
    }


@stated(
    "restart",
    holds=lambda m: (
        max(m["paper_after"], m["turning_gradient"], m["turning_sampled"], m["turning_full"]) < 1.0
    ),
    corrected=lambda m: m["paper_after"] < 1.0 and m["turning_full"] < 1.0,
)
def growth_with_restart(restart: xr.Dataset) -> Measurements:
    """Growth without restart and with each rule, on the paper's example and on another one."""
    # Three orders of the paper's example, then the turning quadratics.
    paper = restart["growth"].isel(example=slice(0, 3))
    turning = restart["growth"].isel(example=3)
    rules = ["gradient", "sampled", "full"]
    return {
        "paper_before": paper.sel(rule="never").min(),
        "paper_after": paper.sel(rule=rules).max(),
        "turning_before": turning.sel(rule="never"),
        **{f"turning_{rule}": turning.sel(rule=rule) for rule in rules},
    }


@stated(
    "negative-momentum",
    holds=lambda m: m["saved"] > 0.1 and m["saved_at_equal_rate"] > 0.1,
    corrected=lambda m: m["saved"] > 0.1,
)
def tail_of_a_run(negative_momentum: xr.Dataset) -> Measurements:
    """Mean square after the longest tail, without momentum and with the best negative momentum."""
    exact = negative_momentum["exact"]
    off = np.abs(exact - negative_momentum["measured"]) / negative_momentum["measured_se"]
    longest = exact.isel(length=-1)
    plain = longest.sel(tail_beta=0.0)
    best = longest.where(longest["tail_beta"] < 0.0).min()
    compared = negative_momentum.sel(rate=COMPARED_RATE)
    return {
        "tail": longest["length"],
        "plain": plain,
        "negative": best,
        "saved": 1.0 - best / plain,
        "saved_at_equal_rate": 1.0 - compared["fixed_rate_negative"],
        "critical": compared["fixed_rate_critical"],
        "largest_z": off.max(),
    }
