"""Convex polygons that are symmetric about the origin, kept as one half of their vertices.

``hull`` holds the nodes of the vertices in the upper half plane (y > 0, or y = 0 and x > 0), sorted
by angle; the vertex after the last is minus the first. Coordinates are in ``x`` and ``y`` by node.
Plain scalar Python that is interpreted for a handful of pairs and compiled for a map.
"""

from __future__ import annotations

import math

from ravine.theory.joint_spectral_radius.pair_words import ROUNDING, Numbers

_ALONG = 1e-14
"""Relative cross product up to which two vectors count as parallel."""


def ahead(ax: float, ay: float, bx: float, by: float) -> float:
    """Cross product: positive when b is ahead of a, anticlockwise by less than half a turn."""
    return ax * by - ay * bx


def upper(wx: float, wy: float) -> tuple[float, float]:
    """The one of w and -w that lies in the upper half plane."""
    if wy < 0.0 or (wy == 0.0 and wx < 0.0):
        return -wx, -wy

    return wx, wy


def place(x: Numbers, y: Numbers, hull: Numbers, m: int, wx: float, wy: float) -> int:
    """How many of the half polygon's vertices are not ahead of w, itself in the upper half."""
    low = 0
    high = m
    while low < high:
        middle = (low + high) // 2
        v = hull[middle]
        if ahead(x[v], y[v], wx, wy) >= 0.0:
            low = middle + 1
        else:
            high = middle

    return low


def gauge(
    x: Numbers, y: Numbers, hull: Numbers, m: int, wx: float, wy: float, noise: float
) -> float:
    """Upper bound of the polygon norm of w, itself in the upper half, known up to ``noise``.

    Between the vertices a and b of the edge that w points at, w = s a + t b with s, t >= 0 and
    the norm is s + t. With e = b - a that is (w x e)/(a x e), a quotient of cross products.
    """
    after = place(x, y, hull, m, wx, wy)
    # Past either end of the half, one of the two neighbours is minus a vertex of the other end.
    first = 1.0
    last = 1.0
    if after == 0:
        first = -1.0
        before = hull[m - 1]
        behind = hull[0]
    elif after == m:
        last = -1.0
        before = hull[m - 1]
        behind = hull[0]
    else:
        before = hull[after - 1]
        behind = hull[after]

    ax = first * x[before]
    ay = first * y[before]

    # Differences first: two vertices may lie close together.
    dx = last * x[behind] - ax
    dy = last * y[behind] - ay
    area = ahead(ax, ay, dx, dy)
    if area <= 0.0:  # one vertex only: a segment contains nothing but its multiples
        size = abs(ax) + abs(ay)
        room = abs(wx) + abs(wy)
        along = abs(ahead(ax, ay, wx, wy)) <= _ALONG * size * room
        return float(room / size) if along else math.inf

    if noise > 0.0:
        area -= 4.0 * ROUNDING * (abs(ax * dy) + abs(ay * dx))
        if area <= 0.0:
            return math.inf

    size = (ahead(wx, wy, dx, dy) + noise * (abs(dx) + abs(dy))) / area
    return float(size)


def under(ax: float, ay: float, bx: float, by: float, cx: float, cy: float) -> bool:
    """Whether b, between a and c, is in the triangle of a, c and the origin."""
    return ahead(ax, ay, bx, by) + ahead(bx, by, cx, cy) <= ahead(ax, ay, cx, cy)


def add(x: Numbers, y: Numbers, alive: Numbers, hull: Numbers, m: int, node: int) -> int:
    """Make ``node``, so far outside, a vertex; drop what it covers; return how many there are."""
    here = place(x, y, hull, m, x[node], y[node])
    for j in range(m, here, -1):
        hull[j] = hull[j - 1]

    hull[here] = node
    m += 1

    # On either side, a neighbour that lies under the edge from the new vertex to the next is gone.
    for step in (1, -1):
        while m > 2:
            near = here + step
            far = here + 2 * step
            sign_near = -1.0 if near < 0 or near >= m else 1.0
            sign_far = -1.0 if far < 0 or far >= m else 1.0
            near = near % m
            far = far % m
            u = hull[near]
            v = hull[far]
            ux = sign_near * x[u]
            uy = sign_near * y[u]
            vx = sign_far * x[v]
            vy = sign_far * y[v]
            if step == 1:
                covered = under(x[node], y[node], ux, uy, vx, vy)
            else:
                covered = under(vx, vy, ux, uy, x[node], y[node])

            if not covered:
                break

            alive[u] = 0
            m -= 1
            for j in range(near, m):
                hull[j] = hull[j + 1]
            if near < here:
                here -= 1

    return m


COMPILED = (ahead, upper, place, gauge, under, add)
"""What has to be known to the compiler, callees first."""
