"""Checks at the public boundary: one line with the parameter, the rule, the value, the remedy."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
Real: TypeAlias = np.float64 | FloatArray
"""What a function of real parameters returns: a scalar for scalars, an array for arrays."""

Function = TypeVar("Function", bound=Callable[..., Any])

_RULES: dict[str, tuple[Callable[[FloatArray], npt.NDArray[np.bool_]], str]] = {
    "finite": (np.isfinite, "finite"),
    "positive": (lambda v: np.isfinite(v) & (v > 0), "positive and finite"),
    "nonnegative": (lambda v: np.isfinite(v) & (v >= 0), "zero or more, and finite"),
    "inside (-1, 1)": (lambda v: np.isfinite(v) & (np.abs(v) < 1), "between -1 and 1"),
}


class Refusal(ValueError):
    """An argument that cannot be used, in one line.

    Attributes
    ----------
    name
        The parameter.
    rule
        What must hold of it, as it continues "must be ...".
    value
        What was given, in words.
    remedy
        What to do about it.
    """

    def __init__(self, name: str, rule: str, value: object, remedy: str) -> None:
        super().__init__(name, rule, value, remedy)
        self.name = name
        self.rule = rule
        self.value = value
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.name} must be {self.rule}, got {self.value}: {self.remedy}"


class WrongType(Refusal, TypeError):
    """An argument of a kind that cannot be used."""


def unknown_argument(name: str, function: str, known: Iterable[str]) -> WrongType:
    """The refusal of an argument that ``function`` does not have, with the nearest that it has."""
    names = list(known)
    meant = get_close_matches(name, names, 1)
    remedy = f"did you mean {meant[0]}?" if meant else f"it takes {', '.join(names)}"
    return WrongType(name, f"an argument of {function}", name, remedy)


def refuses_unknown(function: Function) -> Function:
    """Make a function refuse keyword arguments that it does not have as it refuses bad values.

    Examples
    --------
    >>> @refuses_unknown
    ... def step(*, size):
    ...     return size
    >>> step(sise=1)
    Traceback (most recent call last):
    ...
    ravine.arguments.WrongType: sise must be an argument of step, got sise: did you mean size?
    """
    names = tuple(inspect.signature(function).parameters)

    @wraps(function)
    def checked(*positional: Any, **named: Any) -> Any:
        for name in named:
            if name not in names:
                raise unknown_argument(name, function.__name__, names)

        return function(*positional, **named)

    return cast("Function", checked)


def real(name: str, value: Any, rule: str = "finite", *, remedy: str) -> Real:
    """Return ``value`` as float64, a scalar if it has no dimension; refuse what breaks ``rule``."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        fill = f"fill them first, e.g. {name}.filled(...), or drop them with .compressed()"
        raise Refusal(name, "free of masked entries", "a masked array", fill)

    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "fiub":
            raise TypeError
        array = raw.astype(np.float64)
    except (TypeError, ValueError):
        shown = f"{type(value).__name__} {value!r:.60}"
        raise WrongType(name, "a real number or an array of them", shown, remedy) from None

    if array.size == 0:
        raise Refusal(name, "non-empty", f"an array of shape {array.shape}", remedy)

    holds, words = _RULES[rule]
    good = holds(array)
    if not good.all():
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        where = f" at index {index}" if array.ndim else ""
        raise Refusal(name, words, f"{array[index]:g}{where}", remedy)

    return array[()]


def whole(name: str, value: Any, minimum: int, *, remedy: str) -> int:
    """Return ``value`` as an int that is at least ``minimum``."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        shown = f"{type(value).__name__} {value!r:.60}"
        raise WrongType(name, "a whole number", shown, remedy) from None

    if number < minimum:
        raise Refusal(name, f"at least {minimum}", number, remedy)

    return number


def one_number(name: str, value: Any, rule: str = "finite", *, remedy: str) -> float:
    """Return ``value`` as one float; refuse arrays."""
    number = real(name, value, rule, remedy=remedy)
    if np.ndim(number) != 0:
        raise Refusal(name, "a single number", f"an array of shape {np.shape(number)}", remedy)

    return float(number)


def broadcast(**named: Real) -> tuple[int, ...]:
    """Return the common shape of the named arrays, or say which shapes do not fit together."""
    try:
        return np.broadcast_shapes(*(np.shape(v) for v in named.values()))
    except ValueError:
        shapes = ", ".join(f"{k} {np.shape(v)}" for k, v in named.items() if np.ndim(v))
        names = " and ".join(k for k, v in named.items() if np.ndim(v))
        raise ValueError(
            f"{names} must have shapes that broadcast together, got {shapes}: "
            "reshape one of them, e.g. alpha[:, None] against beta[None, :]"
        ) from None
