"""Where a finite sum without a common minimiser leaves the iterates: stationary second moments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, overflow_allowed, real
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import systems
from ravine.theory.finite_sums.mean_square import mean_square_growth
from ravine.theory.finite_sums.pairs import mean_resolvent, response
from ravine.theory.finite_sums.positive_map import Operator
from ravine.theory.finite_sums.rules import last_term_map
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.terms import Scalars, Terms, hessian_stack, one_method
from ravine.values import Value

_DENSE = 400
"""Unknowns up to which the linear system is written out: a hundredth of a second."""
_ZERO_MEAN = 1e-8
"""Mean of the gradients, over the largest, up to which it is rounding of a zero."""


@dataclass(frozen=True, eq=False, repr=False)
class StationaryCovariance(Value):
    """Stationary second moments about the minimiser x*; infinite where there are none.

    Attributes
    ----------
    full
        E[s sᵀ] of the state s = (y - x*, x - x₋), shape (2d, 2d).
    mean
        E[s], shape (2d,). Zero for iid sampling, for which ``full`` is the covariance.
    growth
        Mean-square growth per step of E‖s‖² without the gradients at x*; below 1 if stationary.
    excess
        E f(y) - f* = ½ tr(H E[(y - x*)(y - x*)ᵀ]), H the mean Hessian.
    """

    full: FloatArray
    mean: FloatArray
    growth: float
    excess: float

    @property
    def y(self) -> FloatArray:
        """E[(y - x*)(y - x*)ᵀ], shape (d, d)."""
        d = self.mean.size // 2
        return self.full[:d, :d]

    @property
    def velocity(self) -> FloatArray:
        """E[(x - x₋)(x - x₋)ᵀ], shape (d, d)."""
        d = self.mean.size // 2
        return self.full[d:, d:]

    @property
    def error(self) -> float:
        """E‖y - x*‖²."""
        return float(np.trace(self.y))


@overflow_allowed
def stationary_covariance(
    hessians: npt.ArrayLike,
    gradients: npt.ArrayLike,
    method: Method,
    *,
    sampling: Sampling | str = Sampling.IID,
) -> StationaryCovariance:
    """Stationary second moments of a method on quadratics f_b(x) = ½(x-x*)ᵀH_b(x-x*) + z_bᵀ(x-x*).

    The step is s⁺ = A_b s - alpha G z_b with G = [(1 + gamma) I; I]. For iid sampling b is
    independent of s and E s = 0, so that the terms which are linear in s vanish::

        X = mean_b A_b X A_bᵀ + alpha² mean_b (G z_b)(G z_b)ᵀ

    Without immediate repeat s and b depend on each other through the last term j. With
    m_j = E[s; j last], X_j = E[s sᵀ; j last] and a bar for the mean over the other terms::

        m_j = A_j m̄_j - alpha G z_j / n,            m̄_j = Σ_{i≠j} m_i / (n-1)
        X_j = A_j X̄_j A_jᵀ - alpha (A_j m̄_j (G z_j)ᵀ + transpose) + alpha² (G z_j)(G z_j)ᵀ / n

    Parameters
    ----------
    hessians
        Symmetric Hessians, shape (n, d, d), or (n, d) for terms that are all diagonal.
    gradients
        z_b = grad f_b(x*), shape (n, d), in the same coordinates. Their mean is zero: x* is the
        minimiser of the sum.
    method
        One method; any alpha, beta, gamma.
    sampling
        ``"iid"`` or ``"iid-no-repeat"``.

    Returns
    -------
    StationaryCovariance
        With ``y``, ``velocity``, ``full``, ``mean``, ``error`` = E‖y - x*‖² and ``excess`` =
        E f(y) - f*. All moments are infinite when the mean-square growth is 1 or more.

    Notes
    -----
    Independent draws are solved in the eigenvectors of the mean Hessian, where the slow part is
    inverted exactly; without repeat, GMRES is guided by it. Small problems, and independent draws
    of diagonal terms, are solved directly.

    Examples
    --------
    >>> left = stationary_covariance([[1.0], [1.0]], [[1.0], [-1.0]], Method(0.5))
    >>> round(left.error, 12), round(left.excess, 12)
    (0.333333333333, 0.166666666667)
    """
    rule = Sampling.parse(sampling)
    scalars = one_method(method)
    stack = hessian_stack(hessians)
    z = _checked_gradients(gradients, stack)
    n, d = z.shape
    # Equal Hessians may come with different gradients, so that every term stands for itself.
    terms = Terms(stack, np.ones(n), np.arange(n))
    lifted = terms if not terms.shared else replace(terms, hessians=stack[:, :, None] * np.eye(d))
    last_term = last_term_map(lifted, scalars, rule)
    if last_term is None and not rule.traits.independent:
        raise Refusal("sampling", "iid or iid-no-repeat", rule.value, "simulate the other orders")
    if not rule.traits.may_repeat and n < 2:
        raise Refusal("hessians", "two terms or more", "one", "use sampling='iid'")

    root = mean_square_growth(terms, scalars, rule)
    assert root is not None
    nothing = StationaryCovariance(
        np.full((2 * d, 2 * d), np.inf), np.full(2 * d, np.inf), root.value, np.inf
    )
    if root.value >= 1.0:
        return nothing

    whole = np.diag(stack.mean(axis=0)) if terms.shared else stack.mean(axis=0)
    if last_term is None:
        X = _shared(terms, z, method) if terms.shared else _independent(terms, z, method)
        if X is None:
            return nothing
        mean = np.zeros(2 * d)
    else:
        try:
            X, mean = _no_repeat(lifted, z, scalars, last_term)
        except np.linalg.LinAlgError:  # the growth is 1 to rounding, and was computed as less
            return nothing

    excess = float(0.5 * np.sum(whole * X[0]))
    return StationaryCovariance(_full(X), mean, root.value, excess)


def _checked_gradients(gradients: npt.ArrayLike, stack: FloatArray) -> FloatArray:
    remedy = "give grad f_b at the minimiser of the sum, one row for each Hessian"
    z = np.asarray(real("gradients", gradients, remedy=remedy))
    if z.shape != stack.shape[:2]:
        raise Refusal("gradients", f"of shape {stack.shape[:2]}", f"shape {z.shape}", remedy)

    mean = np.linalg.norm(z.mean(axis=0))
    size = np.linalg.norm(z, axis=1).max()
    if mean > _ZERO_MEAN * size:
        raise Refusal("gradients", "zero in the mean", f"a mean of norm {mean:.3g}", remedy)

    return np.asarray(z - z.mean(axis=0))


def _independent(terms: Terms, z: FloatArray, method: Method) -> FloatArray | None:
    """Moments under independent draws, in the eigenvectors of the mean Hessian and back."""
    moments = SecondMoments.of(terms.hessians, z)
    X = moments.stationary_state(method)
    return None if X is None else np.asarray(moments.basis @ X @ moments.basis.T)


def _shared(terms: Terms, z: FloatArray, method: Method) -> FloatArray:
    """Moments of diagonal terms: every pair of directions for itself.

    The gradients' second moment of a pair is M = S + C κ M, with C the covariance of the two
    curvatures and κ what unit noise leaves.
    """
    first = terms.hessians.mean(axis=0)
    away = terms.hessians - first
    C = away.T @ away / terms.n
    S = z.T @ z / terms.n
    kappa = response(first, method, 1.0)
    M = S / (1.0 - C * kappa[0])
    X = kappa * M
    return np.asarray(X[[0, 1, 3]])


def _no_repeat(
    terms: Terms, z: FloatArray, method: Scalars, last_term: Operator
) -> tuple[FloatArray, FloatArray]:
    """Moments and mean under iid sampling without repeat, by the lift over the last term."""
    n, d = z.shape
    A = systems(terms.hessians, *method)
    Gz = method.alpha * np.concatenate([(1.0 + method.gamma) * z, z], axis=1)

    def others(m: FloatArray) -> FloatArray:
        return np.asarray((m.sum(axis=-2, keepdims=True) - m) / (n - 1.0))

    m = _solve(lambda m: (A @ others(m)[..., None])[..., 0], -Gz / n)
    drift = (A @ others(m)[..., None])[..., 0]
    cross = drift[:, :, None] * Gz[:, None, :]
    both = Gz[:, :, None] * Gz[:, None, :] / n - cross - np.swapaxes(cross, 1, 2)
    right = np.stack([both[:, :d, :d], both[:, :d, d:], both[:, d:, d:]], axis=1)

    values, turn = np.linalg.eigh(terms.hessians.mean(axis=0))
    resolve = mean_resolvent(values, method, shares=np.full(n, 1.0 / n))

    def guide(B: FloatArray) -> FloatArray:
        """Roughly the solution: what the mean Hessian alone would answer."""
        return np.asarray(turn @ resolve.apply(1.0, turn.T @ B @ turn) @ turn.T)

    X = _solve(last_term, right, guide)
    return X.sum(axis=0), m.sum(axis=0)


def _solve(apply: Operator, right: FloatArray, guide: Operator | None = None) -> FloatArray:
    """Solve X = apply(X) + right; ``guide`` maps a right side to roughly its solution."""
    size = right.size
    shape = right.shape
    if size <= _DENSE:
        rows = apply(np.eye(size).reshape(size, *shape)).reshape(size, size)
        return np.asarray(np.linalg.solve(np.eye(size) - rows.T, right.ravel()).reshape(shape))

    from scipy.sparse.linalg import LinearOperator, gmres

    def operator(matvec: Operator) -> LinearOperator:
        return LinearOperator((size, size), matvec=matvec, dtype=np.float64)

    X, failed = gmres(
        operator(lambda v: v - apply(v.reshape(shape)).ravel()),
        right.ravel(),
        M=None if guide is None else operator(lambda v: guide(v.reshape(shape)).ravel()),
        rtol=1e-12,
        atol=0.0,
        restart=60,
        maxiter=20,
    )

    if failed:
        rule = "one whose growth keeps clear of 1"
        raise Refusal("method", rule, "moments that do not converge", "take a shorter step")

    return np.asarray(X).reshape(shape)


def _full(X: FloatArray) -> FloatArray:
    """The (2d, 2d) matrix of three blocks."""
    rr, rv, vv = X
    full = np.block([[rr, rv], [rv.T, vv]])
    return np.asarray(0.5 * (full + full.T))
