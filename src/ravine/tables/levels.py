"""Texts as columns of zeros and ones, one level left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.tables.column import Column
from ravine.tables.finding import Finding

OTHER = "other"
"""What the levels are called that are too rare for a column of their own."""


@dataclass(frozen=True)
class Levels:
    """A column of texts, ready to be written as columns of zeros and ones.

    With all k levels the columns would add up to 1 in every row, and so depend on each other and
    on an intercept. The most frequent one is left out, so the others are measured against it.

    Attributes
    ----------
    codes
        For each row the column that has its one, -1 for none.
    names
        Names of the columns, one fewer than levels.
    finding
        What was done.
    """

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]
    finding: Finding


def encode_levels(column: Column, most: int) -> Levels:
    """The levels of a column without missing values, the rarest beyond ``most`` in one group."""
    counts = np.bincount(column.codes, minlength=len(column.texts))
    # The most frequent first; of equals the one that was met first.
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    kept = order if len(order) <= most else order[: most - 1]
    table = np.full(len(column.texts), len(kept) - 1, dtype=np.int32)
    table[kept] = np.arange(-1, len(kept) - 1, dtype=np.int32)
    texts = [f"{column.texts[k]:.60}" for k in kept[1:]]
    plural = "s" if len(kept) > 2 else ""
    what = (
        f"column {column.name!r:.60} is text: its {len(order)} levels became "
        f"{len(kept) - 1} column{plural} against {column.texts[kept[0]]!r:.40}"
    )
    remedy = ""

    if len(kept) < len(order):
        texts.append(OTHER)
        grouped = len(order) - len(kept)
        what = (
            f"column {column.name!r:.60} is text with {len(order)} levels: the {len(kept)} most "
            f"frequent are kept, {grouped} rarer ones became {OTHER!r}"
        )
        remedy = "keep more with --levels, or drop it with --drop"

    names = tuple(f"{column.name:.60}={text}" for text in texts)
    return Levels(table[column.codes], names, Finding("encoded", what, remedy, (column.name,)))
