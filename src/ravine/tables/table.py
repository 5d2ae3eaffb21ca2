"""A table of numbers with a target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.tables.finding import Finding
from ravine.tables.limits import Limits
from ravine.values import Value


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
        Where it came from.
    findings
        What was done to the columns and rows on the way.
    weights
        Weight of each row, zero or more, or None where no column was named for it.
    rows
        Which row of the source each row is, counted from 0, or None where all were kept.
    limits
        How large it may be; numbers that are taken for labels are held to it as well.
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
