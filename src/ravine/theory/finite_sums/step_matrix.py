"""The matrix of a step on second moments of a small sum, for one method after another.

What the terms do to moments is the same for every method: E[g rᵀ], E[g vᵀ] and E[g gᵀ] of all unit
moments are computed once, and a method only weighs them, see ``moment_step``.
"""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.moment_step import advance, constant_step
from ravine.theory.finite_sums.positive_map import free_numbers, unit_moments
from ravine.theory.finite_sums.terms import Scalars


class StepMatrix:
    """What an independent draw does to moments (3, d, d), as a matrix of their free numbers.

    Parameters
    ----------
    hessians
        Distinct terms, shape (m, d, d).
    weights
        How often each is drawn, shape (m,), one in all.

    Examples
    --------
    Without momentum a term of curvature h multiplies E r² by (1 - alpha h)².

    >>> step = StepMatrix(np.array([[[1.0]], [[3.0]]]), np.array([0.5, 0.5]))
    >>> round(step.growth(Scalars(0.5, 0.0, 0.0)), 12)
    0.25
    """

    def __init__(self, hessians: FloatArray, weights: FloatArray) -> None:
        d = hessians.shape[-1]
        shape = (3, d, d)
        self._free = free_numbers(shape)
        self._units = unit_moments(shape, self._free)

        rr = self._units[:, 0]
        mean = np.tensordot(weights, hessians, axes=1)
        self._gr = mean @ rr
        self._gv = mean @ self._units[:, 1]
        self._gg = np.einsum("m,mij,ujk,mkl->uil", weights, hessians, rr, hessians, optimize=True)

    def growth(self, method: Scalars) -> float:
        """Growth of E‖s‖² a step: the spectral radius of the matrix."""
        moved = advance(self._units, self._gr, self._gv, self._gg, constant_step(method))
        matrix = moved.reshape(len(moved), -1)[:, self._free]

        return float(np.abs(np.linalg.eigvals(matrix)).max())
