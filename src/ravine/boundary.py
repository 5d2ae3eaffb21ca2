"""The public boundary: what every public function refuses before it begins."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from ravine.arguments import WrongType, kind_in_words, unknown_argument

Function = TypeVar("Function", bound=Callable[..., Any])

_REMEDIES = {
    "Curvature": "pass ravine.Curvature(mu, L)",
    "Method": "pass ravine.Method(alpha, beta)",
    "LinearMethod": "pass a ravine.Method, or a ravine.LinearMethod(numerator, denominator)",
    "Problem": "pass a problem, e.g. ravine.problems.Quadratic(hessian)",
    "Batches": "leave it out, or pass what ravine.ladder(...).batches is",
}
"""What to pass where an object of ravine's own is wanted."""
_PLAIN: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool, np.bool_), "True or False"),
    "str": ((str,), "a string"),
    "Path": ((str, os.PathLike), "a path"),
    "PathLike[str]": ((str, os.PathLike), "a path"),
    "dict[str, Any]": ((dict,), "a dictionary"),
    "tuple[Finding, ...]": ((tuple, list), "a tuple of findings"),
    "tuple[str, ...]": ((list, tuple), "a list of names"),
    "Tell": ((Callable,), "a function"),  # type: ignore[dict-item]  # isinstance knows it
}
"""Plain kinds that are checked by their annotation. Numbers are not among them: those have rules of
their own, in ``ravine.arguments``."""


class _Kinds(NamedTuple):
    """What one argument may be."""

    position: int
    name: str
    classes: tuple[type, ...]
    words: str
    remedy: str


def public(function: Function) -> Function:
    """Make a function refuse what it cannot take, in ravine's line, as its annotations say.

    Refused are keyword arguments that it does not have, and for arguments annotated with a class
    of ravine's own, or with bool, str or a path, objects of any other kind. Floating-point numbers
    that overflow on the way become infinite without a warning: divergence is a result.

    Examples
    --------
    >>> @public
    ... def step(*, size, quick: bool = False):
    ...     return size
    >>> step(sise=1)
    Traceback (most recent call last):
    ...
    ravine.arguments.WrongType: sise must be an argument of step, got sise: did you mean size?
    >>> step(size=1, quick="no")
    Traceback (most recent call last):
    ...
    ravine.arguments.WrongType: quick must be True or False, got str 'no': pass True or False
    """
    parameters = inspect.signature(function).parameters
    names = frozenset(parameters)
    shown = [name for name in parameters if name != "self"]
    title = function.__qualname__.removesuffix(".__init__").split(".")[-1]
    kinds: list[_Kinds] | None = None

    @wraps(function)
    def checked(*positional: Any, **named: Any) -> Any:
        nonlocal kinds
        if kinds is None:
            kinds = _kinds(function)

        for name in named:
            if name not in names or name == "self":
                raise unknown_argument(name, title, shown)

        for one in kinds:
            if one.position < len(positional):
                value = positional[one.position]
            elif one.name in named:
                value = named[one.name]
            else:
                continue
            if not isinstance(value, one.classes):
                raise WrongType(one.name, one.words, kind_in_words(value), one.remedy)

        with np.errstate(all="ignore"):
            return function(*positional, **named)

    return cast("Function", checked)


def _kinds(function: Callable[..., Any]) -> list[_Kinds]:
    """What the annotations of a function say of those arguments that are checked by kind.

    They are looked up when the function is first called: by then every class it names is there.
    """
    known = inspect.unwrap(function).__globals__
    found = []
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        classes: list[type] = []
        words = []
        remedies = []
        for part in str(parameter.annotation).split(" | "):
            if part == "None":
                classes.append(type(None))
                continue
            if part in _PLAIN:
                classes += _PLAIN[part][0]
                words.append(_PLAIN[part][1])
                remedies.append(f"pass {_PLAIN[part][1]}")
                continue
            if part not in _REMEDIES or not isinstance(known.get(part), type):
                break
            classes.append(known[part])
            words.append(f"a {part}")
            remedies.append(_REMEDIES[part])
        else:
            rule = " or ".join(dict.fromkeys(words))
            remedy = remedies[0] if remedies else "leave it out"
            found.append(_Kinds(position, parameter.name, tuple(classes), rule, remedy))

    return found
