"""The joint spectral radius of a finite set of real matrices: a bracket with its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, real, whole
from ravine.theory.bracket import Bracket
from ravine.theory.joint_spectral_radius.invariant_polytope import (
    Polytope,
    leading_vectors,
    operator_norm,
    represent,
)
from ravine.theory.joint_spectral_radius.irreducible import (
    coordinate_blocks,
    jointly_nilpotent,
    triangular_basis,
)
from ravine.theory.joint_spectral_radius.norm_certificate import (
    BlockTriangular,
    Certificate,
    InvariantPolytope,
    Nilpotent,
    ProductNorms,
    coupled_bound,
)
from ravine.theory.joint_spectral_radius.products import (
    Word,
    best_words,
    certain_radius,
    distinct,
    product,
    smallest_rotation,
)
from ravine.theory.joint_spectral_radius.quadratic_norm import (
    best_quadratic_norm,
    lyapunov_norm,
    norm_of_products,
    power_bound,
)

_EXACT = 1e-10
_FIRST_SLACK = 0.02
_PRODUCTS = 4096
_WIDEST = 3000
"""Most vertices of an unfinished polytope that is still worth a bound."""


@dataclass(frozen=True, eq=False)
class JointSpectralRadius(Bracket):
    """A bracket of the joint spectral radius, with what proves each end.

    Attributes
    ----------
    lower, upper
        The bounds, rounding allowed for.
    product
        Indices i, j, ... of the product ``matrices[i] @ matrices[j] @ ...`` whose spectral radius,
        to the power one over its length, is ``lower`` (up to what was taken off for rounding).
    certificate
        What proves ``upper``: ``certificate.kind`` says it in words, ``certificate.verify()``
        computes it again.
    exhausted
        Whether the budget ended before the tolerance was reached.
    tolerance
        The relative width that was aimed at.
    """

    product: Word
    certificate: Certificate
    exhausted: bool
    tolerance: float

    @property
    def exact(self) -> bool:
        """Whether both bounds agree to rounding (1e-10 relative)."""
        return bool(self.upper - self.lower <= _EXACT * self.upper)

    @property
    def statement(self) -> str:
        """The result in a sentence."""
        word = " ".join(str(i) for i in self.product)
        what = (
            f"The joint spectral radius is between {self.lower:.12g}, the radius of the product "
            f"{word} per factor, and {self.upper:.12g}, by {self.certificate.kind}"
        )
        if self.exhausted:
            return f"{what}; the budget ended before the tolerance {self.tolerance:g} was reached."
        if self.relative_width > self.tolerance:
            return f"{what}; rounding does not allow the tolerance {self.tolerance:g}."
        return f"{what}."


@dataclass(frozen=True)
class _Part:
    """Answer for one block."""

    lower: float
    word: Word
    certificate: Certificate
    exhausted: bool = False


def joint_spectral_radius(
    matrices: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    tolerance: float = 1e-6,
    budget: int = 10_000,
) -> JointSpectralRadius:
    """Bracket the joint spectral radius: the largest growth per step of products in any order.

    lim over k of max ‖A_{i_1} ... A_{i_k}‖^(1/k), the rate of the switched system x⁺ = A_i x under
    the worst switching; below 1 the system is stable whatever the switching does.

    Zero matrices and repetitions up to sign are dropped. Sets whose long products all vanish are
    found in exact arithmetic, and give 0. Common invariant subspaces split the set into blocks.
    For each block a branch and bound over products in a good quadratic norm proposes a product
    for the lower bound, and a polytope grown from its leading eigenvector proves the upper
    bound; where the polytope closes at the product's own radius the two agree to rounding.
    Otherwise the polytope is grown for a slightly larger rate, as close as the budget allows.

    Parameters
    ----------
    matrices
        One or more real square matrices of one size: a stack of shape (m, n, n) or a sequence.
        Made for n up to about 8.
    tolerance
        Relative width to aim at, between 1e-12 and 1.
    budget
        Linear programmes of size n to spend, at least 1; a few thousand a second. When they are
        used up, the best bracket so far is returned with ``exhausted`` set.

    Examples
    --------
    >>> jsr = joint_spectral_radius([[[1, 1], [0, 1]], [[1, 0], [1, 1]]])
    >>> round(float(jsr.lower), 12), round(float(jsr.upper), 12), jsr.product, jsr.exact
    (1.61803398875, 1.61803398875, (0, 1), True)
    >>> jsr.certificate.kind, jsr.certificate.verify()
    ('quadratic norm', True)
    """
    stack = _checked(matrices)
    goal = one_number("tolerance", tolerance, "positive", remedy="e.g. tolerance=1e-6")
    if not 1e-12 <= goal <= 1.0:
        raise Refusal("tolerance", "between 1e-12 and 1", f"{goal:g}", "e.g. tolerance=1e-6")
    allowed = whole("budget", budget, 1, remedy="give a number of linear programmes, e.g. 10000")
    unit = float(2.0 ** np.round(np.log2(np.abs(stack).max()))) if stack.any() else 1.0
    part = _whole_set(stack / unit, goal, allowed)
    lower, upper = part.lower * unit, part.certificate.bound * unit
    return JointSpectralRadius(
        lower=np.float64(lower),
        upper=np.float64(upper),
        product=part.word,
        certificate=_rescaled(part.certificate, unit),
        exhausted=part.exhausted and upper - lower > goal * lower,
        tolerance=goal,
    )


def _checked(matrices: npt.ArrayLike | Sequence[npt.ArrayLike]) -> FloatArray:
    remedy = "give square matrices of one size, shape (m, n, n)"
    try:
        raw = np.asarray(matrices)
    except ValueError:
        shown = "matrices of different shapes"
        raise Refusal("matrices", "of one size", shown, remedy) from None
    stack = np.asarray(real("matrices", raw, remedy=remedy))
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3 or stack.shape[1] != stack.shape[2]:
        shown = f"an array of shape {stack.shape}"
        raise Refusal("matrices", "a stack of square matrices", shown, remedy)
    return stack


def _rescaled(certificate: Certificate, unit: float) -> Certificate:
    """The same proof for the matrices times ``unit``, a power of two."""
    if isinstance(certificate, BlockTriangular):
        inner = tuple(_rescaled(block, unit) for block in certificate.blocks)
        return replace(
            certificate,
            matrices=certificate.matrices * unit,
            bound=certificate.bound * unit,
            blocks=inner,
        )
    if isinstance(certificate, Nilpotent):
        return Nilpotent(certificate.matrices * unit)
    matrices, bound = certificate.matrices * unit, certificate.bound * unit
    if isinstance(certificate, InvariantPolytope):
        weights = certificate.weights * unit
        return replace(certificate, matrices=matrices, bound=bound, weights=weights)
    assert isinstance(certificate, ProductNorms)
    return replace(certificate, matrices=matrices, bound=bound)


def _whole_set(stack: FloatArray, goal: float, budget: int) -> _Part:
    """Drop what does not matter, split along coordinates (without rounding), and put together."""
    kept = distinct(stack)
    if kept.size == 0:
        return _Part(0.0, (0,), Nilpotent(stack))
    matrices = stack[kept]
    if jointly_nilpotent(matrices):
        return _Part(0.0, (int(kept[0]),), Nilpotent(matrices))
    groups = coordinate_blocks(matrices)
    parts = [
        _connected(np.ascontiguousarray(matrices[:, group][:, :, group]), goal, budget)
        for group in groups
    ]
    best = max(parts, key=lambda part: part.lower)
    word = tuple(int(kept[i]) for i in best.word)
    if len(parts) == 1:
        return replace(best, word=word)
    exhausted = any(part.exhausted for part in parts)
    basis = np.eye(matrices.shape[-1])[:, np.concatenate(groups)]
    blocks = tuple(part.certificate for part in parts)
    bound = coupled_bound(matrices, basis, blocks)
    certificate = BlockTriangular(matrices, basis, blocks, bound)
    return _Part(best.lower, word, certificate, exhausted)


def _connected(stack: FloatArray, goal: float, budget: int) -> _Part:
    """A set that no permutation splits: look for other common invariant subspaces."""
    kept = distinct(stack)
    matrices = stack[kept]
    if kept.size == 0 or jointly_nilpotent(matrices):
        return _Part(0.0, (0,), Nilpotent(stack))
    if kept.size == 1 and stack.shape[-1] > 1:
        return _single(matrices, int(kept[0]))
    basis, sizes = triangular_basis(matrices, np.random.default_rng(0))
    if len(sizes) == 1:
        part = _irreducible(matrices, goal, budget)
        part = _with_longer_products(part, goal)
        return replace(part, word=tuple(int(kept[i]) for i in part.word))
    moved = basis.T @ matrices @ basis
    first, parts = 0, []
    for size in sizes:
        inside = slice(first, first + size)
        parts.append(_block(np.ascontiguousarray(moved[:, inside, inside]), goal, budget))
        first += size
    blocks = tuple(part.certificate for part in parts)
    bound = coupled_bound(matrices, basis, blocks)
    lower, word = max((certain_radius(matrices, part.word), part.word) for part in parts)
    certificate = BlockTriangular(matrices, basis, blocks, bound)
    exhausted = any(part.exhausted for part in parts)
    part = _Part(min(lower, bound), word, certificate, exhausted)
    if bound > (1.0 + goal) * lower:  # what is left below the blocks may cost more than they save
        whole = _with_longer_products(_irreducible(matrices, goal, budget), goal)
        proof = min((part, whole), key=lambda one: one.certificate.bound).certificate
        lower, word = max((one.lower, one.word) for one in (part, whole))
        part = _Part(min(lower, proof.bound), word, proof, whole.exhausted)
    return replace(part, word=tuple(int(kept[i]) for i in part.word))


def _single(matrices: FloatArray, index: int) -> _Part:
    """One matrix: the norm of a high power, in the better of two norms."""
    proofs = []
    for P in (np.eye(matrices.shape[-1]), lyapunov_norm(matrices[0])):
        length, bound = power_bound(matrices[0], P)
        proofs.append(ProductNorms(matrices, P, length, bound))
    proof = min(proofs, key=lambda proof: proof.bound)
    return _Part(min(certain_radius(matrices, (0,)), proof.bound), (index,), proof)


def _block(stack: FloatArray, goal: float, budget: int) -> _Part:
    """One diagonal block in a rounded basis: its certificate must be a norm of single steps."""
    kept = distinct(stack)
    if kept.size == 0:
        return _Part(0.0, (0,), Nilpotent(stack))
    part = _irreducible(stack[kept], goal, budget)
    return replace(part, word=tuple(int(kept[i]) for i in part.word))


def _irreducible(matrices: FloatArray, goal: float, budget: int) -> _Part:
    """Branch and bound for the lower bound, quadratic norm and polytopes for the upper one."""
    n = matrices.shape[-1]
    scale = float(np.max(np.linalg.norm(matrices, ord=2, axis=(1, 2))))
    P = best_quadratic_norm(matrices / scale)
    quadratic = ProductNorms(matrices, P, 1, norm_of_products(matrices, P, 1))
    if n == 1:
        value, i = max((abs(float(matrix[0, 0])), i) for i, matrix in enumerate(matrices))
        return _Part(value, (i,), replace(quadratic, P=np.eye(1), bound=value))
    search = _Search(matrices, quadratic, goal, budget)
    exhausted = not search.run()
    return _Part(min(search.lower, search.proof.bound), search.word, search.proof, exhausted)


def _with_longer_products(part: _Part, goal: float) -> _Part:
    """Where the tolerance was missed, see whether all products of some length bound it better."""
    proof = part.certificate
    matrices = proof.matrices
    if proof.bound <= part.lower * (1.0 + goal) or len(matrices) == 1:
        return part
    P = best_quadratic_norm(matrices / proof.bound)
    length = int(np.log(_PRODUCTS) / np.log(len(matrices)))
    if length < 2:
        return part
    bound = norm_of_products(matrices, P, length)
    if bound >= proof.bound:
        return part
    return replace(part, certificate=ProductNorms(matrices, P, length, bound))


class _Search:
    """Candidates and polytopes for one irreducible set, in coordinates where P is the identity."""

    def __init__(
        self, matrices: FloatArray, quadratic: ProductNorms, goal: float, budget: int
    ) -> None:
        self.matrices, self.goal, self.left = matrices, goal, budget
        self.root = np.linalg.cholesky(quadratic.P).T
        self.back = np.linalg.inv(self.root)
        self.moved = self.root @ matrices @ self.back / quadratic.bound
        self.proof: ProductNorms | InvariantPolytope = quadratic
        self.unit = quadratic.bound
        self.best, self.words = best_words(self.moved, work=min(6000, 10 * budget))
        self.word, self.lower = self.words[0], 0.0
        self._raise_lower()

    def run(self) -> bool:
        """Alternate between growing a polytope and learning a better product from its growth.

        Returns whether the tolerance was reached.
        """
        slack, too_small, exact_left = self._first_slack(), 0.0, 8
        for _ in range(60):
            if self._reached(slack):
                return True
            if self.left <= 0:
                break
            ceiling = self.proof.bound / (self.best * self.unit) - 1.0
            if slack >= ceiling:
                slack = max(0.5 * (too_small + ceiling), 0.25 * ceiling)
            if slack > 0.0 and slack < 1.2 * too_small:
                break
            polytope = self._polytope(slack)
            if polytope.closed:
                smaller = max(slack / 4.0, 0.8 * self.goal)
                slack = smaller if smaller > too_small else float(np.sqrt(slack * too_small))
            elif self._learn(polytope.words()):
                slack, too_small = self._first_slack() if exact_left else 0.25 * _FIRST_SLACK, 0.0
                exact_left = max(exact_left - 1, 0)
            else:
                too_small = slack
                slack = _FIRST_SLACK if slack == 0.0 else 4.0 * slack
        return self._reached(self.goal)

    def _reached(self, slack: float) -> bool:
        width = self.proof.bound - self.lower
        return width <= 1e-12 * self.lower or (slack > 0.0 and width <= self.goal * self.lower)

    def _first_slack(self) -> float:
        """Zero, for a polytope at the product's own radius, unless its eigenvalue is complex."""
        values = np.linalg.eigvals(product(self.moved, self.word))
        lead = values[np.argmax(np.abs(values))]
        return 0.0 if abs(lead.imag) <= 1e-12 * abs(lead) else _FIRST_SLACK

    def _polytope(self, slack: float) -> Polytope:
        """Grow one, and keep its bound if it is better, closed or not."""
        words = self.words if slack == 0.0 else self.words[:1]
        start = leading_vectors(self.moved, words[:4])
        polytope = Polytope(self.moved / (self.best * (1.0 + slack)), start)
        polytope.grow(min(self.left, max(self.left // 3, 50)))
        self.left -= max(polytope.spent, 1)
        n, m = polytope.vertices.shape
        if m <= _WIDEST and np.linalg.matrix_rank(polytope.vertices) == n:
            vertices = self.back @ polytope.vertices
            basis, weights = represent(self.matrices, vertices)
            bound = operator_norm(self.matrices, vertices, basis, weights)
            if bound < self.proof.bound:
                self.proof = InvariantPolytope(self.matrices, vertices, basis, weights, bound)
        return polytope

    def _learn(self, words: list[Word]) -> bool:
        """Whether one of the words has a larger radius per factor than the best so far."""
        found = False
        for word in words:
            radius = float(np.abs(np.linalg.eigvals(product(self.moved, word))).max())
            value = radius ** (1.0 / len(word))
            if value > self.best * (1.0 + 1e-10):
                self.best, self.words, found = value, [smallest_rotation(word)], True
        if found:
            self._raise_lower()
        return found

    def _raise_lower(self) -> None:
        for word in self.words[:4]:
            value = certain_radius(self.matrices, word)
            if value > self.lower:
                self.word, self.lower = word, value
