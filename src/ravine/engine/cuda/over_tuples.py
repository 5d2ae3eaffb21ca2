"""Unrolled loops over tuples: straight-line code with variables in registers.

A function for n entries combines one for the first entry with one for the other n - 1.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ravine.engine.cuda.source import device_function


@cache
def mapped(count: int, one: Any) -> Any:
    """Make a function that gathers ``one(a, b, at, common)`` for the entries of two tuples.

    ``at`` counts the entries; ``common`` is the same for all.
    """

    @device_function
    def last(first: Any, second: Any, at: Any, common: Any) -> Any:
        return (one(first[0], second[0], at, common),)

    if count == 1:
        return last

    others = mapped(count - 1, one)

    @device_function
    def some(first: Any, second: Any, at: Any, common: Any) -> Any:
        result = one(first[0], second[0], at, common)
        return (result, *others(first[1:], second[1:], at + 1, common))

    return some


@cache
def folded(count: int, one: Any) -> Any:
    """Make a function that carries ``one(so_far, a, b, at, common)`` through two tuples."""

    @device_function
    def last(so_far: Any, first: Any, second: Any, at: Any, common: Any) -> Any:
        return one(so_far, first[0], second[0], at, common)

    if count == 1:
        return last

    others = folded(count - 1, one)

    @device_function
    def some(so_far: Any, first: Any, second: Any, at: Any, common: Any) -> Any:
        so_far = one(so_far, first[0], second[0], at, common)
        return others(so_far, first[1:], second[1:], at + 1, common)

    return some


@cache
def carried(count: int, one: Any) -> Any:
    """Make a function that carries a value through two tuples and gathers an entry at each step.

    ``one(so_far, a, b, at, common)`` returns the value to pass on, and the entry.
    """

    @device_function
    def last(so_far: Any, first: Any, second: Any, at: Any, common: Any) -> Any:
        so_far, entry = one(so_far, first[0], second[0], at, common)
        return so_far, (entry,)

    if count == 1:
        return last

    others = carried(count - 1, one)

    @device_function
    def some(so_far: Any, first: Any, second: Any, at: Any, common: Any) -> Any:
        so_far, entry = one(so_far, first[0], second[0], at, common)
        so_far, entries = others(so_far, first[1:], second[1:], at + 1, common)
        return so_far, (entry, *entries)

    return some
