"""Values that people pass by mistake, and some that only look so."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

NUMBERS: tuple[float, ...] = (
    0.0, -0.0, 0, 1, -1, 2, 0.5, -0.5, 1.0, 1e-16, 1.0 + 1e-15, 3.7,
    1e308, -1e308, 1.7976931348623157e308, 1e-308, 5e-324, 1e150, -1e150, 1e-150, 1e154, 1e-154,
    1e77, 1e-77, 1e100, 1e-100, 1e50, 1e-50, -1e50, 1e30, 1e-30, 1e16, 1e8,
    math.nan, math.inf, -math.inf,
)  # fmt: skip
"""Ordinary ones among the ends of float64 and the roots of its ends."""

COUNTS: tuple[int, ...] = (
    0, 1, 2, 3, -1, 7, 100, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**53 + 1, 2**63 - 1, 2**63,
    2**64, 10**15, 10**18, 10**30, -(10**30),
)  # fmt: skip


def _frame(column: str) -> Any:
    import pandas as pd

    return pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", None]})[column]


OBJECTS: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: True, lambda: "", lambda: "abc", lambda: "1.5", lambda: "nan",
    lambda: "ünïcödé π\n", lambda: [], lambda: {}, lambda: {"mu": 1.0, "L": 2.0},
    lambda: [1.0, "a"], lambda: [[1.0], [1.0, 2.0]], lambda: [None], lambda: range(3),
    lambda: (x for x in (0.1, 0.2)), object, lambda: np.ndarray, lambda: (lambda *_: 0.5),
    lambda: 1 + 2j, lambda: decimal.Decimal("0.5"), lambda: fractions.Fraction(1, 3),
    lambda: Path("nowhere"), lambda: datetime.date(2020, 1, 1),
    lambda: np.array([]), lambda: np.zeros((0, 3)), lambda: np.zeros((2, 3)), lambda: np.ones(7),
    lambda: np.array([math.nan, 1.0]), lambda: np.array([[math.inf, 1.0], [1.0, 2.0]]),
    lambda: np.array(["a", "b"]), lambda: np.array([1.0, None], dtype=object),
    lambda: np.array([1 + 1j, 2.0]), lambda: np.array([1e308, 1e-308]), lambda: np.array(0.3),
    lambda: np.float32(0.25), lambda: np.int8(3), lambda: np.uint64(2**64 - 1),
    lambda: np.ma.masked_array([1.0, 2.0], mask=[True, False]), lambda: np.full((3, 3), -1.0),
    lambda: np.eye(3), lambda: np.zeros((3, 3)), lambda: np.ones((2, 2, 2, 2)),
    lambda: np.array([0.1, 0.2, 0.3])[::-1], lambda: np.random.default_rng(0),
    lambda: _frame("a"), lambda: _frame("b"),
)  # fmt: skip
"""What people pass by mistake: another type, another shape, a column of text."""


def nasty(rng: Random) -> Any:
    """One of them."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.5:
        return rng.choice(COUNTS)

    return rng.choice(OBJECTS)()


def words(value: Any) -> str:
    """A value in a few words, whatever it is."""
    if isinstance(value, np.ndarray) and value.size > 20:
        return f"ndarray{value.shape}"

    return f"{value!r:.70}".replace("\n", " ")
