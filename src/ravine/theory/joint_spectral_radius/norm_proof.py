"""What proves an upper bound of a joint spectral radius, and how to check it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.irreducible import jointly_nilpotent
from ravine.theory.joint_spectral_radius.polytope_norm import (
    Hull,
    Indices,
    PositiveHull,
    SymmetricHull,
    operator_norm,
)
from ravine.theory.joint_spectral_radius.products import EPS, all_products
from ravine.theory.joint_spectral_radius.quadratic_norm import ball_radii

_AGREE = 1e-9
"""Relative difference that another formula may find."""


def _moved(matrices: FloatArray, scale: float, units: FloatArray) -> FloatArray:
    """The matrices ``scale`` D A D⁻¹: nothing is rounded when all factors are powers of two."""
    moved: FloatArray = scale * (matrices * units[None, :, None] / units[None, None, :])
    return moved


class NormProof(Protocol):
    """A proof that the joint spectral radius of ``matrices`` is at most ``bound``."""

    @property
    def matrices(self) -> FloatArray:
        """The matrices, shape (m, n, n): the distinct ones of a set, up to sign."""

    @property
    def kind(self) -> str:
        """What the proof is made of, in words."""

    @property
    def bound(self) -> float:
        """The upper bound that it proves."""

    def verify(self) -> bool:
        """Compute the proof again, by other means than those that found it."""

    def ball_radii(self) -> tuple[float, float]:
        """Radii of balls inside and around the unit ball of the norm."""

    def rescaled(self, scale: float, units: FloatArray) -> Self:
        """The same proof for the matrices ``scale`` D A D⁻¹, D = diag(units), powers of two."""


@dataclass(frozen=True, eq=False)
class InvariantPolytope:
    """Every matrix maps every vertex, a column of ``vertices``, into ``bound`` times their hull.

    Row i m + k of ``basis`` and ``weights`` says how: which of the columns of the hull make the
    image A_i v_k (or, for matrices without negative entries, are above it), with which weights.
    The weights add up to at most ``bound``. No linear programme has to be solved to check that.
    """

    matrices: FloatArray
    vertices: FloatArray
    basis: Indices
    weights: FloatArray
    bound: float
    positive: bool = False
    """Whether it is the hull in the positive orthant, of matrices without negative entries."""

    @property
    def kind(self) -> str:
        """What the proof is made of."""
        return "invariant polytope" + (" in the positive orthant" if self.positive else "")

    @property
    def hull(self) -> Hull:
        """The norm whose unit ball it is."""
        return PositiveHull(self.vertices) if self.positive else SymmetricHull(self.vertices)

    def verify(self) -> bool:
        """Put every image together again from its weights, and charge for what is left over."""
        least = min(self.matrices.min(), self.vertices.min())
        if not self.bound > 0.0 or (self.positive and least < 0.0):
            return False

        unit = 2.0 ** np.floor(np.log2(self.bound))  # a power of two changes no rounding
        size = operator_norm(self.hull, self.matrices / unit, self.basis, self.weights / unit)
        return bool(size <= self.bound / unit)

    def ball_radii(self) -> tuple[float, float]:
        """Radii of balls inside and around the polytope."""
        return self.hull.inner_radius(), float(np.linalg.norm(self.vertices, axis=0).max())

    def rescaled(self, scale: float, units: FloatArray) -> InvariantPolytope:
        """The same polytope in other units."""
        return replace(
            self,
            matrices=_moved(self.matrices, scale, units),
            vertices=self.vertices * units[:, None],
            weights=self.weights * scale,
            bound=self.bound * scale,
        )


@dataclass(frozen=True, eq=False)
class ProductNorms:
    """All products of ``length`` matrices have a norm √(xᵀPx) of at most ``bound``^length."""

    matrices: FloatArray
    P: FloatArray
    length: int
    bound: float

    @property
    def kind(self) -> str:
        """What the proof is made of."""
        if self.length == 1:
            return "quadratic norm"
        if len(self.matrices) == 1:
            return f"norm of the power {self.length}"

        return f"norm of all products of length {self.length}"

    def verify(self) -> bool:
        """Generalised eigenvalues of MᵀPM against P; eigenvalues for the powers of one matrix."""
        if self.bound == 0.0:
            return not self.matrices.any()

        scaled = self.matrices / self.bound
        if len(self.matrices) == 1 and self.length > 1:
            return bool(np.abs(np.linalg.eigvals(scaled[0])).max() <= 1.0 + _AGREE)
        if np.diagonal(self.P).min() <= 0.0:
            return False

        # In units in which P has ones on its diagonal: other units only spoil the digits.
        units = np.exp2(-np.round(0.5 * np.log2(np.diagonal(self.P))))
        P = self.P * units[:, None] * units[None, :]
        if np.linalg.eigvalsh(P)[0] <= 0.0:
            return False

        products = all_products(_moved(scaled, 1.0, 1.0 / units), self.length)
        forms = np.linalg.solve(P, products.transpose(0, 2, 1) @ P @ products)
        return bool(np.linalg.eigvals(forms).real.max() <= (1.0 + _AGREE) ** (2 * self.length))

    def ball_radii(self) -> tuple[float, float]:
        """Radii of the balls inside and around the ellipsoid; only for single steps."""
        if self.length > 1:
            raise ValueError(
                "only a norm in which single matrices are bounded has a unit ball here"
            )

        return ball_radii(self.P)

    def rescaled(self, scale: float, units: FloatArray) -> ProductNorms:
        """The same norm in other units."""
        return ProductNorms(
            matrices=_moved(self.matrices, scale, units),
            P=self.P / units[:, None] / units[None, :],
            length=self.length,
            bound=self.bound * scale,
        )


@dataclass(frozen=True, eq=False)
class Nilpotent:
    """Every product of as many matrices as there are dimensions is exactly zero."""

    matrices: FloatArray

    @property
    def kind(self) -> str:
        """What the proof is made of."""
        return "every long product is zero"

    @property
    def bound(self) -> float:
        """Zero."""
        return 0.0

    def verify(self) -> bool:
        """Decide it again in exact rational arithmetic."""
        return jointly_nilpotent(self.matrices)

    def ball_radii(self) -> tuple[float, float]:
        """No one norm serves; the unit ball of any is as good."""
        return 1.0, 1.0

    def rescaled(self, scale: float, units: FloatArray) -> Nilpotent:
        """Zero in any units."""
        return Nilpotent(_moved(self.matrices, scale, units))


@dataclass(frozen=True, eq=False)
class BlockTriangular:
    """In ``basis`` the matrices are block upper triangular; each block has its own proof.

    What is left below the blocks is charged for: with C_ii the bound of block i and C_ij a bound
    of the blocks (i, j) from the norm of block j to that of block i, the joint spectral radius is
    at most the Perron root of C, which is the largest C_ii when nothing is left below.
    """

    matrices: FloatArray
    basis: FloatArray
    blocks: tuple[NormProof, ...]
    bound: float
    units: FloatArray | None = None
    """Units d of the coordinates, if not all 1: it is D⁻¹AD that ``basis`` makes triangular."""

    @property
    def kind(self) -> str:
        """What the proof is made of."""
        inner = ", ".join(dict.fromkeys(block.kind for block in self.blocks))
        return f"block triangular with {len(self.blocks)} blocks ({inner})"

    def verify(self) -> bool:
        """Check every block, that they are blocks of the matrices, and the coupling again."""
        plain = self._plain()
        moved = np.linalg.solve(self.basis, plain @ self.basis)
        size = float(np.abs(moved).max())
        first = 0
        for block in self.blocks:
            n = block.matrices.shape[-1]
            here = moved[:, first : first + n, first : first + n]
            first += n
            for matrix in here:
                known = np.concatenate([block.matrices, -block.matrices, np.zeros((1, n, n))])
                if np.abs(known - matrix).max(axis=(1, 2)).min() > _AGREE * size:
                    return False

            if not block.verify():
                return False

        return coupled_bound(plain, self.basis, self.blocks) <= self.bound * (1.0 + _AGREE)

    def _plain(self) -> FloatArray:
        """The matrices in the units in which the basis is orthogonal."""
        if self.units is None:
            return self.matrices

        return _moved(self.matrices, 1.0, 1.0 / self.units)

    def ball_radii(self) -> tuple[float, float]:
        """The norm is a limit of norms, with no unit ball of its own."""
        return 1.0, np.inf

    def rescaled(self, scale: float, units: FloatArray) -> BlockTriangular:
        """The same blocks; the units are kept beside the basis, which stays orthogonal."""
        before = np.ones(len(units)) if self.units is None else self.units
        after = before * units
        blocks = tuple(
            block.rescaled(scale, np.ones(block.matrices.shape[-1])) for block in self.blocks
        )

        return replace(
            self,
            matrices=_moved(self.matrices, scale, units),
            blocks=blocks,
            bound=self.bound * scale,
            units=None if np.all(after == 1.0) else after,
        )


def coupled_bound(matrices: FloatArray, basis: FloatArray, blocks: tuple[NormProof, ...]) -> float:
    """Perron root of the matrix of block norms, from above."""
    n = matrices.shape[-1]
    unit = float(np.abs(matrices).max())
    matrices = matrices / unit
    moved = basis.T @ matrices @ basis
    sizes = [block.matrices.shape[-1] for block in blocks]
    ends = np.cumsum(sizes)
    rounding = 4 * n * EPS * float(np.max(np.linalg.norm(matrices, axis=(1, 2))))
    if bool(np.all((basis == 0.0) | (basis == 1.0))):
        rounding = 0.0  # a permutation moves entries without touching them

    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    below = max(
        (
            float(np.abs(moved[:, parts[i], parts[j]]).max())
            for i in range(len(parts))
            for j in range(i)
        ),
        default=0.0,
    )

    if below == 0.0 and rounding == 0.0:
        return max(block.bound for block in blocks)

    radii = [block.ball_radii() for block in blocks]
    C = np.empty((len(parts), len(parts)))
    for i, rows in enumerate(parts):
        for j, columns in enumerate(parts):
            size = float(np.max(np.linalg.norm(moved[:, rows, columns], ord=2, axis=(1, 2))))
            stretch = radii[j][1] / radii[i][0]
            size = blocks[i].bound / unit if i == j else size
            C[i, j] = size + rounding * stretch

    values, vectors = np.linalg.eig(C + 1e-300)
    weights = np.abs(vectors[:, int(np.argmax(values.real))].real) + 1e-300
    return float(np.max(C @ weights / weights)) * unit * (1.0 + 16.0 * EPS)
