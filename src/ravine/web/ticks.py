"""Where an axis is labelled, and with what words: the page's two ways of drawing agree on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0, 50.0)


def even(low: float, high: float, most: int) -> dict[str, Any]:
    """At most ``most`` round numbers, equally far apart.

    Examples
    --------
    >>> even(0.0, 200.0, 5)
    {'tickvals': [0.0, 50.0, 100.0, 150.0, 200.0], 'ticktext': ['0', '50', '100', '150', '200']}
    """
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    for step in power * np.array(_ROUND):
        first = np.ceil(low / step - 1e-9) + 0.0  # never a negative zero
        last = np.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            break

    values = np.round(step * np.arange(first, last + 1), 12)
    return _labelled(values, (written(value) for value in values))


def powers(low: float, high: float, most: int, *, logarithms: bool = False) -> dict[str, Any]:
    """Powers of ten with exponents from ``low`` to ``high``, at most ``most`` of them.

    ``logarithms`` places them at their exponents, for what is already the logarithm.

    Examples
    --------
    >>> powers(-3.2, 1.0, 7)["ticktext"]
    ['10<sup>−3</sup>', '10<sup>−2</sup>', '10<sup>−1</sup>', '1', '10']
    """
    first = np.ceil(low - 1e-9)
    last = np.floor(high + 1e-9)
    apart = max(1.0, np.ceil((last - first + 1) / most))
    # Multiples of the distance, so that 1 is among them wherever it is in sight.
    exponents = np.arange(np.ceil(first / apart) * apart, last + 1e-9, apart)
    values = exponents if logarithms else 10.0**exponents
    return _labelled(values, (_power(int(exponent)) for exponent in exponents))


def at(values: Iterable[float]) -> dict[str, Any]:
    """Labels at given places."""
    places = list(values)
    return _labelled(places, (written(value) for value in places))


def written(value: float) -> str:
    """A number in its shortest form, with a true minus.

    Examples
    --------
    >>> written(-0.5)
    '−0.5'
    """
    return f"{value:g}".replace("-", "−")


def _power(exponent: int) -> str:
    if exponent in (0, 1):
        return ("1", "10")[exponent]

    return f"10<sup>{written(exponent)}</sup>"


def _labelled(values: Iterable[float], words: Iterable[str]) -> dict[str, Any]:
    return {"tickvals": [float(value) for value in values], "ticktext": list(words)}
