"""What is each trajectory's own, made on the GPU from the number of its pixel.

The rows of an array (rows, trajectories) hold the same numbers as ``new_trajectories`` of the CPU's
``quadratic_kernel``, by the same formulas: see there for what they mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.engine.cuda.source import cuda, kernel_function
from ravine.engine.kernels.quadratic_kernel import INDEPENDENT, SHARED
from ravine.engine.measures import DIVERGENCE

ALPHA, BETA, GAMMA, LOOK, AHEAD, UNIT, FACTOR, BOUND, SCALE = range(9)
"""Rows: the method, 1 + gamma, gamma / (1 + gamma), one over the unit of the state, from recorded
squares to squared errors, the largest recorded square, and the size of noise."""

ROWS = 9


@kernel_function("own_rows")
def fill_rows(
    alphas: Any, betas: Any, gammas: Any, pairs: Any, first: Any, repeats: Any, repeat: Any,
    mode: Any, distance: Any, sigma: Any, root: Any, most: Any, least: Any, still: Any,
    own: Any, identity: Any, latest: Any, sup: Any,
) -> None:  # fmt: skip
    """Fill the rows of the trajectories of pixels ``first``, ``first`` + 1, ...

    Trajectories are the ``repeats`` of one pixel after those of another; where ``repeats`` is 1
    they are the ones numbered ``repeat``. ``root`` is sqrt(d), ``most`` the largest number of the
    state's format, ``least`` the smallest 1 + gamma that is divided by, and ``still`` the unit
    where alpha is zero and nothing moves. What a run adds to or may leave alone is set to zero.
    """
    at = cuda.grid(1)
    if at >= own.shape[1]:
        return

    pixel = first + at // repeats
    number = repeat + at % repeats
    alpha = alphas[pixel] if pairs else alphas[pixel // betas.size]
    beta = betas[pixel] if pairs else betas[pixel % betas.size]
    gamma = gammas[pixel] if gammas.size > 0 else beta

    look = 1.0 + gamma
    if abs(look) < least:
        look = least

    unit = 1.0
    if mode == SHARED:
        unit = -alpha * sigma if alpha > 0.0 else still

    scale = distance + alpha * sigma * root
    limit = (DIVERGENCE * scale) * (DIVERGENCE * scale) if scale > 0.0 else 1.0
    factor = (look * unit) * (look * unit)

    own[ALPHA, at] = alpha
    own[BETA, at] = beta
    own[GAMMA, at] = gamma
    own[LOOK, at] = look
    own[AHEAD, at] = gamma / look
    own[UNIT, at] = 1.0 / unit
    own[FACTOR, at] = factor
    # In the kernel's precision an overflow is infinite, and beyond the largest number there is.
    own[BOUND, at] = min(limit / factor, most)
    own[SCALE, at] = -alpha * sigma if mode == INDEPENDENT else 0.0
    identity[at] = np.uint64(pixel) | (np.uint64(number) << np.uint64(32))
    latest[at] = 0.0
    sup[at] = 0.0
