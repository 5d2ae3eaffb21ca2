"""Polytopes as norms, and their growth until they contain their images under a set of matrices.

The length of a vector is the value of a linear programme.

The norm of x is the least cost of weights c >= 0 with W c = x, where the columns of W come from the
vertices of the polytope. A simplex method solves all points at once; every step is feasible, so it
bounds the norm even if it is stopped early.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.products import EPS, Word, product

Indices = npt.NDArray[np.intp]

_OPTIMAL = 1e-13
"""A reduced cost this far below zero is a rounding error."""
_PIVOT = 1e-11
"""Smaller pivots would be rounding errors."""


_LIMIT = 1.0 + 1e-12
"""Norm up to which an image counts as inside; the excess is added to the bound at the end."""
_ELLIPSE = 12
"""Number of points on half an ellipse that represents a complex leading eigenvector."""
_INSIDE = 1e-10
"""A vertex this far inside the hull of the others is dropped."""
_SPANS = 1e-10
"""Smallest ratio of singular values of vectors that count as independent."""
_SHORT = 1e-6
"""Length, relative to the longest vertex, of the vectors that complete the first ones to a norm."""
_REAL = 1e-12
"""Relative size of the imaginary part of an eigenvalue that is attributed to rounding."""
_PRUNE = 1.5
"""Growth of the number of vertices after which those inside are dropped: the search costs one
linear program per vertex."""
_NEWEST = 24
"""Number of newest vertices whose words are returned; they show the remaining growth."""
_LONGEST = 64
"""Number of letters of a word that are stored."""
_FARTHEST = 4
"""Share of the outside images, the farthest ones, that become vertices without a further test: they
often cover the others."""


class Hull:
    """The hull of the vertices and their negatives, the unit ball of a norm on R^n."""

    exchanges = 120
    """Maximum number of pivots of one linear program; a few times n is typical."""

    def __init__(self, vertices: FloatArray) -> None:
        self.vertices = vertices
        self.columns = np.column_stack([vertices, -vertices])
        self.costs = np.ones(self.columns.shape[1])

    def norms(self, points: FloatArray, stop: float = 0.0) -> FloatArray:
        """Upper bounds of the norms of the columns of ``points``; exact if converged.

        A point is finished as soon as its norm is known to be at most ``stop``, or to exceed it.
        """
        return self.bounds(self.bases(points, stop), points)

    def bases(self, points: FloatArray, stop: float = 0.0) -> Indices:
        """The n columns of the cheapest representation of each point, by the simplex method."""
        basis = self._start(points)
        inverse = np.linalg.inv(self.columns[:, basis].transpose(1, 0, 2))
        weights = np.maximum(np.einsum("kij,jk->ki", inverse, points), 0.0)
        active = np.arange(points.shape[1])

        for _ in range(self.exchanges):
            cost = self.costs[basis[active]]
            dual = np.einsum("ki,kij->kj", cost, inverse[active])
            price = self.costs - dual @ self.columns
            entering = np.argmin(price, axis=1)
            goes_on = price[np.arange(len(active)), entering] < -_OPTIMAL
            if stop > 0.0:
                total = np.einsum("ki,ki->k", weights[active], cost)
                goes_on &= (total > stop) & (self._least(dual, points[:, active]) <= stop)
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

            weights[active] = np.maximum(weights[active] - theta[:, None] * direction, 0.0)
            weights[active, leaving] = theta
            rows = np.arange(len(active))
            pivot = inverse[active, leaving] / direction[rows, leaving][:, None]
            inverse[active] -= direction[:, :, None] * pivot[:, None, :]
            inverse[active, leaving] = pivot
            basis[active, leaving] = entering

        return basis

    def operator_norm(self, matrices: FloatArray, basis: Indices) -> float:
        """Bound of the matrices' norms, including rounding, from the columns of every image."""
        sizes = self.bounds(basis, images(matrices, self.vertices)) + self._rounding(matrices)
        return float(np.max(sizes)) * (1.0 + (len(self.vertices) + 8) * EPS)

    def _weights(self, basis: Indices, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The columns ``basis[k]`` that represent point k, and their weights."""
        columns = self.columns[:, basis].transpose(1, 0, 2)
        weights: npt.NDArray[np.floating]
        try:
            weights = np.linalg.solve(columns, points.T[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # one singular basis fails the whole stack
            weights = np.einsum("kij,jk->ki", np.linalg.pinv(columns), points)

        return columns, np.asarray(weights, np.float64)

    def _least(self, dual: FloatArray, points: FloatArray) -> FloatArray:
        """Lower bounds of the norms: a dual solution, scaled until it is feasible."""
        largest = (dual @ self.columns[:, self.costs > 0.0]).max(axis=1)
        return np.asarray(np.einsum("ki,ik->k", dual, points) / np.maximum(largest, 1e-300))

    def _start(self, points: FloatArray) -> Indices:
        """Columns of a feasible basis for each point."""
        picked = _independent(self.vertices)
        weights = np.linalg.solve(self.vertices[:, picked], points).T
        return np.where(weights < 0.0, picked + self.vertices.shape[1], picked)

    def bounds(self, basis: Indices, points: FloatArray) -> FloatArray:
        """The sum of the absolute weights, and the cost of the remainder."""
        columns, weights = self._weights(basis, points)
        left = np.abs(points.T - np.einsum("kij,kj->ki", columns, weights))
        sizes = np.einsum("kij,kj->ki", np.abs(columns), np.abs(weights))
        left += (len(points) + 2) * EPS * sizes
        return np.asarray(np.abs(weights).sum(axis=1) + left @ self.leftover_costs())

    def _rounding(self, matrices: FloatArray) -> FloatArray:
        """Bounds of the norms of the errors in the computed images."""
        sizes = images(np.abs(matrices), np.abs(self.vertices))
        return (len(self.vertices) + 2) * EPS * (self.leftover_costs() @ sizes)

    def leftover_costs(self) -> FloatArray:
        """Costs c with ‖x‖ <= sum_i c_i |x_i|; infinite if the vertices do not span the space.

        For any n vertices B, x = B(B⁻¹x) gives ‖x‖ <= ‖B⁻¹x‖₁. B⁻¹ is approximated by X with X B =
        1 - R, so ‖B⁻¹x‖₁ <= ‖X x‖₁/(1 - ‖R‖₁). One cost per coordinate works for coordinates of
        different size, unlike a ball inside the polytope.
        """
        n = len(self.vertices)
        B = self.vertices[:, _independent(self.vertices)]
        try:
            X = np.linalg.inv(B)
        except np.linalg.LinAlgError:
            return np.full(n, np.inf)

        rounding = (n + 2) * EPS * np.abs(X) @ np.abs(B)
        residual = float((np.abs(np.eye(n) - X @ B) + rounding).sum(axis=0).max())
        if not residual < 0.5:
            return np.full(n, np.inf)

        return np.asarray(np.abs(X).sum(axis=0) * (1.0 + 4 * n * EPS) / (1.0 - residual))

    def inner_radius(self) -> float:
        """Radius of a ball inside the polytope: ‖x‖ <= sum_i c_i |x_i| <= |c| |x|."""
        return 1.0 / float(np.linalg.norm(self.leftover_costs()))


class PositiveHull(Hull):
    """Everything below the hull of vertices in the positive orthant, for nonnegative matrices.

    The norm of x is the least sum of weights with V c >= |x|, entry by entry. It needs far fewer
    vertices than a norm on R^n, because everything below a vertex is inside. The downward
    directions -e_i are free columns; the mean of the vertices is another column.
    """

    exchanges = 400

    def __init__(self, vertices: FloatArray) -> None:
        n, m = vertices.shape
        self.vertices = vertices
        self.columns = np.column_stack([vertices, vertices.mean(axis=1), -np.eye(n)])
        self.costs = np.concatenate([np.ones(m + 1), np.zeros(n)])

    def _start(self, points: FloatArray) -> Indices:
        # A sufficiently large multiple of the mean is above any point.
        n, count = points.shape
        m = self.vertices.shape[1]
        tightest = np.argmax(points / self.columns[:, m, None], axis=0)
        basis = np.tile(m + 1 + np.arange(n), (count, 1))
        basis[np.arange(count), tightest] = m
        return basis

    def _least(self, dual: FloatArray, points: FloatArray) -> FloatArray:
        return super()._least(np.maximum(dual, 0.0), points)

    def bounds(self, basis: Indices, points: FloatArray) -> FloatArray:
        """The sum of the weights, and the multiple of the mean that covers the remainder."""
        n, m = self.vertices.shape
        columns, weights = self._weights(basis, points)
        paid = np.where(basis <= m, np.maximum(weights, 0.0), 0.0)
        made = np.einsum("kij,kj->ki", np.maximum(columns, 0.0), paid) * (1.0 - (n + 2) * EPS)
        # Nonnegative numbers do not cancel, so the rounding errors of images are relative.
        missing = np.maximum(points.T * (1.0 + (n + 2) * EPS) - made, 0.0)
        mean = self.columns[:, m] * (1.0 - 4.0 * EPS)
        return np.asarray(paid.sum(axis=1) + (missing / mean).max(axis=1))

    def _rounding(self, matrices: FloatArray) -> FloatArray:
        return np.zeros(1)

    def inner_radius(self) -> float:
        """If |x| <= t min w, then x is below t times the mean vertex w."""
        return float(self.vertices.mean(axis=1).min())


def images(matrices: FloatArray, vertices: FloatArray) -> FloatArray:
    """The images A_i v_k as columns; i is the slower index."""
    return np.concatenate(list(matrices @ vertices), axis=1)


def _independent(vertices: FloatArray) -> Indices:
    """Columns of n well-conditioned vertices, by QR with pivoting."""
    from scipy.linalg import qr  # imported here to keep ``import ravine`` fast

    # Scaled to similar rows, so that the choice does not depend on the units of coordinates.
    rows = np.abs(vertices).max(axis=1)
    units = np.exp2(np.round(np.log2(np.where(rows > 0.0, rows, 1.0))))
    pivots: Indices = qr(vertices / units[:, None], mode="r", pivoting=True)[1]
    return pivots[: len(vertices)].astype(np.intp)


def leading_vectors(matrices: FloatArray, words: list[Word]) -> FloatArray:
    """Leading eigenvectors of the words' products as columns; points of an ellipse if complex."""
    columns = []
    for word in words:
        values, vectors = np.linalg.eig(product(matrices, word))
        lead = int(np.argmax(np.abs(values)))
        vector = vectors[:, lead] / np.linalg.norm(vectors[:, lead])
        if abs(values[lead].imag) <= _REAL * abs(values[lead]):
            turn = np.exp(-1j * np.angle(vector[np.argmax(np.abs(vector))]))
            columns.append((vector * turn).real)
        else:
            turns = np.exp(1j * np.pi * np.arange(_ELLIPSE) / _ELLIPSE)
            columns += list((vector[None, :] * turns[:, None]).real)

    return np.stack(columns, axis=1)


class Polytope:
    """A polytope that grows under matrices divided by the target rate.

    ``kind`` is the hull of its vertices. ``closed`` means that every image of a vertex is inside;
    ``spent`` counts the linear programs. Each vertex stores the word that led to it. Short vectors
    across the first ones make it a norm: growth elsewhere is slower, so they stay short or are
    covered.
    """

    def __init__(self, matrices: FloatArray, start: FloatArray, kind: type[Hull]) -> None:
        self.matrices = matrices
        self.kind = kind
        self.positive = kind is PositiveHull
        self.vertices = np.empty((len(start), 0))
        self.closed = False
        self.spent = 0
        self._words: list[Word] = []  # the letters that led to each column, the last one first
        self._fresh: list[int] = []  # the columns whose images are still to be tested
        self._last_pruned = 4 * len(start)
        start = np.abs(start) if self.positive else start
        for vector in np.column_stack([start, _SHORT * self._across(start)]).T:
            self._append(vector)

    def grow(self, budget: int) -> None:
        """Add images of vertices until none is outside, or ``budget`` would be exceeded."""
        while self._fresh:
            if self.spent + len(self.matrices) * len(self._fresh) > budget:
                return

            columns = self._fresh
            self._fresh = []
            points = images(self.matrices, self.vertices[:, columns])
            for k in self._outside(points):
                letter, column = divmod(k, len(columns))
                self._append(points[:, k], (letter, *self._words[columns[column]]))
            if self._fresh and self.vertices.shape[1] > _PRUNE * self._last_pruned:
                self._prune()

        self.closed = True

    def words(self) -> list[Word]:
        """Suffixes of the words that led to the newest vertices."""
        newest = self._words[-_NEWEST:]
        endings = {word[:k] for word in newest for k in range(1, len(word) + 1)}
        return sorted(endings, key=lambda word: (len(word), word))

    def _append(self, vector: FloatArray, word: Word = ()) -> None:
        """Add a vertex with its word."""
        self._words.append(word[:_LONGEST])
        self._fresh.append(self.vertices.shape[1])
        self.vertices = np.column_stack([self.vertices, vector])

    def _across(self, start: FloatArray) -> FloatArray:
        """Vectors that complete ``start`` to a norm, as long as its longest one."""
        size = float(np.linalg.norm(start, axis=0).max())
        if self.positive:
            return np.full((len(start), 1), size)

        left, values, _ = np.linalg.svd(start)
        return size * left[:, int(np.sum(values > _SPANS * values[0])) :]

    def _outside(self, points: FloatArray) -> list[int]:
        """Indices of the images that must become vertices."""
        self.spent += points.shape[1]
        sizes = self.kind(self.vertices).norms(points, _LIMIT)
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > _LIMIT]

        cut = len(order) // _FARTHEST + 1
        head = order[:cut]
        tail = order[cut:]
        if tail.size:
            self.spent += tail.size
            wider = self.kind(np.column_stack([self.vertices, points[:, head]]))
            tail = tail[wider.norms(points[:, tail], _LIMIT) > _LIMIT]

        return [int(k) for k in (*head, *tail)]

    def _prune(self) -> None:
        """Drop the columns that are inside the hull of the others."""
        self.spent += self.vertices.shape[1]
        keep = self.kind(self.vertices).norms(self.vertices) > 1.0 - _INSIDE
        place = np.cumsum(keep) - 1
        self._fresh = [int(place[k]) for k in self._fresh if keep[k]]
        self._words = [word for word, kept in zip(self._words, keep, strict=True) if kept]
        self.vertices = self.vertices[:, keep]
        self._last_pruned = self.vertices.shape[1]
