"""Ways to simplify a set of matrices: invariant subspaces, vanishing products, units."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray

_LEAVES = 1e-11
"""Share of the matrices' size that may leave a subspace that counts as invariant."""
_TRIALS = 3
"""Random elements of the algebra: each fails with probability zero, and rounding may help it."""
_NEW = 1e-6
"""Share of a vector outside a space that makes it a new direction and not an error of one."""


def jointly_nilpotent(matrices: FloatArray) -> bool:
    """Whether every product of n matrices is zero, decided in exact rational arithmetic.

    The spaces V_0 = R^n, V_{k+1} = the sum of the images A_i V_k decrease; the joint spectral
    radius is zero exactly when they reach {0}, after n steps at most.
    """
    exact = _exactly(matrices)
    basis = _exactly(np.eye(matrices.shape[-1]))
    while basis.size:
        images = _row_space((basis @ exact.transpose(0, 2, 1)).reshape(-1, basis.shape[1]))
        if len(images) == len(basis):
            return False
        basis = images

    return True


def _exactly(numbers: FloatArray) -> npt.NDArray[np.object_]:
    """The same numbers as fractions."""
    return np.asarray(np.vectorize(Fraction, otypes=[object])(numbers))


def _row_space(rows: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Independent rows that span the same space, each with a leading one."""
    kept: list[tuple[int, npt.NDArray[np.object_]]] = []
    for row in rows:
        for lead, other in kept:
            row = row - row[lead] * other
        if row.any():
            lead = int(np.argmax(row != 0))
            kept.append((lead, row / row[lead]))

    return np.array([row for _, row in kept], dtype=object)


def coordinate_blocks(matrices: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Groups of coordinates that make every matrix block upper triangular, without rounding.

    The groups are the strongly connected components of the graph with an edge i -> j wherever
    some matrix has a nonzero entry (i, j), in an order in which edges lead forward.
    """
    n = matrices.shape[-1]
    reach = (matrices != 0.0).any(axis=0) | np.eye(n, dtype=bool)
    for _ in range(n.bit_length()):
        reach = reach @ reach

    both = reach & reach.T
    groups = [np.flatnonzero(both[i]) for i in range(n) if not both[i, :i].any()]
    return sorted(groups, key=lambda group: -int(reach[group[0]].sum()))


def invariant_subspace(matrices: FloatArray, generator: np.random.Generator) -> FloatArray | None:
    """Orthonormal basis of a common invariant subspace, or None where none is seen.

    A random element of the algebra has, with probability one, an eigenvector (or a complex pair)
    in a proper invariant subspace if there is one; spinning it under the matrices gives the
    subspace, which counts when what leaves it is near rounding. The caller pays for what leaves:
    nothing is taken for zero.
    """
    n = matrices.shape[-1]
    scale = float(np.max(np.linalg.norm(matrices, axis=(1, 2))))
    count = len(matrices)

    for _ in range(_TRIALS):
        # A sum alone may have invariant subspaces that the set has not; a product breaks them.
        first, second, third = np.tensordot(generator.normal(size=(3, count)), matrices, 1) / scale
        values, vectors = np.linalg.eig(first + second @ third)

        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0.0:
                continue  # the other one of its pair spans the same plane

            start = np.stack([vector.real, vector.imag], axis=1)
            basis = _spin(matrices / scale, start)
            if 0 < basis.shape[1] < n:
                moved = matrices @ basis
                leaving = moved - basis @ (basis.T @ moved)
                if np.linalg.norm(leaving, axis=(1, 2)).max() <= _LEAVES * scale:
                    return basis

    return None


def _spin(matrices: FloatArray, start: FloatArray) -> FloatArray:
    """Orthonormal basis of the smallest space that holds ``start`` and is nearly invariant."""
    n = matrices.shape[-1]
    basis = np.empty((n, 0))
    queue = list(start.T)
    while queue and basis.shape[1] < n:
        vector = queue.pop(0)
        size = float(np.linalg.norm(vector))

        # Twice is enough: what the first projection leaves by rounding, the second removes.
        for _ in range(2):
            vector = vector - basis @ (basis.T @ vector)

        left = float(np.linalg.norm(vector))
        if size > _NEW and left > _NEW * size:
            basis = np.column_stack([basis, vector / left])
            queue += list(matrices @ basis[:, -1])

    return basis


def triangular_basis(
    matrices: FloatArray, generator: np.random.Generator
) -> tuple[FloatArray, list[int]]:
    """Orthogonal basis in which the matrices are block upper triangular, and the block sizes."""
    n = matrices.shape[-1]
    sub = invariant_subspace(matrices, generator) if n > 1 else None
    if sub is None:
        return np.eye(n), [n]

    k = sub.shape[1]
    full = np.linalg.qr(np.column_stack([sub, np.eye(n)]))[0]
    moved = full.T @ matrices @ full
    first, sizes = triangular_basis(moved[:, :k, :k], generator)
    last, more = triangular_basis(moved[:, k:, k:], generator)
    turn = np.zeros((n, n))
    turn[:k, :k] = first
    turn[k:, k:] = last
    return full @ turn, sizes + more


def balanced_units(matrices: FloatArray) -> FloatArray:
    """Powers of two d for which the matrices D⁻¹AD, D = diag(d), have rows and columns alike.

    The joint spectral radius does not depend on units, but quadratic norms, thresholds and
    rounding do. Powers of two change no digit.
    """
    from scipy.linalg import matrix_balance  # here, for the sake of a fast import

    total = np.abs(matrices).sum(axis=0)
    units: FloatArray = matrix_balance(total, permute=False, separate=True)[1][0]
    return units


def in_units(matrices: FloatArray, units: FloatArray) -> FloatArray:
    """The matrices D⁻¹AD."""
    scaled: FloatArray = matrices * units[None, None, :] / units[None, :, None]
    return scaled
