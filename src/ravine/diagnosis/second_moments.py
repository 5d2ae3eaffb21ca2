"""Second moments of a finite sum under iid sampling, in the eigenvectors of its mean Hessian.

With H_b = Λ + Δ_b, Λ diagonal, a step moves E[s sᵀ] by what the mean does, entry by entry, plus
the sandwich N(X) = Σ_b w_b Δ_b X Δ_b of the block X = E[r rᵀ]: the one expensive part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.mean_square import advance
from ravine.theory.finite_sums.terms import Scalars, one_method
from ravine.theory.ladder.rates import block_radius

_CHUNK = 2**22
_POWERS = 12
_TOLERANCE = 1e-5
"""Of 1 - λ: what tells a slow method from a diverging one."""


@dataclass(frozen=True, eq=False)
class Perron:
    """The growth of E‖s‖² per step, the moments that grow, and who drives them.

    Attributes
    ----------
    value
        Spectral radius λ of X ↦ mean_b A_b X A_bᵀ.
    mean_value
        The same without the deviations: the squared spectral radius of the mean problem.
    moments
        E[r rᵀ] of the state that grows at this rate, of trace 1.
    weights
        V such that w_b tr(V Δ_b moments Δ_b) is the share of batch b in what the deviations add.
    slope
        -d log λ / d log of the sandwich: how much 1 % more disagreement adds to the growth.
    """

    value: float
    mean_value: float
    moments: FloatArray
    weights: FloatArray
    slope: float


_Root = tuple[float, float, FloatArray, FloatArray]
"""Growth, growth of the mean, κ there, and the eigenvector M."""


class SecondMoments:
    """A sum f = Σ_b w_b f_b of quadratics, seen from the eigenvectors of its mean Hessian.

    Parameters
    ----------
    eigenvalues
        Of the mean Hessian, shape (d,).
    deviations
        Δ_b in its eigenvectors, shape (k, d, d).
    weights
        w_b, shape (k,), adding up to 1, on average if they were drawn at random.
    gradients
        ∇f_b(x*) in the same coordinates, shape (k, d).
    """

    def __init__(
        self,
        eigenvalues: FloatArray,
        deviations: FloatArray,
        weights: FloatArray,
        gradients: FloatArray,
    ) -> None:
        self.eigenvalues = eigenvalues
        self.deviations = deviations
        self.weights = weights
        self.gradients = gradients
        d = eigenvalues.size
        self._factors = np.sqrt(weights)[:, None, None] * deviations
        if len(deviations) > d * (d + 1) // 2:
            # The sandwich is a quadratic form in the Δ_b: their principal components give the same.
            flat = self._factors.reshape(len(deviations), -1)
            _, size, directions = np.linalg.svd(flat, full_matrices=False)
            kept = size > 1e-15 * max(size[0], 1e-300)
            self._factors = (size[kept, None] * directions[kept]).reshape(-1, d, d)
        step = max(1, _CHUNK // (d * d))
        self._layers = [
            np.ascontiguousarray(np.swapaxes(self._factors[i : i + step], 0, 1))
            for i in range(0, len(self._factors), step)
        ]
        self._largest = float(np.abs(self._factors).max(initial=0.0))
        if self._largest <= 64 * np.finfo(float).eps * float(np.abs(eigenvalues).max()):
            self._layers, self._largest = [], 0.0  # the rounding of equal batches
        del self._factors
        self._roots: dict[Scalars, tuple[float, _Root]] = {}

    @property
    def dimension(self) -> int:
        """Number of directions."""
        return int(self.eigenvalues.size)

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of one symmetric matrix."""
        d = self.dimension
        total = np.zeros((d, d))
        # Laid out so that both products are plain matrix products of the whole stack.
        for part in self._layers:
            total += part.reshape(d, -1) @ (part.reshape(-1, d) @ X).reshape(d, -1).T
        return 0.5 * (total + total.T)

    def restricted(self, kept: FloatArray) -> SecondMoments:
        """The same sum seen in some of the directions only, given by their indices."""
        which = np.asarray(kept, dtype=np.intp)
        return SecondMoments(
            self.eigenvalues[which],
            self.deviations[:, which[:, None], which[None, :]],
            self.weights,
            self.gradients[:, which],
        )

    def growth(self, method: Method, *, tolerance: float = _TOLERANCE) -> float:
        """Growth of E‖s‖² per step: the spectral radius of X ↦ mean_b A_b X A_bᵀ."""
        return self._root(method, tolerance)[0]

    def is_stable(self, method: Method) -> bool:
        """Whether the growth is below 1, by one look at λ = 1."""
        if self._mean_rate(one_method(method)) >= 1.0:
            return False
        return self.strain(method) < 1.0

    def strain(self, method: Method) -> float:
        """Spectral radius of M ↦ N(κ(1)∘M): below 1 iff a stable mean stays stable in mean square.

        It scales with the disagreement; known more sharply the closer it is to 1.
        """
        response = _response(self._blocks(method), one_method(method), 1.0)
        return self._radius(response, np.eye(self.dimension), 1e-4, share=0.05)[0]

    def perron(self, method: Method, *, tolerance: float = _TOLERANCE) -> Perron:
        """Growth of E‖s‖² per step, with the moments that grow and the batches that drive them."""
        value, mean_value, response, M = self._root(method, tolerance)
        X = response * M
        X = X / np.trace(X)
        # The adjoint of M ↦ N(κ∘M) is V ↦ κ∘N(V).
        U = self._radius(response, np.eye(self.dimension), 1e-4, adjoint=True)[1]
        push = float(np.vdot(U, self.sandwich(X)))
        V = U / push if push > 0.0 else np.zeros_like(U)
        A, by = self._blocks(method), one_method(method)
        # The radius changes on the scale of the distance to the growth of the mean.
        share = 0.1 * (1.0 - mean_value / value)
        if share < 1e-10:
            return Perron(value, mean_value, X, V, 0.0)
        near = self._radius(_response(A, by, value * (1.0 + share)), M, 1e-4)[0]
        here = self._radius(response, M, 1e-4)[0]
        fall = math.log(here / near) / math.log1p(share) if near > 0.0 and here > 0.0 else np.inf
        return Perron(value, mean_value, X, V, 1.0 / fall if fall > 0.0 else 0.0)

    def _blocks(self, method: Method) -> FloatArray:
        by = one_method(method)
        g, h = 1.0 + by.gamma, by.alpha * self.eigenvalues
        A = np.empty((h.size, 2, 2))
        A[:, 0, 0], A[:, 0, 1], A[:, 1, 0], A[:, 1, 1] = 1.0 - g * h, by.c, -h, by.beta
        return A

    def _mean_rate(self, by: Scalars) -> float:
        """Spectral radius of the mean, in closed form: eigenvalues may be double."""
        alpha, beta, gamma = (np.float64(v) for v in by)
        return float(np.max(block_radius(self.eigenvalues, alpha, beta, gamma)))

    def _root(self, method: Method, tolerance: float) -> _Root:
        """Solve r(λ) = 1, r the spectral radius of M ↦ N(κ(λ)∘M), which falls with λ.

        An eigenvector X of the whole operator satisfies (λ - Φ₀) X = α² G Gᵀ ⊗ N(X₁₁), with Φ₀ the
        operator of the mean, diagonal in pairs of directions; κ is its answer in X₁₁.
        """
        A, by = self._blocks(method), one_method(method)
        known_root = self._roots.get(by)
        if known_root is not None and known_root[0] <= tolerance:
            return known_root[1]
        least = self._mean_rate(by) ** 2
        M = np.eye(self.dimension)
        size = self._largest * by.alpha
        low, high = -25.0, None  # of t = log(λ/least - 1)
        t = math.log(max(size, 1e-6)) if least > 0.0 else 0.0
        base = max(least, 1e-12)
        known: list[tuple[float, float]] = []
        for _ in range(60):
            value = base * (1.0 + math.exp(t))
            response = _response(A, by, value)
            margin = tolerance * max(abs(1.0 - value), 1e-12 * value)
            # A guess that is far off need not be judged sharply.
            doubt = 0.01 * abs(known[-1][1]) if known else 1e-2
            sharpness = min(1e-2, max(doubt, margin / (value - base)))
            radius, M = self._radius(response, M, sharpness)
            excess = math.log(radius) if radius > 0.0 else -1e3
            low, high = (t, high) if excess > 0.0 else (low, t)
            known.append((t, excess))
            move = excess
            if len(known) > 1 and known[-1][0] != known[-2][0]:
                slope = (known[-1][1] - known[-2][1]) / (known[-1][0] - known[-2][0])
                move = -excess / slope if -20.0 < slope < -0.05 else excess
            t_next = t + float(np.clip(move, -6.0, 6.0))
            if high is not None and not low < t_next < high:
                t_next = 0.5 * (low + high)
            change = base * abs(math.exp(t_next) - math.exp(t))
            t = t_next
            if change <= margin or t < -24.0:
                break
        found = (base * (1.0 + math.exp(t)), least, response, M)
        self._roots[by] = (tolerance, found)
        return found

    def _radius(
        self,
        response: FloatArray,
        M: FloatArray,
        tolerance: float,
        *,
        adjoint: bool = False,
        share: float = 0.0,
    ) -> tuple[float, FloatArray]:
        """Spectral radius and eigenvector of the positive map M ↦ N(κ∘M), or of its adjoint.

        To a relative ``tolerance``, or to a ``share`` of its distance from 1 if that is more.
        """
        radius, settled = 0.0, 0
        M = M / max(float(np.trace(M)), 1e-300)

        def move(M: FloatArray) -> FloatArray:
            if adjoint:
                return np.asarray(response * self.sandwich(M))
            return self.sandwich(response * M)

        for _ in range(_POWERS):
            moved = move(M)
            before, radius = radius, float(np.trace(moved))
            if radius <= 1e-300:
                return 0.0, M
            M = moved / radius
            sharp = max(tolerance * radius, share * abs(radius - 1.0))
            settled = settled + 1 if abs(radius - before) <= sharp else 0
            if settled == 2:
                return radius, M
        return _arnoldi(move, M, tolerance)

    def shares(self, found: Perron) -> FloatArray:
        """Share of each Δ_b in what the deviations add, before its weight; shape (k,)."""
        out = np.empty(len(self.deviations))
        step = max(1, _CHUNK // self.dimension**2)
        for first in range(0, len(out), step):
            part = self.deviations[first : first + step]
            moved = part @ found.moments @ part
            out[first : first + step] = np.einsum("kij,ji->k", moved, found.weights)
        return out

    def stationary(self, method: Method) -> FloatArray | None:
        """E[(y - x*)(y - x*)ᵀ] that the gradients at x* leave; None where it is not finite.

        The input M = α²(E[z zᵀ] + N(X)) of each pair of directions answers with X = κ∘M, κ from
        the 4×4 system of the pair: X = κ∘α²(S + N(X)) is left to solve.
        """
        from scipy.sparse.linalg import LinearOperator, gmres

        A = self._blocks(method)
        if self._mean_rate(one_method(method)) >= 1.0:
            return None
        response = _response(A, one_method(method), 1.0)
        d = self.dimension
        S = (self.weights[:, None] * self.gradients).T @ self.gradients

        def residual(v: FloatArray) -> FloatArray:
            M = v.reshape(d, d)
            return np.asarray((M - self.sandwich(response * M)).ravel())

        operator = LinearOperator((d * d, d * d), matvec=residual, dtype=np.float64)
        M, failed = gmres(operator, S.ravel(), rtol=1e-10, atol=0.0, restart=60, maxiter=20)
        if failed:
            return None
        X = response * np.asarray(M).reshape(d, d)
        return None if np.min(np.diag(X)) < 0.0 else 0.5 * (X + X.T)

    def curve(
        self, method: Method, start: FloatArray, steps: int, *, product_limit: int
    ) -> FloatArray:
        """E‖y_k - x*‖² for k = 0..steps from y_0 - x* = start; NaN beyond ``product_limit`` steps.

        The mean of the state decays by itself, and correlates with the gradients z_b through
        mean_b Δ_b E[r] z_bᵀ until it has.
        """
        by, lam = one_method(method), self.eigenvalues
        g, h = 1.0 + by.gamma, by.alpha * lam
        S = (self.weights[:, None] * self.gradients).T @ self.gradients
        r, v = start.copy(), np.zeros_like(start)
        X = np.zeros((3, r.size, r.size))
        X[0] = np.outer(r, r)
        out = np.full(steps + 1, np.nan)
        out[0] = np.trace(X[0])
        scale = np.array([g * g, g, 1.0])[:, None, None] * by.alpha**2
        for k in range(1, min(steps, product_limit) + 1):
            C = self._correlation(r)
            X = self._forward(X, by) + scale * (S + C + C.T)
            r, v = (1.0 - g * h) * r + by.c * v, by.beta * v - h * r
            out[k] = np.trace(X[0])
            if not out[k] < 1e30 * max(out[0], 1e-300):
                out[k:] = np.inf
                break
        return out

    @cached_property
    def _third(self) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d)."""
        d = self.dimension
        weighted = self.weights[:, None] * self.gradients
        return np.asarray(
            (self.deviations.reshape(len(weighted), -1).T @ weighted).reshape(d, d, d)
        )

    def _correlation(self, mean: FloatArray) -> FloatArray:
        return np.asarray(np.tensordot(self._third, mean, axes=([1], [0])))

    def _forward(self, X: FloatArray, by: Scalars) -> FloatArray:
        lam = self.eigenvalues
        X = X.copy()
        X[::2] = 0.5 * (X[::2] + np.swapaxes(X[::2], 1, 2))
        return advance(
            X,
            lam[:, None] * X[0],
            lam[:, None] * X[1],
            lam[:, None] * X[0] * lam[None, :] + self.sandwich(X[0]),
            by,
        )


def _arnoldi(
    move: Callable[[FloatArray], FloatArray], M: FloatArray, tolerance: float
) -> tuple[float, FloatArray]:
    """Largest eigenvalue of a positive map that powers are slow to settle on."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    d = len(M)

    def matvec(v: FloatArray) -> FloatArray:
        X = v.reshape(d, d)
        return move(0.5 * (X + X.T)).ravel()

    operator = LinearOperator((d * d, d * d), matvec=matvec, dtype=np.float64)
    asked = {"k": 1, "which": "LR", "v0": M.ravel(), "ncv": 12, "maxiter": 40}
    try:
        values, vectors = eigs(operator, tol=max(tolerance, 1e-10), **asked)
    except ArpackNoConvergence:
        moved = move(M)
        return float(np.trace(moved) / np.trace(M)), moved
    X = vectors[:, 0].real.reshape(d, d)
    X = 0.5 * (X + X.T)
    return float(np.abs(values[0])), X / np.trace(X)


def _response(A: FloatArray, by: Scalars, value: float) -> FloatArray:
    """κ_ij: what gradient noise α² G Gᵀ in the pair (i, j) leaves in E[r_i r_j] at growth λ."""
    g, d = 1.0 + by.gamma, len(A)
    pairs = np.einsum("iab,jcd->ijacbd", A, A).reshape(d, d, 4, 4)
    right = by.alpha**2 * np.array([g * g, g, g, 1.0])
    columns = np.broadcast_to(right[:, None], (d, d, 4, 1))
    found = np.linalg.solve(value * np.eye(4) - pairs, columns)
    return np.asarray(found[..., 0, 0])
