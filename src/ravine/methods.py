"""The (alpha, beta, gamma) family of momentum methods and its standard parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import Real, Refusal, broadcast, one_number, overflow_allowed, real
from ravine.curvature import Curvature
from ravine.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class Method(Value):
    """A momentum method with constant parameters.

    One step from (x, x₋), with x₋ = x at the start::

        y  = x + gamma (x - x₋)
        x⁺ = x + beta (x - x₋) - alpha g(y)

    Arrays broadcast, so one ``Method`` can stand for a whole plane of parameters.

    Their absolute values are at most 1e50, as in ``Curvature``.

    Parameters
    ----------
    alpha
        Step size, zero or more.
    beta
        Momentum, any real number; it may be negative.
    gamma
        Look-ahead, any real number. ``None`` means ``beta``: Nesterov's method. Zero is heavy ball.

    Examples
    --------
    >>> Method(0.1, 0.9).is_nesterov
    True
    >>> Method(0.1, 0.9, gamma=0).is_nesterov
    False
    """

    alpha: Real
    beta: Real
    gamma: Real

    @overflow_allowed
    def __init__(
        self, alpha: npt.ArrayLike, beta: npt.ArrayLike = 0.0, gamma: npt.ArrayLike | None = None
    ) -> None:
        step = real("alpha", alpha, "nonnegative", remedy="give a step size, e.g. alpha=0.01")
        momentum = real("beta", beta, remedy="give a momentum, e.g. beta=0.9")
        look_ahead = (
            momentum
            if gamma is None
            else real("gamma", gamma, remedy="give a look-ahead, or omit it for Nesterov's")
        )

        broadcast(alpha=step, beta=momentum, gamma=look_ahead)
        # A frozen dataclass does not allow assignment.
        vars(self).update(alpha=step, beta=momentum, gamma=look_ahead)

    @property
    def parameters(self) -> dict[str, Real]:
        """A dictionary of alpha, beta and gamma."""
        return {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}

    def single(self, remedy: str) -> tuple[float, float, float]:
        """Return alpha, beta and gamma as three numbers; refuse arrays, with ``remedy``.

        Examples
        --------
        >>> Method(0.1, 0.9).single("give one at a time")
        (0.1, 0.9, 0.9)
        """
        alpha = one_number("alpha", self.alpha, remedy=remedy)
        beta = one_number("beta", self.beta, remedy=remedy)
        return alpha, beta, one_number("gamma", self.gamma, remedy=remedy)

    @property
    def is_nesterov(self) -> bool:
        """Whether gamma equals beta everywhere (SGD is the special case beta = 0)."""
        return self.gamma is self.beta or bool(np.all(self.gamma == self.beta))


@overflow_allowed
def nesterov(curvature: Curvature) -> Method:
    """Nesterov's standard parameters: alpha = 1/L, beta = (√Q - 1)/(√Q + 1).

    Examples
    --------
    >>> m = nesterov(Curvature(1, 9))
    >>> float(m.alpha * 9), float(m.beta)
    (1.0, 0.5)
    """
    s = np.sqrt(curvature.Q)
    return Method(1.0 / curvature.L, (s - 1.0) / (s + 1.0))


@overflow_allowed
def sgd(curvature: Curvature) -> Method:
    """Gradient descent without momentum at its best constant step, alpha = 2/(mu + L).

    Examples
    --------
    >>> float(sgd(Curvature(1, 9)).alpha)
    0.2
    """
    return Method(2.0 / (curvature.mu + curvature.L))


@overflow_allowed
def gradient_descent(curvature: Curvature) -> Method:
    """Gradient descent without momentum at the step alpha = 1/L.

    Examples
    --------
    >>> float(gradient_descent(Curvature(1, 8)).alpha)
    0.125
    """
    return Method(1.0 / curvature.L)


@overflow_allowed
def heavy_ball(curvature: Curvature) -> Method:
    """Polyak's heavy ball: alpha = 4/(√L + √mu)², beta = ((√Q - 1)/(√Q + 1))², gamma = 0.

    Examples
    --------
    >>> m = heavy_ball(Curvature(1, 9))
    >>> float(m.alpha), float(m.beta), float(m.gamma)
    (0.25, 0.25, 0.0)
    """
    s = np.sqrt(curvature.Q)
    step = 4.0 / (np.sqrt(curvature.L) + np.sqrt(curvature.mu)) ** 2
    return Method(step, ((s - 1.0) / (s + 1.0)) ** 2, np.zeros_like(s)[()])


@overflow_allowed
def quasi_hyperbolic(alpha: npt.ArrayLike, beta: npt.ArrayLike, nu: npt.ArrayLike) -> Method:
    """Quasi-hyperbolic momentum (QHM) as a member of the family.

    QHM averages gradients, m⁺ = beta m + (1 - beta) g(y), and mixes the average with the gradient:
    y⁺ = y - alpha ((1 - nu) g(y) + nu m⁺). Its y sequence is that of ``Method(alpha (1 - beta),
    beta, beta (1 - nu)/(1 - beta))``: nu = 0 is SGD, nu = 1 heavy ball and nu = beta Nesterov's
    method, with the step alpha (1 - beta) in the last two.

    Parameters
    ----------
    alpha
        Step size, zero or more.
    beta
        Momentum, below 1 (any real number but 1).
    nu
        Weight of the average; the last gradient has the weight 1 - nu.

    Examples
    --------
    >>> m = quasi_hyperbolic(1.0, 0.5, 0.5)
    >>> float(m.alpha), float(m.beta), float(m.gamma), m.is_nesterov
    (0.5, 0.5, 0.5, True)
    """
    momentum = real("beta", beta, remedy="give a momentum, e.g. beta=0.9")
    if np.any(momentum >= 1.0):
        raise Refusal("beta", "below 1", f"{np.max(momentum):g}", "the average would never forget")

    weight = real("nu", nu, remedy="give the weight of the average, e.g. nu=0.7")
    step = real("alpha", alpha, "nonnegative", remedy="give a step size, e.g. alpha=0.01")
    broadcast(alpha=step, beta=momentum, nu=weight)
    fresh = 1.0 - momentum
    return Method(step * fresh, momentum, momentum * (1.0 - weight) / fresh)


@overflow_allowed
def triple_momentum(curvature: Curvature) -> Method:
    """The triple momentum method's state recursion, with r = 1 - 1/√Q.

    alpha = (1 + r)/L, beta = r²/(2 - r), gamma = r²/((1 + r)(2 - r)).

    Examples
    --------
    >>> m = triple_momentum(Curvature(1, 4))
    >>> float(m.alpha * 4), round(float(m.beta), 6), round(float(m.gamma), 6)
    (1.5, 0.166667, 0.111111)
    """
    r = 1.0 - 1.0 / np.sqrt(curvature.Q)
    return Method((1.0 + r) / curvature.L, r**2 / (2.0 - r), r**2 / ((1.0 + r) * (2.0 - r)))
