"""Parameters guaranteed to converge in every order, or in mean square for random batches.

In one direction, a mini-batch has a random curvature with mean λ and variance V. The largest step
depends on the ratio v = V/λ; for batches of b draws of terms with curvature in [0, L_max] it is
(L_max - λ)/b.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, Refusal, broadcast, overflow_allowed, real
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method
from ravine.theory.blocks import coupling
from ravine.theory.ladder.any_memory import last_true, safe_factor
from ravine.theory.ladder.batch_noise import batch_noise, check_batch_size, refuse_options
from ravine.theory.ladder.iid import safety_ratio
from ravine.theory.ladder.rates import check_shapes, stable

_SCAN = 512
"""Number of momenta tried to find the last safe interval before bisection."""
_EIGENVALUE = "give an eigenvalue of the Hessian, e.g. 1.0"
_RATIO = "give the variance of a batch's curvature divided by the eigenvalue, e.g. 0.5"


@overflow_allowed
def largest_step(
    eigenvalue: npt.ArrayLike,
    *,
    variance_ratio: npt.ArrayLike = 0.0,
    beta: npt.ArrayLike = 0.0,
    gamma: npt.ArrayLike | None = None,
) -> Real:
    """Return the step size below which one direction is stable in mean square.

    With λ the eigenvalue, v the variance ratio and B = v(1 + beta) + λ(1 - beta - 4 beta gamma),

        1/alpha = (B + √(B² + 8(1 - beta²) gamma (1 + 2 gamma) λ (λ + v))) / (4(1 - beta²)).

    Every smaller positive step is stable, and no larger one is. For heavy ball (gamma = 0) it is
    1/alpha = v/(2(1 - beta)) + λ/(2(1 + beta)); v = 0 gives the limit for exact gradients. QHM with
    weight nu has gamma = beta (1 - nu)/(1 - beta), and its step size is alpha/(1 - beta).

    Parameters
    ----------
    eigenvalue
        Mean curvature λ of the direction, zero or more.
    variance_ratio
        v = V(λ)/λ, the variance of a batch's curvature divided by its mean, zero or more.
    beta
        Momentum, between -1 and 1; -1 itself if gamma < -1/2.
    gamma
        Look-ahead; ``None`` means beta, Nesterov's method. Zero is heavy ball.

    Returns
    -------
    The limit in the broadcast shape of the arguments; infinite if λ and v are both zero.

    Examples
    --------
    >>> float(largest_step(1.0, beta=0.9, gamma=0))
    3.8
    >>> largest_step(1.0, variance_ratio=[0.0, 1.0, 10.0], beta=0.9).round(4).tolist()
    [1.3571, 0.4239, 0.023]
    """
    lam = real("eigenvalue", eigenvalue, "nonnegative", remedy=_EIGENVALUE)
    ratio = real("variance_ratio", variance_ratio, "nonnegative", remedy=_RATIO)
    momentum = real("beta", beta, remedy="give a momentum, e.g. beta=0.9")
    ahead = momentum if gamma is None else real("gamma", gamma, remedy="give a look-ahead")
    broadcast(eigenvalue=lam, variance_ratio=ratio, beta=momentum, gamma=ahead)
    check_momentum(momentum, ahead)

    linear = ratio * (1.0 + momentum) + lam * (1.0 - momentum - 4.0 * momentum * ahead)
    product = ahead * (1.0 + 2.0 * ahead) * lam * (lam + ratio)
    return least_step(2.0 * (1.0 - momentum) * (1.0 + momentum), linear, product)[()]


def check_momentum(beta: Real, gamma: Real) -> None:
    """Refuse momenta at which no step is stable for every λ: |beta| >= 1, except for beta = -1.

    At beta = -1, short steps are stable iff gamma < -1/2, which holds for Nesterov's method.
    """
    inside = (np.abs(beta) < 1.0) | ((beta == -1.0) & (gamma < -0.5))
    if not np.all(inside):
        shown = np.broadcast_to(beta, np.shape(inside))[~np.asarray(inside)]
        remedy = "no other momentum is stable for every eigenvalue"
        raise Refusal("beta", "between -1 and 1", f"{np.ravel(shown)[0]:g}", remedy)


def least_step(square: Real, linear: Real, product: Real) -> FloatArray:
    """1/A for the largest root A of ``square`` A² - ``linear`` A - ``product``, ``square`` >= 0.

    Infinite if no root is positive. The form of the root without cancellation is used.
    """
    root = np.sqrt(np.maximum(linear * linear + 4.0 * square * product, 0.0))
    direct = 2.0 * square / (linear + root)
    conjugate = (root - linear) / (2.0 * product)
    step = np.where(linear > 0.0, direct, np.where(product > 0.0, conjugate, np.inf))
    return np.where((linear == 0.0) & (product == 0.0), np.inf, step)


@overflow_allowed
def adam_limit(
    eigenvalue: npt.ArrayLike,
    *,
    variance_ratio: npt.ArrayLike = 0.0,
    beta1: npt.ArrayLike = 0.9,
    weight_decay: npt.ArrayLike = 0.0,
) -> Real:
    """Return the lr below which Adam or AdamW is stable, with the preconditioner held fixed.

    The preconditioner is P = diag(√v̂ + eps); λ is an eigenvalue of P^(-1/2) H P^(-1/2) and v the
    variance ratio in the same coordinates. Without weight decay

        1/lr = v/2 + λ (1 - beta1)/(2(1 + beta1)),

    at beta1 = 0.9: v/2 + λ/38. With decoupled weight decay ω, s = 1 - lr ω, lr is stable in mean
    square iff lr (1-beta1) v λ (1 + beta1 s) < (1 - beta1 s)(ω + λ)((1+s)(1+beta1) - lr (1-beta1)
    λ), a quadratic inequality in lr. RMSprop has beta1 = 0.

    The limit does not apply to the first steps: bias correction makes them as long as those of SGD.
    And Adam's preconditioner changes: beyond the limit it grows until the limit holds, so Adam does
    not diverge there; instability then sets its lr instead of noise.

    Parameters
    ----------
    eigenvalue
        Preconditioned curvature λ, zero or more.
    variance_ratio
        v, zero or more, as in :func:`largest_step`.
    beta1
        Momentum, at least 0 and below 1.
    weight_decay
        Decoupled weight decay ω, zero or more, in units of 1/lr as in AdamW.

    Examples
    --------
    >>> round(float(adam_limit(1.0)), 9)
    38.0
    >>> adam_limit(1.0, variance_ratio=[0.0, 0.1, 1.0]).round(3).tolist()
    [38.0, 13.103, 1.9]
    """
    lam = real("eigenvalue", eigenvalue, "nonnegative", remedy=_EIGENVALUE)
    ratio = real("variance_ratio", variance_ratio, "nonnegative", remedy=_RATIO)
    momentum = real("beta1", beta1, "nonnegative", remedy="give Adam's momentum, e.g. beta1=0.9")
    decay = real("weight_decay", weight_decay, "nonnegative", remedy="give a decay, e.g. 0.01")
    broadcast(eigenvalue=lam, variance_ratio=ratio, beta1=momentum, weight_decay=decay)
    if np.any(momentum >= 1.0):
        raise Refusal("beta1", "below 1", f"{np.max(momentum):g}", "give a momentum, e.g. 0.9")

    # Both sides of the condition are divided by ω + λ; λ/(ω + λ) is 1 if both are zero.
    share = np.where(decay == 0.0, 1.0, lam / np.where(decay == 0.0, 1.0, decay + lam))
    fresh = 1.0 - momentum
    damping = (1.0 + momentum) * decay + fresh * lam
    square = 2.0 * fresh * (1.0 + momentum)
    noise = fresh * ratio * share
    linear = (1.0 + momentum) * noise + fresh * damping - 2.0 * momentum * (1.0 + momentum) * decay
    return least_step(square, linear, momentum * decay * (damping - noise))[()]


@overflow_allowed
def safe_step(
    L: npt.ArrayLike,
    beta: npt.ArrayLike | LinearMethod,
    gamma: npt.ArrayLike | None = None,
    *,
    batch_size: npt.ArrayLike | None = None,
    L_max: npt.ArrayLike | None = None,
) -> Real:
    """Return the supremum of the steps that are safe at momentum beta for every mu.

    In every order of every finite sum: the worst-case rate is below 1 for every mu in (0, L] iff,
    with c = beta(1 + gamma) - gamma,

    - alpha L < 2(1 - beta)²/(1 - beta + 2c) where c >= 0 (for Nesterov's method c = beta²),
    - alpha L < 2(1 + beta)/(1 + 2 gamma) where c < 0: the limit for exact gradients.

    With ``batch_size``: in mean square, for independent batches of terms with curvature between 0
    and L_max: the smallest :func:`largest_step` over λ in [0, L]. For gamma >= 0 or gamma <= -1/2
    it is the value at λ = 0, which is 2 b (1 - beta)/L_max, or at λ = L.

    Parameters
    ----------
    L
        Smoothness, positive: of every term, or with ``batch_size`` of the whole objective.
    beta
        Momentum between -1 and 1; negative values allow longer steps. Or a ``LinearMethod``: the
        result is then the factor by which all its steps may be multiplied, for single values.
    gamma
        Look-ahead; ``None`` means beta.
    batch_size
        Terms averaged in a step, at least 1, for safety in mean square.
    L_max
        Largest curvature of a single term, at least L, with ``batch_size``. Default: L.

    Returns
    -------
    The bound: every smaller positive step is safe.

    Examples
    --------
    >>> round(float(safe_step(1.0, 0.9)), 5)
    0.01163
    >>> safe_step(1.0, 0.9, batch_size=[1, 10, 100, 1000], L_max=10).round(3).tolist()
    [0.02, 0.2, 1.197, 1.34]
    """
    smoothness = real("L", L, "positive", remedy="give the largest curvature, e.g. L=100")
    if isinstance(beta, LinearMethod):
        return np.float64(safe_factor(float(smoothness), beta, batch_size, L_max))

    momentum = real("beta", beta, remedy="give a momentum, e.g. beta=0.9")
    ahead = momentum if gamma is None else real("gamma", gamma, remedy="give a look-ahead")
    shape = broadcast(L=smoothness, beta=momentum, gamma=ahead)
    check_momentum(momentum, ahead)
    if batch_size is not None:
        size = check_batch_size(batch_size)
        most = batch_noise(Curvature(smoothness, smoothness), L_max=L_max).most
        broadcast(L=smoothness, beta=momentum, gamma=ahead, batch_size=size, L_max=most)
        return _mean_square_step(smoothness, momentum, ahead, size, most)

    remedy = "give batch_size too, or the largest curvature of a term as L"
    refuse_options("without batch_size", remedy, L_max=L_max)
    c = coupling(momentum, ahead)
    any_order = 2.0 * (1.0 - momentum) ** 2 / (1.0 - momentum + 2.0 * np.maximum(c, 0.0))

    exact = 2.0 * (1.0 + momentum) / (1.0 + 2.0 * ahead)

    limit = np.where(c >= 0.0, any_order, exact) / smoothness
    return np.broadcast_to(limit, shape)[()]


def _mean_square_step(L: Real, beta: Real, gamma: Real, size: Real, most: Real) -> Real:
    """Smallest of the largest steps over λ in [0, L], with the variance V = λ (L_max - λ)/b.

    With A = 1/alpha, f = 1 + 2 gamma and B affine in λ, stability at λ means 2(1 - beta²) A² - B A
    - gamma f λ (λ + v) > 0. For gamma f >= 0 it is concave in λ, so the ends decide; otherwise its
      minimum over λ is also quadratic in A.
    """
    steps = [
        largest_step(lam, variance_ratio=(most - lam) / size, beta=beta, gamma=gamma)
        for lam in (np.zeros_like(L), L)
    ]
    weight = -gamma * (1.0 + 2.0 * gamma) * (1.0 - 1.0 / size)
    if np.any(weight > 0.0):
        # In λ the condition is 2(1 - beta²) A² - (e₀ + e₁ λ) A + k λ + ``weight`` λ². Its minimum
        # is zero at this step, if it is inside (0, L).
        slope = 1.0 - beta - 4.0 * beta * gamma - (1.0 + beta) / size
        fixed = most * (1.0 + beta) / size
        k = -gamma * (1.0 + 2.0 * gamma) * most / size
        square = 2.0 * (1.0 - beta) * (1.0 + beta) - slope * slope / (4.0 * weight)
        linear = fixed - slope * k / (2.0 * weight)
        product = k * k / (4.0 * weight)

        # Both roots in 1/alpha are tried: a root with λ inside is a limit for that λ.
        discriminant = linear * linear + 4.0 * square * product
        root = np.sqrt(np.maximum(discriminant, 0.0))
        for inverse in ((linear + root) / (2.0 * square), (linear - root) / (2.0 * square)):
            lam = (slope * inverse - k) / (2.0 * weight)
            inside = (weight > 0.0) & (discriminant >= 0.0)
            inside = inside & (inverse > 0.0) & (lam > 0.0) & (lam < L)
            steps.append(np.where(inside, 1.0 / inverse, np.inf))

    least: FloatArray = np.minimum.reduce(np.broadcast_arrays(*steps))
    return least[()]


@overflow_allowed
def safe_momentum(
    curvature: Curvature,
    alpha: npt.ArrayLike,
    *,
    batch_size: npt.ArrayLike | None = None,
    L_max: npt.ArrayLike | None = None,
    mu_min: npt.ArrayLike | None = None,
) -> Real:
    """Return the supremum of the safe momenta for Nesterov's method at step alpha.

    This is the largest beta up to which the worst-case rate of (alpha, beta) is below 1. At alpha =
    1/L it is the larger root of 8 beta² q = 8 beta - (1 + beta)² q, with q = 1 - 1/Q; for Q < 3 it
    is above 1. With ``batch_size``, it is the largest beta that is stable in mean square for
    independent batches; L_max and mu_min are as in :func:`ravine.iid_rate`.

    Returns
    -------
    The bound, to rounding; NaN if no momentum makes the step safe, infinite if every momentum does
    (Q = 1 and alpha = 1/L).

    Examples
    --------
    >>> from ravine import Curvature
    >>> round(float(safe_momentum(Curvature(1, 32), 1 / 32)), 6)
    0.446481
    >>> round(float(safe_momentum(Curvature(1, 32), 1 / 32, batch_size=8, L_max=64)), 6)
    0.896883
    """
    step = real("alpha", alpha, "positive", remedy="give a step size, e.g. alpha=0.01")
    noise = None
    shape = broadcast(mu=curvature.mu, L=curvature.L, alpha=step)
    if batch_size is not None:
        noise = batch_noise(curvature, L_max=L_max, batch_size=batch_size, mu_min=mu_min)
        shape = noise.shape_with(mu=curvature.mu, L=curvature.L, alpha=step)
    else:
        refuse_options("without batch_size", "give batch_size too", L_max=L_max, mu_min=mu_min)

    def holds(beta: FloatArray) -> npt.NDArray[np.bool_]:
        method = Method(step, beta)
        if noise is None:
            return is_safe(curvature, method)
        return np.asarray(safety_ratio(curvature, method, noise) < 1.0)

    slope = np.maximum(np.abs(1.0 - step * curvature.mu), np.abs(1.0 - step * curvature.L))
    # A safe momentum is a stable one: |beta (1 - h)| < 1 at both ends of the curvature.
    reach = 1.0 / np.broadcast_to(np.maximum(slope, 1e-12), shape)
    scan = np.linspace(-1.0, 1.0, _SCAN + 1)[1:-1].reshape(-1, *(1,) * len(shape)) * reach
    safe = np.broadcast_to(holds(scan), scan.shape)
    last = scan.shape[0] - 1 - np.argmax(safe[::-1], axis=0)
    low = np.take_along_axis(scan, last[None], axis=0)[0]
    bound = last_true(holds, low, low + 2.0 * reach / _SCAN)
    bound = np.where(np.broadcast_to(slope, shape) > 0.0, bound, np.inf)
    return np.where(safe.any(axis=0), bound, np.nan)[()]


def is_safe(curvature: Curvature, method: Method) -> npt.NDArray[np.bool_]:
    """Whether the worst-case rate is below 1, decided accurately even for rates close to 1.

    Two blocks with traces t, determinants d and m = 2 tr(B₁B₂) - t₁t₂ have a common norm below 1
    iff both are stable and (1-d₁)(1-d₂) + √(((1+d₁)²-t₁²)((1+d₂)²-t₂²)) > |m|. With h = alpha mu, H
    = alpha L, v = 2+2 beta-(1+2 gamma)h and c = beta(1+gamma)-gamma, (1+d)²-t² = h v, and the large
    terms of the difference of both sides cancel:

    - 2(1-beta)² - (h+H)(1-beta+2c) + (gamma²+(1+gamma)²) hH + √(hH v₁v₂) > 0 for m < 0,
    - (h+H)((1-beta)(1+2 gamma)+2c) - (1+2 gamma) hH + √(hH v₁v₂) > 0 for m > 0.
    """
    check_shapes(curvature, method)
    beta = method.beta
    gamma = method.gamma
    low = method.alpha * curvature.mu
    high = method.alpha * curvature.L
    fall = 1.0 + 2.0 * gamma
    c = coupling(beta, gamma)

    flips = (2.0 + 2.0 * beta - fall * low) * (2.0 + 2.0 * beta - fall * high)
    both = np.sqrt(low) * np.sqrt(high) * np.sqrt(np.maximum(flips, 0.0))
    total = low + high
    product = low * high
    negative = 2.0 * (1.0 - beta) ** 2 - total * (1.0 - beta + 2.0 * c)
    negative = negative + (gamma**2 + (1.0 + gamma) ** 2) * product + both
    positive = total * ((1.0 - beta) * fall + 2.0 * c) - fall * product + both
    return np.asarray(stable(curvature, method) & (negative > 0.0) & (positive > 0.0))
