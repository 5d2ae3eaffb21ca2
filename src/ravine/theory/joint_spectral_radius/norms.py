"""Norms that bound a joint spectral radius, and their bounds for given matrices."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.hulls import Hull, Indices, PositiveHull
from ravine.theory.joint_spectral_radius.products import EPS, all_products, distinct

_ROUNDS = 40
"""Updates of the weights of a quadratic norm; it converges within a few dozen."""
_POWER_STEPS = 12
"""Steps of the power iteration between two updates; it need not converge before the next one."""
_FLAT = 1e-13
"""Smallest eigenvalue of a P with trace 1 that is still a norm in float64."""
_LIFTED = 1e3 * _FLAT
"""Multiple of the identity that is added to a P with a smaller eigenvalue."""
_EAGERNESS = 4
"""Exponent of the sizes in the weight updates: smaller is slow, larger oscillates."""


Norm: TypeAlias = "PolytopeNorm | QuadraticNorm | BlockNorms | Nilpotent"
"""The norm that bounds the joint spectral radius of a set of distinct nonzero matrices.

Each has a ``kind``, in words; ``bound(matrices)``, the upper bound that it proves, including
rounding, infinite if it proves nothing; and ``ball_radii(matrices)``, the radii of balls inside and
around the unit ball of a norm with that bound.
"""


@dataclass(frozen=True, eq=False)
class NormProof:
    """A proof that the joint spectral radius of ``matrices`` is at most ``bound``.

    Attributes
    ----------
    matrices
        The matrices, shape (m, n, n): the distinct ones of a set, up to sign.
    bound
        The upper bound.
    norm
        The norm that proves it, for the matrices D⁻¹AD, D = diag(units).
    units
        Powers of two, so that the change of units causes no rounding.
    """

    matrices: FloatArray
    bound: float
    norm: Norm
    units: FloatArray

    @property
    def kind(self) -> str:
        """The kind of proof, in words."""
        return self.norm.kind

    def verify(self) -> bool:
        """Recompute the bound from the matrices and the norm, without a search."""
        unit = power_of_two(self.matrices)
        return self.norm.bound(in_units(self.matrices / unit, self.units)) * unit <= self.bound


def power_of_two(matrices: FloatArray) -> float:
    """The power of two nearest to the largest entry, a unit that causes no rounding."""
    largest = float(np.abs(matrices).max(initial=0.0))
    return float(np.exp2(np.round(np.log2(largest)))) if largest > 0.0 else 1.0


def in_units(matrices: FloatArray, units: FloatArray) -> FloatArray:
    """The matrices D⁻¹AD."""
    return np.asarray(matrices * units[None, None, :] / units[None, :, None])


@dataclass(frozen=True, eq=False)
class PolytopeNorm:
    """A polytope that every matrix maps into ``bound`` times itself.

    Row i m + k of ``basis`` lists the columns of the hull that represent the image A_i v_k (or, for
    matrices without negative entries, are above it), so no linear program has to be solved again.
    """

    vertices: FloatArray
    basis: Indices
    positive: bool
    """Whether it is a hull in the positive orthant, for matrices without negative entries."""

    @property
    def kind(self) -> str:
        """A description."""
        return "invariant polytope" + (" in the positive orthant" if self.positive else "")

    @property
    def hull(self) -> Hull:
        """The norm with this unit ball."""
        return PositiveHull(self.vertices) if self.positive else Hull(self.vertices)

    def bound(self, matrices: FloatArray) -> float:
        """Recompute every image from its columns, and add the cost of the remainder."""
        if self.positive and min(matrices.min(), self.vertices.min()) < 0.0:
            return np.inf

        return self.hull.operator_norm(matrices, self.basis)

    def ball_radii(self, matrices: FloatArray) -> tuple[float, float]:
        """Radii of balls inside and around the polytope."""
        return self.hull.inner_radius(), float(np.linalg.norm(self.vertices, axis=0).max())


@dataclass(frozen=True, eq=False)
class QuadraticNorm:
    """The norm √(xᵀPx) of all products of ``length`` matrices."""

    P: FloatArray
    length: int = 1

    @property
    def kind(self) -> str:
        """A description."""
        if self.length == 1:
            return "quadratic norm"

        return f"norm of all products of length {self.length}"

    def bound(self, matrices: FloatArray) -> float:
        """Largest ‖product‖_P^(1/length) over all products of that length."""
        if matrices.shape[-1] == 1:
            return float(np.abs(matrices).max())
        try:
            root = np.linalg.cholesky(self.P).T
        except np.linalg.LinAlgError:
            return np.inf

        moved = root @ matrices @ np.linalg.inv(root)
        scale = float(np.max(np.linalg.norm(moved, ord=2, axis=(1, 2))))
        if scale == 0.0:
            return 0.0

        # L A L⁻¹ needs two products of n terms and an inverse: n eps each, times the condition of
        # L.
        rounding = 4 * len(root) * EPS * float(np.linalg.cond(root))
        norms = np.linalg.norm(all_products(moved / scale, self.length), ord=2, axis=(1, 2))

        # Every factor has norm at most 1 and a known rounding error, so errors add up; the root and
        # the two products of the last line add a few more rounding errors.
        longest = norms.max() + self.length * rounding
        return float(longest ** (1.0 / self.length) * scale * (1.0 + 8.0 * EPS))

    def ball_radii(self, matrices: FloatArray) -> tuple[float, float]:
        """Radii for the ellipsoid; for products, for the largest of ‖A_w x‖_P / bound^|w|.

        That norm, over all words w shorter than ``length``, is between √(xᵀPx) and its multiple
        by the growth of such words.
        """
        values = np.linalg.eigvalsh(self.P)
        growth = QuadraticNorm(self.P).bound(matrices) / self.bound(matrices)
        inside = values[-1] ** -0.5 / max(growth, 1.0) ** (self.length - 1)
        return float(inside), float(values[0] ** -0.5)


def best_quadratic_norm(matrices: FloatArray) -> FloatArray:
    """A positive definite P for which the largest ‖A_i‖_P is small.

    For one matrix, it makes the eigenvectors orthogonal. Otherwise it is the leading eigenmatrix of
    X -> sum_i w_i A_iᵀ X A_i, computed by power iteration; the weights move towards the matrices
    that are largest in the current norm.
    """
    n = matrices.shape[-1]
    best = np.eye(n)
    least = QuadraticNorm(best).bound(matrices)
    if len(matrices) == 1:
        inverse = np.linalg.pinv(np.linalg.eig(matrices[0])[1])
        P = (inverse.conj().T @ inverse).real
        return P if QuadraticNorm(P).bound(matrices) < least else best

    P = best
    weights = np.full(len(matrices), 1.0 / len(matrices))
    for _ in range(_ROUNDS):
        for _ in range(_POWER_STEPS):
            P = np.tensordot(weights, matrices.transpose(0, 2, 1) @ P @ matrices, 1)
            size = np.trace(P)
            if not size > 0.0:
                return best
            P = (P + P.T) / (2.0 * size)

        if np.linalg.eigvalsh(P)[0] < _FLAT:
            P = P + _LIFTED * np.eye(n)

        # ‖A‖_P is the spectral norm of L A L⁻¹ with P = LᵀL.
        root = np.linalg.cholesky(P).T
        sizes = np.linalg.norm(root @ matrices @ np.linalg.inv(root), ord=2, axis=(1, 2))
        largest = float(sizes.max())
        if largest < least:
            best = P
            least = largest

        weights = weights * (sizes / largest) ** _EAGERNESS
        weights /= weights.sum()

    return best


def jointly_nilpotent(matrices: FloatArray) -> bool:
    """Whether every product of n matrices is zero, decided in exact arithmetic.

    Over all products P of k matrices, the sum of P Pᵀ is zero only if every P is. Powers of a
    nilpotent matrix have trace zero, and a float is an integer times a power of two.
    """
    exact = np.vectorize(Fraction, otypes=[object])(matrices)
    unit = max((number.denominator for number in exact.flat), default=1)
    whole = np.vectorize(int, otypes=[object])(exact * unit)
    if np.trace(whole, axis1=1, axis2=2).any():
        return False

    total = np.eye(matrices.shape[-1], dtype=int).astype(object)
    for _ in total:
        total = (whole @ total @ whole.transpose(0, 2, 1)).sum(axis=0)

    return not total.any()


@dataclass(frozen=True)
class Nilpotent:
    """Every product of as many matrices as there are dimensions is exactly zero."""

    kind = "every long product is zero"

    def bound(self, matrices: FloatArray) -> float:
        """Return zero, decided in exact rational arithmetic."""
        return 0.0 if jointly_nilpotent(matrices) else np.inf

    def ball_radii(self, matrices: FloatArray) -> tuple[float, float]:
        """Any norm works for zero matrices, and no single norm for others."""
        return 1.0, np.inf if matrices.any() else 1.0


@dataclass(frozen=True, eq=False)
class BlockNorms:
    """Matrices that are block upper triangular in an orthogonal ``basis``, with a norm per block.

    Entries below the blocks are included: with C_ii the bound of block i and C_ij a bound of the
    blocks (i, j) from the norm of block j to that of block i, the joint spectral radius is at most
    the Perron root of C, which is the largest C_ii if the entries below are zero.
    """

    basis: FloatArray
    sizes: tuple[int, ...]
    norms: tuple[Norm, ...]

    @property
    def kind(self) -> str:
        """A description."""
        inner = ", ".join(dict.fromkeys(norm.kind for norm in self.norms))
        return f"block triangular with {len(self.norms)} blocks ({inner})"

    @property
    def exact(self) -> bool:
        """Whether the basis is a permutation, which causes no rounding."""
        return bool(np.all((self.basis == 0.0) | (self.basis == 1.0)))

    def parts(self, matrices: FloatArray) -> tuple[FloatArray, list[slice], list[FloatArray]]:
        """The matrices in the basis, the position of each block, and the diagonal blocks."""
        moved = self.basis.T @ matrices @ self.basis
        ends = np.cumsum(self.sizes)
        places = [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]
        return moved, places, [np.ascontiguousarray(moved[:, place, place]) for place in places]

    def bound(self, matrices: FloatArray) -> float:
        """Upper bound of the Perron root of the matrix of block norms."""
        moved, places, blocks = self.parts(matrices)
        blocks = [block[distinct(block)] for block in blocks]
        bounds = [norm.bound(block) for norm, block in zip(self.norms, blocks, strict=True)]
        rows = [moved[:, place.start :, : place.start] for place in places]
        if self.exact and not any(below.any() for below in rows):
            return max(bounds)

        largest = float(np.linalg.norm(matrices, axis=(1, 2)).max())
        rounding = 0.0 if self.exact else 4 * matrices.shape[-1] * EPS * largest
        radii = [norm.ball_radii(block) for norm, block in zip(self.norms, blocks, strict=True)]
        C = np.diag(bounds)
        for i, j in np.ndindex(C.shape):
            part = moved[:, places[i], places[j]]
            size = 0.0 if i == j else float(np.linalg.norm(part, ord=2, axis=(1, 2)).max())
            C[i, j] += (size + rounding) * radii[j][1] / radii[i][0]

        if not np.isfinite(C).all():
            return np.inf

        values, vectors = np.linalg.eig(C + 1e-300)
        weights = np.abs(vectors[:, int(np.argmax(values.real))].real) + 1e-300
        return float(np.max(C @ weights / weights)) * (1.0 + 16.0 * EPS)

    def ball_radii(self, matrices: FloatArray) -> tuple[float, float]:
        """The norm is a limit of norms and has no unit ball."""
        return 1.0, np.inf
