"""The joint spectral radius of a finite set of real matrices: a bracket with its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Refusal,
    WrongType,
    kind_in_words,
    one_number,
    overflow_allowed,
    real,
    whole,
)
from ravine.theory.bracket import Bracket
from ravine.theory.joint_spectral_radius.balancing import balanced_units, in_units
from ravine.theory.joint_spectral_radius.irreducible import (
    coordinate_blocks,
    jointly_nilpotent,
    triangular_basis,
)
from ravine.theory.joint_spectral_radius.norm_proof import (
    BlockTriangular,
    Nilpotent,
    NormProof,
    ProductNorms,
    coupled_bound,
)
from ravine.theory.joint_spectral_radius.products import Word, certain_radius, distinct
from ravine.theory.joint_spectral_radius.quadratic_norm import (
    best_quadratic_norm,
    lyapunov_norm,
    norm_of_products,
    power_bound,
)
from ravine.theory.joint_spectral_radius.search import Answer, irreducible

_EXACT = 1e-10
"""Relative width up to which both bounds count as the same number."""
_PRODUCTS = 4096
"""Products whose norms are all computed where nothing else reached the tolerance."""


@dataclass(frozen=True, eq=False, repr=False)
class JointSpectralRadius(Bracket):
    """A bracket of the joint spectral radius, with what proves each end.

    Attributes
    ----------
    lower, upper
        The bounds, rounding allowed for.
    product
        Indices i, j, ... of the product ``matrices[i] @ matrices[j] @ ...`` whose spectral radius,
        to the power one over its length, is ``lower`` (up to what was taken off for rounding).
    proof
        What proves ``upper``: ``proof.kind`` says it in words, ``proof.verify()`` computes it
        again.
    exhausted
        Whether the budget ended before the tolerance was reached.
    tolerance
        The relative width that was aimed at.
    """

    product: Word
    proof: NormProof
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
            f"{word} per factor, and {self.upper:.12g}, by {self.proof.kind}"
        )
        if self.exhausted:
            return f"{what}; the budget ended before the tolerance {self.tolerance:g} was reached."
        if self.relative_width > self.tolerance:
            return f"{what}; rounding does not allow the tolerance {self.tolerance:g}."

        return f"{what}."


@overflow_allowed
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
    recognised in exact arithmetic, and give 0. Common invariant subspaces split the set into
    blocks, each in units that balance it. For each block a branch and bound over products in a
    good quadratic norm proposes a product for the lower bound, and a polytope grown from its
    leading eigenvector proves the upper bound; where the polytope closes at the product's own
    radius the two agree to rounding. Otherwise the polytope is grown for a slightly larger rate,
    as close as the budget allows. Two 2x2 matrices have polygons of their own, matrices without
    negative entries polytopes of the positive orthant. A larger budget continues where a smaller
    one stopped.

    Parameters
    ----------
    matrices
        One or more real square matrices of one size: a stack of shape (m, n, n) or a sequence.
        Made for n up to about 8; without negative entries for n up to about 20.
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
    >>> jsr.proof.kind, jsr.proof.verify()
    ('quadratic norm', True)
    """
    stack = _checked(matrices)
    goal = one_number("tolerance", tolerance, "positive", remedy="e.g. tolerance=1e-6")
    if not 1e-12 <= goal <= 1.0:
        raise Refusal("tolerance", "between 1e-12 and 1", f"{goal:g}", "e.g. tolerance=1e-6")

    allowed = whole("budget", budget, 1, remedy="give a number of linear programmes, e.g. 10000")
    # In units of a power of two near the largest entry, nothing overflows and no digit changes.
    unit = float(2.0 ** np.round(np.log2(np.abs(stack).max()))) if stack.any() else 1.0
    answer = _whole_set(stack / unit, goal, allowed)
    lower = answer.lower * unit
    upper = answer.proof.bound * unit

    return JointSpectralRadius(
        lower=np.float64(lower),
        upper=np.float64(upper),
        product=answer.word,
        proof=answer.proof.rescaled(unit, np.ones(stack.shape[-1])),
        exhausted=answer.exhausted and upper - lower > goal * lower,
        tolerance=goal,
    )


def _checked(matrices: npt.ArrayLike | Sequence[npt.ArrayLike]) -> FloatArray:
    remedy = "give square matrices of one size, shape (m, n, n)"
    try:
        raw = np.asarray(matrices)
    except ValueError:
        shown = "matrices of different shapes"
        raise Refusal("matrices", "of one size", shown, remedy) from None
    except Exception:  # what the object's own conversion raises, whatever it is
        raise WrongType("matrices", "matrices", kind_in_words(matrices), remedy) from None

    stack = np.asarray(real("matrices", raw, "of any size", remedy=remedy))
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3 or stack.shape[1] != stack.shape[2]:
        shown = f"an array of shape {stack.shape}"
        raise Refusal("matrices", "a stack of square matrices", shown, remedy)

    return stack


def _whole_set(stack: FloatArray, goal: float, budget: int) -> Answer:
    """Drop what does not matter, split along coordinates (without rounding), and put together."""
    kept = distinct(stack)
    if kept.size == 0:
        return Answer(0.0, (0,), Nilpotent(stack))

    matrices = stack[kept]
    if jointly_nilpotent(matrices):
        return Answer(0.0, (int(kept[0]),), Nilpotent(matrices))

    groups = coordinate_blocks(matrices)
    answers = [
        _connected(np.ascontiguousarray(matrices[:, group][:, :, group]), goal, budget)
        for group in groups
    ]
    best = max(answers, key=lambda answer: answer.lower)
    word = tuple(int(kept[i]) for i in best.word)
    if len(answers) == 1:
        return replace(best, word=word)

    basis = np.eye(matrices.shape[-1])[:, np.concatenate(groups)]
    blocks = tuple(answer.proof for answer in answers)
    proof = BlockTriangular(matrices, basis, blocks, coupled_bound(matrices, basis, blocks))
    return Answer(best.lower, word, proof, any(answer.exhausted for answer in answers))


def _connected(stack: FloatArray, goal: float, budget: int) -> Answer:
    """A set that no permutation splits, in balanced units."""
    units = balanced_units(stack)
    answer = _balanced(in_units(stack, units), goal, budget)
    return replace(answer, proof=answer.proof.rescaled(1.0, units))


def _balanced(stack: FloatArray, goal: float, budget: int) -> Answer:
    """Look for common invariant subspaces that are not spanned by coordinates."""
    kept = distinct(stack)
    matrices = stack[kept]
    if kept.size == 0 or jointly_nilpotent(matrices):
        return Answer(0.0, (0,), Nilpotent(stack))
    if kept.size == 1 and stack.shape[-1] > 1:
        return _single(matrices, int(kept[0]))

    # Splitting mixes coordinates, and matrices without negative entries are worth more whole.
    positive = bool((matrices >= 0.0).all())
    answer = irreducible(matrices, goal, budget) if positive else None
    if answer is not None and answer.proof.bound <= (1.0 + goal) * answer.lower:
        return replace(answer, word=tuple(int(kept[i]) for i in answer.word))

    basis, sizes = triangular_basis(matrices, np.random.default_rng(0))
    if len(sizes) == 1:
        answer = _with_longer_products(irreducible(matrices, goal, budget), goal)
    else:
        answer = _hidden_blocks(matrices, basis, sizes, goal, budget)

    return replace(answer, word=tuple(int(kept[i]) for i in answer.word))


def _hidden_blocks(
    matrices: FloatArray, basis: FloatArray, sizes: list[int], goal: float, budget: int
) -> Answer:
    """Blocks in a rounded basis; what is left below them is charged for."""
    moved = basis.T @ matrices @ basis
    answers = []
    first = 0
    for size in sizes:
        inside = slice(first, first + size)
        answers.append(_block(np.ascontiguousarray(moved[:, inside, inside]), goal, budget))
        first += size

    blocks = tuple(answer.proof for answer in answers)
    bound = coupled_bound(matrices, basis, blocks)
    lower, word = max((certain_radius(matrices, answer.word), answer.word) for answer in answers)
    proof = BlockTriangular(matrices, basis, blocks, bound)
    exhausted = any(answer.exhausted for answer in answers)
    split = Answer(min(lower, bound), word, proof, exhausted)
    if bound <= (1.0 + goal) * lower:
        return split

    # What is left below the blocks may cost more than they save.
    whole = _with_longer_products(irreducible(matrices, goal, budget), goal)
    best = min((split, whole), key=lambda answer: answer.proof.bound).proof
    lower, word = max((answer.lower, answer.word) for answer in (split, whole))
    return Answer(min(lower, best.bound), word, best, whole.exhausted)


def _single(matrices: FloatArray, index: int) -> Answer:
    """One matrix: the norm of a high power, in the better of two norms."""
    proofs = []
    for P in (np.eye(matrices.shape[-1]), lyapunov_norm(matrices[0])):
        length, bound = power_bound(matrices[0], P)
        proofs.append(ProductNorms(matrices, P, length, bound))

    proof = min(proofs, key=lambda proof: proof.bound)
    return Answer(min(certain_radius(matrices, (0,)), proof.bound), (index,), proof)


def _block(stack: FloatArray, goal: float, budget: int) -> Answer:
    """One diagonal block in a rounded basis: its proof must be a norm of single steps."""
    kept = distinct(stack)
    if kept.size == 0:
        return Answer(0.0, (0,), Nilpotent(stack))

    answer = irreducible(stack[kept], goal, budget)
    return replace(answer, word=tuple(int(kept[i]) for i in answer.word))


def _with_longer_products(answer: Answer, goal: float) -> Answer:
    """Where the tolerance was missed, see whether all products of some length bound it better."""
    proof = answer.proof
    matrices = proof.matrices
    if proof.bound <= answer.lower * (1.0 + goal) or len(matrices) == 1:
        return answer

    # in units that do not depend on the bound so far: the same proof whatever the budget was
    scale = float(np.max(np.linalg.norm(matrices, ord=2, axis=(1, 2))))
    P = best_quadratic_norm(matrices / scale)
    length = int(np.log(_PRODUCTS) / np.log(len(matrices)))
    if length < 2:
        return answer

    bound = norm_of_products(matrices, P, length)
    if bound >= proof.bound:
        return answer

    return replace(answer, proof=ProductNorms(matrices, P, length, bound))
