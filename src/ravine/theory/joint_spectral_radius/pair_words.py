"""Products of two real 2x2 matrices: their radii, and the words that may be the worst.

Plain scalar Python that is interpreted for a handful of pairs and compiled for a map. A pair is
eight numbers ``p``, the two matrices row by row. A matrix at hand is four scalars a, b, c, d, for
[[a, b], [c, d]]. A word is a sequence of letters 0 and 1 in the order in which they act.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

DEPTH = 10
"""Length up to which all words are tried: a thousand products."""
LONGEST = 200
"""Longest word that the history of a polygon is searched for."""
ROUNDING = 2.0**-52
"""Distance of 1 to the next float64, twice the error of an operation."""

_BETTER = 1e-12
"""A longer word that only repeats a shorter one must not win by rounding."""

Numbers: TypeAlias = Any
"""Anything indexable: a list when interpreted, an array when compiled."""
Matrix: TypeAlias = tuple[float, float, float, float]


def radius(a: float, b: float, c: float, d: float) -> float:
    """Spectral radius of [[a, b], [c, d]]."""
    half = 0.5 * (a - d)
    disc = half * half + b * c
    if disc >= 0.0:
        return 0.5 * abs(a + d) + math.sqrt(disc)

    return math.sqrt(abs(a * d - b * c))


def times(p: Numbers, letter: int, a: float, b: float, c: float, d: float) -> Matrix:
    """The letter's matrix times [[a, b], [c, d]]: one step more."""
    i = 4 * letter
    return (
        p[i] * a + p[i + 1] * c,
        p[i] * b + p[i + 1] * d,
        p[i + 2] * a + p[i + 3] * c,
        p[i + 2] * b + p[i + 3] * d,
    )


def after(p: Numbers, letter: int, a: float, b: float, c: float, d: float) -> Matrix:
    """[[a, b], [c, d]] times the letter's matrix: one step earlier."""
    i = 4 * letter
    return (
        a * p[i] + b * p[i + 2],
        a * p[i + 1] + b * p[i + 3],
        c * p[i] + d * p[i + 2],
        c * p[i + 1] + d * p[i + 3],
    )


def frobenius(a: float, b: float, c: float, d: float) -> float:
    """Root of the sum of the squares, not less than the norm."""
    return math.sqrt(a * a + b * b + c * c + d * d)


def product_error(p: Numbers, word: Numbers, k: int, prefix: Numbers) -> float:
    """How far the computed product of a word may be from the true one, in norm.

    It is the sum over the factors of (the rest of the product after the factor) times (the
    rounding made at the factor), measured with the true norms of the rests. ``prefix`` holds the
    products of the word's prefixes, four entries each.
    """
    error = 0.0
    a = 1.0
    b = 0.0
    c = 0.0
    d = 1.0
    for j in range(k - 1, -1, -1):
        i = 4 * word[j]
        rest = frobenius(a, b, c, d)
        factor = frobenius(p[i], p[i + 1], p[i + 2], p[i + 3])
        before = frobenius(prefix[4 * j], prefix[4 * j + 1], prefix[4 * j + 2], prefix[4 * j + 3])
        # two products and a sum an entry: three roundings
        error += 3.0 * ROUNDING * rest * factor * before
        a, b, c, d = after(p, word[j], a, b, c, d)

    return error


def certain_pair_radius(p: Numbers, word: Numbers, k: int, prefix: Numbers) -> float:
    """Lower bound of rho(product)^(1/k) that allows for the rounding of the product.

    The radius is at least half the trace, and the root of the determinant; where the
    discriminant is surely positive it is half the trace plus the root of the discriminant.
    """
    a = 1.0
    b = 0.0
    c = 0.0
    d = 1.0
    for j in range(k):
        prefix[4 * j] = a
        prefix[4 * j + 1] = b
        prefix[4 * j + 2] = c
        prefix[4 * j + 3] = d
        a, b, c, d = times(p, word[j], a, b, c, d)

    error = product_error(p, word, k, prefix)

    half = 0.5 * (a - d)
    disc = half * half + b * c
    disc -= error * (2.0 * abs(half) + abs(b) + abs(c) + 2.0 * error)
    disc -= 4.0 * ROUNDING * (half * half + abs(b * c))

    det = abs(a * d - b * c) - 4.0 * ROUNDING * (abs(a * d) + abs(b * c))
    det -= error * (abs(a) + abs(b) + abs(c) + abs(d) + 2.0 * error)

    trace = max(abs(a + d) - 2.0 * error, 0.0)
    best = max(0.5 * trace, math.sqrt(max(det, 0.0)))
    if disc > 0.0:
        best = max(best, 0.5 * trace + math.sqrt(disc))

    return best ** (1.0 / k) * (1.0 - 4.0 * ROUNDING)  # type: ignore[no-any-return]


def short_words(p: Numbers, word: Numbers, prefix: Numbers, trial: Numbers) -> tuple[int, float]:
    """Best of all words up to DEPTH: its letters go to ``word``, its length and value come back.

    The words are a binary tree that is walked depth first: ``trial[1..depth]`` is the word at
    hand and ``prefix`` the products along the way.
    """
    length = 1
    best = radius(p[0], p[1], p[2], p[3])
    word[0] = 0
    other = radius(p[4], p[5], p[6], p[7])
    if other > best:
        best = other
        word[0] = 1

    # Up to rotation a word with both letters begins with 0 and ends with 1.
    for j in range(4):
        prefix[4 + j] = p[j]

    trial[1] = 0
    depth = 1
    while True:
        if depth < DEPTH:
            depth += 1
            trial[depth] = 0
        else:
            # back to the last 0 on the way, which becomes a 1
            while depth > 1 and trial[depth] == 1:
                depth -= 1
            if depth == 1:
                return length, best
            trial[depth] = 1

        j = 4 * (depth - 1)
        a, b, c, d = times(p, trial[depth], prefix[j], prefix[j + 1], prefix[j + 2], prefix[j + 3])
        prefix[j + 4] = a
        prefix[j + 5] = b
        prefix[j + 6] = c
        prefix[j + 7] = d
        if trial[depth] == 1:
            size = radius(a, b, c, d)
            if size > best**depth * (1.0 + _BETTER):
                best = size ** (1.0 / depth)
                length = depth
                for n in range(depth):
                    word[n] = trial[n + 1]


def leading_vector(p: Numbers, word: Numbers, k: int) -> tuple[float, float, float, float]:
    """Leading eigenvector of the word's product: real part x, y and imaginary part x, y."""
    a = 1.0
    b = 0.0
    c = 0.0
    d = 1.0
    for j in range(k):
        a, b, c, d = times(p, word[j], a, b, c, d)

    half = 0.5 * (a - d)
    disc = half * half + b * c
    if disc < 0.0:
        return b, -half, 0.0, math.sqrt(-disc)

    # With λ = (a + d)/2 + root, (b, λ - a) and (λ - d, c) are eigenvectors: take the longer one.
    root = math.sqrt(disc) if a + d >= 0.0 else -math.sqrt(disc)
    if abs(root - half) + abs(b) > abs(root + half) + abs(c):
        return b, root - half, 0.0, 0.0
    if abs(root + half) + abs(c) > 0.0:
        return root + half, c, 0.0, 0.0

    return 1.0, 0.0, 0.0, 0.0


COMPILED = (
    radius,
    times,
    after,
    frobenius,
    product_error,
    certain_pair_radius,
    short_words,
    leading_vector,
)
"""What has to be known to the compiler, callees first."""
