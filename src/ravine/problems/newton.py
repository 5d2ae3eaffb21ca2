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
    objective: Callable[[FloatArray], float] | None = None,
    iterations: int = 200,
) -> FloatArray:
    """Where ``gradient`` vanishes, from ``start``, until its norm no longer falls.

    ``solve(x, g)`` returns H(x)⁻¹ g. Steps are halved until the gradient norm falls: for a
    strongly convex function that is a descent condition with a full step near the minimiser. Where
    the ``objective`` is given, it has to fall instead: far from the minimiser of a logistic loss
    the gradient norm allows tiny steps only.
    """
    x = start
    g = gradient(start)
    size = first = float(np.linalg.norm(g))
    for _ in range(iterations):
        if size == 0.0:
            break
        step = solve(x, g)
        slope = float(g @ step)
        value = None if objective is None else objective(x)
        scale = 1.0
        while scale > 1e-6:
            ahead = x - scale * step
            g_ahead = gradient(ahead)
            size_ahead = float(np.linalg.norm(g_ahead))
            falls = size_ahead < (1.0 - 1e-4 * scale) * size
            if objective is not None and value is not None:
                # Within the rounding of the objective only the gradient can tell.
                fall = value - objective(ahead)
                rounding = 1e-12 * abs(value)
                falls = fall > max(0.1 * scale * slope, rounding) or (
                    abs(fall) <= rounding and falls
                )
            if falls:
                break
            scale /= 2
        else:
            break

        # Down at rounding, the norm still falls by a little now and then.
        settled = size_ahead < 1e-13 * first and size_ahead > 0.5 * size
        x = ahead
        g = g_ahead
        size = size_ahead
        if settled:
            break

    return x
