"""The exact worst-case rate over every finite sum and every sampling order."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray, Real
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.chunks import by_chunks
from ravine.theory.ladder.rates import block_radius, check_shapes


def worst_case_rate(curvature: Curvature, method: Method) -> Real:
    """Exact rate r* over all finite sums of L-smooth mu-strongly convex functions, in any order.

    The best quadratic Lyapunov function of the two extreme blocks B(mu), B(L) serves every
    Hessian between them, and quadratics in the plane whose axes turn by a fixed angle attain it:
    no other argument can improve it. With h = alpha mu, H = alpha L, s = h + H, D = H - h,
    k = 1 + beta - gamma + beta gamma, c = beta(1 + gamma) - gamma, and

    - M = s k - (1 - beta)² - (1 + gamma)² h H,
    - A = 4(s k - (1 - beta)²) - (1 + gamma)² s²,
    - w² = 2 M (2 beta - gamma s),

    the candidate is r² = (w² + 2 w D √c + (1 + gamma)(beta - gamma) D²)/A. It counts where all
    of it is real, r exceeds the spectral radius, and the turning angle exists; elsewhere r* is the
    spectral radius. For gamma = beta: c = beta², k = 1 + beta².

    Returns
    -------
    Growth per step. Below 1: convergence on every such sum under every sampling. Above 1: some
    sum in two dimensions, in some order, diverges at exactly this rate.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(worst_case_rate(c, nesterov(c))), 9)
    1.164213562
    """
    return _solve(curvature, method)[0][()]


def turning_angle(curvature: Curvature, method: Method) -> Real:
    """Angle ω in radians by which the axes turn each step in the worst finite sum; 0 where none.

    Quadratics in R² with eigenvalues mu and L whose axes turn by ω grow at exactly
    :func:`worst_case_rate`. With traces t_i, determinants d_i and r = r*,
    cos ω = ((r + d₁/r) t₂ + (r + d₂/r) t₁)/(4(d₁ + d₂)).
    Where the rate is the spectral radius one fixed quadratic is the worst, and ω = 0.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(np.degrees(turning_angle(c, nesterov(c)))), 6)
    45.0
    """
    return _solve(curvature, method)[1][()]


def _solve(curvature: Curvature, method: Method) -> tuple[FloatArray, ...]:
    shape = check_shapes(curvature, method)
    parameters = (curvature.mu, curvature.L, method.alpha, method.beta, method.gamma)
    return by_chunks(_rate_and_angle, shape, *parameters)


def _rate_and_angle(mu: Real, L: Real, alpha: Real, beta: Real, gamma: Real) -> tuple[Real, Real]:
    rest = (alpha, beta, gamma)
    radius = np.maximum(block_radius(mu, *rest), block_radius(L, *rest))
    low, high = alpha * mu, alpha * L
    total, spread = low + high, high - low
    damping = (1.0 - beta) ** 2
    drive = total * (1.0 + beta - gamma + beta * gamma) - damping
    mixed = drive - (1.0 + gamma) ** 2 * low * high
    denominator = 4.0 * drive - (1.0 + gamma) ** 2 * total**2
    determinants = 2.0 * beta - gamma * total
    coupling = beta * (1.0 + gamma) - gamma
    real = (mixed > 0.0) & (determinants > 0.0) & (coupling >= 0.0)
    with np.errstate(all="ignore"):
        w = np.sqrt(np.where(real, 2.0 * determinants * mixed, 0.0))
        numerator = w * (w + 2.0 * spread * np.sqrt(np.maximum(coupling, 0.0)))
        numerator = numerator + (1.0 + gamma) * (beta - gamma) * spread**2
        square = numerator / denominator
        r = np.sqrt(square)
        t1, t2 = (1.0 + beta - h * (1.0 + gamma) for h in (low, high))
        d1, d2 = (beta - h * gamma for h in (low, high))
        cosine = ((r + d1 / r) * t2 + (r + d2 / r) * t1) / (4.0 * determinants)
        counts = real & np.isfinite(square) & (r > radius) & (np.abs(cosine) < 1.0)
    rate = np.where(counts, r, radius)
    return rate, np.where(counts, np.arccos(np.where(counts, cosine, 1.0)), 0.0)
