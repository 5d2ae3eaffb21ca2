"""The worst-case rate of any linear method of any memory, from its transfer function.

A linear method maps the gradients u to the points y at which they are evaluated. In z-transforms
this is y = -G(z) u, with a rational G = b/a. Put m = (mu + L)/2 and δ = (L - mu)/2. A gradient of
the class is u = m y + δ w with ‖w‖ <= ‖y‖, and closing the loop over m gives y = -T δ w with T =
b/(a + m b).

**The circle theorem.** The worst-case rate r* is the smallest r for which T has all its poles in
|z| < r and |T| <= 1/δ on the circle |z| = r. The proof is in docs/theory.md, section "The circle
theorem". With χ_λ = a + λ b the second condition reads

    |χ_m|² - δ²|b|² = Re(χ_mu · conj χ_L) >= 0        on |z| = r,

a polynomial in cos ω for z = r e^{iω}. Its sign on [-1, 1] is decided here in exact rational
arithmetic (every float is a rational number), so both ends of the bracket are theorems about the
stored coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev, polynomial

from ravine.arguments import FloatArray, overflow_allowed, refuse_too_large, whole
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method
from ravine.theory.bracket import Bracket

ExactArray: TypeAlias = npt.NDArray[Any]
"""Rational coefficients of a polynomial, the constant first."""
_CLOSE = Fraction(1, 2**50)
"""Relative width of the certified bracket: four units in the last place of float64."""
_ONE_METHOD = "a transfer function belongs to one method: loop over the elements"


@dataclass(frozen=True, eq=False, repr=False)
class CircleRate(Bracket):
    """The worst-case rate of a linear method, between two proven bounds.

    Attributes
    ----------
    lower
        Some sum in R² grows at least this fast: the condition of the circle theorem fails here.
    upper
        Every sum of the class, in any order, has this rate: the condition holds here.
    angle
        ω in radians at which the circle of radius ``lower`` violates the condition: the axes of the
        worst quadratics turn by this angle at each step.
    """

    angle: float
    curvature: Curvature
    method: LinearMethod

    def turning_hessians(self, steps: int) -> FloatArray:
        """Hessians, shape (steps, 2, 2), of quadratics in R² on which it grows at ``lower``.

        Identify R² with C. The points y_k = z^k, z = lower · e^{iω}, follow from gradients g_k =
        -z^k/G(z) = m z^k - z^k/T(z). A scaled reflection whose axis turns with z^k rotates z^k by a
        fixed angle and scales it by 1/|T|. It is a symmetric matrix, and H_k has the eigenvalues m
        ± 1/|T|, between mu and L because |T| >= 1/δ.

        Examples
        --------
        >>> from ravine import Curvature, nesterov
        >>> c = Curvature(1, 9)
        >>> worst = circle_rate(c, LinearMethod.of(nesterov(c)))
        >>> np.linalg.eigvalsh(worst.turning_hessians(1)[0]).round(9).tolist()
        [1.0, 9.0]
        """
        count = whole("steps", steps, 0, remedy="give the number of Hessians, e.g. 100")
        # Four numbers per matrix, and as many temporary ones.
        refuse_too_large("steps", 64 * count, count, "take fewer steps")

        middle = 0.5 * (float(self.curvature.L) + float(self.curvature.mu))
        half = 0.5 * (float(self.curvature.L) - float(self.curvature.mu))
        point = self.lower * np.exp(1j * self.angle)

        above = np.polyval(self.method.numerator, point)
        below = np.polyval(self.method.denominator, point)
        # 1/T, which is finite where the circle violates the condition
        inverse = complex((below + middle * above) / above) if above != 0.0 else 0j
        size = min(abs(inverse), half)

        # A reflection with its axis at θ maps e^{ikω} to e^{i(2θ - kω)}; the result must be -1/T.
        axis = np.arange(count) * self.angle + 0.5 * (np.pi + np.angle(inverse))
        cosine, sine = np.cos(2.0 * axis), np.sin(2.0 * axis)
        reflections = np.stack([cosine, sine, sine, -cosine], axis=-1).reshape(-1, 2, 2)
        return np.asarray(middle * np.eye(2) + size * reflections)


@overflow_allowed
def circle_rate(curvature: Curvature, method: LinearMethod | Method) -> CircleRate:
    """Worst-case rate r* of a linear method of any memory over every sum of the class, any order.

    The class is that of :func:`ravine.worst_case_rate`, the closed form of the same number for the
    (alpha, beta, gamma) family: gradients with ‖u - m y‖ <= δ‖y‖ at every step, without further
    assumptions. r* is bisected in rational arithmetic, so both ends are proven: Schur and Cohn's
    test for the poles, Sturm's for the circle.

    Parameters
    ----------
    curvature
        Single values, no arrays.
    method
        A :class:`LinearMethod`, or a single member of the family.

    Returns
    -------
    CircleRate
        ``lower`` and ``upper``, a few units in the last place apart, and the worst quadratics.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> rate = circle_rate(c, LinearMethod.of(nesterov(c)))
    >>> round(float(rate.lower), 12), round(float(np.degrees(rate.angle)), 6)
    (1.164213562373, 45.0)

    Gradient descent with gradients one step old is safe for every mu iff alpha L < 2/3:

    >>> late = LinearMethod.multi_step([1], [0, 0.02])
    >>> round(float(circle_rate(c, late).upper), 6)
    0.979598
    """
    mu, L = curvature.single(_ONE_METHOD)
    linear = LinearMethod.of(method) if isinstance(method, Method) else method

    above, below = exact(linear.numerator), exact(linear.denominator)
    test = CircleTest(Fraction(mu), Fraction(L), above, below)
    lower, upper = test.bracket()

    return CircleRate(
        lower=np.float64(lower),
        upper=np.float64(upper),
        angle=test.worst_angle(lower),
        curvature=curvature,
        method=linear,
    )


class CircleTest:
    """Whether a radius satisfies both conditions of the circle theorem.

    Of a method with exact coefficients, the highest power of z first.
    """

    def __init__(
        self, mu: Fraction, L: Fraction, numerator: ExactArray, denominator: ExactArray
    ) -> None:
        # χ_λ = a + λ b in exact arithmetic, the constant first
        above = np.concatenate([numerator[::-1], [0] * (denominator.size - numerator.size)])
        self.flat, self.steep, self.middle = (
            denominator[::-1] + eigenvalue * above for eigenvalue in (mu, L, (mu + L) / 2)
        )

    def holds(self, radius: float) -> bool:
        """Decide exactly whether all poles are inside and the circle condition is strict."""
        scaled = self.middle * self._powers(radius)
        return roots_inside_unit_circle(scaled) and positive_on_interval(
            chebyshev.cheb2poly(self._cosines(radius))
        )

    def bracket(self) -> tuple[float, float]:
        """A radius that fails and one that holds, as close together as rounding allows."""
        lower, upper = 0.0, 1.0
        while not self.holds(upper):
            lower, upper = upper, 2.0 * upper

        while Fraction(upper) - Fraction(lower) > _CLOSE * Fraction(upper):
            radius = 0.5 * (lower + upper)
            if not lower < radius < upper:
                break
            if self.holds(radius):
                upper = radius
            else:
                lower = radius

        return lower, upper

    def worst_angle(self, radius: float) -> float:
        """The ω at which the circle comes closest to violating the condition."""
        if radius == 0.0:
            return 0.0

        cosines = self._cosines(radius)
        series = (cosines / np.abs(cosines).max()).astype(float)

        # The minimum is at an end or where the derivative vanishes; an approximate c suffices,
        # because the value is flat there.
        slope = np.trim_zeros(chebyshev.chebder(series), "b")
        places = [-1.0, 1.0]
        if slope.size > 1:
            roots = chebyshev.chebroots(slope)
            inside = (np.abs(roots.real) < 1.0) & (np.abs(roots.imag) < 1e-3)
            places += roots.real[inside].tolist()

        values = chebyshev.chebval(np.array(places), series)
        return float(np.arccos(places[int(np.argmin(values))]))

    def _powers(self, radius: float) -> ExactArray:
        return np.array([Fraction(radius) ** j for j in range(self.middle.size)])

    def _cosines(self, radius: float) -> ExactArray:
        """c_d with Re(χ_mu conj χ_L) = sum_d c_d cos(dω) on the circle of this radius."""
        powers = self._powers(radius)
        both = np.convolve(self.flat * powers, (self.steep * powers)[::-1])
        n = powers.size - 1
        cosines: ExactArray = both[n:] + both[n::-1]
        cosines[0] /= 2
        return cosines


def exact(values: npt.ArrayLike) -> ExactArray:
    """Convert every float to the rational number that it represents."""
    return np.array([Fraction(float(v)) for v in np.ravel(values)])


def roots_inside_unit_circle(p: ExactArray) -> bool:
    """Schur and Cohn's test: p and its reverse p* give (p_n p - p_0 p*)/z, of one degree less."""
    while p.size > 1:
        if abs(p[0]) >= abs(p[-1]):
            return False
        p = (p - p[0] / p[-1] * p[::-1])[1:]

    return True


def positive_on_interval(p: ExactArray) -> bool:
    """Whether it is positive on [-1, 1]: at both ends, and Sturm counts no root between them."""
    chain = [polynomial.polytrim(p), polynomial.polyder(p)]
    while chain[-1].any():
        rest = -polynomial.polydiv(chain[-2], chain[-1])[1]
        largest = np.abs(rest).max()  # a positive factor, to keep the numbers short
        chain.append(rest / largest if largest else rest)

    ends = [[polynomial.polyval(x, q) for q in chain] for x in (-1, 1)]
    changes = [
        sum(a != b for a, b in pairwise(value > 0 for value in values if value != 0))
        for values in ends
    ]
    return bool(ends[0][0] > 0 and ends[1][0] > 0 and changes[0] == changes[1])
