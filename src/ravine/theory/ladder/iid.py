"""The iid rung: the worst mean-square growth with independent mini-batches.

Hessians H_k are independent, with a mean H̄ of spectrum in [mu, L] and E(H - H̄)² ⪯ V(H̄). Over all
such distributions, including non-commuting ones, the worst growth of E‖y - x*‖² is the largest
spectral radius over λ in [mu, L] of E[B(h)⊗B(h)], where h/alpha has mean λ and variance V(λ): one
dimension is the worst case. See docs/batch-size.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, broadcast, overflow_allowed, real
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method
from ravine.theory.chunks import on_threads, pieces
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.ladder.any_memory import Loop
from ravine.theory.ladder.batch_noise import BatchNoise, batch_noise
from ravine.theory.ladder.mean_square_kernel import compiled_growth, largest_growth
from ravine.theory.ladder.rates import spectral_radius, stable

_FEW = 64
"""Up to this many problems, the interpreter is faster than loading compiled code."""
_CHUNK = 16384
"""Problems per task of a thread: a few milliseconds."""
_MOST_ROUNDS = 60
"""The ratio converges quadratically: five to eight rounds are typical."""
_SETTLED = 4e-16
"""Relative change, about two units in the last place, that ends the search."""


@overflow_allowed
def iid_rate(
    curvature: Curvature,
    method: Method | LinearMethod,
    *,
    L_max: npt.ArrayLike | None = None,
    batch_size: npt.ArrayLike = 1,
    variance: npt.ArrayLike | None = None,
    mu_min: npt.ArrayLike | None = None,
    rows: npt.ArrayLike | None = None,
) -> Real:
    """Worst rate of √E‖y - x*‖² over all distributions of independent mini-batches.

    The root of the largest spectral radius, over λ in [mu, L], of the 3x3 matrix E[B(h)⊗B(h)] where
    h has mean alpha λ and variance alpha² V(λ), V(λ) = (λ - mu_min)(L_max - λ)/b. It is exact: a
    sum in one dimension with terms of curvature mu_min or L_max attains it. It is below 1 iff V(λ)
    Var y(λ) < 1 for all λ, with Var y for unit noise. It lies between :func:`spectral_radius` and
    the :func:`worst_case_rate` of terms with curvature in [mu_min, L_max].

    Parameters
    ----------
    curvature
        Curvature of the whole objective, the mean over the terms.
    method
        Any member of the family; arrays broadcast. Or one ``LinearMethod`` of any memory, with
        single values for all other arguments.
    L_max
        Largest curvature of a single term or sample, at least L. Default: L.
    batch_size
        Terms averaged in a step, drawn independently, at least 1.
    variance
        Known variance V of a single term's Hessian, instead of L_max: E(H_i - H̄)² ⪯ V I.
    mu_min
        Smallest curvature of a single term, between 0 and mu. Default: 0 with L_max, because the
        samples of a regression are flat in most directions; mu without L_max, so that every term
        has the given curvature.
    rows
        Number of terms n, for batches without repeated terms: multiplies V by (n - b)/(n - 1).

    Returns
    -------
    Growth per step of the root-mean-square error.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 1000)
    >>> sizes = [60, 80, 81, 120]
    >>> iid_rate(c, nesterov(c), L_max=10_000, batch_size=sizes).round(4).tolist()
    [1.0064, 1.0001, 0.9999, 0.9959]
    """
    noise = batch_noise(
        curvature, L_max=L_max, batch_size=batch_size, variance=variance, mu_min=mu_min, rows=rows
    )
    if isinstance(method, LinearMethod):
        return np.float64(Loop(curvature, method, noise).growth())

    shape = noise.shape_with(mu=curvature.mu, L=curvature.L, **method.parameters)
    scaled = noise.in_steps(method.alpha, curvature)
    given = np.broadcast_arrays(*scaled, method.beta, method.gamma)
    if given[0].size <= _FEW:
        out = np.vectorize(largest_growth, otypes=[np.float64])(*given)
    else:
        out = np.empty(shape)
        growth = compiled_growth()
        parts = pieces(shape, _CHUNK)
        on_threads(lambda part: growth(*(v[part] for v in given), out=out[part]), parts)

    # Both are computed in different ways; rounding must not change their order.
    floor = spectral_radius(curvature, method)
    return np.maximum(out, floor)[()]


@overflow_allowed
def smallest_stable_batch(
    curvature: Curvature,
    method: Method | LinearMethod,
    *,
    L_max: npt.ArrayLike | None = None,
    mu_min: npt.ArrayLike | None = None,
    rows: npt.ArrayLike | None = None,
) -> Real:
    """Return the smallest batch size that is stable in mean square on every such problem.

    The literature calls "critical batch size" the size from which larger batches stop paying off:
    that is :func:`ravine.useful_batch_size`.

    b* = max over λ in [mu, L] of (λ - mu_min)(L_max - λ) Var y(λ), with Var y the stationary
    variance of unit noise: every larger batch converges in mean square, and for every smaller batch
    some one-dimensional sum with this curvature diverges. At the standard Nesterov parameters of
    the whole objective b* is about (L_max/L) √Q/4.

    Parameters
    ----------
    curvature, method
        Curvature of the whole objective, and the parameters; arrays broadcast.
    L_max, mu_min
        Largest and smallest curvature of a single term, as in :func:`iid_rate`: with L_max the
        smallest is 0 by default.
    rows
        Number of terms n, for batches without repeated terms: b* becomes n b*/(n - 1 + b*).

    Returns
    -------
    A real number; batches must be larger. Infinite if the method diverges with exact gradients.
    Below 1 if single terms are enough.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 10_000)
    >>> round(float(smallest_stable_batch(c, nesterov(c), L_max=100_000)), 3)
    251.309
    """
    noise = batch_noise(curvature, L_max=L_max, mu_min=mu_min)
    if isinstance(method, LinearMethod):
        size: Real = np.float64(Loop(curvature, method, noise).stable_batch())
    else:
        size = safety_ratio(curvature, method, noise)

    if rows is None:
        return size

    # (n - b)/(n - 1)/b · b* < 1, solved for b.
    n = real("rows", rows, "positive", remedy="give the number of samples")
    broadcast(rows=n, batch_size=size)

    limited = n * size / (n - 1.0 + size)

    limited = np.where(n == 1.0, 0.0, limited)  # a single term is the whole objective
    return np.where(np.isinf(size), np.inf, limited)[()]


critical_batch_size = smallest_stable_batch
"""The former name of :func:`smallest_stable_batch`."""


def safety_ratio(curvature: Curvature, method: Method, noise: BatchNoise) -> Real:
    """Largest V(λ) Var y(λ) over [mu, L]: below 1 the method is stable in mean square."""
    low, high, denominator, gain, batch_variance = _at_one(curvature, method, noise)
    ratio = largest_ratio(polynomial_product(batch_variance, gain), denominator, low, high)
    ratio = np.maximum(ratio, 0.0)  # for equal terms, only a rounding error remains
    return np.where(stable(curvature, method), ratio, np.inf)[()]


@overflow_allowed
def iid_noise_floor(
    curvature: Curvature,
    method: Method | LinearMethod,
    *,
    sigma2: npt.ArrayLike = 1.0,
    quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE,
    L_max: npt.ArrayLike | None = None,
    batch_size: npt.ArrayLike = 1,
    variance: npt.ArrayLike | None = None,
    mu_min: npt.ArrayLike | None = None,
    rows: npt.ArrayLike | None = None,
) -> Real:
    """Worst stationary E‖y - x*‖², or E f(y) - f*, with batches of random curvature.

    sigma2 · max over λ of Var y(λ)/(1 - V(λ) Var y(λ)), with V as in :func:`iid_rate`: Var y is due
    to additive noise alone, and the random curvature amplifies it. It is an upper bound for every
    problem with this curvature, attained in one dimension.

    Parameters
    ----------
    curvature, method, L_max, batch_size, variance, mu_min, rows
        As in :func:`iid_rate`.
    sigma2
        Variance of a batch's gradient at the minimiser, of all coordinates together, zero or more.
    quantity
        ``"distance"`` for E‖y - x*‖², ``"objective"`` for E f(y) - f*, in which a direction has the
        weight λ/2.

    Returns
    -------
    Infinite if the method is not stable in mean square.

    Examples
    --------
    >>> from ravine import Curvature, Method
    >>> round(float(iid_noise_floor(Curvature(1, 4), Method(0.2), L_max=8, batch_size=4)), 6)
    0.137931
    """
    remedy = "give the variance of a batch's gradient, e.g. sigma2=1.0"
    kind = ErrorQuantity.parse(quantity, "quantity")
    level = real("sigma2", sigma2, "nonnegative", remedy=remedy)
    noise = batch_noise(
        curvature, L_max=L_max, batch_size=batch_size, variance=variance, mu_min=mu_min, rows=rows
    )

    objective = kind is ErrorQuantity.OBJECTIVE
    if isinstance(method, LinearMethod):
        return level * Loop(curvature, method, noise).noise_floor(objective=objective)

    safe = safety_ratio(curvature, method, noise) < 1.0
    low, high, denominator, gain, batch_variance = _at_one(curvature, method, noise)
    left = tuple(
        a - b for a, b in zip(denominator, polynomial_product(batch_variance, gain), strict=True)
    )
    # In units of h = alpha λ: alpha² N/D for the distance, (λ/2) alpha² N/D for the objective.
    alpha = method.alpha
    weight = (np.float64(0.0), 0.5 * alpha) if objective else (alpha * alpha,)
    worst = largest_ratio(polynomial_product(weight, gain), left, low, high)
    broadcast(sigma2=level, floor=worst)

    return np.where(safe, level * worst, np.inf)[()]


def _at_one(
    curvature: Curvature, method: Method, noise: BatchNoise
) -> tuple[Real, Real, tuple[Real, ...], tuple[Real, Real], tuple[Real, Real, Real]]:
    """Polynomials in h at z = 1: the interval, D and N with Var y = alpha² N/D, and alpha² V.

    D = h (1-beta+gamma h)(2+2 beta-(1+2 gamma) h), N = 1 + beta + gamma (1+2 gamma) h.
    """
    beta = method.beta
    gamma = method.gamma
    shape = noise.shape_with(mu=curvature.mu, L=curvature.L, **method.parameters)
    low, high, known, share, least, most = noise.in_steps(method.alpha, curvature)
    first = 1.0 - beta
    second = 2.0 + 2.0 * beta
    fall = 1.0 + 2.0 * gamma
    denominator = (np.float64(0.0), first * second, gamma * second - first * fall, -gamma * fall)
    gain = (1.0 + beta, gamma * fall)

    batch_variance = (known - share * least * most, share * (least + most), -share)
    ends = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
    return *ends, denominator, gain, batch_variance


def polynomial_product(one: Sequence[Real], other: Sequence[Real]) -> tuple[Real, Real, Real, Real]:
    """Coefficients of a product of degree at most three, the constant first."""
    out: list[Real] = [np.float64(0.0)] * 4
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            if i + j < 4:
                out[i + j] = out[i + j] + a * b

    return out[0], out[1], out[2], out[3]


def largest_ratio(
    numerator: Sequence[Real], denominator: Sequence[Real], low: Real, high: Real
) -> FloatArray:
    """Largest N(h)/D(h) over [low, high] for cubics N and D > 0; everything broadcasts.

    If some h attains the ratio θ, the ratio at the minimum of θ D - N is not smaller: either θ D -
    N >= 0 everywhere and θ is the largest, or the ratio there exceeds θ. The minimum of a cubic on
    an interval has a closed form, so the search cannot stop at a local maximum.
    """
    with np.errstate(all="ignore"):
        ends = np.broadcast_arrays(low, high)
        starts = (ends[0], 0.5 * (ends[0] + ends[1]), ends[1])
        ratios = [_value(numerator, h) / _value(denominator, h) for h in starts]
        best = np.asarray(np.fmax(np.fmax(ratios[0], ratios[1]), ratios[2]))
        for _ in range(_MOST_ROUNDS):
            gap = [best * d - n for n, d in zip(numerator, denominator, strict=True)]
            h = _least_on_interval(gap, ends[0], ends[1])
            ratio = _value(numerator, h) / _value(denominator, h)
            higher = ratio > best + _SETTLED * np.abs(best)
            if not higher.any():
                break
            best = np.where(higher, ratio, best)

    return best


def _value(cubic: Sequence[Real], h: Real) -> Real:
    c0, c1, c2, c3 = cubic
    return c0 + h * (c1 + h * (c2 + h * c3))


def _least_on_interval(cubic: Sequence[Real], low: FloatArray, high: FloatArray) -> FloatArray:
    """The minimiser of each cubic on its interval: an end, or its only local minimum."""
    _, c1, c2, c3 = cubic
    root = np.sqrt(np.maximum(c2 * c2 - 3.0 * c3 * c1, 0.0))
    # The stationary point with the positive second derivative 2·root, without cancellation.
    inner = np.where(c2 > 0.0, -c1 / (c2 + root), (root - c2) / (3.0 * c3))
    inner = np.where((inner > low) & (inner < high), inner, low)
    places = np.stack([low, high, inner])
    least = np.argmin(_value(cubic, places), axis=0)
    return np.asarray(np.take_along_axis(places, least[None], axis=0)[0])
