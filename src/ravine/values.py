"""Results that are equal if their fields are, and short when printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

_PRINTED = 6
"""Longest array whose entries are printed; of longer arrays only the shape is."""


class Value:
    """A frozen dataclass whose fields may be arrays.

    Two objects are equal if they have the same class and equal fields; arrays are compared entry by
    entry, and NaN equals NaN. Equal objects have equal hashes. NumPy numbers print as plain ones.

    Examples
    --------
    >>> from ravine import Curvature
    >>> Curvature(1, [2, 3]) == Curvature(1, [2, 3])
    True
    >>> Curvature(1, [2, 3])
    Curvature(mu=1.0, L=[2.0, 3.0])
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)) or not isinstance(self, type(other)):
            return NotImplemented

        return same(self, other)

    def __hash__(self) -> int:
        # Coarse, because arrays have no hash: equal objects have equal shapes.
        shapes = tuple(np.shape(part) for part in _parts(self) if isinstance(part, np.ndarray))
        return hash((type(self).__name__, shapes))

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{one.name}={_printed(getattr(self, one.name))}"
            for one in fields(self)  # type: ignore[arg-type]  # every class of these is a dataclass
            if one.repr
        )
        return f"{type(self).__name__}({inside})"


def same(one: Any, other: Any) -> bool:
    """Whether two results, or parts of results, are equal in value.

    Examples
    --------
    >>> same([np.array([1.0, np.nan])], [np.array([1.0, np.nan])])
    True
    """
    if one is other:
        return True
    arrays = np.ndarray | np.generic | float
    if isinstance(one, arrays) or isinstance(other, arrays):
        numbers = np.asarray(one).dtype.kind in "fc" and np.asarray(other).dtype.kind in "fc"
        return bool(np.array_equal(one, other, equal_nan=numbers))
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, partial | MethodType):
        return same(one.__reduce__(), other.__reduce__())
    if is_dataclass(one):
        return all(map(same, _parts(one), _parts(other)))
    plain: Any = object.__eq__
    if type(one).__eq__ is plain and hasattr(one, "__dict__") and not callable(one):
        return same(vars(one), vars(other))

    return bool(one == other)


def _parts(value: Any) -> list[Any]:
    """The fields of a dataclass that equality compares."""
    return [getattr(value, one.name) for one in fields(value) if one.compare]


def _printed(part: Any) -> str:
    """A field as it is printed: plain numbers, or the shape of a long array."""
    if not isinstance(part, np.ndarray | np.generic):
        return repr(part)

    return repr(part.tolist()) if part.size <= _PRINTED else f"<array of shape {part.shape}>"
