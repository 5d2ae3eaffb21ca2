"""Second moments of a finite sum under iid sampling, in the eigenvectors of its mean Hessian.

With H_b = Λ + Δ_b, Λ diagonal, a step maps E[s sᵀ] of s = (y - x*, x - x₋) by the mean, for each
pair of directions, and adds the sandwich N(X) = Σ_b w_b Δ_b X Δ_b of the block X = E[r rᵀ], which
acts like gradient noise. The slow part, the mean, is inverted exactly
(:mod:`ravine.theory.finite_sums.mean_problem`); the remaining iteration converges in a few
products, however close to 1 the growth is.

The moments of every step follow from those of the previous step, even if step size and momentum
change, and so do those of an average of iterates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.blocks import coupling
from ravine.theory.finite_sums.mean_problem import (
    GrowthSolution,
    MeanProblem,
    Step,
    advance,
    advance_moments,
    loop_radius,
    noise_loop,
    search_growth,
    search_growths,
)
from ravine.theory.finite_sums.positive_map import Deviations, Operator, fixed_point, symmetric

TOLERANCE = 1e-5
"""Default tolerance relative to 1 - λ, which separates a slow method from a diverging one."""
_PLANE_PAIRS = 1 << 16
"""Pairs of directions times methods that are processed together: 16 MB."""
_LOST = 1e30
"""Value of E‖y - x*‖² at which a curve ends: beyond any useful run, far below overflow."""


class SecondMoments:
    """A sum f = Σ_b w_b f_b of quadratics, in the eigenvectors of its mean Hessian.

    Parameters
    ----------
    eigenvalues
        Eigenvalues of the mean Hessian, shape (d,).
    deviations
        Δ_b in its eigenvectors, shape (k, d, d), or an object with the same interface.
    weights
        w_b, shape (k,). Default: equal. Not needed if ``deviations`` has weights.
    gradients
        z_b = ∇f_b(x*) in the same coordinates, shape (k, d). Default: zero.
    basis
        The eigenvectors as columns, in the original coordinates of the terms.
    """

    def __init__(
        self,
        eigenvalues: FloatArray,
        deviations: FloatArray | Deviations,
        weights: FloatArray | None = None,
        gradients: FloatArray | None = None,
        basis: FloatArray | None = None,
    ) -> None:
        d = eigenvalues.size
        if isinstance(deviations, np.ndarray):
            k = len(deviations)
            shares = np.full(k, 1.0 / k) if weights is None else weights
            deviations = Deviations(deviations, shares, float(np.abs(eigenvalues).max()))

        self.dimension = d
        self.eigenvalues = eigenvalues
        self.deviations: Deviations = deviations
        self.weights = deviations.weights
        self.gradients = np.zeros((len(self.weights), d)) if gradients is None else gradients
        self.basis = np.eye(d) if basis is None else basis

    @classmethod
    def of(
        cls,
        hessians: FloatArray,
        gradients: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> SecondMoments:
        """Second moments of terms given by their Hessians (k, d, d) and gradients at x* (k, d).

        Examples
        --------
        >>> moments = SecondMoments.of(np.array([[[1.0]], [[3.0]]]))
        >>> round(moments.growth(Method(0.5)), 9)  # the mean of (1 - 0.5 h)²
        0.25
        """
        k = len(hessians)
        shares = np.full(k, 1.0 / k) if weights is None else weights
        values, turn = np.linalg.eigh(np.tensordot(shares, hessians, axes=1))
        deviations = symmetric(turn.T @ hessians @ turn - np.diag(values))
        turned = None if gradients is None else gradients @ turn
        return cls(values, deviations, shares, turned, turn)

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of symmetric matrices (..., d, d)."""
        return self.deviations.sandwich(X) if self.deviations.largest > 0.0 else np.zeros(X.shape)

    def step(self, X: FloatArray, step: Step, noise: FloatArray | float = 0.0) -> FloatArray:
        """Moments (..., 2d, 2d) after an independent draw and additional gradient noise."""
        d = self.dimension
        gradient = self.sandwich(X[..., :d, :d]) + noise
        return advance_moments(X, self.eigenvalues, step, gradient)

    def operator(self, method: Method) -> Operator:
        """X ↦ mean_b A_b X A_bᵀ on moments (..., 2d, 2d)."""
        push = coupling(method.beta, method.gamma)
        step = Step(push, method.beta, 1.0 + method.gamma, method.alpha)
        return lambda X: self.step(symmetric(X), step)

    def restricted(self, kept: npt.ArrayLike) -> SecondMoments:
        """The same sum in some of the directions, given by their indices."""
        which = np.asarray(kept, dtype=np.intp)
        return SecondMoments(
            self.eigenvalues[which],
            self.deviations.restricted(which),
            gradients=self.gradients[:, which],
            basis=self.basis[:, which],
        )

    @cached_property
    def gradient_covariance(self) -> FloatArray:
        """S = Σ_b w_b z_b z_bᵀ."""
        return np.asarray((self.weights[:, None] * self.gradients).T @ self.gradients)

    @cached_property
    def third(self) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d): the coupling of the mean of a run to its noise."""
        if not self.gradients.any():
            return np.zeros((self.dimension,) * 3)

        return self.deviations.third(self.gradients)

    @cached_property
    def natural_step(self) -> float:
        """Smallest E[H]/E[H²] over directions: the step size that sampled curvature allows.

        1 over the largest eigenvalue of Λ^-½ E[H²] Λ^-½; at twice this step, SGD no longer
        converges in mean square in the worst direction.
        """
        lam = self.eigenvalues
        square = np.diag(lam**2) + self.sandwich(np.eye(lam.size))
        root = 1.0 / np.sqrt(lam)
        return float(1.0 / np.linalg.eigvalsh(root[:, None] * square * root[None, :])[-1])

    def mean_rate(self, method: Method) -> float:
        """Spectral radius with exact gradients, in closed form, accurate for double eigenvalues."""
        return float(self._mean(method).rate)

    def growth(self, method: Method, *, tolerance: float = TOLERANCE) -> float:
        """Growth of E‖s‖² per step: the spectral radius of X ↦ mean_b A_b X A_bᵀ.

        Accurate to ``tolerance`` times its distance from 1, if rounding allows; see :meth:`perron`.
        """
        return self.perron(method, tolerance=tolerance).value

    def perron(self, method: Method, *, tolerance: float = TOLERANCE) -> GrowthSolution:
        """The growth, the growing moments, and whether the search converged."""
        return search_growth(self._mean(method), self.deviations, tolerance=tolerance)

    def is_stable(self, method: Method) -> bool:
        """Whether the growth is below 1, by one evaluation at λ = 1."""
        return self.mean_rate(method) < 1.0 and self.strain(method) < 1.0

    def strain(self, method: Method) -> float:
        """Spectral radius of M ↦ N(κ(1)∘M): below 1 iff a stable mean is stable in mean square.

        It is proportional to the variance of the deviations.
        """
        kappa = self._mean(method).noise_response(1.0)
        return loop_radius(self.deviations, kappa, np.eye(self.dimension), 1e-4)[0]

    def shares(self, grown: GrowthSolution) -> FloatArray:
        """Share of each Δ_b in the growth due to deviations, before weighting; shape (k,).

        Measured with the growing moments X: the tr(X Δ_b X Δ_b) add up to tr(X N(X)).
        """
        X = grown.moments
        total = float(np.vdot(X, self.sandwich(X)))
        return self.deviations.traces(X, X) / total if total > 0.0 else np.zeros(len(self.weights))

    def stationary(self, method: Method) -> FloatArray | None:
        """Stationary E[(y - x*)(y - x*)ᵀ] due to the gradients at x*; None if it is not finite."""
        full = self.stationary_state(method)
        return None if full is None else full[: self.dimension, : self.dimension]

    def stationary_state(self, method: Method) -> FloatArray | None:
        """Stationary E[s sᵀ], shape (2d, 2d); None if it is not finite.

        The second moment of the gradients is M = S + N(X), and E rrᵀ = κ∘M with κ at λ = 1, so M =
        S + N(κ∘M) must be solved.
        """
        mean = self._mean(method)
        if mean.rate >= 1.0:
            return None

        d = self.dimension
        response = mean.stationary_response()
        M: FloatArray | None = self.gradient_covariance
        if self.deviations.largest > 0.0 and self.gradients.any():
            M = fixed_point(noise_loop(self.deviations, response[:d, :d]), self.gradient_covariance)
        if M is None:
            return None

        X = symmetric(response * np.tile(M, (2, 2)))
        return None if np.diag(X)[:d].min() < 0.0 else X

    def _mean(self, method: Method) -> MeanProblem:
        return MeanProblem(self.eigenvalues, method)


def growth_plane(moments: SecondMoments, method: Method) -> FloatArray:
    """Growth of E‖s‖² per step for many methods, in the shape of their parameters.

    Like :meth:`SecondMoments.growth`, with a fixed number of guesses and products: accurate to
    about 1e-3 for all but one in a hundred methods, and for all methods with up to four directions.
    It shows where the minima are.

    Examples
    --------
    >>> moments = SecondMoments.of(np.array([[[1.0]], [[3.0]]]))
    >>> growth_plane(moments, Method([0.1, 0.5])).round(4).tolist()
    [0.65, 0.25]
    """
    alpha, beta, gamma = np.broadcast_arrays(method.alpha, method.beta, method.gamma)
    out = np.empty(alpha.size)
    step = max(1, _PLANE_PAIRS // moments.dimension**2)
    for first in range(0, alpha.size, step):
        part = slice(first, first + step)
        some = Method(*(values.ravel()[part] for values in (alpha, beta, gamma)))
        mean = MeanProblem(moments.eigenvalues, some)
        out[part] = search_growths(mean, moments.deviations)

    return out.reshape(alpha.shape)


@dataclass(frozen=True, eq=False)
class Curve:
    """Means over all draws of P methods at the steps 0 to K, each of shape (P, K + 1).

    Attributes
    ----------
    distance
        E‖y - x*‖², infinite from where the curve ends.
    excess
        E f(y) - f*.
    average_distance, average_excess
        The same for the average of the iterates y from the given step on; NaN before it.
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

    With E g = Λ E r, and z_b, Δ_b the gradient at x* and the Hessian deviation of the drawn term::

        E[g gᵀ] = Λ X Λ + N(X) + S + C + Cᵀ,     C = Σ_b w_b Δ_b E[r] z_bᵀ

    C couples the mean of a run to its noise until the mean has decayed. For an average of iterates
    with the sum S_k, E[S_{k-1} s_kᵀ] = E[S_{k-1} s_{k-1}ᵀ] Āᵀ, because the draw of a step is
    independent of the past and its gradient at x* has zero mean. The distance and the excess need
    only the diagonal, so an average costs almost nothing.

    A change of the step size also changes the velocity, as in PyTorch, which stores the sum of
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
        First step whose iterate is part of the average, from 0 to K.

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
    # The diagonal of E (Σ r)² of the iterates so far, and of E (Σ r) s with the current state s.
    summed = np.zeros((P, d))
    with_state = np.zeros((P, 2 * d, 1))
    first = K + 1 if average_from is None else average_from
    lost = np.zeros(P, dtype=bool)
    limit = _LOST * max(float(start @ start), 1e-300)

    for k in range(K + 1):
        here = curves[: 4 if k >= first else 2, :, k]
        squares = [np.einsum("pii->pi", X)[:, :d]]
        if k >= first:
            added = np.concatenate([squares[0], np.einsum("pii->pi", X[:, :d, d:])], axis=1)
            summed = summed + 2.0 * with_state[:, :d, 0] + squares[0]
            with_state = with_state + added[:, :, None]
            squares.append(summed / (k - first + 1) ** 2)
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
        with_state = advance(with_state, lam, step)
        s = advance(s, lam, step)

    curves[:2, lost, k:] = np.inf
    return Curve(*curves)
