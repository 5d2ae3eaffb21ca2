"""Polytopes that grow under a set of matrices until they contain all of their images."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.hulls import Hull, PositiveHull, images
from ravine.theory.joint_spectral_radius.products import Word, product

_LIMIT = 1.0 + 1e-12
"""Norm up to which an image counts as inside: the excess is charged for at the end."""
_ELLIPSE = 12
"""Points on half an ellipse that stands for a complex leading eigenvector."""
_INSIDE = 1e-10
"""A vertex this far inside the hull of the others is dropped."""
_SPANS = 1e-10
"""Least ratio of singular values of vectors that count as independent."""
_SHORT = 1e-6
"""Length, in units of the longest vertex, of the vectors that make a norm of the first ones."""
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

    ``kind`` is the hull of its vertices. ``closed`` says that every image of a vertex is inside;
    ``spent`` counts the linear programmes. Each vertex remembers the vertex and the letter that
    led to it. Short vectors across the first ones make it a norm: growth elsewhere is slower, so
    that they stay short or are covered.
    """

    def __init__(self, matrices: FloatArray, start: FloatArray, kind: type[Hull]) -> None:
        self.matrices = matrices
        self.kind = kind
        self.positive = kind is PositiveHull
        self.vertices = np.empty((len(start), 0))
        self.closed = False
        self.spent = 0
        self._parent: list[int] = []
        self._letter: list[int] = []
        self._node: list[int] = []  # the node that each column stands for
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
                self._append(points[:, k], columns[k % len(columns)], k // len(columns))
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

    def _append(self, vector: FloatArray, column: int = -1, letter: int = 0) -> None:
        """Add a vertex that a letter made of the vertex in a column, or that has no parent."""
        self._parent.append(self._node[column] if column >= 0 else -1)
        self._letter.append(letter)
        self._node.append(len(self._parent) - 1)
        self._fresh.append(self.vertices.shape[1])
        self.vertices = np.column_stack([self.vertices, vector])

    def _across(self, start: FloatArray) -> FloatArray:
        """Vectors as long as the longest of ``start`` that make them a norm."""
        size = float(np.linalg.norm(start, axis=0).max())
        if self.positive:
            return np.full((len(start), 1), size)

        left, values, _ = np.linalg.svd(start)
        return size * left[:, int(np.sum(values > _SPANS * values[0])) :]

    def _outside(self, points: FloatArray) -> list[int]:
        """Indices of the images that have to become vertices."""
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
        self._node = [node for node, kept in zip(self._node, keep, strict=True) if kept]
        self.vertices = self.vertices[:, keep]
        self._last_pruned = self.vertices.shape[1]
