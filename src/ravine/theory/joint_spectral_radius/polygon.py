"""The joint spectral radius of two real 2x2 matrices, by an invariant polygon.

Every function here is plain scalar Python on indexable workspaces: ``bracket_pair`` runs
interpreted on lists for a handful of pairs, and ``compiled_sweep`` compiles the same source for a
map.

A pair is eight numbers ``p``, the two matrices row by row. A word is a sequence of letters 0 and 1
in the order in which the matrices act. A polygon is symmetric about the origin and convex; ``hull``
holds the nodes of one half of it, sorted by angle, so that the node after the last is minus the
first. A node remembers its parent and the letter that led to it: a polygon that does not close
points by its own history at a product that grows faster than the one it was started with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

NODES = 3000
"""Most nodes of one polygon."""
DEPTH = 10
"""Length up to which all words are tried."""
LONGEST = 200
"""Longest word that the history of a polygon is searched for."""

_ROUNDING = 2.0**-52
_SLACK = 1e-12
_ATTEMPTS = 40
_EXACT_ATTEMPTS = 12

Numbers: TypeAlias = Any
Matrix: TypeAlias = tuple[float, float, float, float]


def workspace(make: Callable[[int, type], Numbers]) -> tuple[Numbers, ...]:
    """Room for one call: ``make(size, kind)`` returns an indexable of that size."""
    return (
        make(NODES, float),  # x
        make(NODES, float),  # y
        make(NODES, int),  # parent
        make(NODES, int),  # letter
        make(NODES, int),  # whether the node is still a vertex
        make(NODES + 1, int),  # hull
        make(LONGEST + 1, int),  # word
        make(4 * LONGEST + 4, float),  # products of its prefixes
        make(4 * (DEPTH + 1), float),  # products of the prefixes of the word being tried
        make(DEPTH + 1, int),  # letters of that word
    )


def _radius(a: float, b: float, c: float, d: float) -> float:
    half = 0.5 * (a - d)
    disc = half * half + b * c
    if disc >= 0.0:
        return 0.5 * abs(a + d) + math.sqrt(disc)
    return math.sqrt(abs(a * d - b * c))


def _times(p: Numbers, letter: int, a: float, b: float, c: float, d: float) -> Matrix:
    """The letter's matrix times [[a, b], [c, d]]."""
    i = 4 * letter
    return (
        p[i] * a + p[i + 1] * c,
        p[i] * b + p[i + 1] * d,
        p[i + 2] * a + p[i + 3] * c,
        p[i + 2] * b + p[i + 3] * d,
    )


def _certain_radius(p: Numbers, word: Numbers, k: int, prefix: Numbers) -> float:
    """Lower bound of rho(product)^(1/k) that allows for the rounding of the product.

    The error of the product is the sum over the factors of (rest of the product after the factor)
    times (rounding made at the factor), so it is measured with the true norms of the rests.
    """
    a, b, c, d = 1.0, 0.0, 0.0, 1.0
    for j in range(k):
        prefix[4 * j], prefix[4 * j + 1], prefix[4 * j + 2], prefix[4 * j + 3] = a, b, c, d
        a, b, c, d = _times(p, word[j], a, b, c, d)
    error = 0.0
    e, f, g, h = 1.0, 0.0, 0.0, 1.0
    for j in range(k - 1, -1, -1):
        i = 4 * word[j]
        rest = math.sqrt(e * e + f * f + g * g + h * h)
        factor = math.sqrt(p[i] ** 2 + p[i + 1] ** 2 + p[i + 2] ** 2 + p[i + 3] ** 2)
        before = prefix[4 * j] ** 2 + prefix[4 * j + 1] ** 2
        before = math.sqrt(before + prefix[4 * j + 2] ** 2 + prefix[4 * j + 3] ** 2)
        error += 3.0 * _ROUNDING * rest * factor * before
        e, f, g, h = (
            e * p[i] + f * p[i + 2],
            e * p[i + 1] + f * p[i + 3],
            g * p[i] + h * p[i + 2],
            g * p[i + 1] + h * p[i + 3],
        )
    half = 0.5 * (a - d)
    disc = half * half + b * c
    disc -= error * (2.0 * abs(half) + abs(b) + abs(c) + 2.0 * error)
    disc -= 4.0 * _ROUNDING * (half * half + abs(b * c))
    det = abs(a * d - b * c) - 4.0 * _ROUNDING * (abs(a * d) + abs(b * c))
    det -= error * (abs(a) + abs(b) + abs(c) + abs(d) + 2.0 * error)
    trace = max(abs(a + d) - 2.0 * error, 0.0)
    best = max(0.5 * trace, math.sqrt(max(det, 0.0)))
    if disc > 0.0:
        best = max(best, 0.5 * trace + math.sqrt(disc))
    return best ** (1.0 / k) * (1.0 - 4.0 * _ROUNDING)  # type: ignore[no-any-return]


def _short_words(p: Numbers, word: Numbers, prefix: Numbers, trial: Numbers) -> tuple[int, float]:
    """Best of all words up to DEPTH: its letters go to ``word``, its length and value come back."""
    length, best = 1, _radius(p[0], p[1], p[2], p[3])
    word[0] = 0
    other = _radius(p[4], p[5], p[6], p[7])
    if other > best:
        best = other
        word[0] = 1
    for j in range(4):
        prefix[4 + j] = p[j]
    trial[1] = 0
    depth = 1
    # Up to rotation a word with both letters begins with 0 and ends with 1.
    while True:
        if depth < DEPTH:
            depth += 1
            trial[depth] = 0
        else:
            while depth > 1 and trial[depth] == 1:
                depth -= 1
            if depth == 1:
                return length, best
            trial[depth] = 1
        j = 4 * (depth - 1)
        a, b, c, d = _times(p, trial[depth], prefix[j], prefix[j + 1], prefix[j + 2], prefix[j + 3])
        prefix[j + 4], prefix[j + 5], prefix[j + 6], prefix[j + 7] = a, b, c, d
        if trial[depth] == 1:
            radius = _radius(a, b, c, d)
            # a longer word that only repeats a shorter one must not win by rounding
            if radius > best**depth * (1.0 + 1e-12):
                best = radius ** (1.0 / depth)
                length = depth
                for n in range(depth):
                    word[n] = trial[n + 1]


def _ahead(ax: float, ay: float, bx: float, by: float) -> float:
    """Cross product: positive when b is ahead of a, anticlockwise by less than half a turn."""
    return ax * by - ay * bx


def _place(x: Numbers, y: Numbers, hull: Numbers, m: int, wx: float, wy: float) -> int:
    """How many of the half polygon's vertices are not ahead of w, itself in the upper half."""
    low, high = 0, m
    while low < high:
        middle = (low + high) // 2
        v = hull[middle]
        if _ahead(x[v], y[v], wx, wy) >= 0.0:
            low = middle + 1
        else:
            high = middle
    return low


def _gauge(
    x: Numbers, y: Numbers, hull: Numbers, m: int, wx: float, wy: float, noise: float
) -> float:
    """Upper bound of the polygon norm of w, itself in the upper half, known up to ``noise``."""
    place = _place(x, y, hull, m, wx, wy)
    if place == 0:
        before, after, first, last = hull[m - 1], hull[0], -1.0, 1.0
    elif place == m:
        before, after, first, last = hull[m - 1], hull[0], 1.0, -1.0
    else:
        before, after, first, last = hull[place - 1], hull[place], 1.0, 1.0
    ax, ay = first * x[before], first * y[before]
    bx, by = last * x[after], last * y[after]
    # Differences first: two vertices may lie close together.
    dx, dy = bx - ax, by - ay
    area = _ahead(ax, ay, dx, dy)
    if area <= 0.0:  # one vertex only: a segment contains nothing but its multiples
        size, room = abs(ax) + abs(ay), abs(wx) + abs(wy)
        along = abs(_ahead(ax, ay, wx, wy)) <= 1e-14 * size * room
        return float(room / size) if along else math.inf
    if noise > 0.0:
        area -= 4.0 * _ROUNDING * (abs(ax * dy) + abs(ay * dx))
        if area <= 0.0:
            return math.inf
    gauge: float = (_ahead(wx, wy, dx, dy) + noise * (abs(dx) + abs(dy))) / area
    return gauge


def _under(ax: float, ay: float, bx: float, by: float, cx: float, cy: float) -> bool:
    """Whether b, between a and c, is in the triangle of a, c and the origin."""
    return _ahead(ax, ay, bx, by) + _ahead(bx, by, cx, cy) <= _ahead(ax, ay, cx, cy)


def _add(x: Numbers, y: Numbers, alive: Numbers, hull: Numbers, m: int, node: int) -> int:
    """Make ``node`` a vertex, drop those that it covers, and return the number of vertices."""
    place = _place(x, y, hull, m, x[node], y[node])
    for j in range(m, place, -1):
        hull[j] = hull[j - 1]
    hull[place] = node
    m += 1
    for step in (1, -1):
        while m > 2:
            near, far = place + step, place + 2 * step
            sign_near = -1.0 if near < 0 or near >= m else 1.0
            sign_far = -1.0 if far < 0 or far >= m else 1.0
            near, far = near % m, far % m
            u, v = hull[near], hull[far]
            ux, uy = sign_near * x[u], sign_near * y[u]
            vx, vy = sign_far * x[v], sign_far * y[v]
            if step == 1:
                covered = _under(x[node], y[node], ux, uy, vx, vy)
            else:
                covered = _under(vx, vy, ux, uy, x[node], y[node])
            if not covered:
                break
            alive[u] = 0
            m -= 1
            for j in range(near, m):
                hull[j] = hull[j + 1]
            if near < place:
                place -= 1
    return m


def _leading(p: Numbers, word: Numbers, k: int) -> tuple[float, float, float, float]:
    """Leading eigenvector of the word's product: real part, imaginary part."""
    a, b, c, d = 1.0, 0.0, 0.0, 1.0
    for j in range(k):
        a, b, c, d = _times(p, word[j], a, b, c, d)
    half = 0.5 * (a - d)
    disc = half * half + b * c
    if disc < 0.0:
        return b, -half, 0.0, math.sqrt(-disc)
    # lambda - a and lambda - d, where lambda has the sign of the trace
    root = math.sqrt(disc) if a + d >= 0.0 else -math.sqrt(disc)
    if abs(root - half) + abs(b) > abs(root + half) + abs(c):
        return b, root - half, 0.0, 0.0
    if abs(root + half) + abs(c) > 0.0:
        return root + half, c, 0.0, 0.0
    return 1.0, 0.0, 0.0, 0.0


def _grow(
    p: Numbers, r: float, length: int, limit: int, room: tuple[Numbers, ...]
) -> tuple[int, int, bool]:
    """Grow the polygon of the word's leading eigenvectors under both matrices over r.

    Returns the number of nodes made, the number of vertices left, and whether the polygon closed.
    """
    x, y, parent, letter, alive, hull, word = room[:7]
    real_x, real_y, imag_x, imag_y = _leading(p, word, length)
    starts = 1 if imag_x == 0.0 and imag_y == 0.0 else 32
    scale = 1.0 / math.sqrt(real_x**2 + real_y**2 + imag_x**2 + imag_y**2)
    nodes, m, done = 0, 0, 0
    for j in range(starts):
        cosine, sine = math.cos(math.pi * j / starts), math.sin(math.pi * j / starts)
        wx = scale * (cosine * real_x - sine * imag_x)
        wy = scale * (cosine * real_y - sine * imag_y)
        if wy < 0.0 or (wy == 0.0 and wx < 0.0):
            wx, wy = -wx, -wy
        x[nodes], y[nodes], parent[nodes], letter[nodes], alive[nodes] = wx, wy, -1, 0, 1
        m = _add(x, y, alive, hull, m, nodes)
        nodes += 1
    while nodes + 2 < limit:
        if done == nodes:
            if m > 1:
                return nodes, m, True
            # The word's eigenvector is common to both matrices: a short vector across it spans.
            v = hull[0]
            wx, wy = -1e-3 * y[v], 1e-3 * x[v]
            if wy < 0.0 or (wy == 0.0 and wx < 0.0):
                wx, wy = -wx, -wy
            x[nodes], y[nodes], parent[nodes], letter[nodes], alive[nodes] = wx, wy, -1, 0, 1
            m = _add(x, y, alive, hull, m, nodes)
            nodes += 1
        if alive[done] == 1:
            for i in range(2):
                j = 4 * i
                wx = (p[j] * x[done] + p[j + 1] * y[done]) / r
                wy = (p[j + 2] * x[done] + p[j + 3] * y[done]) / r
                if wy < 0.0 or (wy == 0.0 and wx < 0.0):
                    wx, wy = -wx, -wy
                if _gauge(x, y, hull, m, wx, wy, 0.0) > 1.0 + _SLACK:
                    x[nodes], y[nodes], alive[nodes] = wx, wy, 1
                    parent[nodes], letter[nodes] = done, i
                    m = _add(x, y, alive, hull, m, nodes)
                    nodes += 1
        done += 1
    return nodes, m, False


def _norm(p: Numbers, m: int, room: tuple[Numbers, ...]) -> float:
    """The larger operator norm of the two matrices in the polygon's norm, rounding included."""
    x, y, hull = room[0], room[1], room[5]
    largest = 0.0
    for n in range(m):
        v = hull[n]
        for j in (0, 4):
            wx, wy = p[j] * x[v] + p[j + 1] * y[v], p[j + 2] * x[v] + p[j + 3] * y[v]
            noise = abs(p[j] * x[v]) + abs(p[j + 1] * y[v])
            noise = 4.0 * _ROUNDING * (noise + abs(p[j + 2] * x[v]) + abs(p[j + 3] * y[v]))
            if wy < 0.0 or (wy == 0.0 and wx < 0.0):
                wx, wy = -wx, -wy
            largest = max(largest, _gauge(x, y, hull, m, wx, wy, noise))
    return largest * (1.0 + 8.0 * _ROUNDING)


def _ancestry(
    p: Numbers, m: int, length: int, lower: float, room: tuple[Numbers, ...]
) -> tuple[int, float]:
    """Best product among the words that led to the vertices; beats ``lower`` or gives it back."""
    parent, letter, hull, word = room[2], room[3], room[5], room[6]
    best, best_end = lower, -1
    for n in range(m):
        end = hull[n]
        a, b, c, d = 1.0, 0.0, 0.0, 1.0
        node, k, power = end, 0, 1.0
        while parent[node] >= 0 and k < LONGEST:
            i = 4 * letter[node]
            a, b, c, d = (
                a * p[i] + b * p[i + 2],
                a * p[i + 1] + b * p[i + 3],
                c * p[i] + d * p[i + 2],
                c * p[i + 1] + d * p[i + 3],
            )
            node = parent[node]
            k += 1
            power *= best
            radius = _radius(a, b, c, d)
            if radius > power * (1.0 + 1e-9):
                best = radius ** (1.0 / k)
                power = radius
                best_end, length = end, k
    if best_end >= 0:
        node = best_end
        for j in range(length - 1, -1, -1):
            word[j] = letter[node]
            node = parent[node]
    return length, best


def bracket_pair(
    p: Numbers, ceiling: float, tolerance: float, room: tuple[Numbers, ...]
) -> tuple[float, float, int]:
    """Lower bound, upper bound and length of the best word (left in the workspace).

    ``ceiling`` is a known upper bound, and its inverse must be finite. The search stops when the
    bounds agree to rounding, else when they agree to ``tolerance``, else when the room is used up.
    """
    word = room[6]
    length, best = _short_words(p, word, room[8], room[9])
    lower, upper = _certain_radius(p, word, length, room[7]), ceiling
    if best <= 0.0:
        return lower, upper, length
    # First at the candidate's own radius: a real leading eigenvector often closes exactly.
    slack, too_small, exact_attempts = 0.0, 0.0, 1
    for _ in range(_ATTEMPTS):
        width = upper - lower
        if width <= 1e-11 * lower or (slack > 0.0 and width <= tolerance * lower):
            break
        r = best * (1.0 + slack)
        if r >= upper:
            slack = 0.5 * (too_small + upper / best - 1.0)
            r = best * (1.0 + slack)
        _, m, closed = _grow(p, r, length, NODES // 4 if slack == 0.0 else NODES, room)
        if closed:
            upper = min(upper, _norm(p, m, room))
            slack = max(0.8 * tolerance, 0.5 * (too_small + slack))
            continue
        previous = best
        length, best = _ancestry(p, m, length, best, room)
        if best > previous:
            lower = max(lower, _certain_radius(p, word, length, room[7]))
            slack, too_small = 0.0, 0.0
            if exact_attempts == _EXACT_ATTEMPTS:
                slack = 0.8 * tolerance
            exact_attempts = min(exact_attempts + 1, _EXACT_ATTEMPTS)
        else:
            too_small = slack
            slack = max(0.8 * tolerance, 2.0 * slack)
    return lower, upper, length


def sweep(
    pairs: Numbers,
    ceiling: Numbers,
    tolerance: float,
    lower: Numbers,
    upper: Numbers,
    room: tuple[Numbers, ...],
) -> None:
    """Bracket every row of ``pairs`` into ``lower`` and ``upper``."""
    for n in range(len(pairs)):
        low, high, _ = bracket_pair(pairs[n], ceiling[n], tolerance, room)
        lower[n], upper[n] = low, high


@cache
def compiled_sweep() -> Callable[..., None]:
    """``sweep`` as machine code that releases the interpreter lock; numba is imported here."""
    from numba import njit
    from numba.extending import register_jitable

    for function in _COMPILED:
        register_jitable(function)
    driver: Callable[..., None] = njit(cache=True, nogil=True)(sweep)
    return driver


_COMPILED: Sequence[Callable[..., object]] = (
    _radius,
    _times,
    _certain_radius,
    _short_words,
    _ahead,
    _place,
    _gauge,
    _under,
    _add,
    _leading,
    _grow,
    _norm,
    _ancestry,
    bracket_pair,
)


def array_room(size: int, kind: type) -> Numbers:
    """Workspace for compiled code."""
    return np.zeros(size, np.float64 if kind is float else np.int64)


def list_room(size: int, kind: type) -> Numbers:
    """Workspace for interpreted code, which indexes lists much faster than arrays."""
    return [kind(0)] * size
