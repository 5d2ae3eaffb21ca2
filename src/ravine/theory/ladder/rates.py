"""Deterministic rungs of the ladder: spectral radius, stability, and the paper's contraction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ravine.arguments import Real, broadcast, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method
from ravine.theory.blocks import coupling, norms_of_entries
from ravine.theory.chunks import by_chunks
from ravine.theory.ladder.any_memory import Loop
from ravine.theory.ladder.mean_square_kernel import ROUNDING, block_numbers


def check_shapes(curvature: Curvature, method: Method) -> tuple[int, ...]:
    """Return the broadcast shape of a curvature and a method, or refuse."""
    return broadcast(mu=curvature.mu, L=curvature.L, **method.parameters)


def block_radius(eigenvalue: Real, alpha: Real, beta: Real, gamma: Real) -> Real:
    """Spectral radius of the block B(λ), from its trace and determinant.

    A discriminant below its rounding error counts as zero, that is, critical damping.
    """
    trace, determinant, gap, size = block_numbers(alpha * eigenvalue, 1.0, beta, gamma)
    least = ROUNDING * size
    root = np.sqrt(np.where(gap > least, gap, 0.0))
    complex_root = np.sqrt(np.maximum(determinant, 0.0))
    radius: Real = np.where(gap < -least, complex_root, 0.5 * (np.abs(trace) + root))
    return radius


def _norm(eigenvalue: Real, alpha: Real, beta: Real, gamma: Real) -> Real:
    h = alpha * eigenvalue
    return norms_of_entries(1.0 - h * (1.0 + gamma), coupling(beta, gamma), -h, beta)


@overflow_allowed
def spectral_radius(curvature: Curvature, method: Method | LinearMethod) -> Real:
    """Rate ρ of the method on deterministic quadratics, or under additive noise (Theorem 1).

    ρ = max(ρ_mu, ρ_L), with ρ_λ = (|t| + √(t² - 4d))/2 where t² >= 4d, else √d, for the trace
    t = 1 + beta - h(1 + gamma) and determinant d = beta - h gamma, h = alpha λ. For a fixed r the
    set of h with ρ_λ <= r is an interval, so the two ends of [mu, L] decide, for the whole family.

    Near critical damping (t² = 4d) the block has nearly a double eigenvalue, so the result is
    conditioned like a square root, and float64 allows a relative error of about 1e-8. A
    discriminant below its own rounding error counts as zero, so at the standard parameters of
    Nesterov's method and of heavy ball the rate is accurate to the last digits.

    For a ``LinearMethod`` it is the largest radius over all λ in [mu, L], for single values: with
    memory above 2 the worst λ may lie inside.

    Returns
    -------
    Growth per step of ‖y_k - x*‖; below 1 the method converges.

    Examples
    --------
    >>> from ravine import Curvature, Method
    >>> round(float(spectral_radius(Curvature(1, 4), Method(0.25, 0.25))), 6)
    0.648268
    """
    if isinstance(method, LinearMethod):
        return np.float64(Loop(curvature, method).spectral_radius())

    return _largest(block_radius, curvature, method)


@overflow_allowed
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
        determinant = method.beta - h * method.gamma
        flip = h * (1.0 + 2.0 * method.gamma) < 2.0 * (1.0 + method.beta)
        holds = holds & (h > 0.0) & flip & (np.abs(determinant) < 1.0)

    return holds


@overflow_allowed
def contraction(curvature: Curvature, method: Method) -> Real:
    """The paper's sufficient rate R: the largest norm ‖B(λ)‖ over λ in [mu, L] (Theorem 4).

    With F the squared Frobenius norm and d the determinant of B(λ), R_λ² = (F + √(F² - 4d²))/2. A
    norm of an affine function is convex, so the ends decide. R < 1 guarantees convergence on any
    finite sum in any order; R >= 1 decides nothing. :func:`ravine.worst_case_rate` is exact.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(contraction(c, nesterov(c))), 6)
    1.489381
    """
    return _largest(_norm, curvature, method)


def _largest(
    of_direction: Callable[[Real, Real, Real, Real], Real], curvature: Curvature, method: Method
) -> Real:
    """The larger of a formula's values at mu and at L, on a grid."""

    def formula(mu: Real, L: Real, *method: Real) -> tuple[Real]:
        return (np.maximum(of_direction(mu, *method), of_direction(L, *method)),)

    shape = check_shapes(curvature, method)
    (values,) = by_chunks(formula, shape, curvature.mu, curvature.L, *method.parameters.values())
    return values[()]
