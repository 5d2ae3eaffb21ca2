"""Linear methods of any memory, given by their transfer functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, overflow_allowed, real
from ravine.methods import Method, quasi_hyperbolic
from ravine.values import Value

_POLE_AT_ONE = 1e-9
"""Up to this share of the sum of |a_j|, a(1) counts as zero: coefficients have rounding errors."""
_ONE_METHOD = "a transfer function belongs to one method: loop over the elements"


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
