"""Random orthogonal matrices as products of Householder reflections."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray


def random_orthogonal(rng: np.random.Generator, rows: int, columns: int) -> FloatArray:
    """First ``columns`` columns of a Haar-distributed orthogonal matrix of ``rows`` rows.

    The product of ``columns`` Householder reflections whose vectors are Gaussian (Stewart 1980).
    """
    product = np.eye(rows, columns)
    for k in range(columns - 1, -1, -1):
        draw = rng.standard_normal(rows - k)
        sign = 1.0 if draw[0] >= 0 else -1.0
        # The sign of the pivot makes the distribution uniform and avoids cancellation.
        normal = draw.copy()
        normal[0] += sign * np.linalg.norm(draw)
        block = product[k:, k:]
        block -= np.outer(normal, normal @ block) * (2.0 / (normal @ normal))
        block[:, 0] *= -sign

    return product


def reflection_between(a: FloatArray, b: FloatArray) -> FloatArray:
    """The Householder reflection that takes the unit vector ``a`` to the unit vector ``b``."""
    normal = a - b
    size = float(normal @ normal)
    if size == 0.0:
        return np.eye(len(a))

    return np.asarray(np.eye(len(a)) - np.outer(normal, normal) * (2.0 / size))
