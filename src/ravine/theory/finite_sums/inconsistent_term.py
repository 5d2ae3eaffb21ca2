"""The paper's example with one inconsistent term, on which standard Nesterov diverges.

All terms have curvature L in the first direction and mu in the second. In the third direction, f_1,
..., f_{n-1} have curvature mu and f_n has L. At alpha = 1/L, beta = (√Q - 1)/(√Q + 1) the block
B(L) has rank one, and with rho = 1 - 1/√Q::

    B(L) B(mu)^k B(L) = -k rho^(k+1) B(L)

So the third coordinate is a product of numbers: a gap of k steps between two visits to f_n
multiplies it by k rho^(k+1). Of a sampling rule, only the distribution of the gaps matters.

For other parameters its second moments are exact too. Then the place of the inconsistent term in a
round (an epoch, or a single step) matters, given whether it ended the previous round. So two
classes of histories suffice for any number of terms.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Real,
    Refusal,
    broadcast,
    one_number,
    overflow_allowed,
    real,
    whole,
)
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import block, moment_block
from ravine.theory.finite_sums.rules import RULES, Places
from ravine.theory.finite_sums.terms import Sense
from ravine.theory.ladder.rates import spectral_radius

_REMEDY = "give one direction and one method at a time"
_TINY = 1e-12
"""Share of the norm of a map below which its spectral radius is a rounding error."""


@overflow_allowed
def counterexample_growth(
    curvature: Curvature, n: npt.ArrayLike, *, sampling: Sampling | str, sense: Sense | str
) -> Real:
    """Growth per step of the third coordinate of the paper's example, at standard parameters.

    With N = n - 1, the growth divided by rho = 1 - 1/√Q (mean square: by rho²) is

    ===================== ========================== ========================= ===================
    sampling              almost sure                mean                      mean square
    ===================== ========================== ========================= ===================
    cyclic                N^(1/n)                    the same                  the same, squared
    iid                   0                          w + √a                    w + u
    iid-no-repeat         exp(E ln K / n)            w + √a                    w + u
    reshuffle             0                          m₁^(1/n)                  m₂^(1/n)
    reshuffle-no-repeat   exp(E ln k / n)            m₁'^(1/n)                 m₂'^(1/n)
    ===================== ========================== ========================= ===================

    where u > 0 solves u³ = a(u + 2w), with w = N/n, a = N/n² for iid and w = 1 - 1/N, a = 1/N
    without repeat; K is geometric with success probability 1/N. With reshuffling the positions
    i, j of f_n in consecutive epochs have the gap k = N - i + j; m₁ and m₂ are the spectral radii
    of the kernels P(j | i) k and P(j | i) k². They have rank at most 4, so that each is an
    eigenvalue of a matrix of that size; m₁ = [N + √(N(2n - 4)/3)]/2.

    Almost surely, iid sampling and plain reshuffling visit f_n twice in a row at some time. Because
    B(L)² = 0, the coordinate is then at its optimum and stays there, so the growth is 0.

    Parameters
    ----------
    curvature
        Bounds mu and L of every term.
    n
        Number of terms, at least 2. Broadcasts against ``curvature``.
    sampling
        One of :class:`ravine.Sampling`.
    sense
        ``"almost-sure"``, ``"mean"`` or ``"mean-square"``.

    Returns
    -------
    Real
        Growth per step: of the norm along almost every path, of E‖·‖, or **of E‖·‖²** (its square
        root is the root-mean-square growth). The coordinate diverges if it exceeds 1.

    Notes
    -----
    Completes Theorem 3 and Lemma 1 of the paper; rho (n - 1)^(1/n) there is exact for the cyclic
    order only.

    Examples
    --------
    >>> curvature = Curvature(mu=0.05, L=100)
    >>> growth = counterexample_growth(curvature, [50, 1000], sampling="cyclic", sense="mean")
    >>> growth.round(6).tolist()
    [1.056775, 0.984415]
    """
    rule = Sampling.parse(sampling)
    kind = Sense.parse(sense)
    terms = real("n", n, "positive", remedy="give the number of terms, e.g. n=50")
    wrong = np.asarray((terms < 2) | (terms != np.floor(terms)))
    if wrong.any():
        given = f"{np.asarray(terms)[wrong][0]:g}"
        raise Refusal("n", "whole and at least 2", given, "give a number of terms")

    shape = broadcast(n=terms, Q=curvature.Q)
    rho = 1.0 - 1.0 / np.sqrt(curvature.Q)
    if kind is Sense.ALMOST_SURE and rule.traits.random and rule.traits.may_repeat:
        return np.zeros(shape)[()]

    factor = RULES[rule].gaps(np.atleast_1d(np.asarray(terms)), kind)
    factor = factor.reshape(np.shape(terms))
    value = np.broadcast_to(rho**kind.power * np.exp(factor), shape)
    return np.array(value, dtype=np.float64)[()]


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
    """E (y - x*)² after 0, ..., ``steps`` steps for n - 1 equal terms and one different term.

    T(λ) is the map of (r², rv, v²) by the block B(λ). Within a round, U covers the histories in
    which the inconsistent term has not been visited yet, and "been" those in which it has::

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
    Gradient descent with two alternating terms: the second step uses the inconsistent one.

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
    # The probability of every place of a round, in two columns: not having ended the last, or so.
    classes = RULES[rule].places(terms)
    chances = np.tile([places.between for places in classes], (length, 1))
    chances[-1] = [places.last for places in classes]
    chances[0] = [places.first for places in classes]

    # Before the first round, any term may have been last, so every place in it is equally likely.
    U = np.outer([1.0 - 1.0 / terms, 1.0 / terms], [first * first, 0.0, 0.0])
    been = np.zeros(3)
    waiting = np.ones(2)
    out = np.empty(count + 1)

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

        # End of the round: either the inconsistent term was last, or another one.
        if length == 1:
            been = waiting @ U
        U = np.stack([been, came])
        been = np.zeros(3)
        waiting = np.ones(2)

    out[~np.isfinite(out)] = np.inf
    return out


def inconsistent_term_rate(
    common: float, inconsistent: float, method: Method, *, n: int, sampling: Sampling
) -> FloatArray:
    """Rate per step of √E (y - x*)² for n - 1 terms of curvature ``common`` and one different term.

    The spectral radius of the map of second moments (r², rv, v²) by a round, to the power one over
    its steps. With T the maps of terms, divided by the spectral radius of T(common) so that powers
    neither overflow nor vanish, and S = Σ_i T(common)^{n-1-i} T(inconsistent) T(common)^i::

        iid                  ρ[(1 - 1/n) T(common) + T(inconsistent)/n]
        cyclic               ρ[T(inconsistent) T(common)^{n-1}]^{1/n}
        reshuffle            ρ[S/n]^{1/n}

    Without repeats it is the same with two classes of histories. Arrays of methods broadcast.
    """
    T_common = moment_block(block(common, method))
    T_other = moment_block(block(inconsistent, method))
    scale = np.asarray(spectral_radius(Curvature(common, common), method)) ** 2
    scale = np.maximum(scale, _TINY * (np.abs(T_common).max(axis=(-2, -1)) + 1e-300))
    C = T_common / scale[..., None, None]
    D = T_other / scale[..., None, None]

    length = n if sampling.traits.by_epoch else 1
    free, barred = RULES[sampling].places(n)
    if free == barred:
        round_map = np.sum(_round(C, D, length, free), axis=0)
    else:
        # Row by row: another term ends the round, or the inconsistent one does.
        rows = zip(_round(C, D, length, free), _round(C, D, length, barred), strict=True)
        round_map = np.concatenate([np.concatenate(row, axis=-1) for row in rows], axis=-2)

    radius = np.abs(np.linalg.eigvals(round_map)).max(axis=-1)
    return np.asarray(np.sqrt(scale * radius ** (1.0 / length)))


def _round(
    C: FloatArray, D: FloatArray, length: int, places: Places
) -> tuple[FloatArray, FloatArray]:
    """The maps of a round that ends with another term, and with the inconsistent term."""

    def step(chance: float) -> FloatArray:
        """A step of (U, been), the histories without and with the inconsistent term so far."""
        out = np.zeros((*C.shape[:-2], 6, 6))
        out[..., :3, :3] = out[..., 3:, 3:] = C
        out[..., 3:, :3] = chance * D
        return out

    if length == 1:
        return (1.0 - places.first) * C, places.first * D

    begun = np.linalg.matrix_power(step(places.between), length - 2) @ step(places.first)
    return C @ begun[..., 3:, :3], places.last * (D @ begun[..., :3, :3])
