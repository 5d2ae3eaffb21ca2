"""Where a finite sum without a common minimiser leaves the iterates: stationary second moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, real
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.mean_square import (
    Operator,
    iid_operator,
    mean_square_growth,
    no_repeat_operator,
)
from ravine.theory.finite_sums.terms import Scalars, Terms, blocks, hessian_stack, one_method

_DENSE = 400


@dataclass(frozen=True, eq=False)
class StationaryCovariance:
    """Stationary second moments about the minimiser x*; infinite where there are none.

    Attributes
    ----------
    full
        E[s sᵀ] of the state s = (y - x*, x - x₋), shape (2d, 2d).
    mean
        E[s], shape (2d,). Zero for iid sampling, for which ``full`` is the covariance.
    growth
        Mean-square growth per step of E‖s‖² without the gradients at x*; below 1 if stationary.
    """

    full: FloatArray
    mean: FloatArray
    growth: float

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
        With ``y``, ``velocity``, ``full``, ``mean`` and ``error`` = E‖y - x*‖². All moments are
        infinite when the mean-square growth is 1 or more.

    Notes
    -----
    Solved by GMRES with products of about 2 n d³ multiplications (iid) or 3 n d³ (no repeat); small
    problems, and iid sampling of diagonal terms, directly.

    Examples
    --------
    >>> found = stationary_covariance([[1.0], [1.0]], [[1.0], [-1.0]], Method(0.5))
    >>> round(found.error, 12)
    0.333333333333
    """
    rule, by = Sampling.parse(sampling), one_method(method)
    stack = hessian_stack(hessians)
    z = _checked_gradients(gradients, stack)
    if rule not in (Sampling.IID, Sampling.IID_NO_REPEAT):
        raise Refusal("sampling", "iid or iid-no-repeat", rule.value, "simulate the other orders")
    n, d = z.shape
    if rule is Sampling.IID_NO_REPEAT and n < 2:
        raise Refusal("hessians", "two terms or more", "one", "use sampling='iid'")
    # Equal Hessians may come with different gradients, so that every term stands for itself.
    terms = Terms(stack, np.ones(n), np.arange(n))
    rate = mean_square_growth(terms, by, rule)
    assert rate is not None
    if rate >= 1.0:
        return StationaryCovariance(np.full((2 * d, 2 * d), np.inf), np.full(2 * d, np.inf), rate)
    if rule is Sampling.IID:
        X = _iid(terms, z, by)
        return StationaryCovariance(_full(X), np.zeros(2 * d), rate)
    dense = terms if not terms.shared else Terms(stack[:, :, None] * np.eye(d), *_each(n))
    X, mean = _no_repeat(dense, z, by)
    return StationaryCovariance(_full(X), mean, rate)


def _each(n: int) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    return np.ones(n), np.arange(n)


def _checked_gradients(gradients: npt.ArrayLike, stack: FloatArray) -> FloatArray:
    remedy = "give grad f_b at the minimiser of the sum, one row for each Hessian"
    z = np.asarray(real("gradients", gradients, remedy=remedy))
    if z.shape != stack.shape[:2]:
        raise Refusal("gradients", f"of shape {stack.shape[:2]}", f"shape {z.shape}", remedy)
    mean, size = np.linalg.norm(z.mean(axis=0)), np.linalg.norm(z, axis=1).max()
    if mean > 1e-8 * size:
        raise Refusal("gradients", "zero in the mean", f"a mean of norm {mean:.3g}", remedy)
    return np.asarray(z - z.mean(axis=0))


def _noise(z: FloatArray, by: Scalars) -> FloatArray:
    """Blocks of alpha² (G z)(G z)ᵀ, shape (..., 3, d, d)."""
    g = 1.0 + by.gamma
    outer = by.alpha**2 * z[..., :, None] * z[..., None, :]
    return np.stack([g**2 * outer, g * outer, outer], axis=-3)


def _iid(terms: Terms, z: FloatArray, by: Scalars) -> FloatArray:
    C = _noise(z, by).mean(axis=0)
    if not terms.shared:
        return _solve(iid_operator(terms, by), C)
    # Diagonal terms: every pair of directions is a system of four equations of its own.
    first = terms.hessians.mean(axis=0)
    second = terms.hessians.T @ terms.hessians / terms.n
    d = first.size
    T = np.empty((d, d, 4, 4))
    for column in range(4):
        unit = np.zeros((4, d, d))
        unit[column] = 1.0
        T[..., column] = np.moveaxis(_pairs(unit, first, second, by), 0, -1)
    right = np.stack([C[0], C[1], C[1].T, C[2]], axis=-1)
    found = np.linalg.solve(np.eye(4) - T, right[..., None])[..., 0]
    return np.stack([found[..., 0], found[..., 1], found[..., 3]])


def _pairs(X: FloatArray, first: FloatArray, second: FloatArray, by: Scalars) -> FloatArray:
    """One iid step of (E r_i r_j, E r_i v_j, E v_i r_j, E v_i v_j), elementwise in i, j."""
    rr, rv, vr, vv = X
    a, b, g, c = by.alpha, by.beta, 1.0 + by.gamma, by.c
    left, right, both = a * first[:, None], a * first[None, :], a**2 * second
    kept = 1.0 - g * left - g * right + g**2 * both
    return np.stack(
        [
            kept * rr + c * (1 - g * left) * rv + c * (1 - g * right) * vr + c**2 * vv,
            (g * both - right) * rr + b * (1 - g * left) * rv - c * right * vr + b * c * vv,
            (g * both - left) * rr - c * left * rv + b * (1 - g * right) * vr + b * c * vv,
            both * rr - b * left * rv - b * right * vr + b**2 * vv,
        ]
    )


def _no_repeat(terms: Terms, z: FloatArray, by: Scalars) -> tuple[FloatArray, FloatArray]:
    """Moments and mean under iid sampling without repeat, by the lift over the last term."""
    n, d = z.shape
    A = blocks(terms.hessians, by)
    Gz = by.alpha * np.concatenate([(1.0 + by.gamma) * z, z], axis=1)

    def others(m: FloatArray) -> FloatArray:
        return np.asarray((m.sum(axis=-2, keepdims=True) - m) / (n - 1.0))

    m = _solve(lambda m: (A @ others(m)[..., None])[..., 0], -Gz / n)
    drift = (A @ others(m)[..., None])[..., 0]
    cross = drift[:, :, None] * Gz[:, None, :]
    cross = cross + np.swapaxes(cross, 1, 2)
    linear = np.stack([cross[:, :d, :d], cross[:, :d, d:], cross[:, d:, d:]], axis=1)
    X = _solve(no_repeat_operator(terms, by), _noise(z, by) / n - linear)
    return X.sum(axis=0), m.sum(axis=0)


def _solve(apply: Operator | Callable[[FloatArray], FloatArray], right: FloatArray) -> FloatArray:
    """Solve X = apply(X) + right."""
    size, shape = right.size, right.shape
    if size <= _DENSE:
        rows = apply(np.eye(size).reshape(size, *shape)).reshape(size, size)
        return np.asarray(np.linalg.solve(np.eye(size) - rows.T, right.ravel()).reshape(shape))
    from scipy.sparse.linalg import LinearOperator, gmres

    operator = LinearOperator(
        (size, size), matvec=lambda v: v - apply(v.reshape(shape)).ravel(), dtype=np.float64
    )
    X, failed = gmres(operator, right.ravel(), rtol=1e-12, atol=0.0, restart=60, maxiter=200)
    if failed:
        raise ArithmeticError("the stationary moments did not converge: the growth is close to 1")
    return np.asarray(X).reshape(shape)


def _full(X: FloatArray) -> FloatArray:
    """The (2d, 2d) matrix of three blocks."""
    rr, rv, vv = X
    full = np.block([[rr, rv], [rv.T, vv]])
    return np.asarray(0.5 * (full + full.T))
