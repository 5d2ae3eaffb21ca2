"""The joint spectral radius of two real 2x2 matrices, by an invariant polygon.

A polygon starts from the leading eigenvector of the best product so far and takes in its own
images under both matrices, divided by a rate r. When no image is outside any more, both matrices
have norm at most r in the norm whose unit ball it is. A node remembers its parent and the letter
that led to it: a polygon that does not close points by its own history at a product that
grows faster than the one it was started with.

Plain scalar Python: ``bracket_pair`` runs interpreted on lists for a handful of pairs, and
``compiled_sweep`` compiles the same source for a map.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.compilation import cached_njit
from ravine.theory.joint_spectral_radius import half_polygon, pair_words
from ravine.theory.joint_spectral_radius.half_polygon import add, gauge, upper
from ravine.theory.joint_spectral_radius.pair_words import (
    DEPTH,
    LONGEST,
    ROUNDING,
    Numbers,
    after,
    certain_pair_radius,
    leading_vector,
    radius,
    short_words,
)

NODES = 3000
"""Most nodes of one polygon."""

_SLACK = 1e-12
"""An image this little outside counts as inside: it is charged for at the end."""
_CLOSE = 1e-11
"""Relative width at which nothing is left to gain."""
_ATTEMPTS = 40
"""Polygons that are tried; a dozen is the rule."""
_EXACT_ATTEMPTS = 12
"""Better products after which polygons are no longer tried at the product's own radius."""
_BETTER = 1e-9
"""How much larger, relatively, the radius of a product from a polygon's history has to be."""
_ELLIPSE = 32
"""Points on half an ellipse that stands for a complex leading eigenvector."""
_SHORT = 1e-3
"""Length of the vector across an eigenvector that both matrices share."""


class Room(NamedTuple):
    """Workspace of one call, to be used again by the next."""

    x: Numbers
    """Coordinates of the nodes."""
    y: Numbers
    parent: Numbers
    """The node that led to each, -1 for the first."""
    letter: Numbers
    """The matrix that led to it."""
    alive: Numbers
    """Whether the node is still a vertex."""
    hull: Numbers
    """The vertices of half the polygon, by angle."""
    word: Numbers
    """The best word so far."""
    word_prefix: Numbers
    """Products of its prefixes."""
    trial_prefix: Numbers
    """Products of the prefixes of the word being tried."""
    trial: Numbers
    """Letters of that word."""
    best_x: Numbers
    """Vertices of the best closed polygon."""
    best_y: Numbers
    best_size: Numbers
    """How many they are: one entry."""


def workspace(make: Callable[[int, type], Numbers]) -> Room:
    """Room for one call: ``make(size, kind)`` returns an indexable of that size."""
    return Room(
        x=make(NODES, float),
        y=make(NODES, float),
        parent=make(NODES, int),
        letter=make(NODES, int),
        alive=make(NODES, int),
        hull=make(NODES + 1, int),
        word=make(LONGEST + 1, int),
        word_prefix=make(4 * LONGEST + 4, float),
        trial_prefix=make(4 * (DEPTH + 1), float),
        trial=make(DEPTH + 1, int),
        best_x=make(NODES, float),
        best_y=make(NODES, float),
        best_size=make(1, int),
    )


def array_room(size: int, kind: type) -> Numbers:
    """Workspace for compiled code."""
    return np.zeros(size, np.float64 if kind is float else np.int64)


def list_room(size: int, kind: type) -> Numbers:
    """Workspace for interpreted code, which indexes lists much faster than arrays."""
    return [kind(0)] * size


def best_word(room: Room, length: int) -> list[int]:
    """The word that ``bracket_pair`` left in its workspace, in the order in which it acts."""
    return [int(room.word[j]) for j in range(length)]


def best_polygon(room: Room) -> FloatArray:
    """Half of the best closed polygon that ``bracket_pair`` left behind, a vertex a column."""
    count = int(room.best_size[0])
    return np.array([list(room.best_x[:count]), list(room.best_y[:count])], dtype=np.float64)


def _keep_polygon(m: int, room: Room) -> None:
    """Copy the polygon at hand to where the best one is kept."""
    for n in range(m):
        room.best_x[n] = room.x[room.hull[n]]
        room.best_y[n] = room.y[room.hull[n]]

    room.best_size[0] = m


def _start(p: Numbers, length: int, room: Room) -> int:
    """Put the word's leading eigenvector, or an ellipse of them if complex, into the nodes."""
    real_x, real_y, imag_x, imag_y = leading_vector(p, room.word, length)
    starts = 1 if imag_x == 0.0 and imag_y == 0.0 else _ELLIPSE
    scale = 1.0 / math.sqrt(real_x**2 + real_y**2 + imag_x**2 + imag_y**2)
    for j in range(starts):
        cosine = math.cos(math.pi * j / starts)
        sine = math.sin(math.pi * j / starts)
        wx = scale * (cosine * real_x - sine * imag_x)
        wy = scale * (cosine * real_y - sine * imag_y)
        room.x[j], room.y[j] = upper(wx, wy)
        room.parent[j] = -1
        room.letter[j] = 0
        room.alive[j] = 1

    return starts


def _grow(p: Numbers, r: float, length: int, limit: int, room: Room) -> tuple[int, bool]:
    """Grow the polygon of the word's leading eigenvectors under both matrices over r.

    Returns the number of vertices left, and whether the polygon closed before ``limit`` nodes.
    """
    x = room.x
    y = room.y
    alive = room.alive
    hull = room.hull

    nodes = _start(p, length, room)
    m = 0
    for j in range(nodes):
        m = add(x, y, alive, hull, m, j)

    done = 0
    while nodes + 2 < limit:
        if done == nodes:
            if m > 1:
                return m, True
            # The word's eigenvector is common to both matrices: a short vector across it spans.
            v = hull[0]
            x[nodes], y[nodes] = upper(-_SHORT * y[v], _SHORT * x[v])
            room.parent[nodes] = -1
            room.letter[nodes] = 0
            alive[nodes] = 1
            m = add(x, y, alive, hull, m, nodes)
            nodes += 1

        if alive[done] == 1:
            for i in range(2):
                j = 4 * i
                wx = (p[j] * x[done] + p[j + 1] * y[done]) / r
                wy = (p[j + 2] * x[done] + p[j + 3] * y[done]) / r
                wx, wy = upper(wx, wy)
                if gauge(x, y, hull, m, wx, wy, 0.0) > 1.0 + _SLACK:
                    x[nodes] = wx
                    y[nodes] = wy
                    room.parent[nodes] = done
                    room.letter[nodes] = i
                    alive[nodes] = 1
                    m = add(x, y, alive, hull, m, nodes)
                    nodes += 1

        done += 1

    return m, False


def _norm(p: Numbers, m: int, room: Room) -> float:
    """The larger operator norm of the two matrices in the polygon's norm, rounding included."""
    largest = 0.0
    for n in range(m):
        vx = room.x[room.hull[n]]
        vy = room.y[room.hull[n]]
        for j in (0, 4):
            wx = p[j] * vx + p[j + 1] * vy
            wy = p[j + 2] * vx + p[j + 3] * vy
            size = abs(p[j] * vx) + abs(p[j + 1] * vy)
            noise = 4.0 * ROUNDING * (size + abs(p[j + 2] * vx) + abs(p[j + 3] * vy))
            wx, wy = upper(wx, wy)
            largest = max(largest, gauge(room.x, room.y, room.hull, m, wx, wy, noise))

    return largest * (1.0 + 8.0 * ROUNDING)


def _ancestry(p: Numbers, m: int, length: int, lower: float, room: Room) -> tuple[int, float]:
    """Best product among the words that led to the vertices; beats ``lower`` or gives it back.

    From every vertex back through its parents: each ending of the word that led to it is tried.
    """
    best = lower
    best_end = -1
    for n in range(m):
        end = room.hull[n]
        node = end
        k = 0
        power = 1.0  # the best so far, to the power k
        a = 1.0
        b = 0.0
        c = 0.0
        d = 1.0
        while room.parent[node] >= 0 and k < LONGEST:
            a, b, c, d = after(p, room.letter[node], a, b, c, d)
            node = room.parent[node]
            k += 1
            power *= best
            size = radius(a, b, c, d)
            if size > power * (1.0 + _BETTER):
                best = size ** (1.0 / k)
                power = size
                best_end = end
                length = k

    if best_end >= 0:
        node = best_end
        for j in range(length - 1, -1, -1):
            room.word[j] = room.letter[node]
            node = room.parent[node]

    return length, best


def bracket_pair(
    p: Numbers, ceiling: float, tolerance: float, room: Room
) -> tuple[float, float, int]:
    """Lower bound, upper bound and length of the best word (left in the workspace).

    ``ceiling`` is a known upper bound, and its inverse must be finite. The search stops when the
    bounds agree to rounding, else when they agree to ``tolerance``, else when the room is used up.
    """
    room.best_size[0] = 0
    length, best = short_words(p, room.word, room.trial_prefix, room.trial)
    lower = certain_pair_radius(p, room.word, length, room.word_prefix)
    upper_bound = ceiling
    if best <= 0.0:
        return lower, upper_bound, length

    # First at the candidate's own radius: a real leading eigenvector often closes exactly.
    slack = 0.0
    too_small = 0.0
    exact_attempts = 1
    for _ in range(_ATTEMPTS):
        width = upper_bound - lower
        if width <= _CLOSE * lower or (slack > 0.0 and width <= tolerance * lower):
            break
        r = best * (1.0 + slack)
        if r >= upper_bound:
            slack = 0.5 * (too_small + upper_bound / best - 1.0)
            r = best * (1.0 + slack)

        # What closes exactly closes soon.
        limit = NODES // 4 if slack == 0.0 else NODES
        m, closed = _grow(p, r, length, limit, room)
        if closed:
            norm = _norm(p, m, room)
            if norm < upper_bound:
                upper_bound = norm
                _keep_polygon(m, room)
            slack = max(0.8 * tolerance, 0.5 * (too_small + slack))
            continue

        previous = best
        length, best = _ancestry(p, m, length, best, room)
        if best > previous:
            lower = max(lower, certain_pair_radius(p, room.word, length, room.word_prefix))
            slack = 0.8 * tolerance if exact_attempts == _EXACT_ATTEMPTS else 0.0
            too_small = 0.0
            exact_attempts = min(exact_attempts + 1, _EXACT_ATTEMPTS)
        else:
            too_small = slack
            slack = max(0.8 * tolerance, 2.0 * slack)

    return lower, upper_bound, length


def sweep(
    pairs: Numbers,
    ceiling: Numbers,
    tolerance: float,
    lower: Numbers,
    upper: Numbers,
    room: Room,
) -> None:
    """Bracket every row of ``pairs`` into ``lower`` and ``upper``."""
    for n in range(len(pairs)):
        low, high, _ = bracket_pair(pairs[n], ceiling[n], tolerance, room)
        lower[n] = low
        upper[n] = high


@cache
def compiled_sweep() -> Callable[..., None]:
    """``sweep`` as machine code that releases the interpreter lock; numba is imported here."""
    from numba.extending import register_jitable

    own = (_keep_polygon, _start, _grow, _norm, _ancestry, bracket_pair)
    for function in (*pair_words.COMPILED, *half_polygon.COMPILED, *own):
        register_jitable(function)

    return cached_njit(sweep, nogil=True)
