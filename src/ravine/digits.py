"""Numbers in words: the same digits in commands, verdicts and pages."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import SupportsFloat

_ROUNDING = 1e-12
"""Rates below this are zero up to rounding."""
_SAME = Decimal("1e-12")
"""Relative difference from a number with three digits that counts as rounding."""


def digits(value: SupportsFloat) -> str:
    """Format a number to three significant digits; ``--json`` has exact values.

    Examples
    --------
    >>> digits(0.0123456), digits(12345.0), digits(2.0), digits(1e-12)
    ('0.0123', '12300', '2', '1e-12')
    """
    number = float(value)
    if 1e3 <= abs(number) < 1e6:
        return f"{float(f'{number:.3g}'):.0f}"

    return f"{number:.3g}"


def safe_digits(value: SupportsFloat, *, up: bool = False) -> str:
    """Round a limit down to three digits, so that it stays safe; or up, for bounds.

    Examples
    --------
    >>> safe_digits(0.019996), safe_digits(2.0), safe_digits(1.1041, up=True)
    ('0.0199', '2', '1.11')
    """
    number = float(value)
    if not 0.0 < number < math.inf:
        return digits(number)

    # A number with three digits stays the same despite rounding errors.
    almost = Decimal(number) * (1 - _SAME if up else 1 + _SAME)
    return digits(Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(almost))


def rate_digits(rate: SupportsFloat) -> str:
    """Format a rate per step with enough digits to distinguish it from 1.

    Examples
    --------
    >>> rate_digits(0.9), rate_digits(0.99996), rate_digits(1.0046), rate_digits(1.27279)
    ('0.900', '0.99996', '1.005', '1.27')
    >>> rate_digits(1.0 - 1e-9)
    '1 - 1e-09'
    """
    value = float(rate)
    if not 0.1 <= value < 10.0:
        return digits(value) if value > _ROUNDING else "0"
    if 0.0 < abs(value - 1.0) < 1e-6:
        return f"1 {'-' if value < 1.0 else '+'} {abs(value - 1.0):.3g}"

    places = next((n for n in range(3, 7) if value == 1.0 or round(value, n) != 1.0), 7)
    is_close = value < 1.0 or f"{value:.3g}" == "1" != f"{value:g}"
    return f"{value:.{places}f}" if is_close else f"{value:.3g}"


def at_least(limit: SupportsFloat) -> str:
    """Describe the whole batch sizes above a limit.

    Examples
    --------
    >>> at_least(80.53), at_least(2049.7)
    ('81 or more (limit 80.5)', '2050 or more')
    """
    size = math.floor(float(limit)) + 1
    return f"{size} or more" + (f" (limit {digits(limit)})" if size < 100 else "")


def percent(share: SupportsFloat) -> str:
    """Format a share as a percentage with three digits.

    Examples
    --------
    >>> percent(0.78125), percent(16.875)
    ('78.1 %', '1690 %')
    """
    return f"{digits(100.0 * float(share))} %"


def counted(number: int, thing: str) -> str:
    """Format a number with its noun, singular or plural.

    Examples
    --------
    >>> counted(1, "claim"), counted(2, "claim")
    ('1 claim', '2 claims')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
