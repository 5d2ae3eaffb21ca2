"""The record of a finished tile, and whether the tile still is what was recorded.

A tile is one chunk of every variable. Its record, a file of the group ``tiles``, has the tile's
first and last pixel, the digest of the sweep, and the SHA-256 of each chunk. What a record must say
follows from the chunks that are there: a tile is whole if its record says that, byte for byte.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from ravine.engine.storage.plain_files import Unreadable, read_plain, sum_of
from ravine.engine.storage.seal import RECORDS, Seal

_DIGITS = 8  # of a tile's number in the name of its record, so that names sort


def chunk_name(seal: Seal, variable: str, number: int) -> str:
    """Path in the store of a tile's chunk of a variable."""
    return "/".join((variable, "c", *map(str, seal.grid.place(number))))


def record_name(number: int) -> str:
    """Path in the store of a tile's record."""
    return f"{RECORDS}/{number:0{_DIGITS}d}.json"


def record_text(seal: Seal, number: int, sums: dict[str, str]) -> str:
    """What the record of a tile says if its chunks have these sums."""
    return json.dumps({"tile": list(seal.grid.tile(number)), "sweep": seal.sweep, "sha256": sums})


def is_recorded(store: Path, number: int) -> bool:
    """Whether anything lies where the record of a tile belongs."""
    return os.path.lexists(store / record_name(number))


def tile_damage(store: Path, seal: Seal, number: int) -> str | None:
    """What is wrong with a tile that has a record, "rate/c/3/0 was changed"; None if nothing is."""
    sums: dict[str, str] = {}
    for variable in seal.variables:
        name = chunk_name(seal, variable, number)
        try:
            sums[variable] = sum_of(store / name)
        except Unreadable as reason:
            return f"{name} {reason}"

    name = record_name(number)
    expected = record_text(seal, number, sums).encode()
    try:
        recorded = read_plain(store / name, len(expected))
    except Unreadable as reason:
        return f"{name} {reason}"

    if recorded == expected:
        return None

    changed = _changed_variable(recorded, sums)
    culprit = name if changed is None else chunk_name(seal, changed, number)
    return f"{culprit} was changed"


def _changed_variable(recorded: bytes, sums: dict[str, str]) -> str | None:
    """The first variable whose sum is not the recorded one; None if the record itself is odd."""
    try:
        kept = json.loads(recorded)["sha256"]
        if kept.keys() != sums.keys():
            return None
        return next((name for name in sums if kept[name] != sums[name]), None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
