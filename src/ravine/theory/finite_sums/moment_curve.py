"""Exact mean squared distance and mean excess of the objective, step by step, under a schedule.

On quadratics with independent draws the second moments of every step follow from those of the step
before, also while step size and momentum change, and with them those of an average of iterates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.blocks import coupling
from ravine.theory.finite_sums.mean_problem import Step, advance
from ravine.theory.finite_sums.positive_map import symmetric
from ravine.theory.finite_sums.second_moments import SecondMoments

_LOST = 1e30
"""Growth of E‖y - x*‖² at which a curve is given up: far beyond any run, far below overflow."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Means over all draws of P methods at the steps 0 to K, each of shape (P, K + 1).

    Attributes
    ----------
    distance
        E‖y - x*‖², infinite once it is lost.
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
    method: Method,
    lr: FloatArray,
    start: FloatArray,
    *,
    average_from: int | None = None,
) -> Curve:
    """Exact second moments of the iterates, step by step, under independent draws.

    With E g = Λ E r, and z_b, Δ_b the gradient at x* and the deviation of the Hessian drawn::

        E[g gᵀ] = Λ X Λ + N(X) + S + C + Cᵀ,     C = Σ_b w_b Δ_b E[r] z_bᵀ

    C couples the mean of a run to its noise until the mean has decayed. For an average of iterates,
    with S_k their sum, E[S_{k-1} s_kᵀ] = E[S_{k-1} s_{k-1}ᵀ] Āᵀ: the draw of a step is independent
    of the past, and its gradient at x* is zero in the mean. Only the diagonal of these enters the
    distance and the excess, so that an average costs next to nothing.

    A change of the step size changes the velocity with it, as in PyTorch, which keeps the sum of
    gradients and multiplies it by the current learning rate.

    Parameters
    ----------
    moments
        The sum, in the eigenvectors of its mean Hessian.
    method
        P methods: beta and gamma of shape (P,); alpha is not used.
    lr
        Step size of each step, shape (P, K).
    start
        y_0 - x* in the eigenvectors, shape (d,); the velocity is zero.
    average_from
        First step whose iterate enters the average, from 0 to K.

    Examples
    --------
    >>> moments = SecondMoments.of(np.array([[[1.0]], [[3.0]]]))
    >>> curve = moment_curve(moments, Method([0.5]), np.full((1, 2), 0.5), np.ones(1))
    >>> curve.distance.round(6).tolist(), curve.excess.round(6).tolist()
    ([[1.0, 0.25, 0.0625]], [[1.0, 0.25, 0.0625]])
    """
    beta, gamma = (np.reshape(value, (-1, 1, 1)) for value in (method.beta, method.gamma))
    P, K = lr.shape
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

    for k in range(K + 1):
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
        if k == K or lost.all():
            break

        before = lr[:, max(k - 1, 0)]
        kept = np.divide(lr[:, k], before, out=np.ones(P), where=before > 0.0)[:, None, None]
        step = Step(kept * coupling(beta, gamma), kept * beta, 1.0 + gamma, lr[:, k, None, None])
        C = (s[:, :d, 0] @ third).reshape(P, d, d)
        X = symmetric(moments.step(X, step, S + C + np.swapaxes(C, 1, 2)))
        average.with_state = advance(average.with_state, lam, step)
        s = advance(s, lam, step)

    curves[:2, lost, k:] = np.inf
    return Curve(*curves)


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
