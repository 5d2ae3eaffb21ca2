"""The bracket of an irreducible set: products from below and norms from above, alternately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.hulls import (
    Hull,
    Polytope,
    PositiveHull,
    images,
    leading_vectors,
)
from ravine.theory.joint_spectral_radius.norms import (
    Norm,
    PolytopeNorm,
    QuadraticNorm,
    best_quadratic_norm,
    power_of_two,
)
from ravine.theory.joint_spectral_radius.planar import as_complex, bracket_pair
from ravine.theory.joint_spectral_radius.products import (
    Word,
    best_words,
    certain_radius,
    product,
    smallest_rotation,
)

_ROUNDING = 1e-12
"""Relative width at which nothing is left to gain."""
_FIRST_SLACK = 0.02
"""Relative rate above the product's own radius for a polytope that did not close at it."""
_FIRST_ALLOTMENT = 300
"""Linear programs for the first polytope; the number doubles after every one that does not
close."""
_ROUNDS = 60
"""Maximum number of polytopes; the budget ends the search long before."""
_EXACT_ATTEMPTS = 16
"""Polytopes after which a better product is no longer tried first at its own radius."""
_STARTS = 4
"""Maximum number of products of equal radius whose eigenvectors start a polytope together."""
_WIDEST = 3000
"""Maximum number of vertices of an unfinished polytope that is used for a bound."""
_PRODUCTS = 4096
"""Maximum number of products whose norms are all computed if nothing else reached the tolerance."""


@dataclass(frozen=True)
class Answer:
    """A lower bound with its product, and an upper bound with the norm that proves it."""

    lower: float
    word: Word
    upper: float
    norm: Norm
    exhausted: bool = False

    def within(self, goal: float) -> bool:
        """Whether the relative width is at most ``goal``."""
        return self.upper - self.lower <= goal * self.lower


def irreducible(matrices: FloatArray, goal: float, budget: int) -> Answer:
    """Bracket a set without common invariant subspace.

    The search is the same for every budget until the budget ends it, and keeps the best result so
    far, so a larger budget never gives a wider bracket.
    """
    unit = power_of_two(matrices)
    search = _Search(matrices / unit, goal, budget)
    # For a single matrix, the norm in which its eigenvectors are orthogonal is optimal.
    exhausted = len(matrices) > 1 and not search.run()
    if exhausted:
        search.try_longer_products()

    lower = min(search.lower, search.upper)
    return Answer(lower * unit, search.word, search.upper * unit, search.norm, exhausted)


class _Search:
    """Candidates and polytopes for an irreducible set, in coordinates where P is the identity."""

    def __init__(self, matrices: FloatArray, goal: float, budget: int) -> None:
        self.matrices = matrices
        self.goal = goal
        self.left = budget
        self.allotment = _FIRST_ALLOTMENT
        self.tried_exactly = 0
        self.positive = bool((matrices >= 0.0).all())

        self.P = best_quadratic_norm(matrices)
        self.norm: Norm = QuadraticNorm(self.P)
        self.upper = self.norm.bound(matrices)
        self.root = np.linalg.cholesky(self.P).T
        self.moved = self.root @ matrices @ np.linalg.inv(self.root)

        self.best, self.words = best_words(self.moved)
        self.word = self.words[0]
        self.lower = 0.0
        self._raise_lower()

    def run(self) -> bool:
        """Alternate between growing a polytope and finding a better product from its growth.

        Returns whether the tolerance was reached.
        """
        if self.matrices.shape == (2, 2, 2):
            self._try_polygon()

        slack = self._first_slack()
        too_small = 0.0
        for attempt in range(_ROUNDS):
            if self._reached(slack):
                return True
            # Never a part of an allotment, so that a smaller budget does not try what a larger one
            # skips.
            if self.left < self.allotment:
                break
            ceiling = self.upper / self.best - 1.0
            if slack >= ceiling:
                slack = max(0.5 * (too_small + ceiling), 0.25 * ceiling)

            polytope = self._grown(slack)
            if polytope.closed:
                slack, too_small = self._smaller(slack, too_small)
            elif self._learn(polytope.words()):
                slack = 0.25 * _FIRST_SLACK
                if attempt < _EXACT_ATTEMPTS:
                    slack = self._first_slack()
                too_small = 0.0
            else:
                if slack == 0.0:
                    self.tried_exactly = self.allotment
                self.allotment *= 2
                too_small = slack
                slack = _FIRST_SLACK if slack == 0.0 else 4.0 * slack

        return self._reached(self.goal)

    def try_longer_products(self) -> None:
        """Check whether the norms of all products of some length give a better bound."""
        length = int(np.log(_PRODUCTS) / np.log(len(self.matrices)))
        if length > 1:
            self._keep(QuadraticNorm(self.P, length))

    def _try_polygon(self) -> None:
        """Two 2x2 matrices: polygons need no linear programs, so they cost no budget."""
        pair = as_complex(self.matrices).ravel().tolist()
        # Above the ceiling, so that a polygon is grown even if the ceiling is the result.
        word, points = bracket_pair(pair, self.upper * (1.0 + 1e-9), self.goal)[2:]
        # Polygons list the matrices in the order in which they act, products in written order.
        self._learn([tuple(reversed(word))])
        if points:
            vertices = np.stack([np.real(points), np.imag(points)])
            self._keep(self._polytope_norm(vertices if self.positive else self.root @ vertices))

    def _smaller(self, slack: float, too_small: float) -> tuple[float, float]:
        """The next slack, from the smallest that closed and the largest that did not."""
        # The product's own radius again, with at least twice the allotment of the last attempt.
        if slack > 0.0 and self.allotment >= 2 * self.tried_exactly and self._first_slack() == 0.0:
            return 0.0, 0.0

        smaller = max(slack / 4.0, 0.8 * self.goal)
        if smaller > too_small:
            return smaller, too_small

        between = float(np.sqrt(slack * too_small))
        if between >= 1.2 * too_small:
            return between, too_small

        # No closer with this allotment: try the one that did not close with a larger allotment.
        self.allotment *= 2
        return too_small, 0.0

    def _reached(self, slack: float) -> bool:
        width = self.upper - self.lower
        return width <= _ROUNDING * self.lower or (slack > 0.0 and width <= self.goal * self.lower)

    def _first_slack(self) -> float:
        """Zero (a polytope at the product's own radius) unless its eigenvalue is complex."""
        values = np.linalg.eigvals(product(self.moved, self.word))
        lead = values[np.argmax(np.abs(values))]
        return 0.0 if abs(lead.imag) <= 1e-12 * abs(lead) else _FIRST_SLACK

    def _grown(self, slack: float) -> Polytope:
        """Grow a polytope, and keep its bound if it is better, closed or not."""
        matrices = self.matrices if self.positive else self.moved
        start = leading_vectors(matrices, self.words[: _STARTS if slack == 0.0 else 1])
        scaled = matrices / (self.best * (1.0 + slack))
        polytope = Polytope(scaled, start, PositiveHull if self.positive else Hull)
        polytope.grow(self.allotment)
        self.left -= max(polytope.spent, 1)

        if polytope.vertices.shape[1] <= _WIDEST:
            self._keep(self._polytope_norm(polytope.vertices))

        return polytope

    def _polytope_norm(self, vertices: FloatArray) -> PolytopeNorm:
        """The norm of a polytope, with the columns that represent the images of its vertices."""
        if self.positive:
            basis = PositiveHull(vertices).bases(images(self.matrices, vertices))
            return PolytopeNorm(vertices, basis, positive=True)

        # The same programs in two coordinate systems: one may succeed where the other fails.
        hull = Hull(np.linalg.solve(self.root, vertices))
        points = images(self.matrices, hull.vertices)
        bases = [hull.bases(points), Hull(vertices).bases(images(self.moved, vertices))]
        better = hull.bounds(bases[1], points) < hull.bounds(bases[0], points)
        return PolytopeNorm(hull.vertices, np.where(better[:, None], *bases[::-1]), positive=False)

    def _keep(self, norm: Norm) -> None:
        """Use a norm if its bound is better than the best so far."""
        bound = norm.bound(self.matrices)
        if bound < self.upper:
            self.norm = norm
            self.upper = bound

    def _learn(self, words: list[Word]) -> bool:
        """Whether one of the words has a larger radius per factor than the best so far."""
        better = False
        for word in words:
            radius = float(np.abs(np.linalg.eigvals(product(self.moved, word))).max())
            value = radius ** (1.0 / len(word))
            if value > self.best * (1.0 + 1e-10):
                self.best = value
                self.words = [smallest_rotation(word)]
                better = True

        if better:
            self._raise_lower()

        return better

    def _raise_lower(self) -> None:
        for word in self.words[:_STARTS]:
            value = certain_radius(self.matrices, word)
            if value > self.lower:
                self.word = word
                self.lower = value
