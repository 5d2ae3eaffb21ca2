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
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyval

from ravine.arguments import FloatArray, Real, one_number
from ravine.curvature import Curvature
from ravine.methods import LinearMethod
from ravine.theory.ladder.batch_noise import BatchNoise, batch_noise, check_batch_size
from ravine.theory.ladder.transfer import CircleTest, exact

_ROUNDS = 60
"""Maximum number of candidates; convergence is quadratic, and four to eight are typical."""
_SETTLED = 1e-13
"""Relative rise of a candidate that ends the search."""
_FLAT = 1e-6
"""Stands for an arbitrarily small mu, as a share of L."""
_NEXT_TO_ZERO = Fraction(1, 10**60)
"""The same in exact arithmetic."""
_NO_STEP = 1e-30
"""Share of a natural step below which no shorter one is tried."""
_BISECTIONS = 54
"""Bisections of an interval of width 2/512, down to the last digit of a number of size one."""
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
        self.variance = np.zeros(3)
        """V(λ) as a polynomial, the constant first."""
        if noise is not None:
            known, share, least, most = (
                one_number(name, value, remedy=_SINGLE) for name, value in noise.named.items()
            )
            self.variance += known - share * least * most, share * (least + most), -share

    def spectral_radius(self) -> float:
        """Largest radius of A_λ over [mu, L]; for memory above 2, it may be attained inside."""

        def value(lam: float) -> float:
            return self._radius(lam) ** 2

        return float(np.sqrt(self._largest(value, lambda z: self._crossings(z, np.zeros(3)))))

    def growth(self) -> float:
        """Root of the largest mean-square growth over [mu, L]."""

        def value(lam: float) -> float:
            lift = _lifted(self._change(lam)) + polyval(lam, self.variance) * self.rank_one
            return float(np.abs(1.0 + np.linalg.eigvals(lift)).max())

        return float(np.sqrt(self._largest(value, lambda z: self._crossings(z, self.variance))))

    def stable_batch(self) -> float:
        """Largest V(λ) Var y(λ) over [mu, L], with V for single terms."""
        if self.spectral_radius() >= 1.0:
            return float("inf")

        def value(lam: float) -> float:
            return float(polyval(lam, self.variance)) * self.variance_of_y(lam)

        size = self._largest(value, lambda size: self._crossings(1.0, self.variance / size))
        return max(size, 0.0)

    def noise_floor(self, *, objective: bool) -> float:
        """Largest Var y/(1 - V Var y) over [mu, L], with the weight λ/2 for the objective."""
        if self.spectral_radius() >= 1.0 or self.growth() >= 1.0:
            return float("inf")

        weight = np.array([0.0, 0.5, 0.0] if objective else [1.0, 0.0, 0.0])

        def value(lam: float) -> float:
            single = self.variance_of_y(lam)
            left = 1.0 - polyval(lam, self.variance) * single
            return float(polyval(lam, weight) * single / left)

        return self._largest(value, lambda top: self._crossings(1.0, self.variance + weight / top))

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

    def _crossings(self, z: float, variance: FloatArray) -> FloatArray:
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


def safe_factor(
    L: float, method: LinearMethod, batch_size: npt.ArrayLike | None, L_max: npt.ArrayLike | None
) -> float:
    """Largest factor below which every factor is safe, for every mu in (0, L].

    Both are bisected: in any order by the circle theorem at radius 1, in exact arithmetic for a mu
    next to zero; in mean square by the smallest stable batch. It is zero for a method that does not
    move downhill, or has another mode that does not fade.
    """
    above, below = exact(method.numerator), exact(method.denominator)
    below[-1] -= below.sum()  # the root at 1 is meant

    def holds_in_any_order(factor: float) -> bool:
        step = Fraction(float(factor)) * above
        return CircleTest(_NEXT_TO_ZERO * Fraction(L), Fraction(L), step, below).holds(1.0)

    # Towards λ = 0 the gradients add up: y moves by the residue at 1, as if without momentum.
    residue = float(above.sum()) / float(np.polyval(np.polyder(method.denominator), 1.0))
    if residue <= 0.0:
        return 0.0
    any_order = _largest_factor(holds_in_any_order, 1.0 / (L * residue))
    if batch_size is None or any_order == 0.0:
        return any_order

    size = float(check_batch_size(batch_size))
    curvature = Curvature(_FLAT * L, L)
    noise = batch_noise(curvature, L_max=L_max, mu_min=0.0)

    def holds(factor: float) -> bool:
        return Loop(curvature, method.scaled(factor), noise).stable_batch() < size

    flat = 2.0 * size / (residue * float(noise.most))
    return min(flat, _largest_factor(holds, flat))


def _largest_factor(holds: Callable[[float], bool], guess: float) -> float:
    """Where a condition that holds for small factors fails first; zero if it holds for none."""
    low = guess
    while not holds(low):
        low *= 0.5
        if low < _NO_STEP * guess:
            return 0.0
    while holds(1.1 * low):
        low *= 1.1

    return float(last_true(holds, np.float64(low), np.float64(1.1 * low)))


def last_true(holds: Callable[..., Any], low: Real, high: Real) -> Real:
    """Lower end of the change of a condition that holds at ``low`` and not at ``high``."""
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        inside = holds(middle)
        low, high = np.where(inside, middle, low)[()], np.where(inside, high, middle)[()]

    return low
