"""Finite sums on which Nesterov's method with its standard parameters diverges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Refusal,
    one_number,
    overflow_allowed,
    refuse_too_large,
    seed_number,
    whole,
)
from ravine.curvature import Curvature
from ravine.problems.orthogonal import reflection_between
from ravine.problems.problem import vector
from ravine.problems.quadratic_sum import QuadraticSum


@overflow_allowed
def counterexample(mu: float, L: float, n: int) -> QuadraticSum:
    """The paper's example in three dimensions: n - 1 equal quadratics and one that is not.

    ∇f_i(x) = diag(L, mu, λ_i) x with λ_i = mu for i < n and λ_n = L. Every term is minimised at
    zero, the mean is well behaved, yet along the third coordinate the rare L meets the speed that
    was gathered under mu. The inconsistent term is the last, index n - 1.

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
    curvature = _single(mu, L)
    terms = whole("n", n, 2, remedy="give a number of terms, e.g. n=50")
    _refuse_many("n", terms, 3)
    low = float(curvature.mu)
    high = float(curvature.L)
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
    minimiser: npt.ArrayLike | None = None,
    spread: float = 1.0,
    seed: int = 0,
) -> QuadraticSum:
    """A sum on which standard Nesterov diverges from ``x0``: the paper's Theorem 3.

    H_i = U Λ_i Uᵀ where Λ_i differs between the terms in its last entry alone: mu for i < n and L
    for i = n. The other entries are geometric from L down to mu. U is the Householder reflection
    for which x0 - x* has the same component along every eigenvector, so none is left out.
    With Q = L/mu large enough for n (see ``counterexample``) the method diverges whenever no
    term is drawn twice in a row.

    Parameters
    ----------
    x0
        Where the run starts, shape (d,), any dimension d >= 1.
    mu, L
        Curvature bounds, 0 < mu <= L, single numbers.
    n
        Number of terms, at least 2.
    interpolate
        Whether every term is minimised at x*. Otherwise ∇f_i(x*) is Gaussian with zero mean.
    minimiser
        x*, any point but ``x0``. Unless given, x0 less the same amount in each coordinate.
    spread
        Standard deviation of each coordinate of ∇f_i(x*) without interpolation, positive.
    seed
        Of those gradients.

    Examples
    --------
    >>> problem = divergent_sum([3.0, 1.0, -2.0, 5.0], mu=0.05, L=100, n=10)
    >>> problem.start.tolist(), problem.interpolates
    ([3.0, 1.0, -2.0, 5.0], True)
    >>> divergent_sum([3.0, 1.0], mu=0.05, L=100, n=10, interpolate=False).interpolates
    False
    """
    start = vector("x0", x0, remedy="give the point that the run starts from, e.g. [1.0, 1.0]")
    curvature = _single(mu, L)
    terms = whole("n", n, 2, remedy="give a number of terms, e.g. n=50")
    size = one_number("spread", spread, "positive", remedy="give a standard deviation, e.g. 1")
    origin = seed_number("seed", seed)
    place = _other_point(start, minimiser)
    away = start - place
    d = len(start)
    _refuse_many("n", terms, d)
    even = np.full(d, 1.0 / np.sqrt(d))
    U = reflection_between(even, away / np.linalg.norm(away))
    low = float(curvature.mu)
    high = float(curvature.L)
    eigenvalues = np.empty((terms, d))
    eigenvalues[:, :-1] = np.geomspace(high, low, d - 1)
    eigenvalues[:-1, -1] = low
    eigenvalues[-1, -1] = high
    gradients = None
    if not interpolate:
        gradients = size * np.random.default_rng(origin).standard_normal((terms, d))
        gradients -= gradients.mean(axis=0)

    return QuadraticSum(
        np.einsum("ik,nk,jk->nij", U, eigenvalues, U),
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
            "spread": size,
            "seed": origin,
        },
    )


@overflow_allowed
def turning_quadratics(mu: float, L: float, *, terms: int = 4) -> QuadraticSum:
    """Quadratics in the plane whose axes turn by a fixed angle from one to the next.

    H_i = R(iπ/terms) diag(mu, L) R(iπ/terms)ᵀ. Visited cyclically with the standard parameters,
    four of them (axes at 0, 45, 90 and 135 degrees) grow at √2 (1 - 1/√Q) per step, the worst that
    any sum and order can do: they diverge exactly if Q > 6 + 4√2 = 11.6568..., although their mean
    is perfectly conditioned.

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
    curvature = _single(mu, L)
    n = whole("terms", terms, 2, remedy="give a number of axes, e.g. 4")
    _refuse_many("terms", n, 2)
    low = float(curvature.mu)
    high = float(curvature.L)
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


def _refuse_many(name: str, terms: int, d: int) -> None:
    """Refuse more terms than there is memory for: their Hessians, four times on the way."""
    refuse_too_large(name, 32 * terms * d**2, terms, "take fewer terms")


def _single(mu: float, L: float) -> Curvature:
    low = one_number("mu", mu, "positive", remedy="give the smallest curvature, e.g. mu=0.05")
    high = one_number("L", L, "positive", remedy="give the largest curvature, e.g. L=100")
    return Curvature(low, high)


def _other_point(start: FloatArray, minimiser: npt.ArrayLike | None) -> FloatArray:
    if minimiser is None:
        return start - max(1.0, float(np.abs(start).max()))

    place = vector("minimiser", minimiser, remedy="give a point other than x0")
    if place.shape != start.shape or np.array_equal(place, start):
        rule = f"a vector of {len(start)} coordinates other than x0"
        raise Refusal("minimiser", rule, place.tolist(), "leave it out")

    return place
