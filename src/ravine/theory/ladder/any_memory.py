"""Rates of linear methods of any memory on random mini-batches, by one common argument.

In a direction of mean curvature λ, the loop ξ⁺ = A ξ + B u, y = C ξ with u = h y has the matrix A_λ
= A + λ B C, and its second moments are mapped by

    X ↦ A_λ X A_λᵀ + w (C X Cᵀ) B Bᵀ,     w the variance of h,

a matrix on vec X that is quadratic in λ if w is. Its growth is the worst over all distributions of
independent batches (docs/theory.md). Each result is the largest value over λ in [mu, L] of a root:
of a growth z, of a batch size, or of a noise floor. The λ that attain a candidate value are
eigenvalues of a quadratic pencil. Between two neighbouring eigenvalues, either all λ have a larger
value or none: the midpoints decide, and the largest of them is the next candidate.

The loop is written in z - 1, A = I + D, so that the pole at 1, which matters for flat directions,
is a zero coefficient and not a difference of others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ravine.arguments import FloatArray, one_number
from ravine.curvature import Curvature
from ravine.linear_method import LinearMethod
from ravine.theory.ladder.batch_noise import BatchNoise

_ROUNDS = 60
"""Maximum number of candidates; convergence is quadratic, and four to eight are typical."""
_SETTLED = 1e-13
"""Relative rise of a candidate that ends the search."""
_SINGLE = "a LinearMethod takes one curvature and one batch size at a time"


class Loop:
    """The closed loop of a linear method for curvatures between mu and L, with random batches."""

    def __init__(
        self, curvature: Curvature, method: LinearMethod, noise: BatchNoise | None = None
    ) -> None:
        self.low, self.high = curvature.single(_SINGLE)
        self.D, self.B, self.C = _differences(method)
        self.outer = np.outer(self.B, self.C)
        A = np.eye(method.memory) + self.D
        self.square = _lifted(self.D)
        self.mixed = np.kron(A, self.outer) + np.kron(self.outer, A)
        self.kick = np.kron(self.B, self.B)
        self.seen = np.kron(self.C, self.C)
        self.rank_one = np.outer(self.kick, self.seen)
        # V(λ) = w0 + w1 λ + w2 λ²
        self.variance = (0.0, 0.0, 0.0)
        if noise is not None:
            known, share, least, most = (
                one_number(name, value, remedy=_SINGLE)
                for name, value in (
                    ("variance", noise.known), ("batch_size", noise.share),
                    ("mu_min", noise.least), ("L_max", noise.most),
                )
            )  # fmt: skip
            self.variance = (known - share * least * most, share * (least + most), -share)

    def spectral_radius(self) -> float:
        """Largest radius of A_λ over [mu, L]; for memory above 2, it may be attained inside."""

        def value(lam: float) -> float:
            return self._radius(lam) ** 2

        none = (0.0, 0.0, 0.0)
        return float(np.sqrt(self._largest(value, lambda z: self._crossings(z, none))))

    def growth(self) -> float:
        """Root of the largest mean-square growth over [mu, L]."""

        def value(lam: float) -> float:
            lift = _lifted(self._change(lam)) + self._at(self.variance, lam) * self.rank_one
            return float(np.abs(1.0 + np.linalg.eigvals(lift)).max())

        return float(np.sqrt(self._largest(value, lambda z: self._crossings(z, self.variance))))

    def stable_batch(self) -> float:
        """Largest V(λ) Var y(λ) over [mu, L], with V for single terms."""
        if self.spectral_radius() >= 1.0:
            return float("inf")

        def value(lam: float) -> float:
            return self._at(self.variance, lam) * self.variance_of_y(lam)

        def crossings(size: float) -> FloatArray:
            w0, w1, w2 = self.variance
            return self._crossings(1.0, (w0 / size, w1 / size, w2 / size))

        return max(self._largest(value, crossings), 0.0)

    def noise_floor(self, *, objective: bool) -> float:
        """Largest Var y/(1 - V Var y) over [mu, L], with the weight λ/2 for the objective."""
        if self.spectral_radius() >= 1.0 or self.growth() >= 1.0:
            return float("inf")

        def value(lam: float) -> float:
            single = self.variance_of_y(lam)
            floor = single / (1.0 - self._at(self.variance, lam) * single)
            return 0.5 * lam * floor if objective else floor

        def crossings(floor: float) -> FloatArray:
            w0, w1, w2 = self.variance
            weighted = (w0, w1 + 0.5 / floor, w2) if objective else (w0 + 1.0 / floor, w1, w2)
            return self._crossings(1.0, weighted)

        return self._largest(value, crossings)

    def variance_of_y(self, lam: float) -> float:
        """Stationary variance of y for unit noise; infinite if λ is not stable."""
        if self._radius(lam) >= 1.0:
            return float("inf")

        return float(self.seen @ np.linalg.solve(-_lifted(self._change(lam)), self.kick))

    def _change(self, lam: float) -> FloatArray:
        """A_λ - I."""
        return self.D + lam * self.outer

    def _radius(self, lam: float) -> float:
        return float(np.abs(1.0 + np.linalg.eigvals(self._change(lam))).max())

    @staticmethod
    def _at(coefficients: tuple[float, float, float], lam: float) -> float:
        w0, w1, w2 = coefficients
        return w0 + lam * (w1 + lam * w2)

    def _crossings(self, z: float, variance: tuple[float, float, float]) -> FloatArray:
        """The λ in (mu, L) at which the lifted matrix with this variance has the eigenvalue z."""
        from scipy.linalg import eigvals

        n = self.seen.size
        w0, w1, w2 = variance
        # In units of L, so that the three coefficients have similar sizes.
        L = self.high
        constant = (z - 1.0) * np.eye(n) - self.square - w0 * self.rank_one
        linear = -L * (self.mixed + w1 * self.rank_one)
        quadratic = -L * L * (1.0 + w2) * self.rank_one
        zero, one = np.zeros((n, n)), np.eye(n)
        first = np.block([[zero, one], [-constant, -linear]])
        roots = L * eigvals(first, np.block([[one, zero], [zero, quadratic]]))
        # Rounding splits a double root into a pair near the real axis.
        real = roots[np.abs(roots.imag) <= 1e-5 * np.abs(roots)].real
        return np.sort(real[(real > self.low) & (real < self.high)])

    def _largest(
        self, value: Callable[[float], float], crossings: Callable[[float], FloatArray]
    ) -> float:
        best = max(value(self.low), value(self.high))
        for _ in range(_ROUNDS):
            if not 0.0 < best < np.inf:
                break
            marks = np.concatenate([[self.low], crossings(best), [self.high]])
            top = max(value(lam) for lam in 0.5 * (marks[1:] + marks[:-1]))
            if not top > best * (1.0 + _SETTLED):
                break
            best = top

        return best


def _differences(method: LinearMethod) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(A - I, B, C) for a state of repeated differences."""
    after = np.polynomial.Polynomial([1.0, 1.0])
    above, below = (
        np.asarray(np.polynomial.Polynomial(side[::-1])(after).coef)[::-1]
        for side in (method.numerator, method.denominator)
    )
    D = np.eye(method.memory, k=-1)
    D[0] = -below[1:]
    D[0, -1] = 0.0
    B = np.zeros(method.memory)
    B[0] = 1.0
    C = np.zeros(method.memory)
    C[method.memory - above.size :] = -above
    return D, B, C


def _lifted(change: FloatArray) -> FloatArray:
    """A⊗A - I for A = I + ``change``."""
    one = np.eye(len(change))
    return np.asarray(np.kron(change, one) + np.kron(one, change) + np.kron(change, change))
