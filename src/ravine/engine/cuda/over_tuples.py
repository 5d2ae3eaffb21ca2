"""Loops over tuples, unrolled: straight code whose variables stay in registers.

A function for n entries is made of one for the first and one for the other n - 1.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ravine.engine.cuda.source import device_function


@cache
def mapped(count: int, one: Any) -> Any:
    """Make a function that gathers ``one(a, b, at, common)`` for the entries of two tuples.

    ``at`` counts up from one entry to the next; ``common`` is the same for all.
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
def all_of(count: int, test: Any) -> Any:
    """Make a function that says whether ``test(a, b)`` holds for all entries of two tuples."""

    @device_function
    def last(first: Any, second: Any) -> Any:
        return test(first[0], second[0])

    if count == 1:
        return last

    others = all_of(count - 1, test)

    @device_function
    def some(first: Any, second: Any) -> Any:
        return test(first[0], second[0]) & others(first[1:], second[1:])

    return some


@cache
def written(count: int, one: Any) -> Any:
    """Make a function that calls ``one(a, at, common)``, which returns nothing, for all entries."""

    @device_function
    def last(entries: Any, at: Any, common: Any) -> None:
        one(entries[0], at, common)

    if count == 1:
        return last

    others = written(count - 1, one)

    @device_function
    def some(entries: Any, at: Any, common: Any) -> None:
        one(entries[0], at, common)
        others(entries[1:], at + 1, common)

    return some


@cache
def folded(count: int, one: Any) -> Any:
    """Make a function that carries ``so_far = one(so_far, a, at, common)`` through a tuple."""

    @device_function
    def last(so_far: Any, entries: Any, at: Any, common: Any) -> Any:
        return one(so_far, entries[0], at, common)

    if count == 1:
        return last

    others = folded(count - 1, one)

    @device_function
    def some(so_far: Any, entries: Any, at: Any, common: Any) -> Any:
        so_far = one(so_far, entries[0], at, common)
        return others(so_far, entries[1:], at + 1, common)

    return some
