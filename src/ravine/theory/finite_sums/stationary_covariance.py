"""Stationary second moments of the iterates on a finite sum without a common minimiser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, overflow_allowed, real
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.mean_problem import MeanProblem
from ravine.theory.finite_sums.mean_square import mean_square_growth
from ravine.theory.finite_sums.positive_map import symmetric
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.terms import Terms, hessian_stack, one_method
from ravine.values import Value

_ZERO_MEAN = 1e-8
"""Relative size of the mean of the gradients that counts as a rounding error of zero."""


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
    z = _checked_gradients(gradients, stack)
    n, d = z.shape
    # Equal Hessians may have different gradients, so every term is kept.
    terms = Terms(stack, np.ones(n), np.arange(n))
    root = mean_square_growth(terms, one, Sampling.IID)
    assert root is not None
    full = None
    if root.value < 1.0:
        full = _shared(terms, z, method) if terms.shared else _independent(terms, z, method)
    if full is None:
        return StationaryCovariance(np.full((2 * d, 2 * d), np.inf), root.value, np.inf)

    whole = np.diag(stack.mean(axis=0)) if terms.shared else stack.mean(axis=0)
    excess = float(0.5 * np.sum(whole * full[:d, :d]))
    return StationaryCovariance(full, root.value, excess)


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
    if X is None:
        return None

    turn = np.kron(np.eye(2), moments.basis)
    return symmetric(turn @ X @ turn.T)


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
