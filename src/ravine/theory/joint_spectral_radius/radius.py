"""The joint spectral radius of a finite set of real matrices: a bracket with a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, overflow_allowed, real, whole
from ravine.theory.bracket import Bracket
from ravine.theory.joint_spectral_radius.norms import (
    BlockNorms,
    Nilpotent,
    NormProof,
    in_units,
    jointly_nilpotent,
    power_of_two,
)
from ravine.theory.joint_spectral_radius.products import Word, certain_radius, distinct
from ravine.theory.joint_spectral_radius.search import Answer, irreducible

_EXACT = 1e-10
"""Largest relative width at which both bounds count as equal."""
_LEAVES = 1e-11
"""Relative size of the part that may leave a subspace that counts as invariant."""
_TRIALS = 3
"""Number of random elements of the algebra: each fails with probability zero, or by rounding."""
_NEW = 1e-6
"""Share of a vector outside a space at which it is a new direction and not a rounding error."""


@dataclass(frozen=True, eq=False, repr=False)
class JointSpectralRadius(Bracket):
    """A bracket of the joint spectral radius, with a proof of each end.

    Attributes
    ----------
    lower, upper
        The bounds, including rounding errors.
    product
        Indices i, j, ... of the product ``matrices[i] @ matrices[j] @ ...`` whose spectral radius,
        to the power one over its length, is ``lower`` (up to the margin for rounding).
    proof
        The proof of ``upper``: ``proof.kind`` describes it, ``proof.verify()`` recomputes it.
    exhausted
        Whether the budget ended before the tolerance was reached.
    tolerance
        The requested relative width.
    """

    product: Word
    proof: NormProof
    exhausted: bool
    tolerance: float

    @property
    def exact(self) -> bool:
        """Whether both bounds agree to rounding (1e-10 relative)."""
        return bool(self.upper - self.lower <= _EXACT * self.upper)


@overflow_allowed
def joint_spectral_radius(
    matrices: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    tolerance: float = 1e-6,
    budget: int = 10_000,
) -> JointSpectralRadius:
    """Bracket the joint spectral radius: the largest growth per step of products in any order.

    It is lim over k of max ‖A_{i_1} ... A_{i_k}‖^(1/k), the rate of the switched system x⁺ = A_i x
    under the worst switching; below 1, the system is stable under any switching.

    Zero matrices and repetitions up to sign are dropped. Sets whose long products are all zero are
    recognised in exact arithmetic, and give 0. Common invariant subspaces split the set into
    blocks, each in balanced units. For each block, a branch and bound over products in a good
    quadratic norm proposes a product for the lower bound, and a polytope grown from its leading
    eigenvector proves the upper bound; if the polytope closes at the product's own radius, the two
    agree to rounding. Otherwise the polytope is grown for a slightly larger rate, as close as the
    budget allows. Matrices without negative entries use polytopes of the positive orthant. A larger
    budget continues where a smaller one stopped.

    Parameters
    ----------
    matrices
        One or more real square matrices of one size: a stack of shape (m, n, n) or a sequence.
        Practical for n up to about 8; without negative entries, for n up to about 20.
    tolerance
        Target relative width, between 1e-12 and 1.
    budget
        Maximum number of linear programs of size n, at least 1; a few thousand take a second. If
        they are used up, the best bracket so far is returned with ``exhausted`` set.

    Examples
    --------
    >>> jsr = joint_spectral_radius([[[1, 1], [0, 1]], [[1, 0], [1, 1]]])
    >>> round(float(jsr.lower), 12), round(float(jsr.upper), 12), jsr.product, jsr.exact
    (1.61803398875, 1.61803398875, (0, 1), True)
    >>> jsr.proof.kind, jsr.proof.verify()
    ('quadratic norm', True)
    """
    remedy = "give square matrices of one size, shape (m, n, n)"
    stack = np.asarray(real("matrices", matrices, "of any size", remedy=remedy))
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3 or stack.shape[1] != stack.shape[2]:
        shown = f"an array of shape {stack.shape}"
        raise Refusal("matrices", "a stack of square matrices", shown, remedy)

    goal = one_number("tolerance", tolerance, "positive", remedy="e.g. tolerance=1e-6")
    if not 1e-12 <= goal <= 1.0:
        raise Refusal("tolerance", "between 1e-12 and 1", f"{goal:g}", "e.g. tolerance=1e-6")

    allowed = whole("budget", budget, 1, remedy="give a number of linear programs, e.g. 10000")
    # Units of powers of two prevent overflow without rounding.
    unit = power_of_two(stack)
    kept = distinct(stack)
    groups = coordinate_blocks(stack)
    units = np.ones(stack.shape[-1])
    for group in groups:
        units[group] = balanced_units(stack[:, group][:, :, group])

    answer = _bracket(in_units(stack / unit, units), groups, goal, allowed)
    proof = NormProof(stack[kept], answer.upper * unit, answer.norm, units)

    return JointSpectralRadius(
        lower=np.float64(answer.lower * unit),
        upper=np.float64(proof.bound),
        product=answer.word,
        proof=proof,
        exhausted=answer.exhausted and not answer.within(goal),
        tolerance=goal,
    )


def _bracket(
    stack: FloatArray, groups: list[npt.NDArray[np.intp]], goal: float, budget: int
) -> Answer:
    """Drop repetitions, split along groups of coordinates and invariant subspaces, and search."""
    kept = distinct(stack)
    matrices = stack[kept]
    if kept.size == 0 or jointly_nilpotent(matrices):
        return Answer(0.0, (int(kept[0]) if kept.size else 0,), 0.0, Nilpotent())

    if len(groups) > 1:
        basis = np.eye(stack.shape[-1])[:, np.concatenate(groups)]
        answer = _split(matrices, basis, [len(group) for group in groups], goal, budget)
    else:
        answer = _connected(matrices, goal, budget)

    return replace(answer, word=tuple(int(kept[i]) for i in answer.word))


def _connected(matrices: FloatArray, goal: float, budget: int) -> Answer:
    """Bracket a set that no permutation splits."""
    # Splitting mixes coordinates; matrices without negative entries are better kept whole.
    whole = None
    if len(matrices) == 1 or bool((matrices >= 0.0).all()):
        whole = irreducible(matrices, goal, budget)
        if whole.within(goal):
            return whole

    basis, sizes = triangular_basis(matrices, np.random.default_rng(0))
    if len(sizes) == 1:
        return whole or irreducible(matrices, goal, budget)

    split = _split(matrices, basis, sizes, goal, budget)
    if split.within(goal):
        return split

    # The entries below the blocks may cost more than the blocks save.
    whole = whole or irreducible(matrices, goal, budget)
    lower, word = max((answer.lower, answer.word) for answer in (split, whole))
    best = min((split, whole), key=lambda answer: answer.upper)
    return replace(best, lower=min(lower, best.upper), word=word, exhausted=whole.exhausted)


def _split(
    matrices: FloatArray, basis: FloatArray, sizes: list[int], goal: float, budget: int
) -> Answer:
    """Bracket every diagonal block of the matrices in a basis, and combine the brackets."""
    blocks = BlockNorms(basis, tuple(sizes), ()).parts(matrices)[2]
    answers = [_bracket(block, [], goal, budget) for block in blocks]
    norm = BlockNorms(basis, tuple(sizes), tuple(answer.norm for answer in answers))
    upper = norm.bound(matrices)
    # A permutation causes no rounding: the product of a block has the same radius in the whole.
    lower, word = max(
        (answer.lower if norm.exact else certain_radius(matrices, answer.word), answer.word)
        for answer in answers
    )
    exhausted = any(answer.exhausted for answer in answers)
    return Answer(min(lower, upper), word, upper, norm, exhausted)


def balanced_units(matrices: FloatArray) -> FloatArray:
    """Powers of two d for which the matrices D⁻¹AD, D = diag(d), have balanced rows and columns.

    The joint spectral radius does not depend on units, but quadratic norms, thresholds and rounding
    errors do. Powers of two cause no rounding.
    """
    from scipy.linalg import matrix_balance  # here, for the sake of a fast import

    total = np.abs(matrices).sum(axis=0)
    return np.asarray(matrix_balance(total, permute=False, separate=True)[1][0])


def coordinate_blocks(matrices: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Groups of coordinates that make every matrix block upper triangular, without rounding.

    The groups are the strongly connected components of the graph with an edge i -> j wherever
    some matrix has a nonzero entry (i, j), in an order in which edges lead forward.
    """
    n = matrices.shape[-1]
    reach = (matrices != 0.0).any(axis=0) | np.eye(n, dtype=bool)
    for _ in range(n.bit_length()):
        reach = reach @ reach

    both = reach & reach.T
    groups = [np.flatnonzero(both[i]) for i in range(n) if not both[i, :i].any()]
    return sorted(groups, key=lambda group: -int(reach[group[0]].sum()))


def triangular_basis(
    matrices: FloatArray, generator: np.random.Generator
) -> tuple[FloatArray, list[int]]:
    """Orthogonal basis in which the matrices are block upper triangular, and the block sizes."""
    n = matrices.shape[-1]
    sub = invariant_subspace(matrices, generator) if n > 1 else None
    if sub is None:
        return np.eye(n), [n]

    k = sub.shape[1]
    full = np.linalg.qr(np.column_stack([sub, np.eye(n)]))[0]
    moved = full.T @ matrices @ full
    first, sizes = triangular_basis(moved[:, :k, :k], generator)
    last, more = triangular_basis(moved[:, k:, k:], generator)
    turn = np.zeros((n, n))
    turn[:k, :k] = first
    turn[k:, k:] = last
    return full @ turn, sizes + more


def invariant_subspace(matrices: FloatArray, generator: np.random.Generator) -> FloatArray | None:
    """Orthonormal basis of a common invariant subspace, or None if none is detected.

    If there is a proper invariant subspace, a random element of the algebra has, with probability
    one, an eigenvector (or a complex pair) in it. Applying the matrices to it repeatedly gives the
    subspace, which is accepted if the part that leaves it is near rounding. The caller includes
    this part in its bound; it is not taken as zero.
    """
    n = matrices.shape[-1]
    scale = float(np.max(np.linalg.norm(matrices, axis=(1, 2))))
    count = len(matrices)

    for _ in range(_TRIALS):
        # A sum may have invariant subspaces that the set does not have; a product breaks them.
        first, second, third = np.tensordot(generator.normal(size=(3, count)), matrices, 1) / scale
        values, vectors = np.linalg.eig(first + second @ third)

        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0.0:
                continue  # the other one of its pair spans the same plane

            start = np.stack([vector.real, vector.imag], axis=1)
            basis = _spin(matrices / scale, start)
            if 0 < basis.shape[1] < n:
                moved = matrices @ basis
                leaving = moved - basis @ (basis.T @ moved)
                if np.linalg.norm(leaving, axis=(1, 2)).max() <= _LEAVES * scale:
                    return basis

    return None


def _spin(matrices: FloatArray, start: FloatArray) -> FloatArray:
    """Orthonormal basis of the smallest nearly invariant space that contains ``start``."""
    n = matrices.shape[-1]
    basis = np.empty((n, 0))
    queue = list(start.T)
    while queue and basis.shape[1] < n:
        vector = queue.pop(0)
        size = float(np.linalg.norm(vector))

        # Twice is enough: the second projection removes the rounding error of the first.
        for _ in range(2):
            vector = vector - basis @ (basis.T @ vector)

        left = float(np.linalg.norm(vector))
        if size > _NEW and left > _NEW * size:
            basis = np.column_stack([basis, vector / left])
            queue += list(matrices @ basis[:, -1])

    return basis
