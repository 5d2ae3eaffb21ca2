"""The bracket of one irreducible set: products from below, norms from above, in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.invariant_polytope import Polytope, leading_vectors
from ravine.theory.joint_spectral_radius.norm_proof import (
    InvariantPolytope,
    NormProof,
    ProductNorms,
)
from ravine.theory.joint_spectral_radius.polygon import (
    best_polygon,
    best_word,
    bracket_pair,
    list_room,
    workspace,
)
from ravine.theory.joint_spectral_radius.polytope_norm import (
    Hull,
    PositiveHull,
    SymmetricHull,
    operator_norm,
    represent,
)
from ravine.theory.joint_spectral_radius.products import (
    Word,
    best_words,
    certain_radius,
    product,
    smallest_rotation,
)
from ravine.theory.joint_spectral_radius.quadratic_norm import (
    best_quadratic_norm,
    norm_of_products,
)

_ROUNDING = 1e-12
"""Relative width at which nothing is left to gain."""
_FIRST_SLACK = 0.02
"""How far above the product's own radius a polytope is grown that did not close at it."""
_FIRST_ALLOTMENT = 300
"""Linear programmes for the first polytope; every one that does not close doubles it."""
_ROUNDS = 60
"""Polytopes at most: the allotments end the search long before."""
_EXACT_ATTEMPTS = 8
"""Better products after which polytopes are first tried at the radius itself."""
_STARTS = 4
"""Products of equal radius whose eigenvectors start a polytope together."""
_WIDEST = 3000
"""Most vertices of an unfinished polytope that is still worth a bound."""


@dataclass(frozen=True)
class Answer:
    """A lower bound with its product, and an upper bound with its proof."""

    lower: float
    word: Word
    proof: NormProof
    exhausted: bool = False


def irreducible(matrices: FloatArray, goal: float, budget: int) -> Answer:
    """Bracket a set without common invariant subspace.

    The search is the same for every budget up to where the budget ends it, and keeps the best of
    what it has seen: a larger budget never gives a wider bracket.
    """
    n = matrices.shape[-1]
    scale = float(np.max(np.linalg.norm(matrices, ord=2, axis=(1, 2))))
    P = best_quadratic_norm(matrices / scale)
    quadratic = ProductNorms(matrices, P, 1, norm_of_products(matrices, P, 1))
    if n == 1:
        value, i = max((abs(float(matrix[0, 0])), i) for i, matrix in enumerate(matrices))
        return Answer(value, (i,), replace(quadratic, P=np.eye(1), bound=value))

    search = _Search(matrices, quadratic, goal, budget)
    exhausted = not search.run()
    return Answer(min(search.lower, search.proof.bound), search.word, search.proof, exhausted)


class _Search:
    """Candidates and polytopes for one irreducible set, in coordinates where P is the identity."""

    def __init__(
        self, matrices: FloatArray, quadratic: ProductNorms, goal: float, budget: int
    ) -> None:
        self.matrices = matrices
        self.goal = goal
        self.left = budget
        self.allotment = _FIRST_ALLOTMENT
        self.tried_exactly = 0
        self.positive = bool((matrices >= 0.0).all())

        self.root = np.linalg.cholesky(quadratic.P).T
        self.back = np.linalg.inv(self.root)
        self.unit = quadratic.bound
        self.moved = self.root @ matrices @ self.back / self.unit
        self.proof: NormProof = quadratic

        self.best, self.words = best_words(self.moved)
        self.word = self.words[0]
        self.lower = 0.0
        self._raise_lower()

    def run(self) -> bool:
        """Alternate between growing a polytope and learning a better product from its growth.

        Returns whether the tolerance was reached.
        """
        if self.matrices.shape == (2, 2, 2):
            self._try_polygon()

        slack = self._first_slack()
        too_small = 0.0
        exact_left = _EXACT_ATTEMPTS
        for _ in range(_ROUNDS):
            if self._reached(slack):
                return True
            # Never a part of an allotment: a smaller budget must not see what a larger one skips.
            if self.left < self.allotment:
                break
            ceiling = self.proof.bound / (self.best * self.unit) - 1.0
            if slack >= ceiling:
                slack = max(0.5 * (too_small + ceiling), 0.25 * ceiling)

            polytope = self._polytope(slack)
            if polytope.closed:
                slack, too_small = self._smaller(slack, too_small)
            elif self._learn(polytope.words()):
                slack = self._first_slack() if exact_left else 0.25 * _FIRST_SLACK
                too_small = 0.0
                exact_left = max(exact_left - 1, 0)
            else:
                if slack == 0.0:
                    self.tried_exactly = self.allotment
                self.allotment *= 2
                too_small = slack
                slack = _FIRST_SLACK if slack == 0.0 else 4.0 * slack

        return self._reached(self.goal)

    def _smaller(self, slack: float, too_small: float) -> tuple[float, float]:
        """Next slack after one that closed, and the largest that did not."""
        # The product's own radius again, once there is twice the room of the last attempt.
        if slack > 0.0 and self.allotment >= 2 * self.tried_exactly and self._first_slack() == 0.0:
            return 0.0, 0.0

        smaller = max(slack / 4.0, 0.8 * self.goal)
        if smaller > too_small:
            return smaller, too_small

        between = float(np.sqrt(slack * too_small))
        if between >= 1.2 * too_small:
            return between, too_small

        # As close as it gets with this room: the one that did not close, with more.
        self.allotment *= 2
        return too_small, 0.0

    def _reached(self, slack: float) -> bool:
        width = self.proof.bound - self.lower
        return width <= _ROUNDING * self.lower or (slack > 0.0 and width <= self.goal * self.lower)

    def _first_slack(self) -> float:
        """Zero, for a polytope at the product's own radius, unless its eigenvalue is complex."""
        values = np.linalg.eigvals(product(self.moved, self.word))
        lead = values[np.argmax(np.abs(values))]
        return 0.0 if abs(lead.imag) <= 1e-12 * abs(lead) else _FIRST_SLACK

    def _try_polygon(self) -> None:
        """Two 2x2 matrices: polygons need no linear programmes and cost nothing of the budget."""
        room = workspace(list_room)
        pair = (self.matrices / self.proof.bound).ravel().tolist()
        # Above the ceiling, so that a polygon is grown even if the ceiling is the answer.
        _, _, length = bracket_pair(pair, 1.0 + 1e-9, self.goal, room)

        # Polygons name the matrices in the order in which they act, products as written. (For 2x2
        # matrices the mirror image of a word has the same trace and determinant.)
        self._learn([tuple(reversed(best_word(room, length)))])
        vertices = best_polygon(room)
        if vertices.shape[1] >= 2:
            self._keep(_prove(SymmetricHull(vertices), self.matrices))

    def _polytope(self, slack: float) -> Polytope:
        """Grow one, and keep its bound if it is better, closed or not."""
        words = self.words[:_STARTS] if slack == 0.0 else self.words[:1]
        rate = self.best * (1.0 + slack)
        if self.positive:
            start = leading_vectors(self.matrices, words)
            polytope = Polytope(self.matrices / (rate * self.unit), start, positive=True)
        else:
            start = leading_vectors(self.moved, words)
            polytope = Polytope(self.moved / rate, start)

        polytope.grow(self.allotment)
        self.left -= max(polytope.spent, 1)

        if polytope.spans and polytope.vertices.shape[1] <= _WIDEST:
            self._keep(self._proven(polytope.vertices))

        return polytope

    def _keep(self, proof: NormProof) -> None:
        if proof.bound < self.proof.bound:
            self.proof = proof

    def _proven(self, vertices: FloatArray) -> InvariantPolytope:
        """The bound that the hull of some vertices proves, whether it is closed or not."""
        if self.positive:
            return _prove(PositiveHull(vertices), self.matrices)

        # The same programmes in two coordinates: what ends badly in one may end well in the other.
        hull = SymmetricHull(self.back @ vertices)
        return _prove(hull, self.matrices, [(SymmetricHull(vertices), self.moved)])

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


def _prove(
    hull: Hull, matrices: FloatArray, guides: Sequence[tuple[Hull, FloatArray]] = ()
) -> InvariantPolytope:
    basis, weights = represent(hull, matrices, guides)
    bound = operator_norm(hull, matrices, basis, weights)
    positive = isinstance(hull, PositiveHull)
    return InvariantPolytope(matrices, hull.vertices, basis, weights, bound, positive)
