"""Newton's method to rounding, with whatever solves its linear systems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ravine.arguments import FloatArray


def newton(
    start: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
    solve: Callable[[FloatArray, FloatArray], FloatArray],
    *,
    iterations: int = 200,
) -> FloatArray:
    """Where ``gradient`` vanishes, from ``start``, until its norm no longer falls.

    ``solve(x, g)`` returns H(x)⁻¹ g. Steps are halved until the gradient norm falls: for a
    strongly convex function that is a descent condition with a full step near the minimiser.
    """
    x = start
    g = gradient(start)
    size = float(np.linalg.norm(g))
    for _ in range(iterations):
        if size == 0.0:
            break
        step = solve(x, g)
        scale = 1.0
        while scale > 1e-6:
            ahead = x - scale * step
            g_ahead = gradient(ahead)
            size_ahead = float(np.linalg.norm(g_ahead))
            if size_ahead < (1.0 - 1e-4 * scale) * size:
                break
            scale /= 2
        else:
            break

        x = ahead
        g = g_ahead
        size = size_ahead

    return x
