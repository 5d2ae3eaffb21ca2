"""What is each trajectory's own in a sweep over a finite sum, made on the GPU.

The same numbers as ``new_tile`` of the CPU's ``finite_sum``, by the same formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.engine.cuda.source import cuda, kernel_function
from ravine.engine.measures import DIVERGENCE


@kernel_function("sum_rows")
def fill_sum_rows(
    alphas: Any, betas: Any, gammas: Any, pairs: Any, first: Any, repeats: Any, own_streams: Any,
    distance: Any, force: Any, own: Any, limit: Any, identity: Any,
) -> None:  # fmt: skip
    """Fill alpha, beta and gamma, the limit and the identity of trajectories ``first``, ...

    Trajectories are the ``repeats`` of one pixel after those of another. Without ``own_streams``
    all pixels have the streams of pixel 0.
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
