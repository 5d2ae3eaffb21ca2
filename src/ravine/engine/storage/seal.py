"""The seal of a store: what it holds, and the sums of everything in it but the tiles.

The seal is the file ``tiles/seal``, one line of JSON: the shape of the plane, that of a tile, what
made the sweep, and the SHA-256 of every file that is written when the store is made: metadata,
attributes, coordinates. It ends with the sum of itself. Nobody reads a store whose seal, or a file
under it, is not as it was written.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, NoReturn

from ravine.arguments import Refusal
from ravine.engine.storage.grid import TileGrid
from ravine.engine.storage.plain_files import Unreadable, read_plain, sum_of
from ravine.files import written_whole

FORMAT = 2
"""Counts up when stores of before cannot be read any longer."""

RECORDS = "tiles"
"""The group of a store that holds its seal and the records of its tiles."""

SEAL = f"{RECORDS}/seal"

_MOST_BYTES = 1 << 26  # of a seal, 64 MiB: a plane of 2**32 pixels needs less
_MOST_PIXELS = 1 << 32  # of a plane, as in ``checked_spec``


@dataclass(frozen=True)
class Seal:
    """What a store says about itself.

    Attributes
    ----------
    shape, chunk
        Pixels of the plane, and of a tile, along each axis.
    variables
        Names of the arrays that are cut into tiles.
    made_with
        The fingerprint of the sweep.
    files
        SHA-256 of each file that is no part of a tile, by its path in the store.
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    variables: tuple[str, ...]
    made_with: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)

    @cached_property
    def grid(self) -> TileGrid:
        """Where the tiles lie."""
        return TileGrid(self.shape, self.chunk)

    @cached_property
    def sweep(self) -> str:
        """A digest of the sweep and its tiles: it ties the records of tiles to their store."""
        return _sum(self.attributes())

    def attributes(self) -> dict[str, Any]:
        """What a store is, without the sums of its files."""
        content = {"format": FORMAT} | asdict(self)
        del content["files"]

        return content

    def text(self) -> str:
        """The seal as it is written."""
        content = self.attributes() | {"files": self.files}
        return json.dumps(content | {"sha256": _sum(content)})

    def write(self, store: Path) -> None:
        """Write the seal; only now the store counts as made."""
        with written_whole(store / SEAL) as part:
            part.write_text(self.text(), encoding="utf-8")

    def damages(self, store: Path) -> list[str]:
        """What is not as it was written, one sentence for each file: "zarr.json is missing"."""
        sentences = []
        for name, kept in self.files.items():
            try:
                if sum_of(store / name) != kept:
                    sentences.append(f"{name} was changed")
            except Unreadable as reason:
                sentences.append(f"{name} {reason}")

        return sentences


def read_seal(store: Path) -> Seal:
    """Read the seal of a store; ``Unreadable`` if it is not there as it was written."""
    content = read_plain(store / SEAL, _MOST_BYTES)
    try:
        parsed = json.loads(content)
        seal = _described(parsed, parsed["files"])
        if seal.text().encode() == content:
            return seal
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass

    raise Unreadable("was changed")


def described_seal(store: Path) -> Seal:
    """What the attributes of the group of records say, for a store whose own seal is broken.

    They hold what the seal holds but for the sums: enough to mend the store.
    """
    try:
        content = read_plain(store / RECORDS / "zarr.json", _MOST_BYTES)
    except Unreadable:
        refuse_strange(store)

    try:
        return _described(json.loads(content)["attributes"], {})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        refuse_strange(store)


def whole_seal(path: Path) -> Seal:
    """The seal of a store, once it and all that it covers have been found as they were written.

    Raises
    ------
    Refusal
        If there is no store, or it is damaged: what is, and how to mend it.
    """
    if not path.exists():
        raise Refusal("store", "the store of a sweep", path, "there is none")

    try:
        seal = read_seal(path)
    except Unreadable as reason:
        described_seal(path)  # refuses what was no store of this format
        raise damage(path, [f"{SEAL} {reason}"]) from None

    sentences = seal.damages(path)
    if sentences:
        raise damage(path, sentences)

    return seal


def damage(path: Path, sentences: list[str]) -> Refusal:
    """The refusal of a store that a run can mend; it names the first thing that is damaged."""
    others = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    remedy = f"ravine sweep SPEC --out {path} --resume mends it"
    return Refusal("store", "whole", f"{path}, where {sentences[0]}{others}", remedy)


def _described(content: dict[str, Any], files: dict[str, str]) -> Seal:
    """A seal from parsed JSON; ``ValueError`` if it cannot be that of any store."""
    if content["format"] != FORMAT:
        raise ValueError

    seal = Seal(
        shape=tuple(content["shape"]),
        chunk=tuple(content["chunk"]),
        variables=tuple(content["variables"]),
        made_with=content["made_with"],
        files=files,
    )
    words = (*seal.variables, *seal.made_with.values(), *files.values())
    sides = list(zip(seal.shape, seal.chunk, strict=True))
    sound = (
        1 <= len(sides) <= 2
        and all(type(n) is int and type(c) is int and 1 <= c <= n for n, c in sides)
        and prod(seal.shape) <= _MOST_PIXELS
        and all(isinstance(word, str) for word in words)
    )
    if not sound:
        raise ValueError

    return seal


def refuse_strange(path: Path) -> NoReturn:
    """Say why a path that has no seal is not the store of a sweep."""
    rule = "a new path, or the store of a sweep"
    if not path.is_dir():
        raise Refusal("store", rule, path, "it is no folder, give another path") from None
    if not any(path.iterdir()):
        remedy = "it is an empty folder, remove it or give another path"
        raise Refusal("store", rule, path, remedy) from None
    if not (path / RECORDS).exists():
        raise Refusal("store", rule, path, "it holds something else, give another path") from None
    if _is_of_format_1(path):
        remedy = "sweep anew into another path, or open it unchecked with xarray.open_zarr"
        shown = f"{path}, which ravine 0.1.0 wrote without sums of its metadata"
        raise Refusal("store", f"of format {FORMAT}", shown, remedy) from None

    remedy = (
        "nothing in it says which sweep it is of, so --resume cannot mend it; give another path"
    )
    shown = f"{path}, where {SEAL} and {RECORDS}/zarr.json are both damaged"
    raise Refusal("store", "whole", shown, remedy) from None


def _is_of_format_1(path: Path) -> bool:
    try:
        content = json.loads(read_plain(path / RECORDS / "zarr.json", _MOST_BYTES))
        return bool(content["attributes"]["format"] == 1)
    except (Unreadable, ValueError, KeyError, TypeError, RecursionError):
        return False


def _sum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
