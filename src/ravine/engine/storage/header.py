"""The header of a store, and the check that its files are unchanged.

The folder ``tiles`` of a store contains a header and a record of each finished tile. The header
describes the sweep and the division of its plane, and has a checksum of every file that is not part
of a tile: metadata, attributes, coordinates. Its last line is its own checksum. The record of a
tile has its pixels, a digest of the sweep, and a checksum of the tile's chunks.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ravine.arguments import Refusal
from ravine.engine.tiles import Tile
from ravine.files import written_whole

FORMAT = 3
"""Increases when older stores can no longer be read."""

TILES = "tiles"
"""Folder of the header, the records and the lock."""
HEADER = f"{TILES}/header.json"
LOCK = f"{TILES}/lock"
NEW = f"{TILES}/new"
"""Folder in which metadata are written before they are moved to their final place."""


@dataclass(frozen=True)
class Header:
    """Description of a store.

    Attributes
    ----------
    shape, chunk
        Pixels of the plane, and of a tile, along each axis.
    variables
        Names of the arrays that are divided into tiles.
    made_with
        The fingerprint of the sweep.
    files
        SHA-256 of each file that is not part of a tile, by its path in the store.
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    variables: tuple[str, ...]
    made_with: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)

    @cached_property
    def sweep(self) -> str:
        """A digest of the sweep and its tiles, which links records to their store."""
        return _digest(json.dumps([self.shape, self.chunk, self.made_with]).encode())

    @cached_property
    def boxes(self) -> list[tuple[slice, ...]]:
        """The pixels of each tile along each axis; the last tile of an axis may have fewer."""
        axes = zip(self.shape, self.chunk, strict=True)
        return list(product(*([slice(i, min(i + c, n)) for i in range(0, n, c)] for n, c in axes)))

    def tile(self, number: int) -> Tile:
        """The first pixel of a tile and the one after its last, in C order."""
        box = self.boxes[number]
        first = np.ravel_multi_index([side.start for side in box], self.shape)
        last = np.ravel_multi_index([side.stop - 1 for side in box], self.shape)
        return int(first), int(last) + 1

    def write(self, store: Path) -> None:
        """Write the header last: the store counts as created only then."""
        body = json.dumps({"format": FORMAT} | asdict(self))
        with written_whole(store / HEADER, flush=True) as part:
            part.write_text(f"{body}\n{_digest(body.encode())}", encoding="utf-8")

    def chunk_name(self, variable: str, number: int) -> str:
        """Path of a tile's chunk of a variable."""
        along = zip(self.boxes[number], self.chunk, strict=True)
        return "/".join((variable, "c", *(str(side.start // c) for side, c in along)))

    def record(self, store: Path, number: int) -> bytes:
        """The expected record of a tile, given its chunks."""
        chunks = hashlib.sha256()
        for variable in self.variables:
            chunks.update((store / self.chunk_name(variable, number)).read_bytes())

        content = {"tile": self.tile(number), "sweep": self.sweep, "sha256": chunks.hexdigest()}
        return json.dumps(content).encode()

    def tile_damage(self, store: Path, number: int) -> str | None:
        """The damage of a tile with a record, or None."""
        try:
            recorded = (store / record_name(number)).read_bytes()
            return None if recorded == self.record(store, number) else f"tile {number} was changed"
        except OSError as error:
            return _unreadable(store, error)

    def damages(self, store: Path) -> list[str]:
        """The damage of files that are not part of a tile, one sentence for each."""
        sentences = []
        for name, checksum in self.files.items():
            try:
                if _digest((store / name).read_bytes()) != checksum:
                    sentences.append(f"{name} was changed")
            except OSError as error:
                sentences.append(_unreadable(store, error))

        return sentences


def tile_shape(shape: tuple[int, ...], pixels: int) -> tuple[int, ...]:
    """Tiles of about ``pixels`` pixels: whole rows, or a part of one.

    Examples
    --------
    >>> tile_shape((5, 4), 8), tile_shape((5, 4), 3)
    ((2, 4), (1, 3))
    """
    if len(shape) == 1 or pixels < shape[1]:
        return (*(1,) * (len(shape) - 1), min(pixels, shape[-1]))

    return min(pixels // shape[1], shape[0]), shape[1]


def record_name(number: int) -> str:
    """Path of a tile's record."""
    return f"{TILES}/{number:08d}.json"


def is_new(store: Path) -> bool:
    """Whether there is no store yet, or the run that created it was killed too early."""
    if not store.exists():
        return True
    if not store.is_dir() or (store / HEADER).exists() or any(store.glob(f"{TILES}/[0-9]*.json")):
        return False

    # ``NEW`` exists from before the first file of a store is written until its header is.
    others = (path for path in store.rglob("*") if path.is_file() and path != store / LOCK)
    return (store / NEW).is_dir() or not any(others)


def read_header(store: Path) -> Header:
    """Read the header of a store.

    Raises
    ------
    Refusal
        If there is no store of this format, or its header is damaged.
    """
    rule = "the store of a sweep"
    if not store.exists():
        raise Refusal("store", rule, store, "there is no such store")
    if not store.is_dir():
        raise Refusal("store", rule, store, "it is not a folder, give another path")
    if is_new(store):
        remedy = "it has no tiles yet; run the sweep with --resume"
        raise Refusal("store", rule, store, remedy)
    if not (store / HEADER).exists():
        remedy = "it holds something else, or was written by ravine 0.2; give another path"
        raise Refusal("store", rule, store, remedy)

    try:
        body, _, checksum = (store / HEADER).read_bytes().rpartition(b"\n")
        intact = _digest(body).encode() == checksum
    except OSError:
        intact = False
    if not intact:
        shown = f"{store}, where {HEADER} was changed"
        raise Refusal("store", "undamaged", shown, "run the sweep again, with another path")

    content = json.loads(body)
    if content.pop("format") != FORMAT:
        remedy = "read it with the ravine that wrote it"
        raise Refusal("store", f"of format {FORMAT}", store, remedy)

    # JSON has lists where the header has tuples.
    fields: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    return Header(**fields)


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file in a folder, by its path."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): _digest(file.read_bytes()) for file in files}


def _unreadable(store: Path, error: OSError) -> str:
    name = Path(error.filename or store).relative_to(store).as_posix()
    return f"{name} is missing" if isinstance(error, FileNotFoundError) else f"{name} is unreadable"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
