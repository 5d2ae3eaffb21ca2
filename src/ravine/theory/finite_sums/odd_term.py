"""Exact second moments of a direction in which one term of a sum is unlike all others.

This is the third coordinate of the paper's example. What matters of a sampling rule is when the odd
term comes next, so that three classes of histories are enough, however many terms there are: those
in which it may come, those in which it came earlier in the epoch, and those in which it came last
and is barred from coming again.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from ravine.arguments import FloatArray, one_number, overflow_allowed, whole
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import block

_REMEDY = "give one direction and one method at a time"


@overflow_allowed
def odd_term_moment(
    common: float,
    odd: float,
    method: Method,
    *,
    n: int,
    sampling: Sampling | str,
    steps: int,
    start: float = 1.0,
) -> FloatArray:
    """E (y - x*)² after 0, ..., ``steps`` steps where n - 1 terms are equal and the last is odd.

    With T(λ) the map of (r², rv, v²) by the block B(λ), and p the chance that the odd term comes
    next where it is due, moments on the events "due" and "been" follow

        due⁺ = (1 - p) T(common) due,    been⁺ = p T(odd) due + T(common) been,

    with p = 1/(n - j) at position j of a reshuffled epoch, at whose end both are due again.

    Parameters
    ----------
    common, odd
        Curvature of the n - 1 equal terms, and of the odd one; finite numbers.
    method
        One method; any alpha, beta, gamma.
    n
        Number of terms, at least 2. In the cyclic order the odd one is the last.
    sampling
        One of :class:`ravine.Sampling`.
    steps
        Number of gradients, zero or more.
    start
        y - x* at the start, where the velocity is zero.

    Returns
    -------
    numpy.ndarray
        Shape (steps + 1,); infinite from where it overflows.

    Examples
    --------
    Two terms in turn, gradient descent: the second step meets the odd one.

    >>> odd_term_moment(1.0, 2.0, Method(0.25), n=2, sampling="cyclic", steps=2).tolist()
    [1.0, 0.5625, 0.140625]
    """
    terms = whole("n", n, 2, remedy="give a number of terms, e.g. n=50")
    count = whole("steps", steps, 0, remedy="give the number of steps, e.g. steps=100")
    first = one_number("start", start, remedy=_REMEDY)
    T_common = lift(block(one_number("common", common, remedy=_REMEDY), method))
    T_odd = lift(block(one_number("odd", odd, remedy=_REMEDY), method))
    rule = Sampling.parse(sampling)

    due = np.array([first * first, 0.0, 0.0])
    been = np.zeros(3)
    barred = np.zeros(3)
    out = np.empty(count + 1)

    with np.errstate(all="ignore"):
        for k in range(count + 1):
            out[k] = due[0] + been[0] + barred[0]
            p = _chance(rule, terms, k)
            came = p * (T_odd @ due)
            kept = T_common @ ((1.0 - p) * due + barred)
            ends = rule.traits.by_epoch and k % terms == terms - 1
            been = T_common @ been

            if rule.traits.by_epoch and not ends:
                due, been, barred = kept, been + came, np.zeros(3)
            elif rule.traits.may_repeat:
                due, been, barred = kept + been + came, np.zeros(3), np.zeros(3)
            else:
                due, been, barred = kept + been, np.zeros(3), came

    out[~np.isfinite(out)] = np.inf
    return out


def _chance(rule: Sampling, n: int, k: int) -> float:
    """That the odd term is drawn in step k, of histories in which it may be."""
    place = k % n
    match rule:
        case Sampling.IID:
            return 1.0 / n
        case Sampling.IID_NO_REPEAT:
            return 1.0 / n if k == 0 else 1.0 / (n - 1.0)
        case Sampling.CYCLIC:
            return float(place == n - 1)
        case Sampling.RESHUFFLE:
            return 1.0 / (n - place)
        case Sampling.RESHUFFLE_NO_REPEAT:
            # One of the others ended the last epoch, and it does not begin this one.
            begins = place == 0 and k > 0
            return 1.0 / (n - 1.0) if begins else 1.0 / (n - place)
        case _:
            assert_never(rule)


def lift(B: FloatArray) -> FloatArray:
    """The maps of (r², rv, v²) by (r, v) ↦ B (r, v), for blocks of shape (..., 2, 2)."""
    a, b = B[..., 0, 0], B[..., 0, 1]
    c, d = B[..., 1, 0], B[..., 1, 1]
    rows = (
        (a * a, 2.0 * a * b, b * b),
        (a * c, a * d + b * c, b * d),
        (c * c, 2.0 * c * d, d * d),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
