"""The quadratic on which no first-order method is fast."""

from __future__ import annotations

import numpy as np

from ravine.arguments import Refusal, one_number, overflow_allowed, refuse_too_large, whole
from ravine.curvature import Curvature
from ravine.problems.quadratic import Quadratic


@overflow_allowed
def worst_case_quadratic(Q: float, d: int = 100, *, mu: float = 1.0) -> Quadratic:
    """Nesterov's tridiagonal quadratic, behind the lower bound for first-order methods.

    f(x) = (L - mu)/8 [x₁² + Σ (x_j - x_{j+1})² + x_d² - 2 x₁] + mu/2 ‖x‖² with L = Q mu, so that
    its Hessian is (L - mu)/4 tridiag(-1, 2, -1) + mu I. Its eigenvalues are
    mu + (L - mu)/2 (1 - cos(jπ/(d + 1))), j = 1 ... d: strictly between mu and L, and approaching
    both like 1/d². ``curvature`` holds mu and L, the bounds that the standard parameters are made
    of; the extreme eigenvalues themselves are ``eigenvalues[0]`` and ``eigenvalues[-1]``.

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
        It starts at zero, from where k steps of a first-order method reach k coordinates at most.

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
    # The matrix, the four that it is made of, and its factors.
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
    """Return ``Q`` as a float that is more than 1."""
    ratio = one_number("Q", Q, "positive", remedy="give a condition number, e.g. Q=32")
    if ratio <= 1.0:
        raise Refusal("Q", "more than 1", f"{ratio:g}", "give L / mu, e.g. Q=32")

    return ratio
