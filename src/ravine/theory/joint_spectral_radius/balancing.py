"""Units of the coordinates in which no matrix of a set has large entries beside small ones."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray

_ROUNDS = 100
"""Sweeps over the coordinates; a handful is the rule, for every sweep at least halves a sum."""


def balanced_units(matrices: FloatArray) -> FloatArray:
    """Powers of two d for which the matrices D⁻¹AD, D = diag(d), have rows and columns alike.

    The joint spectral radius does not depend on units, but quadratic norms, thresholds and
    rounding do. Osborne's iteration on S = sum_i |A_i|: a coordinate whose row sum r and column
    sum c differ by more than a factor two is scaled by the power of two nearest to √(r/c), which
    brings r + c down. Powers of two change no digit. Meant for sets that no permutation makes
    block triangular: there the iteration ends.
    """
    n = matrices.shape[-1]
    units = np.ones(n)
    total = np.abs(matrices).sum(axis=0)
    np.fill_diagonal(total, 0.0)

    for _ in range(_ROUNDS):
        moved = False
        for i in range(n):
            row = float(total[i].sum())
            column = float(total[:, i].sum())
            if row == 0.0 or column == 0.0:
                continue
            factor = float(np.exp2(np.round(0.5 * np.log2(row / column))))
            # D⁻¹SD divides row i by its unit and multiplies column i by it
            if row / factor + column * factor < 0.95 * (row + column):
                total[i] /= factor
                total[:, i] *= factor
                units[i] *= factor
                moved = True

        if not moved:
            break

    return units


def in_units(matrices: FloatArray, units: FloatArray) -> FloatArray:
    """The matrices D⁻¹AD."""
    scaled: FloatArray = matrices * units[None, None, :] / units[None, :, None]
    return scaled
