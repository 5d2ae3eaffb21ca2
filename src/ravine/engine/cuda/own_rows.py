"""Values that differ between trajectories, computed on the GPU from the pixel number.

The same numbers by the same formulas as ``new_trajectories`` of the CPU's ``quadratic_kernel`` and
``new_tile`` of its ``finite_sum``, which explain them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.engine.cuda.source import cuda, kernel_function
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.kernels.quadratic_kernel import INDEPENDENT, SHARED
from ravine.engine.measures import DIVERGENCE
from ravine.engine.spec import Spec

ALPHA, BETA, GAMMA, LOOK, AHEAD, UNIT, FACTOR, BOUND, SCALE = range(9)
"""Rows of a quadratic: the method, 1 + gamma, gamma / (1 + gamma), one over the unit of the state,
the factor from recorded squares to squared errors, the largest recorded square, and the size of the
noise."""

ROWS = 9


def put_axes(queue: WorkQueue, spec: Spec) -> tuple[Any, ...]:
    """Copy alphas, betas and gammas (one per pixel, or none) to the device."""
    gammas = np.empty(0)
    if spec.gammas is not None:
        gammas = np.ascontiguousarray(np.broadcast_to(spec.gammas, spec.shape)).ravel()

    axes = {"alphas": spec.alphas, "betas": spec.betas, "gammas": gammas}
    return tuple(queue.put(name, axis) for name, axis in axes.items())


@kernel_function("own_rows")
def fill_rows(
    alphas: Any, betas: Any, gammas: Any, pairs: Any, first: Any, repeats: Any, repeat: Any,
    mode: Any, distance: Any, sigma: Any, root: Any, most: Any, least: Any, still: Any,
    own: Any, identity: Any, latest: Any, sup: Any,
) -> None:  # fmt: skip
    """Fill the rows of the trajectories of pixels ``first``, ``first`` + 1, ...

    Trajectories are the ``repeats`` of one pixel after those of another; if ``repeats`` is 1, they
    are those with the number ``repeat``. ``root`` is sqrt(d), ``most`` the largest number of the
    state's format, ``least`` the smallest 1 + gamma used as a divisor, and ``still`` the unit if
    alpha is zero and nothing moves. Records that a run adds to or may not write are set to zero.
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
    # In the kernel's precision an overflow is infinite, and so above the largest number.
    own[BOUND, at] = min(limit / factor, most)
    own[SCALE, at] = -alpha * sigma if mode == INDEPENDENT else 0.0
    identity[at] = np.uint64(pixel) | (np.uint64(number) << np.uint64(32))
    latest[at] = 0.0
    sup[at] = 0.0


@kernel_function("sum_rows")
def fill_sum_rows(
    alphas: Any, betas: Any, gammas: Any, pairs: Any, first: Any, repeats: Any, own_streams: Any,
    distance: Any, force: Any, own: Any, limit: Any, identity: Any,
) -> None:  # fmt: skip
    """Fill alpha, beta and gamma, the limit and the identity of trajectories ``first``, ...

    Trajectories are the ``repeats`` of one pixel after those of another. Without ``own_streams``,
    all pixels use the streams of pixel 0.
    """
    at = cuda.grid(1)
    if at >= limit.size:
        return

    pixel = (first + at) // repeats
    repeat = (first + at) % repeats
    alpha = alphas[pixel] if pairs else alphas[pixel // betas.size]
    beta = betas[pixel] if pairs else betas[pixel % betas.size]
    own[0, at] = alpha
    own[1, at] = beta
    own[2, at] = gammas[pixel] if gammas.size > 0 else beta

    scale = DIVERGENCE * (distance + alpha * force)
    limit[at] = scale * scale if scale > 0.0 else 1.0
    stream = pixel if own_streams else 0
    identity[at] = np.uint64(stream) | (np.uint64(repeat) << np.uint64(32))
