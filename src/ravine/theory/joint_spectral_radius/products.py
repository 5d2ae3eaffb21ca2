"""Products of a finite set of matrices: their radii, and the search for the largest one."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray

EPS = float(np.finfo(np.float64).eps)
"""Distance of 1 to the next float64, twice the error of an operation."""
_TIE = 1e-11
"""Relative difference up to which two radii per factor count as equal."""
_LONGER = 1e-12
"""Relative excess over the best radius that keeps a prefix; less is rounding."""
_AROUND = 16
"""Number of points on a circle at which singular values are computed."""
_WIDEN = 1.4
"""Ratio of the radii of successive circles."""

Word = tuple[int, ...]
"""Indices in the order in which the matrices are written: matrices[i] @ matrices[j] @ ..."""


def product(matrices: FloatArray, word: Word) -> FloatArray:
    """The matrix of a word."""
    return reduce(np.matmul, [matrices[i] for i in word], np.eye(matrices.shape[-1]))


def radii(products: FloatArray) -> FloatArray:
    """Spectral radius of each matrix of a stack."""
    return np.abs(np.linalg.eigvals(products)).max(axis=-1)  # type: ignore[no-any-return]


def certain_radius(matrices: FloatArray, word: Word) -> float:
    """Lower bound of rho(product)^(1/length) that allows for rounding.

    The error of the product is the sum over its factors of the rounding error there times the norm
    of the rest; ``_shift`` bounds its effect on the leading eigenvalue.
    """
    n = matrices.shape[-1]
    if n == len(word) == 1:
        return abs(float(matrices[word[0], 0, 0]))

    scale = float(np.max(np.linalg.norm(matrices[list(word)], axis=(1, 2))))
    if scale == 0.0:
        return 0.0

    factors = [matrices[i] / scale for i in word]
    left = list(accumulate(factors, np.matmul, initial=np.eye(n)))

    # A product with n terms per entry has an error of (n + 2) eps times the sizes, which the
    # factors to its right propagate. The first factor multiplies the identity and is not rounded.
    error = 0.0
    rest = np.eye(n)
    for before, factor in zip(reversed(left[1:-1]), reversed(factors[1:]), strict=True):
        sizes = [float(np.linalg.norm(part)) for part in (before, factor, rest)]
        error += (n + 2) * EPS * sizes[0] * sizes[1] * sizes[2]
        rest = factor @ rest

    matrix = left[-1]
    norm = float(np.linalg.norm(matrix))
    # The computed eigenvalues are those of a matrix this far away.
    error += 4 * n * EPS * norm

    values = np.linalg.eigvals(matrix)
    lead = values[int(np.argmax(np.abs(values)))]
    size = float(np.abs(lead))
    shift = _shift(matrix, complex(lead), error)

    return float(max(size - shift, 0.0) ** (1.0 / len(word)) * scale * (1.0 - 4.0 * EPS))


def _shift(matrix: FloatArray, value: complex, error: float) -> float:
    """Bound on the change of the eigenvalue ``value`` by a perturbation of norm ``error``.

    If the smallest singular value of matrix - z exceeds the error on a circle, the number of
    eigenvalues inside does not change. Circles are tried from the smallest up; at sixteen points
    each, the singular value must exceed twice the error. Infinite if no circle before zero works.
    """
    n = len(matrix)
    points = np.exp(2j * np.pi * np.arange(_AROUND) / _AROUND)[:, None, None] * np.eye(n)
    radius = 2.0 * error
    while radius < abs(value):
        shifted = matrix - value * np.eye(n) - radius * points
        if float(np.linalg.svd(shifted, compute_uv=False)[:, -1].min()) > 2.0 * error:
            return radius
        radius *= _WIDEN

    return np.inf


def smallest_rotation(word: Word) -> Word:
    """The first of the word's cyclic rotations, without repetitions."""
    length = len(word)
    for period in range(1, length + 1):
        if length % period == 0 and word == word[:period] * (length // period):
            word = word[:period]
            break

    return min(word[k:] + word[:k] for k in range(len(word)))


def best_words(
    matrices: FloatArray, *, depth: int = 14, beam: int = 256, work: int = 6000
) -> tuple[float, list[Word]]:
    """Largest rho(product)^(1/length) by branch and bound, and the words that attain it.

    A prefix is followed while its norm, to the power one over its length, exceeds the best radius
    so far: every maximal product has a rotation whose prefixes all do. Each level keeps the
    ``beam`` largest prefixes.
    """
    count = len(matrices)
    stack = matrices.copy()
    words: list[Word] = [(i,) for i in range(count)]
    attained: list[Word] = []
    best = 0.0
    spent = 0

    for length in range(1, depth + 1):
        values = radii(stack) ** (1.0 / length)
        top = float(values.max())
        if top > best * (1.0 + _TIE):
            attained = []
        if top >= best * (1.0 - _TIE):
            best = max(best, top)
            close = np.flatnonzero(values >= best * (1.0 - _TIE))
            attained += [smallest_rotation(words[k]) for k in close]

        spent += len(words)
        sizes = np.linalg.norm(stack, ord=2, axis=(1, 2)) ** (1.0 / length)
        keep = np.flatnonzero(sizes > best * (1.0 + _LONGER))
        keep = keep[np.argsort(-sizes[keep], kind="stable")][:beam]
        if keep.size == 0 or spent >= work:
            break

        stack = (stack[keep][:, None] @ matrices[None]).reshape(-1, *matrices.shape[1:])
        words = [(*words[k], i) for k in keep for i in range(count)]

    return best, sorted(set(attained), key=lambda word: (len(word), word))


def all_products(matrices: FloatArray, length: int) -> FloatArray:
    """Every product of the given length, as a stack."""
    stack = matrices
    for _ in range(length - 1):
        stack = (stack[:, None] @ matrices[None]).reshape(-1, *matrices.shape[1:])

    return stack


def distinct(matrices: FloatArray) -> npt.NDArray[np.intp]:
    """Indices of the nonzero matrices, without those that repeat an earlier one up to sign."""
    flat = matrices.reshape(len(matrices), -1)
    leading = (flat != 0.0).argmax(axis=1)
    signs = np.sign(np.take_along_axis(flat, leading[:, None], axis=1))
    # Adding zero makes -0.0 equal to 0.0.
    first = np.unique(flat * signs + 0.0, axis=0, return_index=True)[1]
    return np.sort(first[signs[first, 0] != 0.0])
