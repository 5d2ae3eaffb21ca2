"""Exact second moments of a direction in which one term of a sum is unlike all others.

This is the third coordinate of the paper's example. What matters of a sampling rule is when the
inconsistent term comes next: where in a round (an epoch, or a single step), given whether it ended
the round before. So two classes of histories are enough, however many terms there are.
"""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray, one_number, overflow_allowed, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import block, moment_block
from ravine.theory.finite_sums.rules import RULES, Places
from ravine.theory.ladder.rates import spectral_radius

_REMEDY = "give one direction and one method at a time"
_TINY = 1e-12
"""Of the size of a step's map: where its spectral radius is less, what is left is rounding."""


@overflow_allowed
def inconsistent_term_moment(
    common: float,
    inconsistent: float,
    method: Method,
    *,
    n: int,
    sampling: Sampling | str,
    steps: int,
    start: float = 1.0,
) -> FloatArray:
    """E (y - x*)² after 0, ..., ``steps`` steps where n - 1 terms are equal and the last is not.

    T(λ) is the map of (r², rv, v²) by the block B(λ). Within a round, U follows the histories in
    which the inconsistent term has not come yet, and "been" those in which it has::

        U⁺ = T(common) U,    been⁺ = T(common) been + P(place) T(inconsistent) U

    with P(place) from the sampling rule: 1/n at every place of a reshuffled epoch.

    Parameters
    ----------
    common, inconsistent
        Curvature of the n - 1 equal terms, and of the inconsistent one; finite numbers.
    method
        One method; any alpha, beta, gamma.
    n
        Number of terms, at least 2. In the cyclic order the inconsistent one is the last.
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
    Two terms in turn, gradient descent: the second step meets the inconsistent one.

    >>> inconsistent_term_moment(
    ...     1.0, 2.0, Method(0.25), n=2, sampling="cyclic", steps=2
    ... ).tolist()
    [1.0, 0.5625, 0.140625]
    """
    terms = whole("n", n, 2, remedy="give a number of terms, e.g. n=50")
    count = whole("steps", steps, 0, remedy="give the number of steps, e.g. steps=100")
    first = one_number("start", start, remedy=_REMEDY)
    T_common = moment_block(block(one_number("common", common, remedy=_REMEDY), method))
    T_other = moment_block(block(one_number("inconsistent", inconsistent, remedy=_REMEDY), method))
    rule = Sampling.parse(sampling)
    length = terms if rule.traits.by_epoch else 1
    chances = np.array([_chances(places, length) for places in RULES[rule].places(terms)]).T

    # Before the first round any term may have come last: then every place in it is as likely.
    U = np.outer([1.0 - 1.0 / terms, 1.0 / terms], [first * first, 0.0, 0.0])
    been = np.zeros(3)
    waiting = np.ones(2)
    out = np.empty(count + 1)

    with np.errstate(all="ignore"):
        for k in range(count + 1):
            out[k] = waiting @ U[:, 0] + been[0]
            place = k % length
            came = T_other @ (chances[place] @ U)
            been = T_common @ been
            U = U @ T_common.T
            waiting = waiting - chances[place]
            if place < length - 1:
                been = been + came
                continue

            # The round is over: the term came last in it, or another did.
            if length == 1:
                been = waiting @ U
            U = np.stack([been, came])
            been = np.zeros(3)
            waiting = np.ones(2)

    out[~np.isfinite(out)] = np.inf
    return out


def _chances(places: Places, length: int) -> FloatArray:
    """The probability of every place of a round."""
    out = np.full(length, places.between)
    out[-1] = places.last
    out[0] = places.first
    return out


def inconsistent_term_rate(
    common: float, inconsistent: float, method: Method, *, n: int, sampling: Sampling
) -> FloatArray:
    """Rate per step of √E (y - x*)² where n - 1 terms have curvature ``common`` and one has not.

    The spectral radius of what a round does to second moments (r², rv, v²), to the power one over
    its steps. With T their maps, divided by the spectral radius of T(common) so that powers neither
    overflow nor vanish, and S = Σ_i T(common)^{n-1-i} T(inconsistent) T(common)^i::

        iid                  ρ[(1 - 1/n) T(common) + T(inconsistent)/n]
        cyclic               ρ[T(inconsistent) T(common)^{n-1}]^{1/n}
        reshuffle            ρ[S/n]^{1/n}

    and without repeats the same with two classes of histories. Arrays of methods broadcast.
    """
    T_common = moment_block(block(common, method))
    T_other = moment_block(block(inconsistent, method))
    scale = np.asarray(spectral_radius(Curvature(common, common), method)) ** 2
    scale = np.maximum(scale, _TINY * (np.abs(T_common).max(axis=(-2, -1)) + 1e-300))
    C = T_common / scale[..., None, None]
    D = T_other / scale[..., None, None]

    length = n if sampling.traits.by_epoch else 1
    free, barred = RULES[sampling].places(n)
    classes = [free] if free == barred else [free, barred]
    others, itself = _rounds(C, D, length, classes)
    if len(classes) == 1:
        round_map = others[0] + itself[0]
    else:
        rows = [np.concatenate(row, axis=-1) for row in (others, itself)]
        round_map = np.concatenate(rows, axis=-2)

    radius = np.abs(np.linalg.eigvals(round_map)).max(axis=-1)
    return np.asarray(np.sqrt(scale * radius ** (1.0 / length)))


def _rounds(
    C: FloatArray, D: FloatArray, length: int, classes: list[Places]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The maps of rounds that another term ends, and of those that the inconsistent term ends."""
    if length == 1:
        return [(1.0 - p.first) * C for p in classes], [p.first * D for p in classes]

    power = np.linalg.matrix_power(C, length - 1)
    begins = power @ D
    ends = D @ power
    between = _every_place(C, D, length) - begins - ends
    others = [p.first * begins + p.between * between for p in classes]
    return others, [p.last * ends for p in classes]


def _every_place(C: FloatArray, D: FloatArray, n: int) -> FloatArray:
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
