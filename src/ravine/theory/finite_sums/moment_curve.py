"""Exact mean squared distance and mean excess of the objective, step by step, under a schedule.

On quadratics with independent draws the second moments of every step follow from those of the step
before, also while step size and momentum change, and with them those of an average of iterates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.mean_problem import Step, advance
from ravine.theory.finite_sums.positive_map import symmetric
from ravine.theory.finite_sums.second_moments import SecondMoments

_LOST = 1e30
"""Growth of E‖y - x*‖² at which a curve is given up: far beyond any run, far below overflow."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Step size, momentum and look-ahead of each step, for one method or for several.

    Attributes
    ----------
    alpha, beta, gamma
        Parameters of the steps 1 to K, of one method or of P: they broadcast to (K,) or (P, K).
    lr_outside
        Whether a change of the step size changes the velocity with it. PyTorch keeps the sum of
        gradients, and multiplies it by the current learning rate (True); the method as it is
        written down keeps x - x₋ (False). Without changes both are the same.
    """

    alpha: npt.ArrayLike
    beta: npt.ArrayLike = 0.0
    gamma: npt.ArrayLike | None = None
    lr_outside: bool = False

    @property
    def parameters(self) -> list[FloatArray]:
        """Alpha, beta and gamma, each of shape (P, K); gamma is beta where it is not given."""
        gamma = self.beta if self.gamma is None else self.gamma
        together = np.broadcast_arrays(self.alpha, self.beta, gamma)
        return [np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in together]


@dataclass(frozen=True, eq=False)
class Curve:
    """Means over all draws, at the steps 0 to K; a leading axis for several methods.

    Attributes
    ----------
    distance
        E‖y - x*‖². NaN beyond the steps that were computed, infinite once it is lost.
    excess
        E f(y) - f*.
    average_distance, average_excess
        The same of the average of the iterates y from the step asked for on; NaN before it.
    """

    distance: FloatArray
    excess: FloatArray
    average_distance: FloatArray
    average_excess: FloatArray


def moment_curve(
    moments: SecondMoments,
    schedule: Schedule,
    start: FloatArray,
    *,
    average_from: int | None = None,
    products: int | None = None,
) -> Curve:
    """Exact second moments of the iterates, step by step, under independent draws.

    With E g = Λ E r, and z_b, Δ_b the gradient at x* and the deviation of the Hessian drawn::

        E[g gᵀ] = Λ X Λ + N(X) + S + C + Cᵀ,     C = Σ_b w_b Δ_b E[r] z_bᵀ

    C couples the mean of a run to its noise until the mean has decayed. For an average of iterates,
    with S_k their sum, E[S_{k-1} s_kᵀ] = E[S_{k-1} s_{k-1}ᵀ] Āᵀ: the draw of a step is independent
    of the past, and its gradient at x* is zero in the mean. Only the diagonal of these enters the
    distance and the excess, so that an average costs next to nothing.

    Parameters
    ----------
    moments
        The sum, in the eigenvectors of its mean Hessian.
    schedule
        Parameters of the steps; of several methods at once where they have a leading axis.
    start
        y_0 - x* in the eigenvectors, shape (d,); the velocity is zero.
    average_from
        First step whose iterate enters the average, from 0 to K.
    products
        Steps after which to stop; each takes one sandwich for each method.

    Examples
    --------
    >>> moments = SecondMoments.of(np.array([[[1.0]], [[3.0]]]))
    >>> curve = moment_curve(moments, Schedule([0.5, 0.5]), np.ones(1))
    >>> curve.distance.round(6).tolist(), curve.excess.round(6).tolist()
    ([1.0, 0.25, 0.0625], [1.0, 0.25, 0.0625])
    """
    single = np.ndim(schedule.alpha) == 1
    alpha, beta, gamma = schedule.parameters
    P, K = alpha.shape
    lam = moments.eigenvalues
    d = lam.size
    S = moments.gradient_covariance
    third = moments.third.transpose(1, 0, 2).reshape(d, d * d)

    s = np.zeros((P, 2 * d, 1))
    s[:, :d, 0] = start
    X = s * np.swapaxes(s, 1, 2)
    curves = np.full((4, P, K + 1), np.nan)
    average = _Average(P, d)
    first = K + 1 if average_from is None else average_from
    lost = np.zeros(P, dtype=bool)
    limit = _LOST * max(float(start @ start), 1e-300)
    last = K if products is None else min(K, products)

    for k in range(last + 1):
        here = curves[: 4 if k >= first else 2, :, k]
        squares = [np.einsum("pii->pi", X)[:, :d]]
        if k >= first:
            squares.append(average.taken(X) / (k - first + 1) ** 2)
        here[0::2] = [one.sum(axis=1) for one in squares]
        here[1::2] = [0.5 * one @ lam for one in squares]

        lost |= ~(here[0] < limit)
        here[:, lost] = np.inf
        X[lost] = 0.0
        s[lost] = 0.0
        if k == last or lost.all():
            break

        step = _step(alpha, beta, gamma, k, lr_outside=schedule.lr_outside)
        C = (s[:, :d, 0] @ third).reshape(P, d, d)
        X = symmetric(moments.step(X, step, S + C + np.swapaxes(C, 1, 2)))
        average.with_state = advance(average.with_state, lam, step)
        s = advance(s, lam, step)

    curves[:2, lost, k:] = np.inf
    return Curve(*(values[0] if single else values for values in curves))


def _step(
    alpha: FloatArray, beta: FloatArray, gamma: FloatArray, k: int, *, lr_outside: bool
) -> Step:
    """Coefficients of the step from k to k + 1, each of shape (P, 1, 1).

    y_{k+1} = x_{k+1} + gamma_{k+1} v_{k+1} with x_{k+1} = y_k - gamma_k v_k + v_{k+1}: the
    look-ahead of the next step enters. With the learning rate outside, the velocity that is left
    from the last step is first multiplied by alpha_k / alpha_{k-1}.
    """
    ahead = gamma[:, min(k + 1, gamma.shape[1] - 1)]
    kept = np.ones(len(alpha))
    if lr_outside and k > 0:
        before = alpha[:, k - 1]
        kept = np.divide(alpha[:, k], before, out=np.ones(len(alpha)), where=before > 0.0)

    coupling = np.where(
        (gamma[:, k] == beta[:, k]) & (ahead == gamma[:, k]),
        beta[:, k] ** 2,
        beta[:, k] * (1.0 + ahead) - gamma[:, k],
    )
    coefficients = kept * coupling, kept * beta[:, k], 1.0 + ahead, alpha[:, k]
    return Step(*(value[:, None, None] for value in coefficients))


class _Average:
    """Second moments of the sum of iterates, and its mixed ones with r and v, by direction."""

    def __init__(self, P: int, d: int) -> None:
        self.square = np.zeros((P, d))
        self.with_state = np.zeros((P, 2 * d, 1))

    def taken(self, X: FloatArray) -> FloatArray:
        """Add an iterate, whose moments are X, and return the squares of the sum."""
        d = self.square.shape[1]
        rr = np.einsum("pii->pi", X[:, :d, :d])
        rv = np.einsum("pii->pi", X[:, :d, d:])
        self.square = self.square + 2.0 * self.with_state[:, :d, 0] + rr
        self.with_state = self.with_state + np.concatenate([rr, rv], axis=1)[:, :, None]
        return self.square
