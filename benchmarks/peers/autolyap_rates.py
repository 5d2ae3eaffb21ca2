"""AutoLyap: rates of Nesterov's method with exact gradients, by semidefinite programmes.

AutoLyap's class is every smooth strongly convex function with one fixed gradient. Quadratics
are among them and every sampling of every finite sum is more than them, so its rate must lie
between ravine's spectral radius and ravine's worst case, and where these two are equal it has no
choice left.
"""

from __future__ import annotations

import warnings
from importlib.metadata import version

import numpy as np
from autolyap import IterationIndependent, SolverOptions
from autolyap.algorithms import GradientNesterovMomentum
from autolyap.problemclass import InclusionProblem, SmoothStronglyConvex

import ravine
from benchmarks.peers.comparison import in_words, tell, timed
from benchmarks.peers.plane import CURVATURE, methods, pairs

BISECTION = 1e-8  # width at which the search for the square of the rate stops
HIGHEST = 16.0  # upper end of that search: the square of a rate of 4, above all rates of the plane

SOLVER = SolverOptions(
    backend="cvxpy",
    cvxpy_solver="CLARABEL",
    cvxpy_solver_params={"tol_feas": 1e-10, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10},
)
"""Tighter than AutoLyap's own settings."""

EQUAL = 1e-9  # rungs closer than this leave one answer only


def rate(alpha: float, beta: float) -> float:
    """AutoLyap's rate of one method, NaN where its solver gave up."""
    problem = InclusionProblem([SmoothStronglyConvex(CURVATURE.mu, CURVATURE.L)])
    algorithm = GradientNesterovMomentum(alpha, beta)
    search = IterationIndependent.LinearConvergence
    P, p, T, t = search.get_parameters_distance_to_solution(algorithm)
    answer = search.bisection_search_rho(
        problem,
        algorithm,
        P,
        T,
        p,
        t,
        S_equals_T=True,
        s_equals_t=True,
        remove_C3=True,
        upper_bound=HIGHEST,
        tol=BISECTION,
        solver_options=SOLVER,
        verbosity=0,
    )
    return float("nan") if answer["rho"] is None else float(np.sqrt(answer["rho"]))


def main() -> None:
    """Compare over the plane."""
    warnings.simplefilter("ignore")
    rate(1.0, 0.5)

    peer, seconds = timed(lambda: np.array([rate(alpha, beta) for alpha, beta in pairs()]))
    plane = methods()
    worst, ravine_seconds = timed(lambda: ravine.worst_case_rate(CURVATURE, plane), tries=5)
    radius = ravine.spectral_radius(CURVATURE, plane)

    answered = np.isfinite(peer)
    beyond = np.nanmax(np.maximum(radius - peer, peer - worst))
    decided = answered & (worst - radius < EQUAL)
    difference = in_words((peer - radius)[decided], "difference")
    tell(
        f"AutoLyap {version('autolyap')} with Clarabel {version('clarabel')}",
        "rate of Nesterov's method with exact gradients, 32 x 32 parameters",
        peer,
        (seconds, ravine_seconds),
        (
            f"nowhere outside ρ to r* by more than {max(beyond, 0.0):.1e}; where ρ = r* "
            f"({int(decided.sum())} pixels) {difference}"
        ),
    )


if __name__ == "__main__":
    main()
