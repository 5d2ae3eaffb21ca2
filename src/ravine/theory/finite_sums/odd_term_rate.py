"""Mean-square growth in a direction in which one term is unlike all others, for maps of methods.

The recursion of :mod:`odd_term` over one step, or over one epoch, is a matrix on second moments
(r², rv, v²), of size 3, or 6 where a history in which the odd term came last is a class of its own.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import block
from ravine.theory.finite_sums.odd_term import lift
from ravine.theory.ladder.rates import spectral_radius

_TINY = 1e-12
"""Of the size of a step's map: where its spectral radius is less, what is left is rounding."""


def odd_term_rate(
    common: float, odd: float, method: Method, *, n: int, sampling: Sampling
) -> FloatArray:
    """Growth of √E (y - x*)² a step, where n - 1 terms have curvature ``common`` and one ``odd``.

    With T the maps of second moments, divided by the spectral radius s of T(common) so that their
    powers neither overflow nor vanish, and S = Σ_i T(common)^{n-1-i} T(odd) T(common)^i the odd
    term's places in an epoch:

        iid                  ρ[(1 - 1/n) T(common) + T(odd)/n]
        cyclic               ρ[T(odd) T(common)^{n-1}]^{1/n}
        reshuffle            ρ[S/n]^{1/n}

    and without repeats the same with two classes of histories. Arrays of methods broadcast.
    """
    T_common = lift(block(common, method))
    T_odd = lift(block(odd, method))
    scale = np.asarray(spectral_radius(Curvature(common, common), method)) ** 2
    scale = np.maximum(scale, _TINY * (np.abs(T_common).max(axis=(-2, -1)) + 1e-300))
    C = T_common / scale[..., None, None]
    D = T_odd / scale[..., None, None]

    match sampling:
        case Sampling.IID:
            growth = _radius((1.0 - 1.0 / n) * C + D / n)
        case Sampling.IID_NO_REPEAT:
            p = 1.0 / (n - 1.0)
            growth = _radius(_two_classes((1.0 - p) * C, C, p * D, np.zeros_like(C)))
        case Sampling.CYCLIC:
            growth = _radius(D @ np.linalg.matrix_power(C, n - 1)) ** (1.0 / n)
        case Sampling.RESHUFFLE:
            growth = _radius(_places(C, D, n) / n) ** (1.0 / n)
        case Sampling.RESHUFFLE_NO_REPEAT:
            growth = _radius(_epoch_without_repeat(C, D, n)) ** (1.0 / n)
        case _:
            assert_never(sampling)

    return np.asarray(np.sqrt(scale * growth))


def _epoch_without_repeat(C: FloatArray, D: FloatArray, n: int) -> FloatArray:
    """The map of an epoch on the moments where another term came last, and where the odd one did.

    Where another did, the odd one begins with chance 1/(n-1), else it has any of the n - 1 later
    places alike; where it came last itself, it has these alone.
    """
    power = np.linalg.matrix_power(C, n - 1)
    begins = power @ D
    ends = D @ power
    between = _places(C, D, n) - begins - ends
    p = 1.0 / (n - 1.0)
    later = (1.0 - p) * p
    return _two_classes(p * begins + later * between, p * between, later * ends, p * ends)


def _two_classes(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    return np.concatenate(
        [np.concatenate([a, b], axis=-1), np.concatenate([c, d], axis=-1)], axis=-2
    )


def _places(C: FloatArray, D: FloatArray, n: int) -> FloatArray:
    """S_n = Σ_i C^{n-1-i} D C^i by doubling: S_2k = C^k S_k + S_k C^k, S_{k+1} = C S_k + D C^k."""
    total = D
    power = C
    for digit in bin(n)[3:]:
        total = power @ total + total @ power
        power = power @ power
        if digit == "1":
            total = C @ total + D @ power
            power = C @ power

    return total


def _radius(matrices: FloatArray) -> FloatArray:
    return np.asarray(np.abs(np.linalg.eigvals(matrices)).max(axis=-1))
