"""Something about the data that the user should know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHOWN = 5
"""Names that a message lists before it counts the others: more do not fit on a line."""


@dataclass(frozen=True)
class Finding:
    """Something about the data that the user should know.

    Attributes
    ----------
    kind
        One word: ``"scale"``, ``"constant"``, ``"duplicate"``, ``"encoded"``, ``"singular"``, ...
    message
        What was found, in words.
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
