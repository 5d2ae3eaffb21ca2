"""Deterministic rungs of the ladder: spectral radius, stability, and the paper's contraction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import Real, broadcast
from ravine.curvature import Curvature
from ravine.methods import Method


def check_shapes(curvature: Curvature, method: Method) -> tuple[int, ...]:
    """Return the common shape of a curvature and a method, or refuse."""
    return broadcast(
        mu=curvature.mu, L=curvature.L, alpha=method.alpha, beta=method.beta, gamma=method.gamma
    )


def trace_and_determinant(eigenvalue: Real, method: Method) -> tuple[Real, Real]:
    """Trace 1 + beta - h(1 + gamma) and determinant beta - h gamma of a block, h = alpha lambda."""
    h = method.alpha * eigenvalue
    return 1.0 + method.beta - h * (1.0 + method.gamma), method.beta - h * method.gamma


def discriminant(eigenvalue: Real, method: Method) -> Real:
    """Trace² - 4 determinant of a block; for Nesterov factored, which keeps its zero sharp."""
    h = method.alpha * eigenvalue
    if method.is_nesterov:
        factor = (1.0 - method.beta) ** 2 - h * (1.0 + method.beta) ** 2
        return (1.0 - h) * factor
    trace, determinant = trace_and_determinant(eigenvalue, method)
    return trace * trace - 4.0 * determinant


def _radius(eigenvalue: Real, method: Method) -> Real:
    trace, determinant = trace_and_determinant(eigenvalue, method)
    gap = discriminant(eigenvalue, method)
    real = 0.5 * (np.abs(trace) + np.sqrt(np.maximum(gap, 0.0)))
    return np.where(gap >= 0.0, real, np.sqrt(np.maximum(determinant, 0.0)))[()]


def _norm(eigenvalue: Real, method: Method) -> Real:
    h = method.alpha * eigenvalue
    coupling = method.beta * (1.0 + method.gamma) - method.gamma
    frobenius = (1.0 - h * (1.0 + method.gamma)) ** 2 + h * h + coupling**2 + method.beta**2
    twice_det = 2.0 * np.abs(method.beta - h * method.gamma)
    gap = np.maximum(frobenius - twice_det, 0.0) * (frobenius + twice_det)
    return np.sqrt(0.5 * (frobenius + np.sqrt(gap)))


def spectral_radius(curvature: Curvature, method: Method) -> Real:
    """Rate ρ of the method on deterministic quadratics, or under additive noise (Theorem 1).

    ρ = max(ρ_mu, ρ_L), with ρ_λ = (|t| + √(t² - 4d))/2 where t² >= 4d, else √d, for the trace
    t = 1 + beta - h(1 + gamma) and determinant d = beta - h gamma, h = alpha λ. For a fixed r the
    set of h with ρ_λ <= r is an interval, so the two ends of [mu, L] decide, for the whole family.

    At critical damping (t² = 4d) the block has a double eigenvalue: there the result is
    conditioned like a square root, and about 1e-8 of relative error is all that float64 allows.

    Returns
    -------
    Growth per step of ‖y_k - x*‖; below 1 the method converges.

    Examples
    --------
    >>> from ravine import Curvature, Method
    >>> round(float(spectral_radius(Curvature(1, 4), Method(0.25, 0.25))), 6)
    0.629058
    """
    check_shapes(curvature, method)
    return np.maximum(_radius(curvature.mu, method), _radius(curvature.L, method))[()]


def stable(curvature: Curvature, method: Method) -> npt.NDArray[np.bool_] | np.bool_:
    """Whether the deterministic method converges: Jury's conditions at mu and at L.

    h > 0, h(1 + 2 gamma) < 2(1 + beta) and |beta - h gamma| < 1, each linear in h = alpha λ.

    Examples
    --------
    >>> from ravine import Curvature, Method
    >>> bool(stable(Curvature(1, 10), Method(0.1, 0.9)))
    True
    >>> bool(stable(Curvature(1, 10), Method(0.2, 0.9)))
    False
    """
    check_shapes(curvature, method)
    holds: npt.NDArray[np.bool_] | np.bool_ = np.bool_(True)
    for eigenvalue in (curvature.mu, curvature.L):
        h = method.alpha * eigenvalue
        _, determinant = trace_and_determinant(eigenvalue, method)
        flip = h * (1.0 + 2.0 * method.gamma) < 2.0 * (1.0 + method.beta)
        holds = holds & (h > 0.0) & flip & (np.abs(determinant) < 1.0)
    return holds


def contraction(curvature: Curvature, method: Method) -> Real:
    """The paper's sufficient rate R: the largest norm ‖B(λ)‖ over λ in [mu, L] (Theorem 4).

    With F the squared Frobenius norm and d the determinant of B(λ),
    R_λ² = (F + √(F² - 4d²))/2. A norm of an affine function is convex, so the ends decide.
    R < 1 guarantees convergence on any finite sum in any order; R >= 1 says nothing:
    :func:`ravine.worst_case_rate` is the exact answer.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(contraction(c, nesterov(c))), 6)
    1.489381
    """
    check_shapes(curvature, method)
    return np.maximum(_norm(curvature.mu, method), _norm(curvature.L, method))[()]
