"""Keeping the tiles of a sweep in a Zarr store, so that a killed run can go on.

A store is a Zarr group (format 3) that ``xarray.open_zarr`` opens as the dataset of the sweep. A
tile is one chunk of every variable. Beside the variables lies the group ``tiles``: its attributes
say what made the store, and it holds a record for each finished tile with the SHA-256 of the
tile's chunks. The chunks are written first and the record last, each under another name that is
then changed: whenever a run is killed, a tile is there with its record or does not count. A
record counts if its chunks still have those sums.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from ravine.arguments import Refusal
from ravine.engine.dataset import new_dataset, variable_dtype
from ravine.engine.repeats import variable_names
from ravine.engine.storage.fingerprint import fingerprint
from ravine.engine.tiles import Part, Tile
from ravine.files import written_whole

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

_FORMAT = 1
_RECORDS = "tiles"


@dataclass(frozen=True)
class StoreStatus:
    """How far a store is: tiles in all, finished, and finished once but damaged since."""

    total: int
    done: int
    damaged: int
    made_with: dict[str, str]

    @property
    def is_complete(self) -> bool:
        """Whether every tile is there, whole."""
        return self.done == self.total


class _TileGrid:
    """Where the tiles of a plane lie: each is a box of pixels that C order keeps together."""

    def __init__(self, shape: tuple[int, ...], chunk: tuple[int, ...]) -> None:
        self.shape = shape
        self.chunk = chunk
        self.counts = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
        self.total = int(np.prod(self.counts))

    @classmethod
    def cut(cls, shape: tuple[int, ...], pixels: int) -> _TileGrid:
        """Tiles of about ``pixels`` pixels: some whole rows, or a part of one."""
        if len(shape) == 1 or pixels < shape[1]:
            return cls(shape, (1,) * (len(shape) - 1) + (min(pixels, shape[-1]),))

        return cls(shape, (min(pixels // shape[1], shape[0]), shape[1]))

    def chunk_of(self, number: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(number, self.counts))

    def box(self, number: int) -> tuple[slice, ...]:
        at = zip(self.chunk_of(number), self.chunk, self.shape, strict=True)
        return tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in at)

    def tile(self, number: int) -> Tile:
        box = self.box(number)
        first = np.ravel_multi_index([s.start for s in box], self.shape)
        last = np.ravel_multi_index([s.stop - 1 for s in box], self.shape)
        return int(first), int(last) + 1


class TileStore:
    """The store of one sweep, made anew or found, and locked while it is open.

    ``pixels`` is about how many a tile holds; a store that is there already keeps its own tiles.
    """

    def __init__(self, path: str | os.PathLike[str], spec: Spec, pixels: int) -> None:
        _require_zarr()
        self.path = Path(path)
        self._made_with = fingerprint(spec)
        self._names = variable_names(spec.measures, spec.repeats)
        self._arrays: dict[str, Any] = {}
        if not self.path.exists():
            layout = _TileGrid.cut(spec.shape, pixels)
            with _clear_when_full(self.path):
                _create(self.path, spec, self._names, layout, self._made_with)

        described = _attributes(self.path)
        _refuse_other(self.path, described["made_with"], self._made_with)
        self._layout = _TileGrid(tuple(described["shape"]), tuple(described["chunk"]))
        self.total = self._layout.total
        self._numbers = {self._layout.tile(number): number for number in range(self.total)}
        self._lock = _locked(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._arrays.clear()
        os.close(self._lock)

    def missing(self) -> list[Tile]:
        """Tiles that are not there, or not as they were written; leftovers are cleared away."""
        for leftover in (*self.path.rglob("*.partial"), *self.path.rglob(".*.part.*")):
            leftover.unlink(missing_ok=True)

        return [
            tile
            for tile, number in self._numbers.items()
            if _check(self.path, self._layout, number) is not True
        ]

    def keep(self, tile: Tile, part: Part) -> None:
        """Write a finished tile: its variables, then the record that makes it count."""
        number = self._numbers[tile]
        box = self._layout.box(number)
        sums: dict[str, str] = {}

        with _clear_when_full(self.path):
            for name in self._names:
                chunk = _chunk_file(self.path, name, self._layout.chunk_of(number))
                # Zarr would read a damaged chunk before it writes a part of it.
                chunk.unlink(missing_ok=True)
                values = part[name].astype(variable_dtype(name), copy=False)
                self._array(name)[box] = values.reshape([s.stop - s.start for s in box])
                sums[name] = _flushed_sum(chunk)

            record = json.dumps({"tile": list(tile), "sha256": sums})
            with written_whole(_record_file(self.path, number), flush=True) as part_file:
                part_file.write_text(record, encoding="utf-8")

    def dataset(self) -> xr.Dataset:
        """Open the dataset of the sweep; values are read as they are used."""
        data: xr.Dataset = xr.open_zarr(self.path, chunks=None)
        return data

    def _array(self, name: str) -> Any:
        import zarr

        if name not in self._arrays:
            # Without this a chunk of nothing but the fill value would not be written.
            with zarr.config.set({"array.write_empty_chunks": True}):
                self._arrays[name] = zarr.open_array(self.path / name, mode="r+")

        return self._arrays[name]


def store_status(path: str | os.PathLike[str]) -> StoreStatus:
    """Say how far the store of a sweep is, checking every finished tile against its sums."""
    place, layout, described = _opened(path)
    states = [_check(place, layout, number) for number in range(layout.total)]
    return StoreStatus(
        layout.total, states.count(True), states.count(False), described["made_with"]
    )


def open_store(path: str | os.PathLike[str]) -> tuple[xr.Dataset, np.ndarray[Any, Any]]:
    """Open a store, finished or not; give its dataset and which pixels of it are there."""
    place, layout, _ = _opened(path)
    there = np.zeros(layout.shape, dtype=bool)
    for number in range(layout.total):
        there[layout.box(number)] = _check(place, layout, number) is True

    return xr.open_zarr(place, chunks=None), there


def _opened(path: str | os.PathLike[str]) -> tuple[Path, _TileGrid, dict[str, Any]]:
    _require_zarr()
    place = Path(path)
    if not place.exists():
        raise Refusal("store", "the store of a sweep", place, "there is none")

    described = _attributes(place)
    return place, _TileGrid(tuple(described["shape"]), tuple(described["chunk"])), described


def _require_zarr() -> None:
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise ImportError("a store needs Zarr: python -m pip install 'ravine[store]'") from None


def _create(
    path: Path, spec: Spec, names: list[str], layout: _TileGrid, made_with: dict[str, str]
) -> None:
    """Write a store without tiles under another name, then give it its own."""
    import zarr
    from zarr.codecs import ZstdCodec

    blank: dict[str, Any] = {}
    encoding: dict[str, dict[str, Any]] = {}
    for name in names:
        dtype = variable_dtype(name)
        fill = dtype.type(np.nan if dtype.kind == "f" else -1)
        blank[name] = np.broadcast_to(fill, spec.shape)
        # No _FillValue: xarray would put its own NaN in the place of every other.
        encoding[name] = {
            "chunks": layout.chunk,
            "compressors": (ZstdCodec(level=1, checksum=True),),
            "fill_value": fill.item(),
            "_FillValue": None,
        }

    data = new_dataset(spec, blank)
    encoding |= {str(name): {"_FillValue": None} for name in data.coords}
    attributes = {
        "format": _FORMAT,
        "shape": list(layout.shape),
        "chunk": list(layout.chunk),
        "made_with": made_with,
    }

    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    shutil.rmtree(new, ignore_errors=True)

    try:
        data.to_zarr(new, mode="w", zarr_format=3, consolidated=False, encoding=encoding)
        zarr.open_group(new, mode="r+").create_group(_RECORDS, attributes=attributes)
        with warnings.catch_warnings():
            # All versions of zarr-python and xarray that we support read it.
            warnings.filterwarnings("ignore", message="Consolidated metadata is currently not")
            zarr.consolidate_metadata(new)
        _sort_metadata(new / "zarr.json", [str(name) for name in data.variables])
        new.rename(path)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _sort_metadata(file: Path, names: list[str]) -> None:
    """Put variables in their own order: Zarr lists them in the order the disk answers."""
    content = json.loads(file.read_text(encoding="utf-8"))
    listed = content["consolidated_metadata"]["metadata"]
    order = {name: listed[name] for name in (*names, _RECORDS)}
    content["consolidated_metadata"]["metadata"] = order
    file.write_text(json.dumps(content, indent=2), encoding="utf-8")


def _attributes(path: Path) -> dict[str, Any]:
    """What the store says about itself."""
    try:
        text = (path / _RECORDS / "zarr.json").read_text(encoding="utf-8")
        described: dict[str, Any] = json.loads(text)["attributes"]
        if described["format"] != _FORMAT:
            raise KeyError
    except (OSError, ValueError, KeyError):
        rule = "a new path, or the store of a sweep"
        remedy = "it holds something else, give another path"
        raise Refusal("store", rule, path, remedy) from None

    return described


def _refuse_other(path: Path, described: dict[str, str], wanted: dict[str, str]) -> None:
    names = [n for n in (*wanted, *described) if described.get(n) != wanted.get(n)]
    if names:
        shown = "; ".join(
            f"{name} {described.get(name, 'unknown')}, not {wanted.get(name, 'unknown')}"
            for name in dict.fromkeys(names)
        )
        remedy = "give the arguments and versions it was made with, or another path"
        raise Refusal("store", "of this very sweep", f"{path} made with {shown}", remedy)


def _locked(path: Path) -> int:
    """Lock the store until the descriptor is closed, or the process ends in any way."""
    handle = os.open(path / _RECORDS / "lock", os.O_RDWR | os.O_CREAT)
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass  # a system without such locks
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(handle)
            remedy = "wait for the other run to end"
            raise Refusal("store", "free", f"{path}, which a run writes to now", remedy) from None

    return handle


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


def _chunk_file(path: Path, name: str, chunk: tuple[int, ...]) -> Path:
    return path.joinpath(name, "c", *map(str, chunk))


def _record_file(path: Path, number: int) -> Path:
    return path / _RECORDS / f"{number:08d}.json"


def _flushed_sum(file: Path) -> str:
    """Bring a file to the disk; return the SHA-256 of its bytes."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check(path: Path, layout: _TileGrid, number: int) -> bool | None:
    """Whether a recorded tile is as it was written; None if there is no record."""
    chunk = layout.chunk_of(number)
    try:
        record = json.loads(_record_file(path, number).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return False

    try:
        return record["tile"] == list(layout.tile(number)) and all(
            hashlib.sha256(_chunk_file(path, name, chunk).read_bytes()).hexdigest() == kept
            for name, kept in record["sha256"].items()
        )
    except (OSError, KeyError, AttributeError, TypeError):
        return False
