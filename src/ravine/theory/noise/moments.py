"""Exact second moments on a quadratic with additive gradient noise.

In one eigen-direction lambda, with independent noise of variance sigma2 and h = alpha lambda, the
method is a second-order autoregression with trace 1 + beta - h (1+gamma) and determinant d = beta -
h gamma. It has a stationary distribution iff Jury's conditions hold: h > 0, 2 (1+d) - h > 0 and |d|
< 1.

Errors come in two quantities: the distance E‖y - x*‖² and the objective E f(y) - f*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Real,
    broadcast,
    overflow_allowed,
    real,
    refuse_too_large,
    whole,
)
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method
from ravine.theory.blocks import block, noise_gain_vector
from ravine.theory.chunks import by_chunks
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.ladder.any_memory import Loop
from ravine.theory.ladder.rates import check_shapes, contraction, spectral_radius, stable
from ravine.values import Value

_EIGENVALUES = "give eigenvalues of the Hessian, e.g. [0.05, 100]"
_SIGMA2 = "give the variance of the gradient noise, e.g. sigma2=1.0"


@dataclass(frozen=True, eq=False, repr=False)
class StationaryVariance(Value):
    """Stationary second moments in each eigen-direction; infinite if they do not exist."""

    x: Real
    """Variance of x_k."""
    y: Real
    """Variance of y_k, the sequence that the paper analyses."""
    velocity: Real
    """Variance of x_k - x_{k-1}."""
    covariance: Real
    """Covariance of x_k and x_{k-1}."""
    objective: Real
    """E f(y_k) - f* in this direction: λ/2 times the variance of y_k."""

    def of(self, quantity: ErrorQuantity) -> Real:
        """The contribution of this direction to a mean error."""
        return self.objective if quantity is ErrorQuantity.OBJECTIVE else self.y


def _stationary_law(
    lam: Real, alpha: Real, beta: Real, gamma: Real, sigma2: Real
) -> tuple[FloatArray, ...]:
    """Var x, Var y, Var velocity, Cov and the excess λ Var y / 2, in one direction.

    With p = 1 - d and v = 2(1 + d) - h, which Jury's conditions make positive,

        Var y = (alpha² sigma2 / 2) (1/(h p) + (1 + 2 gamma)²/(p v)),

    two positive terms. p is computed as (1 - beta) + h gamma, because 1 - d would lose all digits
    as beta tends to 1.
    """
    h = alpha * lam
    p = (1.0 - beta) + h * gamma
    v = 2.0 * (1.0 + beta) - h * (1.0 + 2.0 * gamma)
    one_plus_d = (1.0 + beta) - h * gamma
    unstable = ~np.asarray((h > 0.0) & (v > 0.0) & (p > 0.0) & (one_plus_d > 0.0))

    # alpha²/h is alpha/λ: nothing overflows for a small step.
    per_noise = sigma2 * alpha / p
    kick = alpha * (1.0 + 2.0 * gamma) ** 2 / v

    x = per_noise * one_plus_d / (lam * v)
    y = 0.5 * per_noise * (1.0 / lam + kick)
    velocity = 2.0 * alpha * per_noise / v
    covariance = per_noise * (one_plus_d - h) / (lam * v)
    excess = 0.25 * per_noise * (1.0 + lam * kick)

    return tuple(
        np.where(unstable, np.inf, value) for value in (x, y, velocity, covariance, excess)
    )


@overflow_allowed
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
        Finite numbers; they broadcast against the parameters of ``method`` as in NumPy.
    method
        Any member of the family, including negative momentum; arrays broadcast.
    sigma2
        Variance of the gradient noise in that direction, zero or more; broadcasts.

    Returns
    -------
    StationaryVariance
        ``x``, ``y``, ``velocity``, ``covariance``, and ``objective``, which is λ Var y / 2, each
        of the broadcast shape. All are infinite in a direction that is not stable (Jury's
        conditions), which includes alpha = 0.

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
    inputs = {**method.parameters, "sigma2": noise}
    shape = broadcast(eigenvalues=lam, **inputs)

    law = by_chunks(_stationary_law, shape, lam, *inputs.values())

    return StationaryVariance(*(array[()] for array in law))


@overflow_allowed
def noise_floor(
    eigenvalues: npt.ArrayLike,
    method: Method | LinearMethod,
    *,
    sigma2: npt.ArrayLike = 1.0,
    quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE,
) -> Real:
    """The stationary error E‖y - x*‖² = sum_i Var y_i, or E f(y) - f*.

    Parameters
    ----------
    eigenvalues
        Positive; the last axis runs over the eigenvalues of one Hessian (a scalar is a problem
        in one dimension). The axes before it broadcast against the parameters of ``method``.
    method
        Any member of the family; arrays broadcast against all axes of ``eigenvalues`` except the
        last. Or one ``LinearMethod`` of any memory.
    sigma2
        Noise variance in each direction, zero or more: a scalar, or an array whose last axis
        runs over the directions, like that of ``eigenvalues``.
    quantity
        ``"distance"`` for E‖y - x*‖², the default of every function that takes a quantity, or
        ``"objective"`` for E f(y) - f* = ½ sum_i λ_i Var y_i.

    Returns
    -------
    Real
        The sum over the last axis; infinite if any direction is unstable.

    Examples
    --------
    >>> round(float(noise_floor([0.5, 1.0], Method(1.0))), 12)
    2.333333333333
    >>> noise_floor([0.5, 1.0], Method([0.5, 1.0, 2.0]), quantity="objective").round(4).tolist()
    [0.3095, 0.8333, inf]
    """
    lam = np.atleast_1d(real("eigenvalues", eigenvalues, "positive", remedy=_EIGENVALUES))
    noise = np.atleast_1d(real("sigma2", sigma2, "nonnegative", remedy=_SIGMA2))
    kind = ErrorQuantity.parse(quantity, "quantity")
    broadcast(eigenvalues=lam, sigma2=noise)
    lam, noise = np.broadcast_arrays(lam, noise)
    if isinstance(method, LinearMethod):
        loop = Loop(Curvature(lam.min(), lam.max()), method)
        variances = np.vectorize(loop.variance_of_y, otypes=[float])(lam)
        weights = 0.5 * lam if kind is ErrorQuantity.OBJECTIVE else np.ones_like(lam)
        return np.asarray((weights * noise * variances).sum(axis=-1))[()]

    total = np.zeros(broadcast(eigenvalues=lam[..., 0], **method.parameters))
    for i in range(lam.shape[-1]):
        total += stationary_variance(lam[..., i], method, sigma2=noise[..., i]).of(kind)

    return total[()]


@overflow_allowed
def second_moment(
    eigenvalues: npt.ArrayLike,
    method: Method | LinearMethod,
    *,
    sigma2: npt.ArrayLike = 1.0,
    start: npt.ArrayLike = 1.0,
    steps: int,
    quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE,
) -> FloatArray:
    """Exact E r_{k+1}² of one eigen-direction for k = 0, ..., steps, including the transient.

    From r_1 = start and v_0 = 0, with the block B and the gain g = (1+gamma, 1),
    E r_{k+1}² = ((B^k)_{11} start)² + alpha² sigma2 sum_{j<k} ((B^j g)_1)².
    Every term is a square, so nothing cancels. For Nesterov's method this is
    (U_{k+1} - beta U_k)² start² + alpha² sigma2 sum_{j<k} ((1+beta) U_{j+1} - beta U_j)².

    Parameters
    ----------
    eigenvalues
        Finite numbers; they broadcast against the parameters of ``method``.
    method
        Any member of the family; arrays broadcast. Or one ``LinearMethod`` of any memory.
    sigma2
        Variance of the gradient noise in that direction, zero or more; broadcasts.
    start
        r_1 = x_0 - x* in that direction; broadcasts.
    steps
        Number of steps, zero or more.
    quantity
        ``"distance"`` for E r², ``"objective"`` for this direction's part of E f(y) - f*, λ/2 times
        E r².

    Returns
    -------
    numpy.ndarray
        Shape ``(steps + 1, ...)``; entry ``k`` belongs to y_{k+1}, after k gradients; entry 0
        is start², or λ/2 times it. Infinite where it overflows.

    Examples
    --------
    >>> second_moment(1.0, Method(0.5), steps=3).tolist()
    [1.0, 0.5, 0.375, 0.34375]
    >>> second_moment(1.0, Method(0.5), steps=3, quantity="objective").tolist()
    [0.5, 0.25, 0.1875, 0.171875]
    """
    lam = real("eigenvalues", eigenvalues, remedy=_EIGENVALUES)
    noise = real("sigma2", sigma2, "nonnegative", remedy=_SIGMA2)
    first = real("start", start, remedy="give r_1 = x_0 - x*, e.g. start=1.0")
    count = whole("steps", steps, 0, remedy="give the number of steps, e.g. steps=100")
    inputs = {"eigenvalues": lam, "sigma2": noise, "start": first}
    if isinstance(method, Method):
        inputs |= method.parameters

    shape = broadcast(**inputs)
    kind = ErrorQuantity.parse(quantity, "quantity")
    weight = 0.5 * lam if kind is ErrorQuantity.OBJECTIVE else np.float64(1.0)

    refuse_too_large("steps", 8 * (count + 1) * math.prod(shape), count, "take fewer steps")
    # One step of a direction: its matrix, the row for y, the state at rest at 1, and the effect of
    # one unit of gradient noise on the state.
    if isinstance(method, Method):
        loop = block(lam, method)
        read = rest = np.array([1.0, 0.0])
        kick = -np.asarray(method.alpha)[..., None] * noise_gain_vector(method)
    else:
        A, kick, read = method.state
        loop = A + np.asarray(lam)[..., None, None] * np.outer(kick, read)
        rest = method.at_rest(1.0)[:, 0]

    out = np.empty((count + 1, *shape))

    # The response to the start and to one unit of noise after k steps.
    state = np.broadcast_to(first, shape)[..., None] * rest
    pulse = np.broadcast_to(kick, (*shape, kick.shape[-1]))
    variance = np.zeros(shape)
    for k in range(count + 1):
        out[k] = weight * ((state @ read) ** 2 + variance)
        variance += noise * (pulse @ read) ** 2
        state = (loop @ state[..., None])[..., 0]
        pulse = (loop @ pulse[..., None])[..., 0]

    out[np.isnan(out)] = np.inf  # NaN occurs only as a difference of overflows
    return out


@overflow_allowed
def paper_noise_coefficient(
    curvature: Curvature, method: Method, *, c_epsilon: bool = False
) -> Real:
    """The coefficient of sigma² that Theorem 1 states; an estimate, not a bound.

    alpha² ((1+gamma)² + 1) / (1 - ρ²), with ``c_epsilon=True`` times the paper's estimate 1 + (1 -
    ρ²)(‖A‖² - ρ²) of its constant C_ε. At the standard parameters the true variance of the worst
    direction is larger for Q > 9.107470, even with this factor; see
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
        Infinite if the method is not stable.

    Examples
    --------
    >>> from ravine.methods import nesterov
    >>> c = Curvature(1 / 128, 1)
    >>> round(float(paper_noise_coefficient(c, nesterov(c))), 6)
    25.903109
    """
    check_shapes(curvature, method)
    rho2 = spectral_radius(curvature, method) ** 2
    gain = method.alpha**2 * ((1.0 + method.gamma) ** 2 + 1.0)
    value = gain / (1.0 - rho2)
    if c_epsilon:
        value = value + gain * (contraction(curvature, method) ** 2 - rho2)

    # If ρ rounds to 1, float64 cannot distinguish the coefficient from infinity.
    return np.where(stable(curvature, method) & (rho2 < 1.0), value, np.inf)[()]


@overflow_allowed
def exact_noise_coefficient(
    curvature: Curvature, method: Method, *, quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE
) -> Real:
    """Coefficient of sigma² in the worst direction: the largest Var y / sigma² over [mu, L].

    The stationary E‖y - x*‖² of a quadratic with noise of total variance sigma² is a weighted mean
    of Var y(λ) over its eigenvalues, so this is the exact worst case. E f(y) - f* is the same mean
    of λ Var y(λ)/2. On the stable interval, Var y is log-convex in λ, and λ Var y is log-convex or
    increasing, so mu or L attains each maximum (proofs in docs/theory.md, "The worst direction
    under noise").

    Parameters
    ----------
    curvature, method
        Arrays broadcast.
    quantity
        ``"distance"`` for E‖y - x*‖², ``"objective"`` for E f(y) - f*.

    Returns
    -------
    Real
        Infinite if the method is not stable.

    Examples
    --------
    >>> from ravine.methods import nesterov, sgd
    >>> c = Curvature(1 / 128, 1)
    >>> round(float(exact_noise_coefficient(c, nesterov(c))), 6)
    384.573763
    >>> round(float(exact_noise_coefficient(c, sgd(c))), 6)
    128.0
    >>> round(float(exact_noise_coefficient(c, nesterov(c), quantity="objective")), 6)
    2.039119
    """
    check_shapes(curvature, method)
    kind = ErrorQuantity.parse(quantity, "quantity")
    flat, steep = (stationary_variance(end, method) for end in (curvature.mu, curvature.L))
    return np.maximum(flat.of(kind), steep.of(kind))[()]
