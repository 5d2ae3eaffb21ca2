"""cvxpy: the best quadratic Lyapunov function that B(mu) and B(L) have in common.

The theory says that it proves exactly the worst-case rate r*, in every dimension. The programme
P ⪰ I, BᵀPB ⪯ r²P for both blocks is feasible or not; the least r is bisected.
"""

from __future__ import annotations

import warnings
from importlib.metadata import version

import cvxpy as cp
import numpy as np

import ravine
from benchmarks.peers.comparison import relative_difference, tell, timed
from benchmarks.peers.plane import CURVATURE, methods, pairs
from ravine.theory.blocks import block

WIDTH = 1e-8  # of the bracket of r at which the bisection stops
HIGHEST = 4.0  # upper end: above all rates of the plane


class Search:
    """One programme, compiled once, asked for one r after the other."""

    def __init__(self) -> None:
        self._P = cp.Variable((2, 2), symmetric=True)
        self._scaled = [cp.Parameter((2, 2)) for _ in range(2)]  # B/r, for the two blocks
        limits = [self._P - B.T @ self._P @ B >> 0 for B in self._scaled]
        self._problem = cp.Problem(cp.Minimize(cp.trace(self._P)), [self._P >> np.eye(2), *limits])

    def feasible(self, blocks: list[np.ndarray], r: float) -> bool:
        """Whether a common P proves the rate r."""
        for parameter, matrix in zip(self._scaled, blocks, strict=True):
            parameter.value = matrix / r
        try:
            self._problem.solve(solver="CLARABEL", ignore_dpp=True)
        except cp.error.SolverError:
            return False
        return self._problem.status == cp.OPTIMAL

    def rate(self, alpha: float, beta: float) -> float:
        """Least r with a common P."""
        method = ravine.Method(alpha, beta)
        blocks = [block(end, method) for end in (CURVATURE.mu, CURVATURE.L)]
        low, high = 0.0, HIGHEST
        while high - low > WIDTH:
            r = (low + high) / 2
            if self.feasible(blocks, r):
                high = r
            else:
                low = r
        return high


def main() -> None:
    """Compare over the plane."""
    warnings.simplefilter("ignore")
    search = Search()
    peer, seconds = timed(lambda: np.array([search.rate(alpha, beta) for alpha, beta in pairs()]))
    ours, ravine_seconds = timed(lambda: ravine.worst_case_rate(CURVATURE, methods()), tries=5)
    tell(
        f"cvxpy {version('cvxpy')} with Clarabel {version('clarabel')}",
        "worst-case rate by a common quadratic Lyapunov function, 32 x 32 parameters",
        peer,
        (seconds, ravine_seconds),
        relative_difference(peer, ours),
    )


if __name__ == "__main__":
    main()
