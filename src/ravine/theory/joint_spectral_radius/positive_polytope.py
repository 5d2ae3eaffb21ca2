"""Polytopes in the positive orthant as norms, for sets of matrices without negative entries.

The norm of x is the least sum of weights c >= 0 with V c >= |x|, entry by entry. It needs far
fewer vertices than a norm for all of R^n: whatever is below a vertex is inside for free. In the
form V c - s = x, c, s >= 0, it is a linear programme over the vertices, at a cost of 1 each, and
the downward directions -e_i, which are free.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.invariant_polytope import Polytope
from ravine.theory.joint_spectral_radius.products import EPS

_STEPS = 400
"""Most exchanges of one linear programme: some dozens for 20 coordinates are the rule."""
_OPTIMAL = 1e-13
"""A price this far below zero is rounding."""
_PIVOT = 1e-11
"""Directions smaller than this would divide by rounding."""


def positive_norms(vertices: FloatArray, points: FloatArray, stop: float = 0.0) -> FloatArray:
    """Upper bounds of the norms of the columns of ``points``, least ones when converged.

    A point is left alone once its norm is known to be at most ``stop``, or to exceed it.
    """
    basis = _bases(vertices, points, stop)
    return _bounds(vertices, basis, _weights(vertices, points, basis), points)


def represent_below(
    matrices: FloatArray, vertices: FloatArray
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """How every image A_i v_k stays below vertices: n indices and n weights, i the slower index.

    An index past the vertices means a downward direction; its weight is zero.
    """
    images = np.concatenate(list(matrices @ vertices), axis=1)
    basis = _bases(vertices, images, 0.0)
    return basis, _weights(vertices, images, basis)


def positive_operator_norm(
    matrices: FloatArray,
    vertices: FloatArray,
    basis: npt.NDArray[np.intp],
    weights: FloatArray,
) -> float:
    """Bound of the matrices' norms in the norm of the polytope, rounding included."""
    n = len(vertices)
    images = np.concatenate(list(matrices @ vertices), axis=1)
    # nothing cancels where nothing is negative: the rounding is relative to the images themselves
    sizes = _bounds(vertices, basis, weights, images * (1.0 + (n + 2) * EPS))
    return float(np.max(sizes)) * (1.0 + (n + 8) * EPS)


class GrowingPositivePolytope(Polytope):
    """A polytope of the positive orthant that grows under matrices without negative entries."""

    def _sizes(self, points: FloatArray, extra: FloatArray, stop: float = 0.0) -> FloatArray:
        vertices = np.column_stack([self.vertices, extra])
        return positive_norms(vertices, points, stop)

    def _span(self) -> bool:
        """Add images until no coordinate is zero everywhere; False if one stays so."""
        n = len(self.vertices)
        self.vertices = np.abs(self.vertices)
        column = 0
        while column < self.vertices.shape[1] and column < n * n:
            if self.vertices.max(axis=1).min() > 0.0:
                return True
            for letter, matrix in enumerate(self.matrices):
                image = matrix @ self.vertices[:, column]
                reached = self.vertices.max(axis=1) > 0.0
                if image[~reached].any():
                    self._append(image, column, letter)

            column += 1

        return bool(self.vertices.max(axis=1).min() > 0.0)


def _bases(vertices: FloatArray, points: FloatArray, stop: float) -> npt.NDArray[np.intp]:
    """For each point the n columns of its best representation, by the simplex method.

    Columns up to m - 1 are the vertices, m their mean, and m + 1 + i the direction -e_i.
    """
    n, count = points.shape
    columns, costs = _programme(vertices)
    m = vertices.shape[1]
    mean = columns[:, m]

    # The mean alone, as long as it takes, is above any point: a first basis that is feasible.
    tightest = np.argmax(points / mean[:, None], axis=0)
    basis = np.tile(m + 1 + np.arange(n), (count, 1))
    basis[np.arange(count), tightest] = m
    inverse = np.linalg.inv(columns[:, basis].transpose(1, 0, 2))
    weights = np.maximum(np.einsum("kij,jk->ki", inverse, points), 0.0)

    active = np.arange(count)
    for _ in range(_STEPS):
        total = np.einsum("ki,ki->k", weights[active], costs[basis[active]])
        dual = np.einsum("ki,kij->kj", costs[basis[active]], inverse[active])
        price = costs - dual @ columns
        entering = np.argmin(price, axis=1)
        goes_on = (price[np.arange(len(active)), entering] < -_OPTIMAL) & (total > stop)
        if stop > 0.0:
            # A dual y >= 0, divided by the largest y·v, is feasible and bounds the norm below.
            safe = np.maximum(dual, 0.0)
            largest = np.maximum((safe @ columns[:, :m]).max(axis=1), 1e-300)
            below = np.einsum("ki,ik->k", safe, points[:, active]) / largest
            goes_on &= below <= stop

        if not goes_on.any():
            break

        active = active[goes_on]
        entering = entering[goes_on]
        direction = np.einsum("kij,jk->ki", inverse[active], columns[:, entering])
        usable = direction > _PIVOT
        ratio = np.where(usable, weights[active] / np.where(usable, direction, 1.0), np.inf)
        leaving = np.argmin(ratio, axis=1)
        theta = ratio[np.arange(len(active)), leaving]
        finite = np.isfinite(theta)
        active, entering, leaving = active[finite], entering[finite], leaving[finite]
        direction, theta = direction[finite], theta[finite]
        if active.size == 0:
            break

        rows = np.arange(len(active))
        weights[active] = np.maximum(weights[active] - theta[:, None] * direction, 0.0)
        weights[active, leaving] = theta
        pivot = inverse[active, leaving] / direction[rows, leaving][:, None]
        inverse[active] -= direction[:, :, None] * pivot[:, None, :]
        inverse[active, leaving] = pivot
        basis[active, leaving] = entering

    return basis


def _programme(vertices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Columns (vertices, their mean, downward directions) and what each costs."""
    n, m = vertices.shape
    columns = np.column_stack([vertices, vertices.mean(axis=1), -np.eye(n)])
    costs = np.concatenate([np.ones(m + 1), np.zeros(n)])
    return columns, costs


def _weights(vertices: FloatArray, points: FloatArray, basis: npt.NDArray[np.intp]) -> FloatArray:
    """Weights, none negative, of the columns ``basis[k]`` that make point k, solved afresh."""
    columns, _ = _programme(vertices)
    picked = columns[:, basis].transpose(1, 0, 2)
    weights: FloatArray

    try:
        weights = np.linalg.solve(picked, points.T[:, :, None])[:, :, 0].astype(np.float64)
    except np.linalg.LinAlgError:  # one singular basis spoils the whole stack
        weights = np.einsum("kij,jk->ki", np.linalg.pinv(picked), points)

    free = basis > vertices.shape[1]
    return np.where(free, 0.0, np.maximum(weights, 0.0))


def _bounds(
    vertices: FloatArray,
    basis: npt.NDArray[np.intp],
    weights: FloatArray,
    points: FloatArray,
) -> FloatArray:
    """Norms of points that lie below what ``weights`` make, up to a part that the mean covers."""
    n = len(points)
    columns, _ = _programme(vertices)
    mean = columns[:, vertices.shape[1]] * (1.0 - 4.0 * EPS)
    paid = np.where(basis <= vertices.shape[1], np.maximum(weights, 0.0), 0.0)
    made = np.einsum("ikj,kj->ki", np.maximum(columns, 0.0)[:, basis], paid) * (1.0 - (n + 2) * EPS)
    missing = np.maximum(points.T - made, 0.0)
    bounds: FloatArray = paid.sum(axis=1) + (missing / mean).max(axis=1)
    return bounds
