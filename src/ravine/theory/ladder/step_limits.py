"""The largest step that is stable in mean square, in closed form, for one eigen-direction.

A direction of mean curvature λ sees a random curvature of variance V. What matters is the ratio
v = V/λ: for batches of b draws whose terms have curvature in [0, L_max] it is (L_max - λ)/b.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, Refusal, broadcast, overflow_allowed, real

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

    Every smaller positive step is stable, and no larger one is. For heavy ball (gamma = 0) it reads
    1/alpha = v/(2(1 - beta)) + λ/(2(1 + beta)); v = 0 gives the limit of exact gradients. QHM with
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
    The limit in the common shape of the arguments; infinite where λ and v are both zero.

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

    At beta = -1 short steps are stable iff gamma < -1/2, which Nesterov's method fulfils.
    """
    inside = (np.abs(beta) < 1.0) | ((beta == -1.0) & (gamma < -0.5))
    if not np.all(inside):
        shown = np.broadcast_to(beta, np.shape(inside))[~np.asarray(inside)]
        remedy = "no other momentum is stable for every eigenvalue"
        raise Refusal("beta", "between -1 and 1", f"{np.ravel(shown)[0]:g}", remedy)


def least_step(square: Real, linear: Real, product: Real) -> FloatArray:
    """1/A for the largest root A of ``square`` A² - ``linear`` A - ``product``, ``square`` >= 0.

    Infinite where no root is positive. Either form of the root is used where it does not cancel.
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

    The limit says nothing about the first steps: bias correction makes them as long as those of
    SGD. And Adam's own preconditioner moves: beyond the limit it grows until the limit holds, so
    Adam does not diverge there; its lr is then set by instability instead of noise.

    Parameters
    ----------
    eigenvalue
        Preconditioned curvature λ, zero or more.
    variance_ratio
        v, zero or more, as in :func:`largest_step`.
    beta1
        Momentum, from 0 up to but not including 1.
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

    # Both sides of the condition are divided by ω + λ; λ/(ω + λ) is 1 where both are zero.
    share = np.where(decay == 0.0, 1.0, lam / np.where(decay == 0.0, 1.0, decay + lam))
    fresh = 1.0 - momentum
    damping = (1.0 + momentum) * decay + fresh * lam
    square = 2.0 * fresh * (1.0 + momentum)
    noise = fresh * ratio * share
    linear = (1.0 + momentum) * noise + fresh * damping - 2.0 * momentum * (1.0 + momentum) * decay
    return least_step(square, linear, momentum * decay * (damping - noise))[()]
