"""Exact second moments of the family on a quadratic with additive gradient noise.

In one eigen-direction lambda, with independent noise of variance sigma2 and h = alpha lambda, the
method is a second-order autoregression with trace 1 + beta - h (1+gamma) and determinant
d = beta - h gamma. It has a stationary law iff Jury's conditions hold: h > 0,
2 (1+d) - h > 0 and |d| < 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, broadcast, real, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import block, noise_gain_vector
from ravine.theory.chunks import by_chunks
from ravine.theory.ladder.rates import check_shapes, contraction, spectral_radius, stable

_LONGEST_SEARCH = 2**20
_EIGENVALUES = "give eigenvalues of the Hessian, e.g. [0.05, 100]"
_SIGMA2 = "give the variance of the gradient noise, e.g. sigma2=1.0"


@dataclass(frozen=True, eq=False)
class StationaryVariance:
    """Stationary second moments in each eigen-direction; infinite where there is no such law."""

    x: Real
    """Variance of x_k."""
    y: Real
    """Variance of y_k, the sequence that the paper analyses."""
    velocity: Real
    """Variance of x_k - x_{k-1}."""
    covariance: Real
    """Covariance of x_k and x_{k-1}."""


def _per_curvature(
    lam: Real, alpha: Real, beta: Real, gamma: Real
) -> tuple[Real, Real, Real, npt.NDArray[np.bool_]]:
    """Return h, d, alpha / ((1-d)(2(1+d)-h)) and where Jury's conditions fail."""
    h = alpha * lam
    d = beta - h * gamma
    flip = 2.0 * (1.0 + d) - h
    unstable = ~np.asarray((h > 0.0) & (flip > 0.0) & (np.abs(d) < 1.0))
    return h, d, alpha / ((1.0 - d) * flip), unstable


def _variances(
    lam: Real, alpha: Real, beta: Real, gamma: Real, sigma2: Real
) -> tuple[FloatArray, ...]:
    h, d, scale, unstable = _per_curvature(lam, alpha, beta, gamma)
    scale = sigma2 * scale
    velocity = 2.0 * alpha * scale
    scale = scale / lam
    y = (1.0 + d + 2.0 * h * gamma * (1.0 + gamma)) * scale
    found = ((1.0 + d) * scale, y, velocity, (1.0 + d - h) * scale)
    return tuple(np.where(unstable, np.inf, value) for value in found)


def _excess(
    lam: Real, alpha: Real, beta: Real, gamma: Real, sigma2: Real
) -> tuple[FloatArray, ...]:
    """Half of lambda Var y, without a division by lambda."""
    h, d, scale, unstable = _per_curvature(lam, alpha, beta, gamma)
    value = (0.5 + 0.5 * d + h * gamma * (1.0 + gamma)) * scale * sigma2
    return (np.where(unstable, np.inf, value),)


def stationary_variance(
    eigenvalues: npt.ArrayLike, method: Method, *, sigma2: npt.ArrayLike = 1.0
) -> StationaryVariance:
    """Exact stationary variances in each eigen-direction under additive noise.

    With h = alpha lambda and D = h (1-beta+h gamma) (2+2 beta-h(1+2 gamma)), in units of
    alpha² sigma2 / D::

        Var y = 1+beta+h gamma (1+2 gamma)        Var (x_k - x_{k-1}) = 2h
        Var x = 1+beta-h gamma                    Cov (x_k, x_{k-1}) = 1+beta-h(1+gamma)

    Parameters
    ----------
    eigenvalues
        Finite numbers; they broadcast against the parameters of ``method`` like in NumPy.
    method
        The whole family, negative momentum included; arrays broadcast.
    sigma2
        Variance of the gradient noise in that direction, zero or more; broadcasts.

    Returns
    -------
    StationaryVariance
        ``x``, ``y``, ``velocity``, ``covariance``, each of the broadcast shape. All are infinite
        in a direction that is not stable (Jury's conditions), which includes alpha = 0.

    Examples
    --------
    >>> v = stationary_variance(1.0, Method(1.0, -0.5))
    >>> float(v.x), float(v.y), float(v.velocity), float(v.covariance)
    (1.0, 0.5, 2.0, 0.0)
    >>> float(stationary_variance(1.0, Method(2.5)).y)
    inf
    """
    lam = real("eigenvalues", eigenvalues, remedy=_EIGENVALUES)
    noise = real("sigma2", sigma2, "nonnegative", remedy=_SIGMA2)
    inputs = {"alpha": method.alpha, "beta": method.beta, "gamma": method.gamma, "sigma2": noise}
    shape = broadcast(eigenvalues=lam, **inputs)
    with np.errstate(all="ignore"):
        found = by_chunks(_variances, shape, lam, *inputs.values())
    x, y, velocity, covariance = (array[()] for array in found)
    return StationaryVariance(x, y, velocity, covariance)


def noise_floor(eigenvalues: npt.ArrayLike, method: Method, *, sigma2: npt.ArrayLike = 1.0) -> Real:
    """Where the objective stops: the stationary E f(y) - f* = ½ sum_i lambda_i Var y_i.

    Parameters
    ----------
    eigenvalues
        Positive; the last axis runs over the eigenvalues of one Hessian (a scalar is a problem
        in one dimension). The axes before it broadcast against the parameters of ``method``.
    method
        The whole family; arrays broadcast against all but the last axis of ``eigenvalues``.
    sigma2
        Noise variance in each direction, zero or more: a scalar, or an array whose last axis
        runs over the directions, like that of ``eigenvalues``.

    Returns
    -------
    Real
        The sum over the last axis; infinite where any direction is unstable.

    Examples
    --------
    >>> float(noise_floor([0.5, 1.0], Method(1.0)))
    0.8333333333333333
    >>> noise_floor([0.5, 1.0], Method([0.5, 1.0, 2.0])).round(4).tolist()
    [0.3095, 0.8333, inf]
    """
    lam = np.atleast_1d(real("eigenvalues", eigenvalues, "positive", remedy=_EIGENVALUES))
    noise = np.atleast_1d(real("sigma2", sigma2, "nonnegative", remedy=_SIGMA2))
    broadcast(eigenvalues=lam, sigma2=noise)
    lam, noise = np.broadcast_arrays(lam, noise)
    inputs = {"alpha": method.alpha, "beta": method.beta, "gamma": method.gamma}
    shape = broadcast(eigenvalues=lam[..., 0], **inputs)
    total = np.zeros(shape)
    with np.errstate(all="ignore"):
        for i in range(lam.shape[-1]):
            total += by_chunks(_excess, shape, lam[..., i], *inputs.values(), noise[..., i])[0]
    return total[()]


def second_moment(
    eigenvalues: npt.ArrayLike,
    method: Method,
    *,
    sigma2: npt.ArrayLike = 1.0,
    start: npt.ArrayLike = 1.0,
    steps: int,
) -> FloatArray:
    """Exact E r_{k+1}² of one eigen-direction for k = 0, ..., steps, transient included.

    From r_1 = start and v_0 = 0, with the block B and the gain g = (1+gamma, 1),
    E r_{k+1}² = ((B^k)_{11} start)² + alpha² sigma2 sum_{j<k} ((B^j g)_1)².
    Every term is a square, so nothing cancels. For Nesterov's method this is
    (U_{k+1} - beta U_k)² start² + alpha² sigma2 sum_{j<k} ((1+beta) U_{j+1} - beta U_j)².

    Parameters
    ----------
    eigenvalues
        Finite numbers; they broadcast against the parameters of ``method``.
    method
        The whole family; arrays broadcast.
    sigma2
        Variance of the gradient noise in that direction, zero or more; broadcasts.
    start
        r_1 = x_0 - x* in that direction; broadcasts.
    steps
        Number of steps, zero or more.

    Returns
    -------
    numpy.ndarray
        Shape ``(steps + 1, ...)``; entry ``k`` is E r_{k+1}², after k gradients; entry 0 is
        start². Infinite where it overflows.

    Examples
    --------
    >>> second_moment(1.0, Method(0.5), steps=3).tolist()
    [1.0, 0.5, 0.375, 0.34375]
    """
    lam = real("eigenvalues", eigenvalues, remedy=_EIGENVALUES)
    noise = real("sigma2", sigma2, "nonnegative", remedy=_SIGMA2)
    first = real("start", start, remedy="give r_1 = x_0 - x*, e.g. start=1.0")
    count = whole("steps", steps, 0, remedy="give the number of steps, e.g. steps=100")
    shape = broadcast(
        eigenvalues=lam,
        alpha=method.alpha,
        beta=method.beta,
        gamma=method.gamma,
        sigma2=noise,
        start=first,
    )
    B = block(lam, method)
    gain = noise_gain_vector(method)
    out = np.empty((count + 1, *shape))
    with np.errstate(all="ignore"):
        r, v = np.broadcast_to(first, shape), np.zeros(shape)
        w, u = np.broadcast_to(gain[..., 0], shape), np.ones(shape)
        power = method.alpha * method.alpha * noise
        variance = np.zeros(shape)
        for k in range(count + 1):
            out[k] = r * r + variance
            variance += power * w * w
            r, v = B[..., 0, 0] * r + B[..., 0, 1] * v, B[..., 1, 0] * r + B[..., 1, 1] * v
            w, u = B[..., 0, 0] * w + B[..., 0, 1] * u, B[..., 1, 0] * w + B[..., 1, 1] * u
    out[np.isnan(out)] = np.inf  # only a difference of overflows is not a number
    return out


def paper_noise_coefficient(
    curvature: Curvature, method: Method, *, c_epsilon: bool = False
) -> Real:
    """The coefficient of sigma² that Theorem 1 states; an estimate, not a bound.

    alpha² ((1+gamma)² + 1) / (1 - ρ²), and with ``c_epsilon=True`` times the estimate
    1 + (1 - ρ²)(‖A‖² - ρ²) that the paper puts for its constant C_ε. At the usual parameters
    the true variance of the worst direction is larger for Q > 9.107470, even with it: see
    :func:`exact_noise_coefficient`.

    Parameters
    ----------
    curvature, method
        Arrays broadcast. The paper has gamma = beta.
    c_epsilon
        Whether to multiply by the paper's estimate of C_ε.

    Returns
    -------
    Real
        Infinite where the method is not stable.

    Examples
    --------
    >>> from ravine.methods import nesterov
    >>> c = Curvature(1 / 128, 1)
    >>> round(float(paper_noise_coefficient(c, nesterov(c))), 6)
    25.903109
    """
    check_shapes(curvature, method)
    with np.errstate(all="ignore"):
        rho2 = spectral_radius(curvature, method) ** 2
        gain = method.alpha**2 * ((1.0 + method.gamma) ** 2 + 1.0)
        value = gain / (1.0 - rho2)
        if c_epsilon:
            value = value + gain * (contraction(curvature, method) ** 2 - rho2)
    return np.where(stable(curvature, method), value, np.inf)[()]


def exact_noise_coefficient(curvature: Curvature, method: Method) -> Real:
    """Coefficient of sigma² in the worst direction: the largest Var y / sigma² over [mu, L].

    The stationary E‖y - x*‖² of a quadratic whose noise has total variance sigma² is a weighted
    mean of Var y(lambda) over its eigenvalues, so this is the exact worst case. Var y is
    convex in lambda where it is finite (verified numerically for the whole family, not proven), so
    one of the ends mu, L attains it.

    Returns
    -------
    Real
        Infinite where the method is not stable. Arrays broadcast.

    Examples
    --------
    >>> from ravine.methods import nesterov, sgd
    >>> c = Curvature(1 / 128, 1)
    >>> round(float(exact_noise_coefficient(c, nesterov(c))), 6)
    384.573763
    >>> round(float(exact_noise_coefficient(c, sgd(c))), 6)
    128.0
    """
    check_shapes(curvature, method)
    flat = stationary_variance(curvature.mu, method).y
    return np.maximum(flat, stationary_variance(curvature.L, method).y)[()]


@dataclass(frozen=True, eq=False)
class TransientPeak:
    """The largest norm of a power of A, and where it is reached."""

    norm: Real
    """sup_k ‖A^k‖ over every Hessian with the given curvature; infinite when unstable."""
    step: npt.NDArray[np.int64] | np.int64
    """The k that reaches it; -1 when unstable."""
    eigenvalue: Real
    """The eigenvalue that reaches it; NaN when unstable."""


def spectral_norms(matrices: FloatArray) -> FloatArray:
    """Spectral norms of a stack of 2x2 matrices, free of cancellation."""
    a, b = matrices[..., 0, 0], matrices[..., 0, 1]
    c, d = matrices[..., 1, 0], matrices[..., 1, 1]
    norms: FloatArray = 0.5 * (np.hypot(a + d, b - c) + np.hypot(a - d, b + c))
    return norms


def _peak(B: FloatArray) -> tuple[float, int]:
    """Largest ‖B^k‖ over k >= 0, and its k.

    Once some k >= 1 has ‖B^k‖ <= 1 the search ends: ‖B^{k+j}‖ <= ‖B^j‖ was seen before.
    """
    powers, step, best, at = np.eye(2)[None], B, 1.0, 0
    while len(powers) < _LONGEST_SEARCH:
        fresh = powers @ step
        norms = spectral_norms(fresh)
        if norms.max() > best:
            best, at = float(norms.max()), len(powers) + int(norms.argmax())
        if norms.min() <= 1.0:
            break
        powers, step = np.concatenate([powers, fresh]), step @ step
    return best, at


def transient_peak(curvature: Curvature, method: Method) -> TransientPeak:
    """Transient growth of the deterministic method: sup_k ‖A^k‖₂ in the state (r, v).

    ‖A^k‖ is the largest ‖B(lambda)^k‖ over the spectrum, so the supremum is taken over
    k >= 0 and lambda in [mu, L]: the two ends, and 15 points between them. No stable
    parameters are known for which a point between beats both ends. At the usual parameters mu
    attains it, near k = √Q, and the peak grows like √Q/e.

    Parameters
    ----------
    curvature, method
        Arrays broadcast; the search runs once for every element.

    Returns
    -------
    TransientPeak
        At least 1 (k = 0). The search ends with a proof that no later k is larger, or
        after 2²⁰ steps when the method is that slow.

    Examples
    --------
    >>> from ravine.methods import nesterov
    >>> c = Curvature(1, 512)
    >>> peak = transient_peak(c, nesterov(c))
    >>> round(float(peak.norm), 6), int(peak.step), float(peak.eigenvalue)
    (7.170203, 22, 1.0)
    """
    shape = check_shapes(curvature, method)
    settled = np.broadcast_to(stable(curvature, method), shape)
    given = (curvature.mu, curvature.L, method.alpha, method.beta, method.gamma)
    mu, L, alpha, beta, gamma = (np.broadcast_to(value, shape) for value in given)
    norm, where = np.full(shape, np.inf), np.full(shape, np.nan)
    step = np.full(shape, -1, np.int64)
    for i in np.ndindex(shape):
        if settled[i]:
            lam = np.geomspace(mu[i], L[i], 17)
            peaks = [_peak(B) for B in block(lam, Method(alpha[i], beta[i], gamma[i]))]
            best = max(range(17), key=lambda j: peaks[j][0])
            (norm[i], step[i]), where[i] = peaks[best], lam[best]
    return TransientPeak(norm[()], step[()], where[()])
