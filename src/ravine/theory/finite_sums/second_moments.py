"""Second moments of a finite sum under iid sampling, in the eigenvectors of its mean Hessian.

With H_b = Λ + Δ_b, Λ diagonal, a step moves E[s sᵀ] of s = (y - x*, x - x₋) by what the mean does,
pair of directions by pair of directions, plus the sandwich N(X) = Σ_b w_b Δ_b X Δ_b of the block
X = E[r rᵀ], which enters as gradient noise does. The slow part, the mean, is inverted exactly
(:mod:`ravine.theory.finite_sums.pairs`); what is left to iterate on settles in a few products,
however close to 1 the growth is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.deadline import NEVER, Deadline
from ravine.theory.finite_sums.deviations import Deviations, MatrixDeviations, RowDeviations
from ravine.theory.finite_sums.growth_search import GrowthSolution, search_growth
from ravine.theory.finite_sums.noise_loop import NoiseLoop
from ravine.theory.finite_sums.pairs import response
from ravine.theory.finite_sums.positive_map import Root
from ravine.theory.finite_sums.terms import Scalars, one_method
from ravine.theory.ladder.rates import block_radius

TOLERANCE = 1e-5
"""Of 1 - λ, where nothing else is asked: enough to tell a slow method from a diverging one."""


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
        V such that w_b tr(V Δ_b moments Δ_b) is the share of term b in what the deviations add.
    slope
        -d log λ / d log of the sandwich: how much 1 % more disagreement adds to the growth.
    """

    value: float
    mean_value: float
    moments: FloatArray
    weights: FloatArray
    slope: float


class SecondMoments:
    """A sum f = Σ_b w_b f_b of quadratics, seen from the eigenvectors of its mean Hessian.

    Parameters
    ----------
    eigenvalues
        Of the mean Hessian, shape (d,).
    deviations
        Δ_b in its eigenvectors, shape (k, d, d), or something that acts like them.
    weights
        w_b, shape (k,), adding up to 1, on average if they were drawn at random. Left out where
        ``deviations`` has its own.
    gradients
        z_b = ∇f_b(x*) in the same coordinates, shape (k, d); zero if left out.
    basis
        The eigenvectors as columns, in the coordinates that the terms were given in.
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
            scale = float(np.abs(eigenvalues).max())
            deviations = MatrixDeviations(deviations, shares, scale)

        self.eigenvalues = eigenvalues
        self.spread: Deviations = deviations
        self.weights = deviations.weights
        self.gradients = np.zeros((len(self.weights), d)) if gradients is None else gradients
        self.basis = np.eye(d) if basis is None else basis
        self._loop = NoiseLoop(deviations)
        self._solutions: dict[Scalars, GrowthSolution] = {}

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
        turned = turn.T @ hessians @ turn - np.diag(values)
        deviations = 0.5 * (turned + np.swapaxes(turned, 1, 2))
        slopes = None if gradients is None else gradients @ turn
        return cls(values, deviations, shares, slopes, turn)

    @classmethod
    def recut(
        cls,
        roots: FloatArray,
        gradients: FloatArray | None,
        batch_size: int,
        *,
        shift: float = 0.0,
    ) -> SecondMoments:
        """Second moments of batches of rows that are cut anew, as a shuffled loader does.

        A batch of m out of n rows, drawn without replacement, has a mean Hessian and a mean
        gradient whose covariance is that of single rows times::

            (n - m) / (m (n - 1))

        (sampling from a finite population). Second moments need nothing else of a batch, so that
        rows with Δ_i and z_i times the root of this factor stand for all batches.

        The batches of different steps are taken to be independent. Within an epoch of n/m steps
        they are not: rows that came do not come again, so that two of its batches correlate by
        -1/(n/m - 1) of their variance. The relative error of what the noise adds is thus about
        min(memory, epoch)/epoch, with the memory 1/(1 - rate): O(m/n) for a method that forgets
        within a few steps. A slow method sees the noise of an epoch cancel, and its true floor is
        below the one given here.

        Parameters
        ----------
        roots
            R_i with H_i = R_iᵀ R_i + shift I, shape (n, q, d); one row (q = 1), the features times
            the root of the loss's curvature, for a model with one output.
        gradients
            ∇f_i(x*) of the single rows, shape (n, d), or None for zero.
        batch_size
            m, from 1 to n.
        shift
            What all Hessians share, the weight of an l2 penalty.

        Examples
        --------
        >>> rows = np.array([[[1.0]], [[2.0]], [[3.0]]])
        >>> whole = SecondMoments.recut(rows, None, 3)
        >>> round(whole.growth(Method(0.1)), 6)  # one batch of all rows: (1 - 0.1 * 14/3)²
        0.284444
        """
        n, _, d = roots.shape
        factor = 0.0 if n == 1 else (n - batch_size) / (batch_size * (n - 1.0))
        flat = roots.reshape(-1, d)
        values, turn = np.linalg.eigh(flat.T @ flat / n)
        spread = RowDeviations(roots @ turn, np.full(n, 1.0 / n), factor)
        slopes = None if gradients is None else math.sqrt(factor) * (gradients @ turn)
        return cls(values + shift, spread, gradients=slopes, basis=turn)

    @property
    def dimension(self) -> int:
        """Number of directions."""
        return int(self.eigenvalues.size)

    @property
    def deviations(self) -> FloatArray:
        """All Δ_b, shape (k, d, d)."""
        return self.spread.stack()

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of symmetric matrices (..., d, d)."""
        return self.spread.sandwich(X)

    def restricted(self, kept: npt.ArrayLike) -> SecondMoments:
        """The same sum seen in some of the directions only, given by their indices."""
        which = np.asarray(kept, dtype=np.intp)
        return SecondMoments(
            self.eigenvalues[which],
            self.spread.restricted(which),
            gradients=self.gradients[:, which],
            basis=self.basis[:, which],
        )

    @cached_property
    def gradient_covariance(self) -> FloatArray:
        """S = Σ_b w_b z_b z_bᵀ."""
        return np.asarray((self.weights[:, None] * self.gradients).T @ self.gradients)

    @cached_property
    def third(self) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d): what links the mean of a run to its noise."""
        if not self.gradients.any():
            return np.zeros((self.dimension,) * 3)

        return self.spread.third(self.gradients)

    @property
    def table(self) -> FloatArray:
        """The sandwich as a matrix on upper triangles, shape (D, D): N(X) = X @ table."""
        return self._loop.table

    @cached_property
    def natural_step(self) -> float:
        """Least E[H]/E[H²] over directions: the scale of the step that sampled curvature allows.

        1 over the largest eigenvalue of Λ^-½ E[H²] Λ^-½; at twice it SGD stops converging in mean
        square in the direction that decides.
        """
        lam = self.eigenvalues
        square = np.diag(lam**2) + self.sandwich(np.eye(lam.size))
        root = 1.0 / np.sqrt(lam)
        return float(1.0 / np.linalg.eigvalsh(root[:, None] * square * root[None, :])[-1])

    def mean_rate(self, method: Method) -> float:
        """Spectral radius with exact gradients, in closed form: eigenvalues may be double."""
        scalars = one_method(method)
        parameters = (np.float64(v) for v in scalars)
        return float(np.max(block_radius(self.eigenvalues, *parameters)))

    def growth(self, method: Method, *, tolerance: float = TOLERANCE) -> float:
        """Growth of E‖s‖² per step: the spectral radius of X ↦ mean_b A_b X A_bᵀ.

        To ``tolerance`` times its distance from 1.
        """
        return self._solved(method, tolerance, NEVER).root.value

    def sought_growth(self, method: Method, *, tolerance: float = TOLERANCE) -> float:
        """The growth as a search of parameters needs it: where it does not settle, unchecked.

        At huge condition numbers rounding keeps a guess from settling; limits that hold take far
        longer than the guess, and a search looks at hundreds of methods.
        """
        return self._search(method, tolerance, NEVER, checked=False).root.value

    def growth_limits(
        self, method: Method, *, tolerance: float = TOLERANCE, deadline: Deadline = NEVER
    ) -> Root:
        """The growth with limits that hold, also where the search was ended early."""
        return self._solved(method, tolerance, deadline).root

    def is_stable(self, method: Method) -> bool:
        """Whether the growth is below 1, by one look at λ = 1."""
        return self.mean_rate(method) < 1.0 and self.strain(method) < 1.0

    def strain(self, method: Method) -> float:
        """Spectral radius of M ↦ N(κ(1)∘M): below 1 iff a stable mean stays stable in mean square.

        It scales with the disagreement; known more sharply the closer it is to 1.
        """
        kappa = response(self.eigenvalues, method, 1.0)[0]
        return self._loop.radius(kappa, np.eye(self.dimension), 1e-4, share=0.05)[0]

    def perron(self, method: Method, *, tolerance: float = TOLERANCE) -> Perron:
        """Growth of E‖s‖² per step, with the moments that grow and the terms that drive them."""
        solution = self._solved(method, tolerance, NEVER)
        value = solution.root.value
        mean_value = solution.mean_value
        kappa = solution.response
        M = solution.M
        X = kappa * M
        X = X / np.trace(X)

        # The adjoint of M ↦ N(κ∘M) is V ↦ κ∘N(V).
        U = self._loop.radius(kappa, np.eye(self.dimension), 1e-4, adjoint=True)[1]
        push = float(np.vdot(U, self.sandwich(X)))
        V = U / push if push > 0.0 else np.zeros_like(U)

        # c N has growth λ where r(λ) = 1/c: d log λ/d log c = -1/(d log r/d log λ). The radius r
        # changes on the scale of the distance to the growth of the mean: a tenth of that is close.
        share = 0.1 * (1.0 - mean_value / value)
        if share < 1e-10:
            return Perron(value, mean_value, X, V, 0.0)

        further = response(self.eigenvalues, method, value * (1.0 + share))[0]
        near = self._loop.radius(further, M, 1e-4)[0]
        here = self._loop.radius(kappa, M, 1e-4)[0]
        fall = math.inf
        if near > 0.0 and here > 0.0:
            fall = math.log(here / near) / math.log1p(share)

        return Perron(value, mean_value, X, V, 1.0 / fall if fall > 0.0 else 0.0)

    def shares(self, perron: Perron) -> FloatArray:
        """Share of each Δ_b in what the deviations add, before its weight; shape (k,)."""
        return self.spread.pulls(perron.moments, perron.weights)

    def stationary(self, method: Method) -> FloatArray | None:
        """E[(y - x*)(y - x*)ᵀ] that the gradients at x* leave; None where it is not finite."""
        full = self.stationary_state(method)
        return None if full is None else full[0]

    def stationary_state(self, method: Method) -> FloatArray | None:
        """Stationary E rrᵀ, E rvᵀ, E vvᵀ, shape (3, d, d); None where they are not finite.

        The gradients' second moment M = S + N(X) answers with E rrᵀ = κ∘M, κ at λ = 1, so that
        M = S + N(κ∘M) is left to solve.
        """
        from scipy.sparse.linalg import LinearOperator, gmres

        if self.mean_rate(method) >= 1.0:
            return None

        kappa = response(self.eigenvalues, method, 1.0)
        d = self.dimension
        S = self.gradient_covariance
        M = S
        if self.spread.largest > 0.0 and S.any():

            def residual(v: FloatArray) -> FloatArray:
                X = v.reshape(d, d)
                return np.asarray((X - self.sandwich(kappa[0] * X)).ravel())

            operator = LinearOperator((d * d, d * d), matvec=residual, dtype=np.float64)
            solved, failed = gmres(
                operator, S.ravel(), rtol=1e-11, atol=0.0, restart=60, maxiter=20
            )
            if failed:
                return None
            M = np.asarray(solved).reshape(d, d)

        X = kappa * M
        if np.min(np.diag(X[0])) < 0.0:
            return None

        rr = 0.5 * (X[0] + X[0].T)
        vv = 0.5 * (X[3] + X[3].T)
        return np.stack([rr, X[1], vv])

    def excess(self, X: FloatArray) -> float:
        """E f(y) - f* = ½ tr(Λ X) of moments X = E[(y - x*)(y - x*)ᵀ], exact for quadratics."""
        return float(0.5 * np.diag(X) @ self.eigenvalues)

    def _solved(self, method: Method, tolerance: float, deadline: Deadline) -> GrowthSolution:
        key = one_method(method)
        known = self._solutions.get(key)
        if known is None or known.tolerance > tolerance:
            known = self._search(method, tolerance, deadline)
            self._solutions[key] = known

        return known

    def _search(
        self, method: Method, tolerance: float, deadline: Deadline, *, checked: bool = True
    ) -> GrowthSolution:
        return search_growth(
            self.eigenvalues,
            self._loop,
            method,
            mean_value=self.mean_rate(method) ** 2,
            tolerance=tolerance,
            deadline=deadline,
            checked=checked,
        )
