"""Symmetric polytopes as norms: how long a vector is, and how a set of matrices grows one.

The polytope of the columns v_j of V is the set of all V c with |c_1| + ... + |c_m| <= 1; the norm
of x is the least such sum with V c = x, a linear programme. All right-hand sides are solved at
once by a simplex method whose every step is feasible: stopped early it still bounds the norm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.products import EPS, Word, product

_STEPS = 120
"""Most exchanges of one linear programme: a few times n is the rule."""
_REFRESH = 16
"""Exchanges after which the inverse of a basis is computed afresh."""
_ELLIPSE = 12
"""Points on half an ellipse that stands for a complex leading eigenvector."""
_INSIDE = 1e-10
"""A vertex this far inside the hull of the others is dropped."""
_SPANS = 1e-10
"""Least ratio of singular values of vertices that count as spanning."""
_ACROSS = 1e-9
"""Share of an image that has to point out of the span so far: more than rounding does."""
_SHORT = 1e-6
"""Length, in units of the longest vertex, of vectors added across a subspace."""
_REAL = 1e-12
"""Imaginary part of an eigenvalue, over its size, that is put down to rounding."""
_PRUNE = 1.5
"""Growth of the number of vertices after which those inside are looked for: each look costs one
linear programme a vertex."""
_NEWEST = 24
"""Vertices whose words are handed on: the growth that is left to explain is in the last ones."""
_FARTHEST = 4
"""One in so many of the images outside is taken for granted, the farthest: they often cover the
others."""


def first_basis(vertices: FloatArray) -> npt.NDArray[np.intp]:
    """Columns of n vertices that are far from dependent, picked greedily."""
    n = len(vertices)
    # In units that make the rows alike: the choice must not depend on the units of coordinates.
    rows = np.abs(vertices).max(axis=1)
    units = np.exp2(np.round(np.log2(np.where(rows > 0.0, rows, 1.0))))
    left = vertices / units[:, None]
    picked = []
    for _ in range(n):
        sizes = np.linalg.norm(left, axis=0)
        j = int(np.argmax(sizes))
        picked.append(j)
        direction = left[:, j] / max(sizes[j], 1e-300)
        left = left - np.outer(direction, direction @ left)

    return np.array(picked, dtype=np.intp)


def norms(vertices: FloatArray, points: FloatArray, stop: float = 0.0) -> FloatArray:
    """Upper bounds of the polytope norms of the columns of ``points``, least ones when converged.

    A point is left alone once its norm is known to be at most ``stop``, or to exceed it.
    """
    basis = _bases(vertices, points, stop)
    return weight_bounds(vertices, basis, _weights(vertices, points, basis), points)


def _bases(vertices: FloatArray, points: FloatArray, stop: float) -> npt.NDArray[np.intp]:
    """For each point the n vertices of its shortest representation, by the simplex method."""
    count = points.shape[1]
    start = first_basis(vertices)
    basis = np.tile(start, (count, 1))
    inverse = np.tile(np.linalg.inv(vertices[:, start]), (count, 1, 1))
    weights = np.einsum("kij,jk->ki", inverse, points)
    signs = np.where(weights < 0.0, -1.0, 1.0)
    weights, inverse = np.abs(weights), inverse * signs[:, :, None]
    active = np.arange(count)
    for exchange in range(_STEPS):
        if exchange % _REFRESH == _REFRESH - 1:
            _refresh(vertices, points, basis, active, inverse, weights)
        dual = inverse[active].sum(axis=1)
        reduced = dual @ vertices
        entering = np.argmax(np.abs(reduced), axis=1)
        rows = np.arange(len(active))
        price = reduced[rows, entering]
        total = weights[active].sum(axis=1)
        largest = np.maximum(np.abs(price), 1.0)
        goes_on = (np.abs(price) > 1.0 + 1e-13) & (total > stop)
        if stop > 0.0:
            goes_on &= total / largest <= stop
        if not goes_on.any():
            break
        active, entering, price = active[goes_on], entering[goes_on], price[goes_on]
        rows = np.arange(len(active))
        sign = np.sign(price)
        direction = np.einsum("kij,jk->ki", inverse[active], vertices[:, entering] * sign)
        positive = direction > 1e-11
        ratio = np.where(positive, weights[active] / np.where(positive, direction, 1.0), np.inf)
        leaving = np.argmin(ratio, axis=1)
        theta = ratio[rows, leaving]
        usable = np.isfinite(theta)
        active, rows = active[usable], np.arange(int(usable.sum()))
        direction, leaving, theta = direction[usable], leaving[usable], theta[usable]
        weights[active] = np.maximum(weights[active] - theta[:, None] * direction, 0.0)
        weights[active, leaving] = theta
        pivot = inverse[active, leaving] / direction[rows, leaving][:, None]
        inverse[active] -= direction[:, :, None] * pivot[:, None, :]
        inverse[active, leaving] = pivot
        basis[active, leaving] = entering[usable]
        if active.size == 0:
            break

    return basis


def _refresh(
    vertices: FloatArray,
    points: FloatArray,
    basis: npt.NDArray[np.intp],
    active: npt.NDArray[np.intp],
    inverse: FloatArray,
    weights: FloatArray,
) -> None:
    """Invert the bases of the active points afresh: exchange by exchange rounding piles up."""
    columns = vertices[:, basis[active]].transpose(1, 0, 2)
    try:
        fresh = np.linalg.inv(columns)
    except np.linalg.LinAlgError:  # one singular basis spoils the whole stack
        return

    made = np.einsum("kij,jk->ki", fresh, points[:, active])
    signs = np.where(made < 0.0, -1.0, 1.0)
    weights[active] = np.abs(made)
    inverse[active] = fresh * signs[:, :, None]


def _weights(vertices: FloatArray, points: FloatArray, basis: npt.NDArray[np.intp]) -> FloatArray:
    """Weights of the vertices ``basis[k]`` that make point k, solved afresh."""
    columns = vertices[:, basis].transpose(1, 0, 2)
    weights: FloatArray

    try:
        weights = np.linalg.solve(columns, points.T[:, :, None])[:, :, 0].astype(np.float64)
    except np.linalg.LinAlgError:  # one singular basis spoils the whole stack
        weights = np.einsum("kij,jk->ki", np.linalg.pinv(columns), points)

    return weights


def weight_bounds(
    vertices: FloatArray,
    basis: npt.NDArray[np.intp],
    weights: FloatArray,
    points: FloatArray,
) -> FloatArray:
    """Bounds of the norms of points that ``weights`` of ``basis`` make, up to a rest paid for."""
    n = len(points)
    columns = vertices[:, basis].transpose(1, 0, 2)
    made = np.einsum("kij,kj->ki", columns, weights)
    rest = np.abs(points.T - made)
    rest += (n + 2) * EPS * np.einsum("kij,kj->ki", np.abs(columns), np.abs(weights))
    bounds: FloatArray = np.abs(weights).sum(axis=1) + rest @ leftover_costs(vertices)
    return bounds


def leftover_costs(vertices: FloatArray) -> FloatArray:
    """Costs c with ‖x‖ <= sum_i c_i |x_i|; infinite where the vertices do not span.

    For any n vertices W, x = W(W⁻¹x) gives ‖x‖ <= ‖W⁻¹x‖₁. W⁻¹ is known as X with X W = 1 - R,
    so that ‖W⁻¹x‖₁ <= ‖X x‖₁/(1 - ‖R‖₁). Coordinate by coordinate, this is not spoilt by
    coordinates of different size, as a ball inside the polytope would be.
    """
    n = len(vertices)
    W = vertices[:, first_basis(vertices)]

    try:
        X = np.linalg.inv(W)
    except np.linalg.LinAlgError:
        return np.full(n, np.inf)

    with np.errstate(all="ignore"):
        rounding = (n + 2) * EPS * np.abs(X) @ np.abs(W)
        residual = float((np.abs(np.eye(n) - X @ W) + rounding).sum(axis=0).max())

    if not residual < 0.5:
        return np.full(n, np.inf)

    costs: FloatArray = np.abs(X).sum(axis=0) * (1.0 + 4 * n * EPS) / (1.0 - residual)
    return costs


def inner_radius(vertices: FloatArray) -> float:
    """Radius of a ball that the polytope contains: ‖x‖ <= √n ‖B⁻¹‖ |x| for any n vertices B."""
    basis = vertices[:, first_basis(vertices)]
    smallest = float(np.linalg.svd(basis, compute_uv=False)[-1])
    return smallest / float(np.sqrt(len(vertices)))


def represent(
    matrices: FloatArray,
    vertices: FloatArray,
    guides: Sequence[tuple[FloatArray, FloatArray]] = (),
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """How every image A_i v_k is made of vertices: n indices and n weights, i the slower index.

    ``guides`` are the same matrices and vertices in other coordinates, in which the linear
    programmes may be solved with less rounding; of every image the best answer is taken.
    """
    images = np.concatenate(list(matrices @ vertices), axis=1)
    best_basis = best_weights = None
    least = np.empty(0)
    for others, corners in guides or [(matrices, vertices)]:
        seen = np.concatenate(list(others @ corners), axis=1)
        basis = _bases(corners, seen, 0.0)
        weights = _weights(vertices, images, basis)
        sizes = weight_bounds(vertices, basis, weights, images)
        if best_basis is None or best_weights is None:
            best_basis = basis
            best_weights = weights
            least = sizes
        else:
            better = sizes < least
            best_basis = np.where(better[:, None], basis, best_basis)
            best_weights = np.where(better[:, None], weights, best_weights)
            least = np.where(better, sizes, least)

    assert best_basis is not None
    assert best_weights is not None
    return best_basis, best_weights


def operator_norm(
    matrices: FloatArray,
    vertices: FloatArray,
    basis: npt.NDArray[np.intp],
    weights: FloatArray,
) -> float:
    """Bound of the matrices' norms in the norm of the polytope, rounding included."""
    images = np.concatenate(list(matrices @ vertices), axis=1)
    spread = np.concatenate(list(np.abs(matrices) @ np.abs(vertices)), axis=1)
    n = len(vertices)
    rounding = (n + 2) * EPS * (leftover_costs(vertices) @ spread)
    sizes = weight_bounds(vertices, basis, weights, images)
    return float(np.max(sizes + rounding)) * (1.0 + (n + 8) * EPS)


def leading_vectors(matrices: FloatArray, words: list[Word]) -> FloatArray:
    """Leading eigenvectors of the words' products as columns; an ellipse of them if complex."""
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
    """A polytope that grows under matrices given in units of the target rate.

    ``closed`` says that every image of a vertex is inside, up to ``slack``; ``spans`` that the
    vertices are not all in a hyperplane; ``spent`` counts the linear programmes. Each vertex
    remembers the vertex and the letter that led to it.
    """

    def __init__(self, matrices: FloatArray, start: FloatArray, slack: float = 1e-12) -> None:
        self.matrices = matrices
        self.vertices = start
        self.limit = 1.0 + slack
        self.closed = False
        self.spans = False
        self.spent = 0
        columns = start.shape[1]
        self._parent = [-1] * columns
        self._letter = [0] * columns
        self._node = list(range(columns))  # the node that each column stands for
        self._fresh = list(range(columns))  # the columns whose images are still to be tested
        self._last_pruned = 4 * len(start)

    def grow(self, budget: int) -> None:
        """Add images of vertices until none is outside, or ``budget`` would be exceeded."""
        self.spans = self._span()
        if not self.spans:
            return

        while self._fresh:
            if self.spent + len(self.matrices) * len(self._fresh) > budget:
                return

            columns = self._fresh
            self._fresh = []
            images = np.concatenate(list(self.matrices @ self.vertices[:, columns]), axis=1)
            for k in self._outside(images):
                self._append(images[:, k], columns[k % len(columns)], int(k // len(columns)))
            if self._fresh and self.vertices.shape[1] > _PRUNE * self._last_pruned:
                self._prune()

        self.closed = True

    def words(self, longest: int = 64) -> list[Word]:
        """Endings, up to ``longest`` letters, of the words that led to the newest vertices."""
        out: set[Word] = set()
        for node in self._node[-_NEWEST:]:
            word: Word = ()
            while self._parent[node] >= 0 and len(word) < longest:
                word = (*word, self._letter[node])
                out.add(word)
                node = self._parent[node]

        return sorted(out, key=lambda word: (len(word), word))

    def _append(self, vector: FloatArray, column: int, letter: int) -> None:
        self._parent.append(self._node[column])
        self._letter.append(letter)
        self._node.append(len(self._parent) - 1)
        self._fresh.append(self.vertices.shape[1])
        self.vertices = np.column_stack([self.vertices, vector])

    def _span(self) -> bool:
        """Make the vertices span, by images first and by short vectors across where those fail."""
        n = len(self.vertices)
        column = 0
        while column < min(self.vertices.shape[1], n):
            for letter, matrix in enumerate(self.matrices):
                frame = self._frame()
                if frame.shape[1] == n:
                    return True
                image = matrix @ self.vertices[:, column]
                across = image - frame @ (frame.T @ image)
                if np.linalg.norm(across) > _ACROSS * np.linalg.norm(image):
                    self._append(image, column, letter)

            column += 1

        # The images are (nearly) in a subspace that all matrices (nearly) keep. What they do
        # across it grows more slowly, so that short vectors there stay short.
        frame = self._frame()
        size = float(np.linalg.norm(self.vertices, axis=0).max())
        missing = np.linalg.qr(np.column_stack([frame, np.eye(n)]))[0][:, frame.shape[1] :]
        for direction in missing.T:
            self._parent.append(-1)
            self._letter.append(0)
            self._node.append(len(self._parent) - 1)
            self._fresh.append(self.vertices.shape[1])
            self.vertices = np.column_stack([self.vertices, _SHORT * size * direction])

        return bool(self._frame().shape[1] == n)

    def _frame(self) -> FloatArray:
        """Orthonormal basis of the directions in which the vertices are not negligible."""
        left, values, _ = np.linalg.svd(self.vertices, full_matrices=False)
        frame: FloatArray = left[:, values > _SPANS * values[0]]
        return frame

    def _outside(self, images: FloatArray) -> list[int]:
        """Indices of the images that have to become vertices."""
        self.spent += images.shape[1]
        sizes = self._sizes(images, np.empty((len(images), 0)), self.limit)
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > self.limit]

        cut = len(order) // _FARTHEST + 1
        head = order[:cut]
        tail = order[cut:]
        if tail.size:
            self.spent += tail.size
            wider = self._sizes(images[:, tail], images[:, head], self.limit)
            tail = tail[wider > self.limit]

        return [int(k) for k in (*head, *tail)]

    def _sizes(self, points: FloatArray, extra: FloatArray, stop: float = 0.0) -> FloatArray:
        """Norms of points in the polytope with ``extra`` vertices beside its own."""
        return norms(np.column_stack([self.vertices, extra]), points, stop)

    def _prune(self) -> None:
        """Drop the columns that are inside the hull of the others."""
        self.spent += self.vertices.shape[1]
        nothing = np.empty((len(self.vertices), 0))
        keep = self._sizes(self.vertices, nothing) > 1.0 - _INSIDE
        place = np.cumsum(keep) - 1
        self._fresh = [int(place[k]) for k in self._fresh if keep[k]]
        self._node = [node for node, kept in zip(self._node, keep, strict=True) if kept]
        self.vertices = self.vertices[:, keep]
        self._last_pruned = self.vertices.shape[1]
