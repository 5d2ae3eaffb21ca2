"""Quadratics of the theory: worst cases for exact gradients and for finite sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    Refusal,
    one_number,
    overflow_allowed,
    refuse_too_large,
    seed_number,
    whole,
)
from ravine.curvature import Curvature
from ravine.problems.problem import vector
from ravine.problems.quadratics import Quadratic, QuadraticSum


@overflow_allowed
def counterexample(mu: float, L: float, n: int) -> QuadraticSum:
    """The paper's example in three dimensions: n - 1 equal quadratics and one that differs.

    ∇f_i(x) = diag(L, mu, λ_i) x with λ_i = mu for i < n and λ_n = L. Every term has its minimum at
    zero and the mean is well behaved, but along the third coordinate the rare L acts on the
    velocity that built up under mu. The inconsistent term is the last, index n - 1.

    Parameters
    ----------
    mu, L
        Curvature bounds, 0 < mu <= L, single numbers.
    n
        Number of terms, at least 2.

    Examples
    --------
    >>> problem = counterexample(mu=0.05, L=100, n=50)
    >>> problem.batch_hessian(48).diagonal().tolist(), problem.batch_hessian(49).diagonal().tolist()
    ([100.0, 0.05, 0.05], [100.0, 0.05, 100.0])
    """
    low, high, curvature = _bounds(mu, L)
    terms = _terms("n", n, 3)
    eigenvalues = np.tile([high, low, low], (terms, 1))
    eigenvalues[-1, 2] = high

    return QuadraticSum(
        eigenvalues[:, :, None] * np.eye(3),
        curvature=curvature,
        start=np.ones(3),
        name="counterexample",
        parameters={"mu": low, "L": high, "n": terms},
    )


@overflow_allowed
def divergent_sum(
    x0: npt.ArrayLike,
    mu: float,
    L: float,
    n: int,
    *,
    interpolate: bool = True,
    noise: float = 1.0,
    seed: int = 0,
) -> QuadraticSum:
    """A sum on which standard Nesterov diverges from ``x0``: the paper's Theorem 3.

    The Hessians are diagonal and differ in their last entry alone: mu for i < n and L for i = n.
    The other entries fall geometrically from L to mu. x0 - x* has the same component along every
    axis, so every axis matters. With Q = L/mu large enough for n (see ``counterexample``) the
    method diverges whenever no term is drawn twice in a row.

    Parameters
    ----------
    x0
        Start of the run, shape (d,), any dimension d >= 1.
    mu, L
        Curvature bounds, 0 < mu <= L, single numbers.
    n
        Number of terms, at least 2.
    interpolate
        Whether every term is minimised at x*. Otherwise ∇f_i(x*) is Gaussian with zero mean.
    noise
        Standard deviation of each coordinate of ∇f_i(x*) without interpolation, positive.
    seed
        Seed of those gradients.

    Examples
    --------
    >>> problem = divergent_sum([3.0, 1.0, -2.0, 5.0], mu=0.05, L=100, n=10)
    >>> problem.start.tolist(), problem.interpolates
    ([3.0, 1.0, -2.0, 5.0], True)
    >>> divergent_sum([3.0, 1.0], mu=0.05, L=100, n=10, interpolate=False).interpolates
    False
    """
    start = vector("x0", x0)
    low, high, curvature = _bounds(mu, L)
    size = one_number("noise", noise, "positive", remedy="give a standard deviation, e.g. 1")
    origin = seed_number("seed", seed)
    place = start - max(1.0, float(np.abs(start).max()))
    d = len(start)
    terms = _terms("n", n, d)
    eigenvalues = np.empty((terms, d))
    eigenvalues[:, :-1] = np.geomspace(high, low, d - 1)
    eigenvalues[:-1, -1] = low
    eigenvalues[-1, -1] = high
    gradients = None
    if not interpolate:
        gradients = size * np.random.default_rng(origin).standard_normal((terms, d))
        gradients -= gradients.mean(axis=0)

    return QuadraticSum(
        eigenvalues[:, :, None] * np.eye(d),
        minimiser=place,
        gradients=gradients,
        curvature=curvature,
        start=start,
        name="divergent_sum",
        parameters={
            "x0": start.tolist(),
            "mu": low,
            "L": high,
            "n": terms,
            "interpolate": bool(interpolate),
            "noise": size,
            "seed": origin,
        },
    )


@overflow_allowed
def turning_quadratics(mu: float, L: float, *, terms: int = 4) -> QuadraticSum:
    """Quadratics in the plane; from one to the next, the axes turn by a fixed angle.

    H_i = R(iπ/terms) diag(mu, L) R(iπ/terms)ᵀ. Visited cyclically with the standard parameters,
    four of them (axes at 0, 45, 90 and 135 degrees) grow at √2 (1 - 1/√Q) per step, the worst rate
    of any sum and order: they diverge exactly if Q > 6 + 4√2 = 11.6568..., although their mean is
    perfectly conditioned.

    Parameters
    ----------
    mu, L
        Curvature bounds, 0 < mu <= L, single numbers.
    terms
        Number of axes in half a turn, at least 2.

    Examples
    --------
    >>> problem = turning_quadratics(mu=1, L=12)
    >>> np.allclose(problem.hessian(), 6.5 * np.eye(2))
    True
    """
    low, high, curvature = _bounds(mu, L)
    n = _terms("terms", terms, 2)
    angle = np.arange(n) * np.pi / n
    first = np.stack((np.cos(angle), np.sin(angle)), axis=-1)
    second = np.stack((-np.sin(angle), np.cos(angle)), axis=-1)
    hessians = low * first[:, :, None] * first[:, None, :]
    hessians = hessians + high * second[:, :, None] * second[:, None, :]

    return QuadraticSum(
        hessians,
        curvature=curvature,
        start=np.array([1.0, 0.5]),
        name="turning_quadratics",
        parameters={"mu": low, "L": high, "terms": n},
    )


@overflow_allowed
def worst_case_quadratic(Q: float, d: int = 100, *, mu: float = 1.0) -> Quadratic:
    """Nesterov's tridiagonal quadratic, behind the lower bound for first-order methods.

    f(x) = (L - mu)/8 [x₁² + Σ (x_j - x_{j+1})² + x_d² - 2 x₁] + mu/2 ‖x‖² with L = Q mu, so that
    its Hessian is (L - mu)/4 tridiag(-1, 2, -1) + mu I. Its eigenvalues are mu + (L - mu)/2 (1 -
    cos(jπ/(d + 1))), j = 1 ... d: strictly between mu and L, and approaching both like 1/d².
    ``curvature`` holds the bounds mu and L, from which the standard parameters are computed; the
    extreme eigenvalues are ``eigenvalues[0]`` and ``eigenvalues[-1]``.

    Parameters
    ----------
    Q
        Condition number of the bounds, more than 1.
    d
        Dimension, at least 1.
    mu
        Strong convexity, positive.

    Returns
    -------
    Quadratic
        It starts at zero, so that k steps of a first-order method reach at most k coordinates.

    Examples
    --------
    >>> problem = worst_case_quadratic(32)
    >>> problem.dimension, float(problem.curvature.Q)
    (100, 32.0)
    >>> bool(1 < problem.eigenvalues[0] < 1.01), bool(31.99 < problem.eigenvalues[-1] < 32)
    (True, True)
    """
    ratio = condition_number(Q)
    size = whole("d", d, 1, remedy="give a dimension, e.g. d=100")
    # The matrix, its four parts, and its factors.
    refuse_too_large("d", 64 * size**2, size, "take fewer dimensions")
    low = one_number("mu", mu, "positive", remedy="give the smallest curvature, e.g. mu=1")
    weight = (ratio - 1.0) * low / 4.0
    chain = 2.0 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    hessian = weight * chain + low * np.eye(size)
    linear = np.zeros(size)
    linear[0] = weight
    place = np.linalg.solve(hessian, linear)

    return Quadratic(
        hessian,
        place,
        minimum=-0.5 * float(linear @ place),
        curvature=Curvature(low, ratio * low),
        start=np.zeros(size),
        name="worst_case_quadratic",
        parameters={"Q": ratio, "d": size, "mu": low},
    )


def condition_number(Q: float) -> float:
    """Return ``Q`` as a float greater than 1."""
    ratio = one_number("Q", Q, "positive", remedy="give a condition number, e.g. Q=32")
    if ratio <= 1.0:
        raise Refusal("Q", "more than 1", f"{ratio:g}", "give L / mu, e.g. Q=32")

    return ratio


def _terms(name: str, count: int, d: int) -> int:
    """The number of terms, if memory holds their Hessians four times."""
    terms = whole(name, count, 2, remedy="give a number of terms, e.g. 50")
    refuse_too_large(name, 32 * terms * d**2, terms, "take fewer terms")
    return terms


def _bounds(mu: float, L: float) -> tuple[float, float, Curvature]:
    low = one_number("mu", mu, "positive", remedy="give the smallest curvature, e.g. mu=0.05")
    high = one_number("L", L, "positive", remedy="give the largest curvature, e.g. L=100")
    return low, high, Curvature(low, high)
