"""Closed forms for the three-dimensional example on which Nesterov's usual parameters diverge.

All terms have curvature L in the first direction and mu in the second. In the third one f_1, ...,
f_{n-1} have mu and f_n alone has L. At alpha = 1/L, beta = (√Q - 1)/(√Q + 1) the block B(L) has
rank one, and with rho = 1 - 1/√Q::

    B(L) B(mu)^k B(L) = -k rho^(k+1) B(L)

So the third coordinate is a product of numbers: a gap of k steps between two visits to f_n
multiplies it by k rho^(k+1). What is left of a sampling rule is the law of its gaps.
"""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, Refusal, broadcast, real
from ravine.curvature import Curvature
from ravine.sampling import Sampling
from ravine.theory.finite_sums.sense import Sense

_ZETA_PRIME_MINUS_ONE = -0.16542114370045092921391966024278
_BARNES_FROM = 16
_BARNES_TAIL = (-1 / 240, 1 / 1008, -1 / 1440, 1 / 1056)


def counterexample_growth(
    curvature: Curvature, n: npt.ArrayLike, *, sampling: Sampling | str, sense: Sense | str
) -> Real:
    """Growth per step of the third coordinate of the paper's example, at usual parameters.

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
    rule, kind = Sampling.parse(sampling), Sense.parse(sense)
    terms = real("n", n, "positive", remedy="give the number of terms, e.g. n=50")
    wrong = np.asarray((terms < 2) | (terms != np.floor(terms)))
    if wrong.any():
        found = f"{np.asarray(terms)[wrong][0]:g}"
        raise Refusal("n", "whole and at least 2", found, "give a number of terms")
    shape = broadcast(n=terms, Q=curvature.Q)
    rho = 1.0 - 1.0 / np.sqrt(curvature.Q)
    factor = _log_factor(np.atleast_1d(np.asarray(terms)), rule, kind).reshape(np.shape(terms))
    value = np.broadcast_to(rho**kind.power * np.exp(factor), shape)
    return np.array(value, dtype=np.float64)[()]


def _log_factor(n: FloatArray, rule: Sampling, kind: Sense) -> FloatArray:
    """Logarithm of the growth a step at rho = 1."""
    if rule is Sampling.CYCLIC:
        return kind.power * np.log(n - 1.0) / n
    if kind is Sense.ALMOST_SURE:
        if rule is Sampling.IID_NO_REPEAT:
            return _mean_log_geometric(1.0 / (n - 1.0)) / n
        if rule is Sampling.RESHUFFLE_NO_REPEAT:
            return _mean_log_gap_no_repeat(n) / n
        return np.full(n.shape, -np.inf)
    if rule is Sampling.IID:
        return np.log(_renewal(1.0 - 1.0 / n, (n - 1.0) / n**2, kind))
    if rule is Sampling.IID_NO_REPEAT:
        return np.log(_renewal(1.0 - 1.0 / (n - 1.0), 1.0 / (n - 1.0), kind))
    if rule is Sampling.RESHUFFLE:
        return np.log(_reshuffle(n, kind)) / n
    return np.log(_reshuffle_no_repeat(n, kind)) / n


def _renewal(w: FloatArray, a: FloatArray, kind: Sense) -> FloatArray:
    """Growth g with E[k^p g^-(k+1)] = 1 over the gaps, p the power of the norm."""
    if kind is Sense.MEAN:
        return w + np.sqrt(a)
    # Cardano for the one positive root of u³ = a(u + 2w); w is 0 or the discriminant is positive.
    c = np.cbrt(a * (w + np.sqrt(np.maximum(w**2 - a / 27.0, 0.0))))
    u = np.where(w > 0.0, c + a / (3.0 * np.where(w > 0.0, c, 1.0)), np.sqrt(a))
    return w + u


def _mean_log_geometric(p: FloatArray) -> FloatArray:
    """E ln K for P(K = k) = p (1 - p)^(k-1), k >= 1.

    ln k = ∫ (e^-t - e^-kt)/t dt, so E ln K = ∫ w e^-t (1 - e^-t) / (1 - w e^-t) dt/t, w = 1 - p. In
    ln t the integrand is analytic for |Im| < π/2 and decays at both ends: the trapezoidal rule at
    spacing h errs by e^(-π²/h).
    """
    h = 0.2
    w = (1.0 - p)[..., None]
    low, high = np.log(p.min()) - 38.0, np.log(40.0)
    t = np.exp(low + h * np.arange(np.ceil((high - low) / h) + 1.0))
    fallen = -np.expm1(-t)
    return np.asarray(h * np.sum(w * np.exp(-t) * fallen / (p[..., None] + w * fallen), axis=-1))


def _mean_log_gap_no_repeat(n: FloatArray) -> FloatArray:
    """E ln k of a gap when no epoch begins with the term that ended the last one.

    f_n is uniform over the n positions. After an epoch that it ends, k is uniform on 1, ..., N.
    After any other, with m = N - i uniform on 1, ..., N: k = m with probability 1/N, else m + j
    with j uniform.
    """
    from scipy.special import gammaln

    N = n - 1.0
    single = gammaln(n)
    double = _log_barnes(2.0 * N + 1.0) - 2.0 * _log_barnes(N + 1.0)
    return np.asarray((2.0 * single / N + (n - 2.0) / N**2 * double) / n)


def _log_barnes(z: FloatArray) -> FloatArray:
    """Barnes' ln G(1 + z) for whole z >= 1: the sum of ln (j!) over j < z."""
    from scipy.special import gammaln

    first = np.concatenate([[0.0], np.cumsum(gammaln(np.arange(1.0, _BARNES_FROM + 1.0)))])
    small = first[np.minimum(z, _BARNES_FROM).astype(np.intp)]
    tail = sum(c / z ** (2 * k) for k, c in enumerate(_BARNES_TAIL, start=1))
    large = (
        z**2 * (0.5 * np.log(z) - 0.75)
        + 0.5 * z * np.log(2.0 * np.pi)
        - np.log(z) / 12.0
        + _ZETA_PRIME_MINUS_ONE
        + tail
    )
    return np.where(z <= _BARNES_FROM, small, large)


def _reshuffle(n: FloatArray, kind: Sense) -> FloatArray:
    """Spectral radius of E (N - t + u)^p over centred positions t, u, on polynomials in t/N."""
    N = n - 1.0
    if kind is Sense.MEAN:
        return 0.5 * (N + np.sqrt(N * (2.0 * n - 4.0) / 3.0))
    second = (n**2 - 1.0) / 12.0 / N**2
    fourth = (n**2 - 1.0) * (3.0 * n**2 - 7.0) / 240.0 / N**4
    M = np.zeros((*n.shape, 3, 3))
    M[..., 0, 0], M[..., 0, 1], M[..., 0, 2] = 1.0 + second, 2.0 * second, second + fourth
    M[..., 1, 0], M[..., 1, 1], M[..., 1, 2] = -2.0, -2.0 * second, -2.0 * second
    M[..., 2, 0], M[..., 2, 2] = 1.0, second
    # At n = 2 the kernel is triangular with a double eigenvalue, 1/2.
    return np.where(n == 2.0, 0.5, N**2 * _largest_real_eigenvalue(M))


def _reshuffle_no_repeat(n: FloatArray, kind: Sense) -> FloatArray:
    """The same without repeat, on polynomials in x = i/N plus one free value at the last position.

    P(j | i) is 1/N at j = 0 and (n-2)/N² elsewhere for i < N; it is 0 at j = 0 and 1/N elsewhere
    for i = N. The value at i = N exceeds the polynomial's by Σ_j (j/N)^p f(j) / N².
    """
    N, p = n - 1.0, kind.power
    sums = [
        N,
        (N + 1.0) / 2.0,
        (N + 1.0) * (2.0 * N + 1.0) / (6.0 * N),
        (N + 1.0) ** 2 / (4.0 * N),
        (N + 1.0) * (2.0 * N + 1.0) * (3.0 * N**2 + 3.0 * N - 1.0) / (30.0 * N**3),
    ]
    size = p + 2
    inner = (n - 2.0) / N**2
    M = np.zeros((*n.shape, size, size))
    for column in range(size):
        # Σ_{j >= 1} (j/N)^power f(j) for f = x^column, or for the indicator of the last position.
        over = [sums[power + column] if column <= p else np.ones_like(n) for power in range(p + 1)]
        for power in range(p + 1):
            moment = inner * over[power] + (1.0 / N if power + column == 0 else 0.0)
            for degree in range(p - power + 1):
                # (1 - x + y)^p: the coefficient of x^degree y^power
                ways = comb(p, power) * comb(p - power, degree) * (-1) ** degree
                M[..., degree, column] += ways * moment
        M[..., p + 1, column] += over[p] / N**2
    # At n = 2 the terms alternate and every gap is 1.
    return np.where(n == 2.0, 1.0, N**p * _largest_real_eigenvalue(M))


def _largest_real_eigenvalue(matrices: FloatArray) -> FloatArray:
    """Perron root: the kernels are positive, so the spectral radius is itself an eigenvalue."""
    return np.asarray(np.linalg.eigvals(matrices).real.max(axis=-1))
