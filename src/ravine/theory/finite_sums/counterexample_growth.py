"""Closed forms for the three-dimensional example on which the standard Nesterov parameters diverge.

All terms have curvature L in the first direction and mu in the second. In the third one f_1, ...,
f_{n-1} have mu and f_n alone has L. At alpha = 1/L, beta = (√Q - 1)/(√Q + 1) the block B(L) has
rank one, and with rho = 1 - 1/√Q::

    B(L) B(mu)^k B(L) = -k rho^(k+1) B(L)

So the third coordinate is a product of numbers: a gap of k steps between two visits to f_n
multiplies it by k rho^(k+1). All that matters of a sampling rule is the distribution of its gaps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import Real, Refusal, broadcast, overflow_allowed, real
from ravine.curvature import Curvature
from ravine.sampling import Sampling
from ravine.theory.finite_sums.rules import RULES
from ravine.theory.finite_sums.terms import Sense


@overflow_allowed
def counterexample_growth(
    curvature: Curvature, n: npt.ArrayLike, *, sampling: Sampling | str, sense: Sense | str
) -> Real:
    """Growth per step of the third coordinate of the paper's example, at standard parameters.

    Divided by rho = 1 - 1/√Q (mean square: by rho²) the growth is, with N = n - 1,

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

    Almost surely, iid sampling and plain reshuffling visit f_n twice in a row sooner or later. As
    B(L)² = 0 the coordinate is then at its optimum for good, and the growth is 0.

    Parameters
    ----------
    curvature
        Bounds mu and L of every term.
    n
        Number of terms, whole, at least 2. Broadcasts against ``curvature``.
    sampling
        One of :class:`ravine.Sampling`.
    sense
        ``"almost-sure"``, ``"mean"`` or ``"mean-square"``.

    Returns
    -------
    Real
        Growth per step: of the norm along almost every path, of E‖·‖, or **of E‖·‖²**, the square
        root of which is the root-mean-square growth. The coordinate diverges when it exceeds 1.

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
    factor = RULES[rule].gaps(np.atleast_1d(np.asarray(terms)), kind)
    factor = factor.reshape(np.shape(terms))
    value = np.broadcast_to(rho**kind.power * np.exp(factor), shape)
    return np.array(value, dtype=np.float64)[()]
