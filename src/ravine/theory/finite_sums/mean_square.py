"""Second moments of a given finite sum: how fast they grow, and where they settle.

The mean-square growth is the spectral radius of the operator on second moments. On a sum without a
common minimiser the iterates settle at stationary ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, overflow_allowed, real
from ravine.methods import LinearMethod, Method
from ravine.sampling import Sampling
from ravine.theory.blocks import moment_step, system
from ravine.theory.finite_sums.mean_problem import MeanProblem
from ravine.theory.finite_sums.positive_map import Operator, Sandwiches, perron, symmetric
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.terms import (
    Interval,
    Terms,
    exactly,
    hessian_stack,
    largest,
    one_method,
)
from ravine.values import Value

_TOLERANCE = 1e-9
"""Tolerance of an exact result, relative to 1 - growth."""
_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Share of the norm of a block below which a product is a rounding error of an exact zero."""
_NEAR = 1.001
"""Multiple of its radius at which the mean block is inverted to start the iteration."""
_EPOCH_STATES = 4096
"""Maximum number of multisets of visited terms for an exact average over an epoch: 12 terms."""
_EPOCH_FLOPS = 5e8
"""Maximum number of multiplications of one product with an epoch's operator: a second."""
_ZERO_MEAN = 1e-8
"""Relative size of the mean of the gradients that counts as a rounding error of zero."""


def mean_square_growth(
    terms: Terms, method: Method | LinearMethod, sampling: Sampling
) -> Interval | None:
    """Growth of E‖s‖² per step, or None if an epoch is too long for an exact average."""
    traits = sampling.traits
    if not traits.random or terms.counts.size == 1:
        return exactly(cyclic_growth(terms, method) ** 2)

    if traits.independent and isinstance(method, Method):
        if terms.shared:
            first = terms.weights @ terms.hessians
            variance = terms.weights @ (terms.hessians - first) ** 2
            return exactly(float(direction_growth(first, variance, method).max()))

        moments = SecondMoments.of(terms.hessians, weights=terms.weights)
        solution = moments.perron(method, tolerance=_TOLERANCE)
        # Near a double eigenvalue the search may stall; the code below separates the eigenvalues.
        if solution.settled:
            return exactly(solution.value)

    if terms.shared:
        growths = [mean_square_growth(alone, method, sampling) for alone in terms.directions()]
        known = [one for one in growths if one is not None]
        return largest(known) if len(known) == len(growths) else None

    if traits.by_epoch and not epoch_is_small(terms):
        return None

    A = system(terms.hessians, method)
    # If the next draw depends on the last term, there are separate moments for every last term.
    shape = A.shape[1:] if traits.may_repeat else A.shape
    if traits.by_epoch:
        apply = epoch_map(A, terms, lifted=not traits.may_repeat)
    elif traits.independent:
        apply = Sandwiches(A, terms.weights).sandwich
    else:
        apply = last_term_map(A, terms)

    mean = np.tensordot(terms.weights, A, axes=1)
    growth, _ = perron(apply, shape, start=lambda: _slow_moments(mean))
    return Interval(*(number ** (1.0 / terms.n if traits.by_epoch else 1.0) for number in growth))


def _slow_moments(mean: FloatArray) -> FloatArray:
    """Positive definite moments, mainly along the slowest directions of the mean block.

    If the terms differ little, this is close to the eigenvector.
    """
    from scipy.linalg import solve_discrete_lyapunov

    radius = float(np.abs(np.linalg.eigvals(mean)).max())
    if radius == 0.0:
        return np.eye(len(mean))

    return np.asarray(solve_discrete_lyapunov(mean / (_NEAR * radius), np.eye(len(mean))))


def direction_growth(eigenvalue: FloatArray, variance: FloatArray, method: Method) -> FloatArray:
    """Growth of E‖s‖² in one direction, from the mean and the variance of its curvature.

    All arguments broadcast.
    """
    T = moment_step(eigenvalue, variance, method)
    return np.asarray(np.abs(np.linalg.eigvals(T)).max(axis=-1))


def cyclic_growth(terms: Terms, method: Method | LinearMethod) -> float:
    """Growth of the norm per step if the terms are visited cyclically."""
    A = system(terms.blocks, method)
    norms = np.linalg.norm(A, axis=(2, 3))
    product = np.broadcast_to(np.eye(A.shape[-1]), A.shape[1:])
    log_scale = np.zeros(len(product))
    for b in terms.order:
        product = A[b] @ product
        size = np.linalg.norm(product, axis=(1, 2))
        # The remainder of an exact zero is a rounding error.
        size = np.where(size > _ROUNDING * norms[b], size, 0.0)
        product = product * np.where(size > 0.0, 1.0 / np.maximum(size, 1e-300), 0.0)[:, None, None]
        log_scale += np.log(np.where(size > 0.0, size, 1.0))

    radius = np.abs(np.linalg.eigvals(product)).max(axis=-1)
    rate = np.exp(log_scale / terms.n) * radius ** (1.0 / terms.n)
    return float(rate.max())


def last_term_map(A: FloatArray, terms: Terms) -> Operator:
    """Markov-jump lift: X_j, the moment on the event that j was last, from the sum over i ≠ j.

    Equal terms share one X_j, the sum of theirs. ``A`` contains the blocks, shape (m, 2d, 2d).
    """
    counts = terms.counts[:, None, None]

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        entering = (counts * X.sum(axis=-3, keepdims=True) - X) / (terms.n - 1.0)
        return np.asarray(A @ entering @ np.swapaxes(A, -1, -2))

    return apply


def epoch_is_small(terms: Terms) -> bool:
    """Whether there are few enough multisets to average over all orders of an epoch."""
    # A product of Python integers cannot overflow.
    states = math.prod(int(count) + 1 for count in terms.counts)
    if states > _EPOCH_STATES:
        return False

    d = terms.hessians.shape[-1]
    return bool(states * terms.counts.size * 6.0 * d**3 <= _EPOCH_FLOPS)


def epoch_map(A: FloatArray, terms: Terms, *, lifted: bool) -> Operator:
    """Mean of P X Pᵀ over the orders of an epoch, by the multiset of visited terms.

    If lifted, an epoch must not begin with the term that ended the last one, and there are separate
    moments for every last term, as in the lift of iid sampling without repeat.
    """
    n = terms.n
    counts = terms.counts.astype(int)
    visited = np.stack([grid.ravel() for grid in np.indices(tuple(counts + 1))], axis=1)
    strides = np.array([math.prod(counts[c + 1 :] + 1) for c in range(counts.size)])
    size = visited.sum(axis=1)

    # The visits of an epoch in order: the term, the states, the probability.
    visits = []
    for layer in range(1, n + 1):
        for c in range(counts.size):
            rows = np.flatnonzero((size == layer) & (visited[:, c] > 0))
            chance = (counts[c] - visited[rows, c] + 1.0) / (n - layer + 1.0)
            visits.append((layer, c, rows, chance))

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        one = X[..., 0, :, :] if lifted else X
        Z = np.zeros((len(visited), *one.shape))
        Z[0] = one
        last = np.zeros_like(X)
        for layer, c, rows, chance in visits:
            came = Z[rows - strides[c]] * chance.reshape(-1, *[1] * one.ndim)
            if lifted and layer == 1:
                came = ((counts[c] * X.sum(axis=-3) - X[..., c, :, :]) / (n - 1.0))[None]
            moved = _sandwich(came, A[c])
            Z[rows] += moved
            if lifted and layer == n and rows.size:
                last[..., c, :, :] = moved[0]

        return last if lifted else Z[-1]

    return apply


def _sandwich(X: FloatArray, A: FloatArray) -> FloatArray:
    """A X Aᵀ of symmetric matrices (..., s, s), as two products with one tall matrix."""
    half = (X.reshape(-1, len(A)) @ A.T).reshape(X.shape)
    return np.asarray((np.swapaxes(half, -1, -2).reshape(-1, len(A)) @ A.T).reshape(X.shape))


@dataclass(frozen=True, eq=False, repr=False)
class StationaryCovariance(Value):
    """Stationary second moments about the minimiser x*; infinite if there are none.

    Attributes
    ----------
    full
        E[s sᵀ] of the state s = (y - x*, x - x₋), shape (2d, 2d); its mean is zero.
    growth
        Growth of E‖s‖² per step without the gradients at x*; below 1 if a stationary state exists.
    excess
        E f(y) - f* = ½ tr(H E[(y - x*)(y - x*)ᵀ]), H the mean Hessian.
    """

    full: FloatArray
    growth: float
    excess: float

    @property
    def y(self) -> FloatArray:
        """E[(y - x*)(y - x*)ᵀ], shape (d, d)."""
        d = len(self.full) // 2
        return self.full[:d, :d]

    @property
    def velocity(self) -> FloatArray:
        """E[(x - x₋)(x - x₋)ᵀ], shape (d, d)."""
        d = len(self.full) // 2
        return self.full[d:, d:]

    @property
    def error(self) -> float:
        """E‖y - x*‖²."""
        return float(np.trace(self.y))


@overflow_allowed
def stationary_covariance(
    hessians: npt.ArrayLike, gradients: npt.ArrayLike, method: Method
) -> StationaryCovariance:
    """Stationary second moments of a method on quadratics f_b(x) = ½(x-x*)ᵀH_b(x-x*) + z_bᵀ(x-x*).

    Terms are drawn independently. The step is s⁺ = A_b s - alpha G z_b with G = [(1 + gamma) I; I],
    and E s = 0, so terms linear in s vanish::

        X = mean_b A_b X A_bᵀ + alpha² mean_b (G z_b)(G z_b)ᵀ

    It is solved in the eigenvectors of the mean Hessian.

    Parameters
    ----------
    hessians
        Symmetric Hessians, shape (n, d, d), or (n, d) for terms that are all diagonal.
    gradients
        z_b = grad f_b(x*), shape (n, d), in the same coordinates. Their mean is zero: x* is the
        minimiser of the sum.
    method
        One method; any alpha, beta, gamma.

    Returns
    -------
    StationaryCovariance
        With ``y``, ``velocity``, ``full``, ``error`` = E‖y - x*‖² and ``excess`` = E f(y) - f*. All
        moments are infinite if the mean-square growth is 1 or more.

    Examples
    --------
    >>> left = stationary_covariance([[1.0], [1.0]], [[1.0], [-1.0]], Method(0.5))
    >>> round(left.error, 12), round(left.excess, 12)
    (0.333333333333, 0.166666666667)
    """
    one = one_method(method)
    stack = hessian_stack(hessians)
    remedy = "give grad f_b at the minimiser of the sum, one row for each Hessian"
    z = np.asarray(real("gradients", gradients, remedy=remedy))
    if z.shape != stack.shape[:2]:
        raise Refusal("gradients", f"of shape {stack.shape[:2]}", f"shape {z.shape}", remedy)

    mean = np.linalg.norm(z.mean(axis=0))
    if mean > _ZERO_MEAN * np.linalg.norm(z, axis=1).max():
        raise Refusal("gradients", "zero in the mean", f"a mean of norm {mean:.3g}", remedy)

    z = z - z.mean(axis=0)
    n, d = z.shape
    # Equal Hessians may have different gradients, so every term is kept.
    terms = Terms(stack, np.ones(n), np.arange(n))
    root = mean_square_growth(terms, one, Sampling.IID)
    assert root is not None
    full = None
    if root.value < 1.0 and terms.shared:
        full = _shared(terms, z, one)
    elif root.value < 1.0:
        moments = SecondMoments.of(terms.hessians, z)
        full = moments.stationary_state(one)
    if full is None:
        return StationaryCovariance(np.full((2 * d, 2 * d), np.inf), root.value, np.inf)

    if not terms.shared:  # back from the eigenvectors of the mean Hessian
        turn = np.kron(np.eye(2), moments.basis)
        full = symmetric(turn @ full @ turn.T)
    whole = np.diag(stack.mean(axis=0)) if terms.shared else stack.mean(axis=0)
    excess = float(0.5 * np.sum(whole * full[:d, :d]))
    return StationaryCovariance(full, root.value, excess)


def _shared(terms: Terms, z: FloatArray, method: Method) -> FloatArray:
    """Moments of diagonal terms, separately for every pair of directions.

    The second moment of the gradients of a pair is M = S + C κ M, with C the covariance of the two
    curvatures and κ the stationary moment for unit noise.
    """
    first = terms.hessians.mean(axis=0)
    away = terms.hessians - first
    C = away.T @ away / terms.n
    S = z.T @ z / terms.n
    response = MeanProblem(first, method).stationary_response()
    d = first.size
    M = S / (1.0 - C * response[:d, :d])
    return symmetric(response * np.tile(M, (2, 2)))
