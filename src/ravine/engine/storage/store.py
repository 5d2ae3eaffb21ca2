"""Keeping the tiles of a sweep in a Zarr store, so that a killed run can go on.

A store is a Zarr group (format 3) that ``xarray.open_zarr`` opens as the dataset of the sweep. A
tile is one chunk of every variable. Beside the variables lies the group ``tiles``: its attributes
say what made the store, ``tiles/seal`` has the sums of all metadata, attributes and coordinates,
and each finished tile has a record with the sums of its chunks.

The chunks of a tile are written first and its record last, each under another name that is then
changed: whenever a run is killed, a tile is there with its record or does not count. Whoever reads
a store compares all of it with its sums first. A run that goes on with a store writes again what is
not as it was: everything but the tiles from the specification, tiles by computing them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import xarray as xr

from ravine.arguments import Refusal
from ravine.engine.dataset import variable_dtype
from ravine.engine.repeats import variable_names
from ravine.engine.storage.fingerprint import fingerprint
from ravine.engine.storage.grid import TileGrid
from ravine.engine.storage.lock import locked
from ravine.engine.storage.plain_files import Unreadable, sum_of
from ravine.engine.storage.seal import (
    RECORDS,
    SEAL,
    Seal,
    damage,
    described_seal,
    read_seal,
    refuse_strange,
    whole_seal,
)
from ravine.engine.storage.skeleton import (
    clear_leftovers,
    clear_place,
    create_store,
    mend_store,
)
from ravine.engine.storage.tile_record import (
    chunk_name,
    is_recorded,
    record_name,
    record_text,
    tile_damage,
)
from ravine.engine.tiles import Part, Tile
from ravine.files import written_whole

if TYPE_CHECKING:
    from ravine.engine.spec import Spec


@dataclass(frozen=True)
class StoreStatus:
    """How far a store is: tiles in all, finished, and finished once but damaged since."""

    total: int
    done: int
    damages: tuple[str, ...]
    made_with: dict[str, str]

    @property
    def damaged(self) -> int:
        """Number of damaged tiles; ``damages`` has a sentence on each."""
        return len(self.damages)

    @property
    def is_complete(self) -> bool:
        """Whether every tile is there, whole."""
        return self.done == self.total


class TileStore:
    """The store of one sweep, made anew or gone on with, mended, and locked while it is open.

    ``pixels`` is about how many a tile holds; a store that is there already keeps its own tiles.
    """

    def __init__(self, path: str | os.PathLike[str], spec: Spec, pixels: int) -> None:
        _require_zarr()
        self.path = Path(path)
        grid = TileGrid.cut(spec.shape, pixels)
        variables = tuple(variable_names(spec.measures, spec.repeats))
        wanted = Seal(grid.shape, grid.chunk, variables, fingerprint(spec))

        if not self.path.exists():
            _refuse_dangling(self.path)
            with _clear_when_full(self.path):
                create_store(self.path, spec, wanted)

        with ExitStack() as stack:
            _refuse_other(self.path, _seal_to_mend(self.path)[0], wanted)
            stack.enter_context(locked(self.path / RECORDS / "lock", self.path))
            self._seal = self._mended(spec)
            self._until_closed = stack.pop_all()

        self.total = self._seal.grid.total
        self._numbers = {self._seal.grid.tile(number): number for number in range(self.total)}
        self._arrays: dict[str, Any] = {}
        self._kept: list[int] = []

    def _mended(self, spec: Spec) -> Seal:
        """The seal of the store, after all that lies under it is as it was written."""
        clear_leftovers(self.path)
        seal, damages = _seal_to_mend(self.path)
        if not damages:
            return seal

        with _clear_when_full(self.path):
            return mend_store(self.path, spec, seal)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._arrays.clear()
        self._until_closed.close()

    def missing(self) -> list[Tile]:
        """Tiles that are not there, or not as they were written."""
        return [
            tile
            for tile, number in self._numbers.items()
            if not is_recorded(self.path, number) or tile_damage(self.path, self._seal, number)
        ]

    def keep(self, tile: Tile, part: Part) -> None:
        """Write a finished tile: its variables, then the record that makes it count."""
        number = self._numbers[tile]
        box = self._seal.grid.box(number)
        sums: dict[str, str] = {}

        with _clear_when_full(self.path):
            for variable in self._seal.variables:
                name = chunk_name(self._seal, variable, number)
                # Zarr would read a damaged chunk before it writes a part of it.
                clear_place(self.path, name)
                values = part[variable].astype(variable_dtype(variable), copy=False)
                self._array(variable)[box] = values.reshape(
                    [side.stop - side.start for side in box]
                )
                sums[variable] = _flushed_sum(self.path / name)

            record = record_text(self._seal, number, sums)
            clear_place(self.path, record_name(number))
            with written_whole(self.path / record_name(number), flush=True) as part_file:
                part_file.write_text(record, encoding="utf-8")

        self._kept.append(number)

    def dataset(self) -> xr.Dataset:
        """Open the dataset of the sweep; values are read as they are used."""
        for number in self._kept:
            reason = tile_damage(self.path, self._seal, number)
            if reason is not None:
                remedy = "nothing else may write to it; run it again with --resume"
                raise Refusal("store", "left alone", f"{self.path}, where {reason}", remedy)

        return _opened(self.path)

    def _array(self, name: str) -> Any:
        import zarr

        if name not in self._arrays:
            # Without this a chunk of nothing but the fill value would not be written.
            with zarr.config.set({"array.write_empty_chunks": True}):
                self._arrays[name] = zarr.open_array(self.path / name, mode="r+", zarr_format=3)

        return self._arrays[name]


def store_status(path: str | os.PathLike[str]) -> StoreStatus:
    """Say how far the store of a sweep is, comparing all of it with its sums.

    Raises
    ------
    Refusal
        If there is no store, or it is damaged beside its tiles: in one line, what is, and how to
        mend it.
    """
    _require_zarr()
    place = Path(path)
    seal = whole_seal(place)
    recorded = [number for number in range(seal.grid.total) if is_recorded(place, number)]
    reasons = (tile_damage(place, seal, number) for number in recorded)
    damages = tuple(reason for reason in reasons if reason is not None)

    return StoreStatus(seal.grid.total, len(recorded) - len(damages), damages, seal.made_with)


def finished_tiles(path: str | os.PathLike[str]) -> int:
    """Tiles of a store that a run which goes on with it need not compute, damaged or not."""
    _require_zarr()
    place = Path(path)
    seal, _ = _seal_to_mend(place)
    return sum(
        is_recorded(place, number) and tile_damage(place, seal, number) is None
        for number in range(seal.grid.total)
    )


def open_store(path: str | os.PathLike[str]) -> tuple[xr.Dataset, npt.NDArray[np.bool_]]:
    """Open a store, finished or not, once all of it was compared with its sums.

    Returns
    -------
    dataset
        The dataset of the sweep; values are read as they are used.
    there
        Which pixels of it are computed.

    Raises
    ------
    Refusal
        If there is no store, or anything in it is not as it was written: in one line, what, and
        how to mend it.
    """
    _require_zarr()
    place = Path(path)
    seal = whole_seal(place)
    there = np.zeros(seal.shape, dtype=bool)
    unfinished: set[str] = set()
    damages: list[str] = []

    for number in range(seal.grid.total):
        if not is_recorded(place, number):
            unfinished |= {chunk_name(seal, variable, number) for variable in seal.variables}
            continue

        reason = tile_damage(place, seal, number)
        there[seal.grid.box(number)] = reason is None
        if reason is not None:
            damages.append(reason)

    if damages:
        raise damage(place, damages)

    return _opened(place, unfinished), there


def _opened(path: Path, unfinished: set[str] | None = None) -> xr.Dataset:
    """The dataset of a store; chunks of unfinished tiles, whole or not, are left aside."""
    source: Any = path
    if unfinished:
        from ravine.engine.storage.finished_store import finished_store

        source = finished_store(path, unfinished)

    data: xr.Dataset = xr.open_zarr(source, chunks=None, consolidated=True, zarr_format=3)
    return data


def _seal_to_mend(path: Path) -> tuple[Seal, list[str]]:
    """What a store says it is, and what of it is not as it was written."""
    try:
        seal = read_seal(path)
    except Unreadable as reason:
        return described_seal(path), [f"{SEAL} {reason}"]

    return seal, seal.damages(path)


def _require_zarr() -> None:
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise ImportError("a store needs Zarr: python -m pip install 'ravine[store]'") from None


def _refuse_dangling(path: Path) -> None:
    if path.is_symlink():
        remedy = "remove it or give another path"
        raise Refusal("store", "a new path", f"{path}, a link that leads nowhere", remedy)


def _refuse_other(path: Path, there: Seal, wanted: Seal) -> None:
    """Refuse a store of another sweep, with the names of what differs."""
    have = there.made_with
    want = wanted.made_with
    names = [name for name in (*want, *have) if have.get(name) != want.get(name)]
    if names:
        shown = "; ".join(
            f"{name} {have.get(name, 'unknown')}, not {want.get(name, 'unknown')}"
            for name in dict.fromkeys(names)
        )
        remedy = "give the arguments and versions it was made with, or another path"
        raise Refusal("store", "of this very sweep", f"{path} made with {shown}", remedy)

    if (there.shape, there.variables) != (wanted.shape, wanted.variables):
        refuse_strange(path)


@contextmanager
def _clear_when_full(path: Path) -> Iterator[None]:
    """Say in one line that the disk is full, and that nothing is lost."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        line = f"no space left for {path}: make room and run it again, finished tiles are kept"
        full = OSError(line)
        full.errno = error.errno
        raise full from None


def _flushed_sum(file: Path) -> str:
    """Bring a file to the disk; return the SHA-256 of its bytes."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())

    return sum_of(file)
