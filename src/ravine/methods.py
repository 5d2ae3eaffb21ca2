"""The (alpha, beta, gamma) family, its standard parameters, and linear methods of any memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Real,
    Refusal,
    broadcast,
    one_number,
    overflow_allowed,
    real,
)
from ravine.curvature import Curvature
from ravine.values import Value

_POLE_AT_ONE = 1e-9
"""Up to this share of the sum of |a_j|, a(1) counts as zero: coefficients have rounding errors."""
_ONE_METHOD = "a transfer function belongs to one method: loop over the elements"


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


@dataclass(frozen=True, eq=False, repr=False)
class LinearMethod(Value):
    """A linear method by its transfer function: y = -G(z) u, with G = numerator / denominator.

    A common factor of both is a mode of the state that gradients neither change nor depend on. It
    counts in the rate, as in :func:`ravine.worst_case_rate`.

    Parameters
    ----------
    numerator, denominator
        Real coefficients, the highest power of z first. The numerator has the lower degree, because
        a point cannot depend on its own gradient. The denominator has a root at 1: a method without
        one does not rest at the minimiser of every problem.

    Examples
    --------
    Gradient descent is x⁺ = x - alpha g(x), so G = alpha/(z - 1):

    >>> LinearMethod([0.1], [1, -1]).memory
    1

    Methods with several gradients per step, or with parameters that change from step to step, are
    not covered: their worst case over random batches is not one-dimensional. Runs and the exact
    moments of a given sum do cover them.
    """

    numerator: FloatArray
    denominator: FloatArray

    @overflow_allowed
    def __init__(self, numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> None:
        above = _coefficients("numerator", numerator)
        below = _coefficients("denominator", denominator)
        if below.size == 0:
            raise Refusal("denominator", "nonzero", "only zeros", "give a(z), e.g. [1, -1]")

        if above.size >= below.size:
            degrees = f"degree {above.size - 1} over degree {below.size - 1}"
            remedy = "a point cannot depend on its own gradient"
            raise Refusal("numerator", "of lower degree than the denominator", degrees, remedy)

        at_one = abs(float(below.sum()))
        if at_one > _POLE_AT_ONE * float(np.abs(below).sum()):
            remedy = "without it the method does not rest at the minimiser of every problem"
            raise Refusal("denominator", "zero at z = 1", f"{at_one:g}", remedy)

        # A frozen dataclass does not allow assignment.
        vars(self).update(numerator=above / below[0], denominator=below / below[0])

    @property
    def memory(self) -> int:
        """Number of past points that the method stores: the degree of the denominator."""
        return int(self.denominator.size - 1)

    @property
    def state(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(A, B, C) with ξ⁺ = A ξ + B u and y = C ξ, in companion form.

        The state holds the last ``memory`` values of one sequence; at rest they are equal.
        """
        A = np.eye(self.memory, k=-1)
        A[0] = -self.denominator[1:]
        B = np.zeros(self.memory)
        B[0] = 1.0
        C = np.zeros(self.memory)
        C[self.memory - self.numerator.size :] = -self.numerator
        return A, B, C

    def at_rest(self, y: npt.ArrayLike) -> FloatArray:
        """The state at rest at y, one column per coordinate: the start of a run."""
        gain = -float(self.numerator.sum())
        if gain == 0.0:
            remedy = "without it the gradient does not move the resting point"
            raise Refusal("numerator", "nonzero at z = 1", "0", remedy)

        return np.ones((self.memory, 1)) * (np.atleast_1d(y) / gain)

    def scaled(self, factor: float) -> LinearMethod:
        """Multiply every step size of the method by ``factor``."""
        size = one_number("factor", factor, "positive", remedy="give a factor, e.g. 0.5")
        return LinearMethod(size * self.numerator, self.denominator)

    @classmethod
    def of(cls, method: Method) -> LinearMethod:
        """Convert a member of the (alpha, beta, gamma) family.

        G(z) = alpha((1 + gamma) z - gamma)/((z - 1)(z - beta)).

        Examples
        --------
        >>> LinearMethod.of(Method(0.1, 0.9)).numerator.tolist()
        [0.19, -0.09000000000000001]
        """
        alpha, beta, gamma = method.single(_ONE_METHOD)
        return cls([alpha * (1.0 + gamma), -alpha * gamma], [1.0, -(1.0 + beta), beta])

    @classmethod
    def quasi_hyperbolic(cls, alpha: float, beta: float, nu: float) -> LinearMethod:
        """Quasi-hyperbolic momentum: a step along (1 - nu) g + nu times the mean of past g.

        The mean is v⁺ = beta v + (1 - beta) g, so that v/g = (1 - beta) z/(z - beta), and
        G(z) = alpha((1 - nu beta) z - (1 - nu) beta)/((z - 1)(z - beta)).

        Examples
        --------
        With nu = 0 this is gradient descent, with a mean that is never used:

        >>> LinearMethod.quasi_hyperbolic(0.5, beta=0.25, nu=0.0).numerator.tolist()
        [0.5, -0.125]
        """
        return cls.of(quasi_hyperbolic(alpha, beta, nu))

    @classmethod
    def multi_step(cls, weights: Sequence[float], steps: Sequence[float]) -> LinearMethod:
        """x_{k+1} = sum_j weights[j] x_{k-j} - sum_j steps[j] g(x_{k-j}).

        The weights add up to 1. Gradients may be delayed: ``multi_step([1], [0, 0, alpha])`` is
        gradient descent with gradients that are two steps old.

        Examples
        --------
        >>> late = LinearMethod.multi_step([1], [0, 0, 0.1])
        >>> late.memory, late.denominator.tolist()
        (3, [1.0, -1.0, 0.0, 0.0])
        """
        past = _coefficients("weights", weights, trim=False)
        late = _coefficients("steps", steps, trim=False)
        memory = max(past.size, late.size)
        denominator = np.append(1.0, 0.0 - np.pad(past, (0, memory - past.size)))
        return cls(np.pad(late, (0, memory - late.size)), denominator)

    @classmethod
    def state_space(cls, A: npt.ArrayLike, B: npt.ArrayLike, C: npt.ArrayLike) -> LinearMethod:
        """ξ⁺ = A ξ + B u, y = C ξ, where u is the gradient at y: any method in state-space form.

        G = -C(z - A)⁻¹B = det(z - A - BC)/det(z - A) - 1, because BC has rank one. Other outputs of
        ξ (triple momentum has a third sequence) are not in the loop and converge at the same rate.

        Parameters
        ----------
        A, B, C
            Shapes (n, n), (n,) and (n,).

        Examples
        --------
        >>> momentum = LinearMethod.state_space([[1.9, -0.9], [1, 0]], [-0.1, 0], [1.9, -0.9])
        >>> momentum.numerator.round(12).tolist(), momentum.denominator.round(12).tolist()
        ([0.19, -0.09], [1.0, -1.9, 0.9])
        """
        matrix = np.asarray(real("A", A, remedy="give a square matrix"))
        column = np.asarray(real("B", B, remedy="give one number for each state"))
        row = np.asarray(real("C", C, remedy="give one number for each state"))
        if matrix.ndim != 2 or matrix.shape != (column.size, row.size):
            shapes = f"shapes {matrix.shape}, {column.shape}, {row.shape}"
            raise Refusal("A, B, C", "of shapes (n, n), (n,) and (n,)", shapes, "make them fit")

        denominator = np.poly(matrix)
        turned = np.poly(matrix + np.outer(column, row))
        return cls((turned - denominator)[1:], denominator)


def _coefficients(name: str, values: npt.ArrayLike, *, trim: bool = True) -> FloatArray:
    """Check a vector of coefficients and drop its leading zeros."""
    remedy = "give the coefficients, the highest power of z first"
    vector = np.atleast_1d(np.asarray(real(name, values, remedy=remedy)))
    if vector.ndim != 1:
        raise Refusal(name, "a list of numbers", f"an array of shape {vector.shape}", remedy)

    return np.trim_zeros(vector, "f") if trim else vector
