"""SciPy: stationary variances by ``solve_discrete_lyapunov``, one pixel and curvature at a time."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

import ravine
from benchmarks.peers.comparison import relative_difference, tell, timed
from benchmarks.peers.plane import CURVATURE, methods
from ravine.theory.blocks import block


def main() -> None:
    """Compare over the stable part of the plane, at the smallest curvature."""
    plane = methods()
    stable = ravine.stable(CURVATURE, plane)
    alphas = np.asarray(plane.alpha)[stable]
    betas = np.asarray(plane.beta)[stable]

    def by_solver() -> np.ndarray:
        variances = []
        for alpha, beta in zip(alphas, betas, strict=True):
            method = ravine.Method(float(alpha), float(beta))
            B = block(CURVATURE.mu, method)
            # Unit noise enters the state (y - x*, x - x') along alpha (1 + beta, 1).
            direction = alpha * np.array([1 + beta, 1.0])
            covariance = solve_discrete_lyapunov(B, np.outer(direction, direction))
            variances.append(covariance[0, 0])
        return np.array(variances)

    peer, seconds = timed(by_solver)
    ours, ravine_seconds = timed(
        lambda: ravine.stationary_variance(CURVATURE.mu, ravine.Method(alphas, betas)).y, tries=5
    )
    tell(
        f"SciPy {version('scipy')}",
        "stationary variance of y under additive noise, stable pixels of 32 x 32",
        peer,
        (seconds, ravine_seconds),
        relative_difference(peer, ours),
    )


if __name__ == "__main__":
    main()
