"""Polytopes as norms: the length of a vector is the value of a linear programme.

The norm of x is the least cost of weights c >= 0 with W c = x, where the columns of W come from the
vertices of the polytope. All points are solved at once by a simplex method whose every step is
feasible: stopped early, it still bounds the norm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.products import EPS

Indices = npt.NDArray[np.intp]

_REFRESH = 16
"""Exchanges after which the inverse of a basis is computed afresh: rounding piles up."""
_OPTIMAL = 1e-13
"""A price this far below zero is rounding."""
_PIVOT = 1e-11
"""Directions smaller than this would divide by rounding."""


class Hull(ABC):
    """The columns of the linear programme for one polytope, and what each costs."""

    vertices: FloatArray
    columns: FloatArray
    costs: FloatArray
    exchanges: int
    """Most exchanges of one linear programme: a few times n is the rule."""
    symmetric: bool
    """Whether the columns are the vertices and, after them, their negatives."""

    @abstractmethod
    def __init__(self, vertices: FloatArray) -> None:
        """Make the columns."""

    def norms(self, points: FloatArray, stop: float = 0.0) -> FloatArray:
        """Upper bounds of the norms of the columns of ``points``, least ones when converged.

        A point is left alone once its norm is known to be at most ``stop``, or to exceed it.
        """
        basis = self.bases(points, stop)
        return self.bounds(basis, self.weights(basis, points), points)

    def weights(self, basis: Indices, points: FloatArray) -> FloatArray:
        """Weights of the columns ``basis[k]`` that make point k, solved afresh."""
        columns = self.columns[:, basis].transpose(1, 0, 2)
        try:
            weights: FloatArray = np.asarray(
                np.linalg.solve(columns, points.T[:, :, None])[:, :, 0], np.float64
            )
        except np.linalg.LinAlgError:  # one singular basis spoils the whole stack
            weights = np.einsum("kij,jk->ki", np.linalg.pinv(columns), points)

        return weights

    def bases(self, points: FloatArray, stop: float = 0.0) -> Indices:
        """For each point the n columns of its cheapest representation, by the simplex method."""
        basis = self._start(points)
        inverse: FloatArray = np.asarray(
            np.linalg.inv(self.columns[:, basis].transpose(1, 0, 2)), np.float64
        )
        weights = np.maximum(np.einsum("kij,jk->ki", inverse, points), 0.0)
        active = np.arange(points.shape[1])

        for exchange in range(self.exchanges):
            if exchange % _REFRESH == _REFRESH - 1:
                self._refresh(points, basis, active, inverse, weights)
            cost = self.costs[basis[active]]
            total = np.einsum("ki,ki->k", weights[active], cost)
            dual = np.einsum("ki,kij->kj", cost, inverse[active])
            price = self.costs - dual @ self.columns
            entering = np.argmin(price, axis=1)
            goes_on = (price[np.arange(len(active)), entering] < -_OPTIMAL) & (total > stop)
            if stop > 0.0:
                goes_on &= self._least(dual, points[:, active]) <= stop
            active, entering = active[goes_on], entering[goes_on]

            direction = np.einsum("kij,jk->ki", inverse[active], self.columns[:, entering])
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

    def _refresh(
        self,
        points: FloatArray,
        basis: Indices,
        active: Indices,
        inverse: FloatArray,
        weights: FloatArray,
    ) -> None:
        """Invert the bases of the active points afresh."""
        try:
            fresh = np.linalg.inv(self.columns[:, basis[active]].transpose(1, 0, 2))
        except np.linalg.LinAlgError:  # one singular basis spoils the whole stack
            return

        made = np.einsum("kij,jk->ki", fresh, points[:, active])
        flipped = (made < 0.0) & self.symmetric
        half = self.vertices.shape[1]
        # A weight whose sign was rounding: the vertex is replaced by its negative.
        basis[active] = np.where(flipped, (basis[active] + half) % (2 * half), basis[active])
        inverse[active] = np.where(flipped[:, :, None], -fresh, fresh)
        weights[active] = np.maximum(np.where(flipped, -made, made), 0.0)

    def _least(self, dual: FloatArray, points: FloatArray) -> FloatArray:
        """Lower bounds of the norms: a dual solution, scaled until it is feasible."""
        largest = (dual @ self.columns[:, self.costs > 0.0]).max(axis=1)
        least: FloatArray = np.einsum("ki,ik->k", dual, points) / np.maximum(largest, 1e-300)
        return least

    @abstractmethod
    def _start(self, points: FloatArray) -> Indices:
        """Columns of a feasible basis for each point."""

    @abstractmethod
    def bounds(self, basis: Indices, weights: FloatArray, points: FloatArray) -> FloatArray:
        """Bounds of the norms of points that the weights make up to a rest, which is paid for."""

    @abstractmethod
    def image_bounds(self, matrices: FloatArray, basis: Indices, weights: FloatArray) -> FloatArray:
        """Bounds of the norms of all images A_i v_k, the rounding of the images included."""

    @abstractmethod
    def inner_radius(self) -> float:
        """Radius of a ball inside the polytope."""


class SymmetricHull(Hull):
    """The hull of the vertices and their negatives, which is a norm for all of R^n."""

    exchanges = 120
    symmetric = True

    def __init__(self, vertices: FloatArray) -> None:
        self.vertices = vertices
        self.columns = np.column_stack([vertices, -vertices])
        self.costs = np.ones(self.columns.shape[1])

    def _start(self, points: FloatArray) -> Indices:
        picked = _independent(self.vertices)
        weights = np.linalg.solve(self.vertices[:, picked], points).T
        return np.where(weights < 0.0, picked + self.vertices.shape[1], picked)

    def bounds(self, basis: Indices, weights: FloatArray, points: FloatArray) -> FloatArray:
        """The sum of the weights' sizes, and the costs of what they leave over."""
        n = len(points)
        columns = self.columns[:, basis].transpose(1, 0, 2)
        rest = np.abs(points.T - np.einsum("kij,kj->ki", columns, weights))
        rest += (n + 2) * EPS * np.einsum("kij,kj->ki", np.abs(columns), np.abs(weights))
        bounds: FloatArray = np.abs(weights).sum(axis=1) + rest @ self.leftover_costs()
        return bounds

    def image_bounds(self, matrices: FloatArray, basis: Indices, weights: FloatArray) -> FloatArray:
        """The rounding of an image is charged for like what is left over."""
        sizes = images(np.abs(matrices), np.abs(self.vertices))
        rounding = (len(self.vertices) + 2) * EPS * (self.leftover_costs() @ sizes)
        return self.bounds(basis, weights, images(matrices, self.vertices)) + rounding

    def leftover_costs(self) -> FloatArray:
        """Costs c with ‖x‖ <= sum_i c_i |x_i|; infinite where the vertices do not span.

        For any n vertices B, x = B(B⁻¹x) gives ‖x‖ <= ‖B⁻¹x‖₁. B⁻¹ is known as X with X B = 1 - R,
        so that ‖B⁻¹x‖₁ <= ‖X x‖₁/(1 - ‖R‖₁). Coordinate by coordinate, this is not spoilt by
        coordinates of different size, as a ball inside the polytope would be.
        """
        n = len(self.vertices)
        B = self.vertices[:, _independent(self.vertices)]
        try:
            X = np.linalg.inv(B)
        except np.linalg.LinAlgError:
            return np.full(n, np.inf)

        with np.errstate(all="ignore"):
            rounding = (n + 2) * EPS * np.abs(X) @ np.abs(B)
            residual = float((np.abs(np.eye(n) - X @ B) + rounding).sum(axis=0).max())

        if not residual < 0.5:
            return np.full(n, np.inf)

        costs: FloatArray = np.abs(X).sum(axis=0) * (1.0 + 4 * n * EPS) / (1.0 - residual)
        return costs

    def inner_radius(self) -> float:
        """The radius that ‖x‖ <= √n ‖B⁻¹‖ |x| gives, for any n vertices B."""
        basis = self.vertices[:, _independent(self.vertices)]
        smallest = float(np.linalg.svd(basis, compute_uv=False)[-1])
        return smallest / float(np.sqrt(len(self.vertices)))


class PositiveHull(Hull):
    """All that lies below the hull of vertices in the positive orthant, for positive matrices.

    The norm of x is the least sum of weights with V c >= |x|, entry by entry. It needs far fewer
    vertices than a norm for all of R^n: whatever is below a vertex is inside for free. The
    downward directions -e_i are free columns; the mean of the vertices is one column more.
    """

    exchanges = 400
    symmetric = False

    def __init__(self, vertices: FloatArray) -> None:
        n, m = vertices.shape
        self.vertices = vertices
        self.columns = np.column_stack([vertices, vertices.mean(axis=1), -np.eye(n)])
        self.costs = np.concatenate([np.ones(m + 1), np.zeros(n)])

    def _start(self, points: FloatArray) -> Indices:
        # The mean alone, made long enough, is above any point.
        n, count = points.shape
        m = self.vertices.shape[1]
        tightest = np.argmax(points / self.columns[:, m, None], axis=0)
        basis = np.tile(m + 1 + np.arange(n), (count, 1))
        basis[np.arange(count), tightest] = m
        return basis

    def _least(self, dual: FloatArray, points: FloatArray) -> FloatArray:
        return super()._least(np.maximum(dual, 0.0), points)

    def bounds(self, basis: Indices, weights: FloatArray, points: FloatArray) -> FloatArray:
        """The sum of the weights, and as much of the mean as covers what is missing above."""
        n = len(points)
        m = self.vertices.shape[1]
        mean = self.columns[:, m] * (1.0 - 4.0 * EPS)
        paid = np.where(basis <= m, np.maximum(weights, 0.0), 0.0)
        above = np.maximum(self.columns, 0.0)[:, basis]
        made = np.einsum("ikj,kj->ki", above, paid) * (1.0 - (n + 2) * EPS)
        missing = np.maximum(points.T - made, 0.0)
        bounds: FloatArray = paid.sum(axis=1) + (missing / mean).max(axis=1)
        return bounds

    def image_bounds(self, matrices: FloatArray, basis: Indices, weights: FloatArray) -> FloatArray:
        """Nothing cancels where nothing is negative: the rounding is relative to the images."""
        larger = images(matrices, self.vertices) * (1.0 + (len(self.vertices) + 2) * EPS)
        return self.bounds(basis, weights, larger)

    def inner_radius(self) -> float:
        """Where |x| <= t min w, x is below t times the mean vertex w."""
        return float(self.vertices.mean(axis=1).min())


def images(matrices: FloatArray, vertices: FloatArray) -> FloatArray:
    """The images A_i v_k as columns, i the slower index."""
    return np.concatenate(list(matrices @ vertices), axis=1)


def represent(
    hull: Hull, matrices: FloatArray, guides: Sequence[tuple[Hull, FloatArray]] = ()
) -> tuple[Indices, FloatArray]:
    """How every image A_i v_k is made of columns: n indices and n weights for each.

    ``guides`` are the hull and the matrices in other coordinates, in which the linear programmes
    may be solved with less rounding; of every image the best answer is taken.
    """
    points = images(matrices, hull.vertices)
    answers = []
    for other, moved in [(hull, matrices), *guides]:
        basis = other.bases(images(moved, other.vertices))
        weights = hull.weights(basis, points)
        answers.append((hull.bounds(basis, weights, points), basis, weights))

    best = np.argmin([sizes for sizes, _, _ in answers], axis=0)
    rows = np.arange(len(best))
    return (
        np.stack([basis for _, basis, _ in answers])[best, rows],
        np.stack([weights for _, _, weights in answers])[best, rows],
    )


def operator_norm(hull: Hull, matrices: FloatArray, basis: Indices, weights: FloatArray) -> float:
    """Bound of the matrices' norms in the norm of the polytope, rounding included."""
    sizes = hull.image_bounds(matrices, basis, weights)
    return float(np.max(sizes)) * (1.0 + (len(hull.vertices) + 8) * EPS)


def _independent(vertices: FloatArray) -> Indices:
    """Columns of n vertices that are far from dependent, picked greedily."""
    # In units that make the rows alike: the choice must not depend on the units of coordinates.
    rows = np.abs(vertices).max(axis=1)
    units = np.exp2(np.round(np.log2(np.where(rows > 0.0, rows, 1.0))))
    left = vertices / units[:, None]
    picked = []
    for _ in range(len(vertices)):
        sizes = np.linalg.norm(left, axis=0)
        j = int(np.argmax(sizes))
        picked.append(j)
        direction = left[:, j] / max(sizes[j], 1e-300)
        left = left - np.outer(direction, direction @ left)

    return np.array(picked, dtype=np.intp)
