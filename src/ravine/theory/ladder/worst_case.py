"""The exact worst-case rate over every finite sum and every sampling order, and its proof.

A certificate is the rate with a quadratic norm that is checked in exact rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ravine.arguments import FloatArray, Real, Refusal, one_number, overflow_allowed
from ravine.curvature import Curvature
from ravine.markup import card
from ravine.methods import LinearMethod, Method
from ravine.theory.blocks import block, coupling
from ravine.theory.chunks import by_chunks
from ravine.theory.ladder.mean_square_kernel import discriminant_form
from ravine.theory.ladder.rates import block_radius, check_shapes
from ravine.theory.ladder.transfer import circle_rate, exact
from ravine.values import Value

_J = np.array([[0.0, 1.0], [-1.0, 0.0]])
_SINGLE = "certificates are for one curvature and one method at a time"
_LARGEST_MARGIN = 1e-3
"""Largest relative distance above r* at which a proof still counts as one of r*."""
_NILPOTENT = 1e-3
"""Rates below this belong to nearly nilpotent blocks, where r* is uncertain by its square root."""


@overflow_allowed
def worst_case_rate(curvature: Curvature, method: Method | LinearMethod) -> Real:
    """Exact rate r* over all finite sums of L-smooth, mu-strongly convex functions, in any order.

    The best quadratic Lyapunov function of the two extreme blocks B(mu), B(L) works for every
    Hessian between them, and quadratics in the plane with axes that turn by a fixed angle attain
    its rate, so no other argument can improve it. With traces t_i and determinants d_i of the two
    blocks, D = alpha (L - mu), c = beta(1 + gamma) - gamma, and w² = 2 (d₁ + d₂)(2 (d₁ + d₂) - t₁
    t₂), the candidate is

        r² = (w² + 2 w D √c + (1 + gamma)(beta - gamma) D²)/(8 (d₁ + d₂) - (t₁ + t₂)²).

    It applies if it is real, r exceeds the spectral radius, and the turning angle exists; otherwise
    r* is the spectral radius. For gamma = beta, c is beta².

    For a method of any memory, given by its transfer function as a ``LinearMethod``, the rate comes
    from the circle theorem instead, for single values of mu and L.

    Returns
    -------
    Growth per step. Below 1: convergence on every such sum with every sampling. Above 1: some sum
    in two dimensions, in some order, diverges at exactly this rate.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(worst_case_rate(c, nesterov(c))), 9)
    1.164213562
    """
    if isinstance(method, LinearMethod):
        return np.float64(circle_rate(curvature, method).upper)

    return _solve(curvature, method)[0][()]


@overflow_allowed
def turning_angle(curvature: Curvature, method: Method) -> Real:
    """Angle ω in radians by which the axes of the worst finite sum turn per step; 0 if they do not.

    Quadratics in R² with eigenvalues mu and L whose axes turn by ω grow at exactly
    :func:`worst_case_rate`. With traces t_i, determinants d_i and r = r*, cos ω = ((r + d₁/r) t₂ +
    (r + d₂/r) t₁)/(4(d₁ + d₂)). If the rate is the spectral radius, one fixed quadratic is the
    worst case, and ω = 0.

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
    parameters = method.parameters.values()
    return by_chunks(_rate_and_angle, shape, curvature.mu, curvature.L, *parameters)


def _rate_and_angle(mu: Real, L: Real, alpha: Real, beta: Real, gamma: Real) -> tuple[Real, Real]:
    """The rate r* and its angle: the candidate's where it applies, else the spectral radius and 0.

    Differences use ``discriminant_form``, which avoids cancellation near h = 1 or beta = 1: (t₁ +
    t₂)² - 8(d₁ + d₂) is the form of q₁ + q₂ and h₁ + h₂.
    """
    radius = np.maximum(block_radius(mu, alpha, beta, gamma), block_radius(L, alpha, beta, gamma))
    low, high = alpha * mu, alpha * L
    a, b, c = discriminant_form(beta, gamma)
    q1, q2 = 1.0 - low, 1.0 - high
    lag1, lag2 = low * (gamma - beta), high * (gamma - beta)
    t1, t2 = (1.0 + beta) * q1 - lag1, (1.0 + beta) * q2 - lag2
    d1, d2 = beta * q1 - lag1, beta * q2 - lag2
    q, h, width = q1 + q2, low + high, high - low
    both = d1 + d2
    mixed = b * (q1 * high + low * q2) - a * q1 * q2 - c * low * high
    denominator = q * (2.0 * b * h - a * q) - c * h * h
    drive = coupling(beta, gamma)
    real = np.asarray((mixed > 0.0) & (both > 0.0) & (drive >= 0.0))
    w = np.sqrt(np.where(real, 2.0 * both * mixed, 0.0))
    numerator = w * (w + 2.0 * width * np.sqrt(np.maximum(drive, 0.0)))
    numerator = numerator + (1.0 + gamma) * (beta - gamma) * width**2
    r = np.sqrt(numerator / denominator)
    cosine = ((r + d1 / r) * t2 + (r + d2 / r) * t1) / (4.0 * both)
    counts = real & np.isfinite(r) & (r > radius) & (np.abs(cosine) < 1.0)

    rate = np.where(counts, r, radius)
    return rate, np.where(counts, np.arccos(np.where(counts, cosine, 1.0)), 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Value):
    """A rate that holds on every finite sum in every order, with the norm that proves it.

    With σ_P = p₁₁ - p₁₂²/p₂₂ and g = (1 + gamma, 1), for every k >= 0::

        E‖y_{k+1} - x*‖ <= transient_gain · rate^k · ‖y_1 - x*‖ + noise_gain · σ

    where σ is the mean of ‖∇f_i(x*)‖ over the sum.
    """

    curvature: Curvature
    method: Method
    rate: float
    """The certified growth per step r."""
    P: FloatArray
    """Positive definite 2x2 matrix with B(λ)ᵀ P B(λ) ⪯ r² P at λ = mu and λ = L."""

    @property
    def transient_gain(self) -> float:
        """√(p₁₁/σ_P): how far the error may exceed rate^k before it falls."""
        return norm_gains(self.P, float(self.method.gamma))[0]

    @property
    def noise_gain(self) -> float:
        """Asymptotic error per unit of σ: alpha √(gᵀPg)/(√σ_P (1 - r)), infinite if r >= 1."""
        if self.rate >= 1.0:
            return float("inf")

        kick = float(self.method.alpha) * norm_gains(self.P, float(self.method.gamma))[1]
        return kick / (1.0 - self.rate)

    def verify(self) -> bool:
        """Prove P ≻ 0 and both matrix inequalities in exact rational arithmetic.

        Every float is a rational number, so nothing is rounded: ``True`` is a proof for the exact
        stored alpha, beta, gamma, mu, L, rate and P.
        """
        P = exact(self.P).reshape(2, 2)
        if not (P[0, 0] > 0 and P[0, 0] * P[1, 1] > P[0, 1] ** 2 and P[0, 1] == P[1, 0]):
            return False

        alpha, beta, gamma = exact([self.method.alpha, self.method.beta, self.method.gamma])
        for eigenvalue in exact([self.curvature.mu, self.curvature.L]):
            h = alpha * eigenvalue
            B = np.array([[1 - h * (1 + gamma), beta * (1 + gamma) - gamma], [-h, beta]])
            slack = Fraction(self.rate) ** 2 * P - B.T @ P @ B
            determinant = slack[0, 0] * slack[1, 1] - slack[0, 1] ** 2
            if min(slack[0, 0], slack[1, 1], determinant) < 0:
                return False

        return True

    def _repr_html_(self) -> str:
        """The certified rate and the norm, for notebooks."""
        p11, p12, p22 = (float(self.P[i]) for i in ((0, 0), (0, 1), (1, 1)))
        proven = "proven in exact arithmetic" if self.verify() else "not proven"
        rows = [
            ("certified rate per step", f"{self.rate:.9g}", proven),
            ("step size", f"{float(self.method.alpha):.6g}", ""),
            ("momentum", f"{float(self.method.beta):.6g}", ""),
            ("look-ahead", f"{float(self.method.gamma):.6g}", ""),
            ("gain of the start", f"{self.transient_gain:.6g}", ""),
            ("gain of the noise", f"{self.noise_gain:.6g}", ""),
            ("P₁₁, P₁₂, P₂₂", f"{p11:.6g}, {p12:.6g}, {p22:.6g}", ""),
        ]
        return card(
            f"Certificate for every finite sum, in every order, Q = {float(self.curvature.Q):.6g}",
            rows,
        )

    def __str__(self) -> str:
        p11, p12, p22 = (float(self.P[i]) for i in ((0, 0), (0, 1), (1, 1)))
        mu, L = self.curvature.single(_SINGLE)
        alpha, beta, gamma = self.method.single(_SINGLE)
        method = f"alpha={alpha!r}, beta={beta!r}"
        if not self.method.is_nesterov:
            method += f", gamma={gamma!r}"

        return (
            f"rate {self.rate!r} for every finite sum with mu={mu!r}, L={L!r}, in every order,\n"
            f"by {method},\n"
            f"in the norm P = [[{p11!r}, {p12!r}], [{p12!r}, {p22!r}]]"
        )


def norm_gains(P: FloatArray, gamma: float) -> tuple[float, float]:
    """Constants of the norm P: √(p₁₁/σ_P) for a start, √(gᵀPg/σ_P) for a kick g = (1+gamma, 1).

    σ_P = p₁₁ - p₁₂²/p₂₂ is the smallest squared P-norm of a state with the error ‖y - x*‖ = 1.
    """
    schur = P[0, 0] - P[0, 1] ** 2 / P[1, 1]
    g = np.array([1.0 + gamma, 1.0])
    return float(np.sqrt(P[0, 0] / schur)), float(np.sqrt(g @ P @ g / schur))


@overflow_allowed
def certificate(
    curvature: Curvature, method: Method, *, rate: float | None = None, margin: float = 1e-9
) -> Certificate:
    """Certify a worst-case rate: the exact r* up to ``margin``, or a ``rate`` of your choice.

    In the norm P = JY with traceless Y and X_i the traceless part of block i, ‖B_i‖_P <= r iff tr(Y
    X_i)²/det Y <= (r + d_i/r)² - t_i². The best Y lies in the plane of X₁ and X₂, or across it if
    both terms vanish together, so a few candidates suffice.

    Parameters
    ----------
    curvature, method
        Single values, no arrays.
    rate
        Rate to certify, larger than r*. By default r*(1 + margin).
    margin
        Relative distance above r*, positive: at r* itself the proof has no slack for rounding. If
        the proof fails in floating point, it is raised by factors of ten. Below r* = 1e-3 it is
        absolute.

    Returns
    -------
    Certificate
        Already verified in rational arithmetic.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 8)
    >>> proof = certificate(c, nesterov(c))
    >>> proof.verify(), round(proof.rate, 6)
    (True, 0.914214)
    """
    mu, L = curvature.single(_SINGLE)
    alpha, beta, gamma = method.single(_SINGLE)
    single = Curvature(mu, L), Method(alpha, beta, gamma)
    step = one_number("margin", margin, "positive", remedy="give a small number, e.g. margin=1e-9")
    if step > _LARGEST_MARGIN:
        raise Refusal("margin", f"at most {_LARGEST_MARGIN:g}", f"{step:g}", "give a smaller one")

    least = float(worst_case_rate(*single))
    if rate is not None:
        asked = one_number("rate", rate, "positive", remedy="omit it to certify the best rate")
        proof = _attempt(*single, asked) if asked > least else None
        if proof is None:
            rule = f"above the exact worst-case rate {least!r}"
            raise Refusal("rate", rule, repr(asked), "raise it or omit it")
        return proof

    while step <= _LARGEST_MARGIN:
        # Near a nilpotent pair, the error of r* itself is more than a share of it.
        proof = _attempt(*single, least + step * (least if least > _NILPOTENT else 1.0))
        if proof is not None:
            return proof
        step *= 10.0

    raise Refusal(
        "method",
        f"one whose rate can be proven within {_LARGEST_MARGIN:g} of r* = {least:.6g}",
        f"alpha={alpha!r}, beta={beta!r}, gamma={gamma!r} on mu={mu!r}, L={L!r}",
        "scale the problem to L = 1",
    )


def _attempt(curvature: Curvature, method: Method, rate: float) -> Certificate | None:
    """The first candidate norm with a valid proof at this rate."""
    blocks = [block(value, method) for value in (curvature.mu, curvature.L)]
    for P in sorted(_candidates(blocks, rate), key=lambda P: _excess(P, blocks)):
        proof = Certificate(curvature, method, rate, P / P.max())
        if proof.verify():
            return proof

    return None


def _candidates(blocks: list[FloatArray], rate: float) -> Iterator[FloatArray]:
    """Positive definite matrices from which the best norm is chosen."""
    X = [B - 0.5 * np.trace(B) * np.eye(2) for B in blocks]
    slack = [max((rate + np.linalg.det(B) / rate) ** 2 - np.trace(B) ** 2, 0.0) for B in blocks]
    gram = np.array([[np.trace(a @ b) for b in X] for a in X])
    pencil = [(1.0, 0.0), (0.0, 1.0), (-gram[0, 1], gram[0, 0]), (gram[1, 1], -gram[0, 1])]
    one, two = np.sqrt(slack)
    for target in (two, -two):
        # The form on which both terms are as large as the rate allows, up to scale.
        x = gram[1, 1] * one - gram[0, 1] * target
        pencil.append((x, gram[0, 0] * target - gram[0, 1] * one))

    forms = [x * X[0] + y * X[1] for x, y in pencil] + [X[0] @ X[1] - X[1] @ X[0]]
    # Norms of single blocks, for two blocks that are equal up to a multiple of I:
    # P - (B/r)ᵀ P (B/r) = I, as four linear equations.
    scaled = [(B / rate).T for B in blocks]
    alone = [np.linalg.lstsq(np.eye(4) - np.kron(A, A), np.eye(2).ravel())[0] for A in scaled]
    for P in [*(_J @ Y for Y in forms), *(numbers.reshape(2, 2) for numbers in alone)]:
        P = 0.5 * (P + P.T)
        P = P if np.trace(P) > 0.0 else -P
        if np.linalg.det(P) > 0.0:
            yield P


def _excess(P: FloatArray, blocks: list[FloatArray]) -> float:
    """Largest squared norm of the blocks in the norm P, up to a common part."""
    adjugate = np.array([[P[1, 1], -P[0, 1]], [-P[0, 1], P[0, 0]]])
    return max(float(np.trace(adjugate @ B.T @ P @ B)) for B in blocks) / float(np.linalg.det(P))
