"""The joint spectral radius of two real 2x2 matrices, by an invariant polygon.

Points of the plane are complex numbers. A real matrix is a pair of them: it maps z to u z + v z̄,
its norm is |u| + |v|, its trace 2 Re u, its determinant |u|² - |v|². ``pair`` contains u, v of the
first matrix and u, v of the second. A word is a list of letters 0 and 1 in the order in which the
matrices act.

A polygon starts from the leading eigenvector of the best product so far and is extended by its
images under both matrices, divided by a rate. If no image is outside, both matrices have norm at
most that rate in the norm with this unit ball. A node stores its parent and the letter that led to
it: if a polygon does not close, its history shows a product that grows faster than the one it
started from. The general polytopes of this package do the same in any dimension; polygons take
microseconds, which a map of the plane needs.

Python runs ``bracket_pair`` for a handful of pairs, and ``compiled_sweep`` compiles the same source
for a map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.compilation import cached_njit

ComplexArray = npt.NDArray[np.complex128]

EPS = 2.0**-52
"""Distance of 1 to the next float64, twice the error of an operation."""

_DEPTH = 10
"""Longest word of the first search."""
_LONGEST = 200
"""Longest word that is searched in the history of a polygon."""
_NODES = 3000
"""Maximum number of nodes of one polygon."""
_INSIDE = 1.0 + 1e-12
"""Norm up to which an image counts as inside: the excess is charged for at the end."""
_CLOSE = 1e-11
"""Relative width at which the search ends."""
_ATTEMPTS = 40
"""Maximum number of polygons; a dozen is typical."""
_EXACT_ATTEMPTS = 12
"""Number of polygons after which a better product is not tried first at its own radius."""
_LONGER = 1e-12
"""Relative excess that a longer word needs, so that a repetition of a shorter one does not win."""
_BETTER = 1e-9
"""Relative excess that a product from a polygon's history needs."""
_ELLIPSE = 32
"""Number of points on half of the invariant ellipse of a matrix with complex eigenvalues."""
_SHORT = 1e-3
"""Length of the vector across the first eigenvector, relative to it, that completes a polygon."""


def as_complex(matrices: FloatArray) -> ComplexArray:
    """The pairs u, v of real 2x2 matrices, in a last axis."""
    a, b, c, d = (matrices[..., i, j] for i in range(2) for j in range(2))
    pairs = np.stack([a + d + 1j * (c - b), a - d + 1j * (c + b)], axis=-1)
    return np.asarray(0.5 * pairs, np.complex128)


def cross(a: complex, b: complex) -> float:
    """Cross product, positive if b is ahead of a, anticlockwise by less than half a turn."""
    return a.real * b.imag - a.imag * b.real


def square(a: complex) -> float:
    """|a|²."""
    return a.real * a.real + a.imag * a.imag


def size(a: complex) -> float:
    """|a|, in half the time of ``abs``, which avoids overflow."""
    return math.sqrt(a.real * a.real + a.imag * a.imag)


def upper(z: complex) -> complex:
    """Either z or -z, whichever lies in the upper half plane."""
    if z.imag < 0.0 or (z.imag == 0.0 and z.real < 0.0):
        return -z

    return z


def radius(u: complex, v: complex) -> float:
    """Spectral radius of z -> u z + v z̄."""
    disc = square(v) - u.imag * u.imag
    if disc >= 0.0:
        return abs(u.real) + math.sqrt(disc)

    return math.sqrt(abs(square(u) - square(v)))


def times(a: complex, b: complex, u: complex, v: complex) -> tuple[complex, complex]:
    """The matrix (a, b) after the matrix (u, v)."""
    return a * u + b * v.conjugate(), a * v + b * u.conjugate()


def certain_pair_radius(pair: Sequence[complex], word: list[int]) -> float:
    """Lower bound of rho(product)^(1/length) that allows for rounding.

    The error of the product is at most the sum over its factors of the rounding error there (and in
    u and v) times the norm of the rest. The radius is at least |Re u|, and at least the root of the
    determinant; if the eigenvalues are certainly real, it is |Re u| + √(|v|² - Im² u).
    """
    before = [0.0 for _ in word]
    u, v = 1.0 + 0.0j, 0.0j
    for k in range(len(word)):
        before[k] = size(u) + size(v)
        u, v = times(pair[2 * word[k]], pair[2 * word[k] + 1], u, v)

    error = 0.0
    rest_u, rest_v = 1.0 + 0.0j, 0.0j
    for k in range(len(word) - 1, -1, -1):
        a, b = pair[2 * word[k]], pair[2 * word[k] + 1]
        error += 4.0 * EPS * (size(rest_u) + size(rest_v)) * (size(a) + size(b)) * before[k]
        rest_u, rest_v = times(rest_u, rest_v, a, b)

    half = max(abs(u.real) - error, 0.0)
    scale = size(u) + size(v)
    det = abs(square(u) - square(v)) - 4.0 * (EPS * scale + error) * (scale + error)
    best = max(half, math.sqrt(max(det, 0.0)))

    scale = abs(u.imag) + size(v)
    disc = square(v) - u.imag * u.imag - 4.0 * (EPS * scale + error) * (scale + error)
    if disc > 0.0:
        best = max(best, half + math.sqrt(disc))

    return float(best ** (1.0 / len(word)) * (1.0 - 4.0 * EPS))


def short_word(pair: Sequence[complex]) -> tuple[float, list[int]]:
    """The largest radius per factor among words up to ``_DEPTH``, and the word.

    A prefix is followed while its norm exceeds the best radius so far to the power of its length:
    every maximal product has a rotation whose prefixes all do. The letters of a word are the bits
    of its code.
    """
    best = 0.0
    best_code = 0
    best_length = 1
    us, vs, codes = [1.0 + 0.0j], [0.0j], [0]
    for length in range(1, _DEPTH + 1):
        longer_us = [0.0j for _ in range(0)]
        longer_vs = [0.0j for _ in range(0)]
        longer_codes = [0 for _ in range(0)]
        power = best**length * (1.0 + _LONGER)
        for k in range(len(us)):
            for letter in (0, 1):
                u, v = times(pair[2 * letter], pair[2 * letter + 1], us[k], vs[k])
                value = radius(u, v)
                if value > power:
                    best = value ** (1.0 / length)
                    best_code = 2 * codes[k] + letter
                    best_length = length
                    power = value * (1.0 + _LONGER)
                if size(u) + size(v) > power:
                    longer_us.append(u)
                    longer_vs.append(v)
                    longer_codes.append(2 * codes[k] + letter)

        us, vs, codes = longer_us, longer_vs, longer_codes

    return best, [(best_code >> k) & 1 for k in range(best_length - 1, -1, -1)]


def leading_vectors(pair: Sequence[complex], word: list[int]) -> list[complex]:
    """The leading eigenvector of a word's product and a short vector across it.

    For complex eigenvalues: points on half of the product's invariant ellipse.
    """
    u, v = 1.0 + 0.0j, 0.0j
    for letter in word:
        u, v = times(pair[2 * letter], pair[2 * letter + 1], u, v)

    disc = square(v) - u.imag * u.imag
    if disc < 0.0:
        # e^(it) + b e^(-it) is mapped to r (e^(i(t + phi)) + b e^(-i(t + phi))).
        root = math.copysign(math.sqrt(-disc), u.imag)
        b = 1.0j * v / (u.imag + root)
        turns = [math.pi * j / _ELLIPSE for j in range(_ELLIPSE)]
        points = [complex(math.cos(t), math.sin(t)) for t in turns]
        return [z + b * z.conjugate() for z in points]

    # v z̄ = c̄ z with |c| = |v|: z bisects the angle between v and c. The longer of two forms.
    c = complex(math.copysign(math.sqrt(disc), u.real), u.imag)
    z = v + c if square(v + c) >= square(v - c) else 1.0j * (v - c)
    length = size(z)
    z = z / length if length > 0.0 else 1.0 + 0.0j
    return [z, _SHORT * 1.0j * z]


def place(points: list[complex], hull: list[int], z: complex) -> int:
    """Number of vertices of the half polygon that are not ahead of z in the upper half plane."""
    low = 0
    high = len(hull)
    while low < high:
        middle = (low + high) // 2
        if cross(points[hull[middle]], z) >= 0.0:
            low = middle + 1
        else:
            high = middle

    return low


def vertex(points: list[complex], hull: list[int], k: int) -> complex:
    """Vertex k of the whole polygon; beyond either end of the half are the negatives."""
    if 0 <= k < len(hull):
        return points[hull[k]]

    return -points[hull[k % len(hull)]]


def edge_at(points: list[complex], hull: list[int], z: complex) -> tuple[complex, complex]:
    """The edge in the direction of z in the upper half plane: its first vertex and its direction.

    From a along e, z = s a + t (a + e) with s, t >= 0 has the polygon norm s + t, the quotient (z x
    e)/(a x e) of cross products.
    """
    k = place(points, hull, z)
    a = vertex(points, hull, k - 1)
    return a, vertex(points, hull, k) - a


def add(points: list[complex], alive: list[int], hull: list[int], node: int) -> None:
    """Make ``node``, which is outside, a vertex; drop the vertices that it covers."""
    z = points[node]
    k = place(points, hull, z)
    hull.insert(k, node)
    # On both sides, drop neighbours below the edge from the new vertex to the next one.
    for step in (1, -1):
        while len(hull) > 2:
            near = vertex(points, hull, k + step) - z
            far = vertex(points, hull, k + 2 * step) - z
            if step * cross(near, far) > 0.0:
                break

            gone = (k + step) % len(hull)
            alive[hull[gone]] = 0
            hull.pop(gone)
            if gone < k:
                k -= 1


def grow(
    pair: list[complex], start: list[complex], limit: int
) -> tuple[list[complex], list[int], list[int], list[int], bool]:
    """Grow a polygon until it contains its images under both matrices, or has ``limit`` nodes.

    Returns the nodes, the parent of each, the letter that led to it, the nodes that are vertices
    in the upper half plane by angle, and whether the polygon closed.
    """
    points = [upper(z) for z in start]
    parent = [-1 for _ in start]
    letters = [0 for _ in start]
    alive = [1 for _ in start]
    hull = [0]
    for node in range(1, len(points)):
        add(points, alive, hull, node)

    done = 0
    while done < len(points) and len(points) + 2 < limit:
        z = points[done]
        for letter in (0, 1):
            if alive[done] == 1:
                image = upper(pair[2 * letter] * z + pair[2 * letter + 1] * z.conjugate())
                a, edge = edge_at(points, hull, image)
                if cross(image, edge) > _INSIDE * cross(a, edge):
                    points.append(image)
                    parent.append(done)
                    letters.append(letter)
                    alive.append(1)
                    add(points, alive, hull, len(points) - 1)

        done += 1

    return points, parent, letters, hull, done == len(points)


def polygon_norm(pair: Sequence[complex], points: list[complex], hull: list[int]) -> float:
    """The larger norm of the two matrices in the polygon's norm, including rounding."""
    largest = 0.0
    for node in hull:
        z = points[node]
        for letter in (0, 1):
            u, v = pair[2 * letter], pair[2 * letter + 1]
            image = upper(u * z + v * z.conjugate())
            noise = 4.0 * EPS * (size(u) + size(v)) * size(z)
            a, edge = edge_at(points, hull, image)
            area = cross(a, edge) - 4.0 * EPS * size(a) * size(edge)
            if area <= 0.0:
                return math.inf
            largest = max(largest, (cross(image, edge) + noise * size(edge)) / area)

    return largest * (1.0 + 8.0 * EPS)


def learn(
    pair: Sequence[complex], parent: list[int], letters: list[int], hull: list[int], best: float
) -> tuple[float, list[int]]:
    """The best product among the words that led to the vertices, if it beats ``best``.

    For every vertex, back through its parents, each suffix of its word is tried.
    """
    last = 0
    length = 0
    for end in hull:
        node = end
        k = 0
        power = 1.0  # the best so far, to the power k
        u, v = 1.0 + 0.0j, 0.0j
        while parent[node] >= 0 and k < _LONGEST:
            u, v = times(u, v, pair[2 * letters[node]], pair[2 * letters[node] + 1])
            node = parent[node]
            k += 1
            power *= best
            value = radius(u, v)
            if value > power * (1.0 + _BETTER):
                best = value ** (1.0 / k)
                power = value
                last = end
                length = k

    word = [0 for _ in range(length)]
    for k in range(length - 1, -1, -1):
        word[k] = letters[last]
        last = parent[last]

    return best, word


def bracket_pair(
    pair: Sequence[complex], ceiling: float, tolerance: float
) -> tuple[float, float, list[int], list[complex]]:
    """Lower bound, upper bound, best word, and vertices of half the best closed polygon.

    ``ceiling`` is a known upper bound with a finite inverse. The search stops when the bounds agree
    to rounding or ``tolerance``, or when the attempts are used up.
    """
    best, word = short_word(pair)
    lower = certain_pair_radius(pair, word)
    highest = ceiling
    vertices = [0.0j for _ in range(0)]

    # First at the candidate's own radius: with a real leading eigenvector it often closes exactly.
    slack = 0.0
    too_small = 0.0
    for attempt in range(_ATTEMPTS if best > 0.0 else 0):
        width = highest - lower
        if width <= _CLOSE * lower or (slack > 0.0 and width <= tolerance * lower):
            break
        if best * (1.0 + slack) >= highest:
            slack = 0.5 * (too_small + highest / best - 1.0)

        # A polygon that closes exactly does so soon.
        limit = _NODES // 4 if slack == 0.0 else _NODES
        scaled = [entry / (best * (1.0 + slack)) for entry in pair]
        points, parent, letters, hull, closed = grow(scaled, leading_vectors(pair, word), limit)
        if closed:
            norm = polygon_norm(pair, points, hull)
            if norm < highest:
                highest = norm
                vertices = [points[node] for node in hull]
            slack = max(0.8 * tolerance, 0.5 * (too_small + slack))
            continue

        best, longer = learn(pair, parent, letters, hull, best)
        if longer:
            word = longer
            lower = max(lower, certain_pair_radius(pair, word))
            slack = 0.0 if attempt < _EXACT_ATTEMPTS else 0.8 * tolerance
            too_small = 0.0
        else:
            too_small = slack
            slack = max(0.8 * tolerance, 2.0 * slack)

    return lower, highest, word, vertices


def sweep(pairs: Any, tolerance: float, lower: Any, upper: Any) -> None:
    """Bracket every row of ``pairs``, scaled to the upper bound 1, and write two arrays."""
    for n in range(len(pairs)):
        pair = [pairs[n, 0], pairs[n, 1], pairs[n, 2], pairs[n, 3]]
        lower[n], upper[n], _, _ = bracket_pair(pair, 1.0, tolerance)


@cache
def compiled_sweep() -> Callable[..., None]:
    """``sweep`` compiled to release the interpreter lock; numba is imported here."""
    from numba.extending import register_jitable

    small: list[Callable[..., object]] = [
        cross, square, size, upper, radius, times, place, vertex, edge_at,
    ]  # fmt: skip
    large: list[Callable[..., object]] = [
        certain_pair_radius, short_word, leading_vectors, add, grow, polygon_norm, learn,
        bracket_pair,
    ]  # fmt: skip
    for function in small:
        register_jitable(inline="always")(function)
    for function in large:
        register_jitable(function)

    return cached_njit(sweep, nogil=True)
