"""Spectral radius of what the deviations of a sum make of gradient noise: M ↦ N(κ∘M).

κ, from the mean problem, turns the second moment M of the gradients into that of the iterates, and
the sandwich N turns it back. Both keep positive semidefinite matrices so: the radius is an
eigenvalue with a positive semidefinite eigenvector.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.deviations import Deviations

_POWERS = 12
"""Products of the power method before Arnoldi's takes over."""
_SMALL = 8
"""Directions up to which the radius is that of a matrix, 36 x 36 at the most."""


class NoiseLoop:
    """The map M ↦ N(κ∘M) for one sum and any κ."""

    def __init__(self, spread: Deviations) -> None:
        self.spread = spread

    @cached_property
    def table(self) -> FloatArray:
        """The sandwich as a matrix on upper triangles, shape (D, D): N(X) = X @ table."""
        d = self.spread.dimension
        rows, columns = np.triu_indices(d)
        unit = np.zeros((rows.size, d, d))
        unit[np.arange(rows.size), rows, columns] = 1.0
        unit[np.arange(rows.size), columns, rows] = 1.0
        return self.spread.sandwich(unit)[:, rows, columns]

    def map(self, kappa: FloatArray, adjoint: bool = False) -> Callable[[FloatArray], FloatArray]:
        """M ↦ N(κ∘M), or its adjoint V ↦ κ∘N(V)."""
        if adjoint:
            return lambda V: np.asarray(kappa * self.spread.sandwich(V))

        return lambda M: self.spread.sandwich(kappa * M)

    def radius(
        self,
        kappa: FloatArray,
        M: FloatArray,
        tolerance: float,
        *,
        adjoint: bool = False,
        share: float = 0.0,
    ) -> tuple[float, FloatArray]:
        """Spectral radius and eigenvector of the positive map M ↦ N(κ∘M), or of its adjoint.

        To a relative ``tolerance``, or to a ``share`` of its distance from 1 if that is more.
        """
        if self.spread.largest == 0.0:
            return 0.0, M
        if self.spread.dimension <= _SMALL:
            return self._small_radius(kappa, adjoint)

        move = self.map(kappa, adjoint)
        M = M / max(float(np.trace(M)), 1e-300)
        radius = 0.0
        change = math.inf
        steady = 0
        for _ in range(_POWERS):
            moved = move(M)
            before = radius
            change_before = change
            radius = float(np.trace(moved))
            if radius <= 1e-300:
                return 0.0, M
            M = moved / radius

            # Changes that shrink by a factor q add up to q/(1 - q) times the last one.
            change = abs(radius - before)
            shrink = change / change_before if change_before > 0.0 else 0.0
            left = change * shrink / (1.0 - shrink) if shrink < 1.0 else math.inf
            sharp = max(tolerance * radius, share * abs(radius - 1.0))
            steady = steady + 1 if max(change, left) <= sharp else 0
            if steady == 2:
                return radius, M

        return _arnoldi(move, M, tolerance)

    def _small_radius(self, kappa: FloatArray, adjoint: bool) -> tuple[float, FloatArray]:
        """The radius and its eigenvector by the matrix of the map on upper triangles."""
        d = self.spread.dimension
        rows, columns = np.triu_indices(d)
        scale = kappa[rows, columns]
        matrix = self.table * scale if adjoint else scale[:, None] * self.table
        values, vectors = np.linalg.eig(matrix.T)
        lead = int(np.argmax(values.real))
        M = np.zeros((d, d))
        M[rows, columns] = vectors[:, lead].real
        M[columns, rows] = M[rows, columns]
        trace = float(np.trace(M))
        if not values[lead].real > 0.0 or trace == 0.0:
            return 0.0, np.eye(d) / d

        return float(values[lead].real), M / trace


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
    # 12 vectors and 40 restarts: 500 products at most.
    asked = {"k": 1, "which": "LR", "v0": M.ravel(), "ncv": 12, "maxiter": 40}

    try:
        values, vectors = eigs(operator, tol=max(tolerance, 1e-10), **asked)
    except ArpackNoConvergence:
        moved = move(M)
        return float(np.trace(moved) / np.trace(M)), moved

    X = vectors[:, 0].real.reshape(d, d)
    X = 0.5 * (X + X.T)
    return float(np.abs(values[0])), X / np.trace(X)
