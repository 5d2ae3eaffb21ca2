"""Checks of arguments: an error is one line with parameter, rule, value and remedy."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
Real: TypeAlias = np.float64 | FloatArray
"""The result of a function of real parameters: a scalar for scalars, an array for arrays."""

LEAST = 1e-50
MOST = 1e50
"""Range of the numbers that ravine accepts: positive ones are at least ``LEAST``, and none exceeds
``MOST``. The formulas square products of two or three numbers, and (1e50)³ squared is close to the
largest float64 (1e308), so nothing in this range overflows."""

_RULES: dict[str, tuple[Callable[[FloatArray], npt.NDArray[np.bool_]], str]] = {
    "finite": (np.isfinite, "finite"),
    "of any size": (np.isfinite, "finite"),
    "positive": (lambda v: np.isfinite(v) & (v > 0), "positive and finite"),
    "nonnegative": (lambda v: np.isfinite(v) & (v >= 0), "zero or more, and finite"),
    "inside (-1, 1)": (lambda v: np.isfinite(v) & (np.abs(v) < 1), "between -1 and 1"),
}

_RANGES: dict[str, tuple[Callable[[FloatArray], npt.NDArray[np.bool_]], str]] = {
    "finite": (lambda v: np.abs(v) <= MOST, f"between -{MOST:g} and {MOST:g}"),
    "positive": (lambda v: (v >= LEAST) & (v <= MOST), f"between {LEAST:g} and {MOST:g}"),
    "nonnegative": (lambda v: v <= MOST, f"at most {MOST:g}"),
}
"""The range that each rule adds, so that no formula overflows. Code that scales its numbers itself
uses the rule ``"of any size"``, which adds none."""
_RESCALE = "rescale the objective: only alpha mu and alpha L matter"

_SMALL = 2**27
"""Up to this many bytes (128 MiB), free memory is not checked."""
_LARGEST_SEED = 2**128 - 1
"""128 bits, as in the seeds that NumPy draws itself."""
_LINE = 240
"""Longest description of a value in a message, in characters."""
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
_CONTAINER = Path("/sys/fs/cgroup")
"""Folder with the memory limit of a container on Linux."""


overflow_allowed = np.errstate(all="ignore")
"""Decorator of functions in which numbers may overflow to infinity: divergence is a result."""


class Refusal(ValueError):
    """An argument that cannot be used, in one line.

    Attributes
    ----------
    name
        The parameter.
    rule
        What it must be, the text after "must be".
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
        given = " ".join(str(self.value).split())
        if len(given) > _LINE:
            given = given[: _LINE - 3] + "..."

        return f"{self.name} must be {self.rule}, got {given}: {self.remedy}"


class WrongType(Refusal, TypeError):
    """An argument of the wrong type."""


def in_words(value: Any) -> str:
    """Any value in one short line.

    Examples
    --------
    >>> in_words([1, 2]), len(in_words("a" * 100))
    ('[1, 2]', 60)
    """
    return " ".join(_short.repr(value).split())


def kind_in_words(value: Any) -> str:
    """A value with its type, for messages about a wrong type."""
    return f"{type(value).__name__} {in_words(value)}"


def known_name(name: str, value: Any, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``known`` names; else refuse it and list them."""
    names = list(known)
    # Only strings are looked up: other values may not be comparable.
    if not isinstance(value, str) or value not in names:
        meant = get_close_matches(str(value), names, 1)
        remedy = f"did you mean {meant[0]}?" if meant else "pick one of these names"
        raise Refusal(name, f"one of {', '.join(names)}", in_words(value), remedy)

    return value


class Choice(StrEnum):
    """One of a few names, each with a sentence that explains it.

    Write a member as ``NAME = "value", "the sentence"``, with traits as an optional third part.
    Functions that take a choice accept a member or its value, and pass it to ``parse``.
    """

    sentence: str
    """The meaning of the choice, as a sentence."""
    traits: Any
    """Further properties of each choice."""

    def __new__(cls, value: str, sentence: str = "", traits: Any = None) -> Self:
        """Make a member."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        member.traits = traits
        return member

    @classmethod
    def parse(cls, value: Self | str, name: str | None = None) -> Self:
        """Return the member for ``value``, or refuse it and list the members.

        ``name`` is the parameter named in the message; by default the name of the class.
        """
        names = [member.value for member in cls]
        return cls(known_name(name or cls.__name__.lower(), value, names))

    @classmethod
    def _missing_(cls, value: object) -> Self:
        """Refuse a word that is not a member like any other argument."""
        return cls.parse(cast("str", value))


def real(name: str, value: Any, rule: str = "finite", *, remedy: str) -> Real:
    """Return ``value`` as float64 (a scalar if it has no dimensions), or refuse it by ``rule``."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        fill = f"fill them first, e.g. {name}.filled(...), or drop them with .compressed()"
        raise Refusal(name, "free of masked entries", "a masked array", fill)

    raw = None
    with suppress(TypeError, ValueError, OverflowError):
        raw = np.asarray(value)
    if raw is None or raw.dtype.kind not in "fiub":
        given = kind_in_words(value)
        raise WrongType(name, "a real number or an array of them", given, remedy)

    # A longdouble out of the range of float64 becomes infinite, and is refused as that.
    with np.errstate(over="ignore"):
        array = raw.astype(np.float64)
    if array.size == 0:
        raise Refusal(name, "non-empty", f"an array of shape {array.shape}", remedy)

    for rules, cure in ((_RULES, remedy), (_RANGES, _RESCALE)):
        holds, words = rules.get(rule, _RULES[rule])
        good = holds(array)
        if not good.all():
            index = tuple(int(i) for i in np.argwhere(~good)[0])
            where = f" at index {index}" if array.ndim else ""
            raise Refusal(name, words, f"{array[index]:g}{where}", cure)

    return array[()]


def whole(name: str, value: Any, minimum: int, *, remedy: str, maximum: int = 2**63 - 1) -> int:
    """Return ``value`` as an int from ``minimum`` to ``maximum``, by default the largest int64."""
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise WrongType(name, "a whole number", kind_in_words(value), remedy)

    number = operator.index(value)

    if number < minimum:
        raise Refusal(name, f"at least {minimum}", in_words(number), remedy)
    if number > maximum:
        raise Refusal(name, f"at most {maximum}", in_words(number), "give a smaller one")

    return number


def seed_number(name: str, value: Any) -> int:
    """Return ``value`` as the seed of a random generator: a whole number of up to 128 bits.

    Examples
    --------
    >>> seed_number("seed", 2**100) == 2**100
    True
    """
    return whole(name, value, 0, remedy="give a seed, e.g. 0", maximum=_LARGEST_SEED)


def one_number(name: str, value: Any, rule: str = "finite", *, remedy: str) -> float:
    """Return ``value`` as one float; refuse arrays."""
    number = real(name, value, rule, remedy=remedy)
    if np.ndim(number) != 0:
        raise Refusal(name, "a single number", f"an array of shape {np.shape(number)}", remedy)

    return float(number)


def broadcast(**named: Real) -> tuple[int, ...]:
    """Return the broadcast shape of the named arrays; if there is none, name their shapes."""
    shapes = {name: np.shape(value) for name, value in named.items() if np.ndim(value)}
    names = " and ".join(shapes)
    try:
        shape = np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        remedy = "reshape one of them, e.g. alpha[:, None] against beta[None, :]"
        raise Refusal(names, "of shapes that broadcast together", given, remedy) from None

    remedy = "take fewer of them at a time"
    refuse_too_large(names, 8 * math.prod(shape), f"the shape {shape} together", remedy)
    return shape


def needed(module: str, what: str = "this data", extra: str = "data") -> Any:
    """Import a library of an extra; if it is missing, say what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError:
        name = {"sklearn": "scikit-learn"}.get(module.partition(".")[0], module)
        line = f"{what} needs {name}, which is not installed: pip install 'ravine[{extra}]'"
        raise ImportError(line) from None


def refuse_too_large(name: str, needed: float, value: object, remedy: str) -> None:
    """Refuse a request that would need more memory than there is, before it starts.

    Parameters
    ----------
    name
        The parameter that causes it.
    needed
        Estimated bytes of all arrays together.
    value
        What was given, in words.
    remedy
        What to do about it.

    Examples
    --------
    >>> refuse_too_large("steps", 8e18, 10**18, "take fewer")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ravine.arguments.Refusal: steps must be small enough for the memory, got ... needs 8.0 EB ...
    """
    # Reading the free memory takes longer than a small request.
    if needed < _SMALL:
        return

    from rich.filesize import decimal

    free = memory_available()
    if needed > free:
        sizes = f"needs {decimal(int(needed))} of memory; {decimal(int(free))} are free"
        raise Refusal(name, "small enough for the memory", f"{value}, which {sizes}", remedy)


def memory_available() -> float:
    """Bytes that this process may still use: what is free on the machine or in its container.

    Examples
    --------
    >>> memory_available() > 0
    True
    """
    import psutil

    free = float(psutil.virtual_memory().available)

    # psutil sees the whole machine; a container may be allowed less ("max" is no limit).
    with suppress(OSError, ValueError):
        most, used = (
            float((_CONTAINER / name).read_text(encoding="ascii"))
            for name in ("memory.max", "memory.current")
        )
        free = min(free, max(most - used, 0.0))

    return free
