"""A table of numbers with a target, and what the user should know about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import FloatArray
from ravine.tables.source import Limits
from ravine.values import Value

_SHOWN = 5
"""Number of names that a message lists; it counts the others, so that it fits on a line."""


@dataclass(frozen=True)
class Finding:
    """Something about the data that the user should know.

    Attributes
    ----------
    kind
        One word: ``"scale"``, ``"constant"``, ``"duplicate"``, ``"encoded"``, ``"singular"``, ...
    message
        The note, as a sentence.
    remedy
        What to do about it; empty when nothing has to be done.
    columns
        Names of the columns it is about.
    """

    kind: str
    message: str
    remedy: str = ""
    columns: tuple[str, ...] = ()


def listed(names: Sequence[str]) -> str:
    """Name columns in a sentence: ``column 'a'``, or ``columns 'a', 'b' and 7 more``."""
    shown = ", ".join(f"{name!r:.40}" for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        shown += f" and {len(names) - _SHOWN} more"

    return f"column {shown}" if len(names) == 1 else f"columns {shown}"


class Raw(NamedTuple):
    """A table as it was read, before its columns are examined."""

    data: Any
    """A frame, whose columns are tidied, or an array or sparse matrix, which is used as it is."""
    target: pd.Series | None = None
    """The target, if it is not a column of the data."""
    names: Sequence[str] | None = None
    """Names for the columns of an array."""
    texts: Sequence[str] = ()
    """Categorical columns that are texts, not declared to be levels."""
    comma: bool = False
    """Whether numbers in texts have decimal commas."""
    findings: Sequence[Finding] = ()
    """How the file was read."""


@dataclass(frozen=True, eq=False, repr=False)
class Table(Value):
    """Data as numbers, with the names of its columns.

    Attributes
    ----------
    X
        Shape (rows, features): a C-ordered float64 array, or a scipy CSR matrix; all finite.
    y
        The target, shape (rows,): float64 numbers, or labels as texts.
    columns, target
        Names of the features and of the target.
    name
        Its source.
    findings
        Notes about what was done to the columns and rows.
    weights
        Weight of each row, zero or more, or None if no column of weights was given.
    rows
        The number of each row in the source, from 0, or None if all rows were kept.
    limits
        How large it may be; this also limits numbers that are read as labels.
    """

    X: Any
    y: npt.NDArray[Any]
    columns: tuple[str, ...]
    target: str
    name: str
    findings: tuple[Finding, ...] = ()
    weights: FloatArray | None = None
    rows: npt.NDArray[np.intp] | None = None
    limits: Limits = field(default_factory=Limits)
