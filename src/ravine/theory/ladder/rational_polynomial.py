"""Polynomials with rational coefficients: where their roots are, decided without rounding."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

Polynomial = list[Fraction]
"""Exact coefficients, the constant first."""


def roots_inside_unit_circle(polynomial: Polynomial) -> bool:
    """Schur and Cohn's test: p and its reverse p* give (p_n p - p_0 p*)/z, one degree less."""
    p = polynomial
    while len(p) > 1:
        first = p[0]
        last = p[-1]
        if abs(first) >= abs(last):
            return False
        reverse = p[::-1]
        p = [(last * a - first * b) / last for a, b in zip(p[1:], reverse[1:], strict=True)]

    return True


def from_chebyshev(cosines: Polynomial) -> Polynomial:
    """sum_d c_d T_d(x) in powers of x, by T_{d+1} = 2x T_d - T_{d-1}."""
    size = len(cosines)
    powers = [Fraction(0)] * size
    before = [Fraction(0)] * size
    now = [Fraction(0)] * size
    now[0] = Fraction(1)
    for d, weight in enumerate(cosines):
        powers = [a + weight * b for a, b in zip(powers, now, strict=True)]
        factor = 1 if d == 0 else 2
        doubled = [Fraction(0), *(factor * v for v in now[:-1])]
        before, now = now, [a - b for a, b in zip(doubled, before, strict=True)]

    return powers


def positive_on_interval(polynomial: Polynomial) -> bool:
    """Whether it is positive on [-1, 1]: at both ends, and Sturm counts no root between them."""
    p = _trimmed(polynomial)
    if not p or _value(p, -1) <= 0 or _value(p, 1) <= 0:
        return False

    chain = [p, _trimmed([j * c for j, c in enumerate(p)][1:])]
    while chain[-1]:
        chain.append(_trimmed([-c for c in _remainder(chain[-2], chain[-1])]))

    chain.pop()
    return _sign_changes(chain, -1) == _sign_changes(chain, 1)


def _remainder(p: Polynomial, q: Polynomial) -> Polynomial:
    """Remainder of p over q, up to a positive factor that keeps the numbers short."""
    rest = list(p)
    while len(rest) >= len(q):
        factor = rest[-1] / q[-1]
        offset = len(rest) - len(q)
        for j, c in enumerate(q):
            rest[offset + j] -= factor * c
        rest.pop()

    largest = max((abs(c) for c in rest), default=Fraction(0))
    return [c / largest for c in rest] if largest else []


def _trimmed(p: Polynomial) -> Polynomial:
    """Without the zeros at the highest powers."""
    size = len(p)
    while size and p[size - 1] == 0:
        size -= 1

    return p[:size]


def _value(p: Polynomial, x: int) -> Fraction:
    """Value at x = 1 or x = -1."""
    return sum((c * x**j for j, c in enumerate(p)), Fraction(0))


def _sign_changes(chain: list[Polynomial], x: int) -> int:
    signs = [value > 0 for value in (_value(p, x) for p in chain) if value != 0]
    return sum(a != b for a, b in pairwise(signs))
