"""What can happen to a store on disk: a table of damages, each with what must come of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


class Outcome(Enum):
    """What must come of a damage."""

    RESTORED = "readers refuse the store and name --resume, which brings every byte back"
    UNREADABLE = "readers refuse the store; --resume computes what is missing"
    UNFINISHED = "a tile is missing: readers go without it, --resume computes it"
    HARMLESS = "the store is whole, with the same values"
    LOST = "readers and --resume refuse the store, each in one line"


@dataclass(frozen=True)
class Damage:
    """One thing that happens to a store."""

    name: str
    outcome: Outcome
    harm: Callable[[Path], None]


CHUNK = "rate/c/1/0"
OTHER_CHUNK = "rate/c/2/0"
RECORD = "tiles/00000001.json"
HEADER = "tiles/header.json"


def _cut(name: str, share: float, store: Path) -> None:
    file = store / name
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])


def _append(name: str, store: Path) -> None:
    with (store / name).open("ab") as stream:
        stream.write(b"\0")


def _flip(name: str, where: float, store: Path) -> None:
    file = store / name
    content = bytearray(file.read_bytes())
    content[int(where * (len(content) - 1))] ^= 1
    file.write_bytes(content)


def _remove(name: str, store: Path) -> None:
    place = store / name
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()


def _swap(one: str, other: str, store: Path) -> None:
    aside = store / "aside"
    (store / one).rename(aside)
    (store / other).rename(store / one)
    aside.rename(store / other)


def _write(name: str, content: bytes, store: Path) -> None:
    _remove(name, store)
    (store / name).write_bytes(content)


def _copy(name: str, other: str, store: Path) -> None:
    """Another file of the store in the place of a file."""
    _write(name, (store / other).read_bytes(), store)


def _zeros(name: str, store: Path) -> None:
    """A file of zeros, as long as before: what some file systems leave after a crash."""
    _write(name, bytes((store / name).stat().st_size), store)


def _linked_copy(name: str, store: Path) -> None:
    """The same bytes, in another place."""
    elsewhere = store.parent / f"{store.name}-elsewhere"
    (store / name).rename(elsewhere)
    (store / name).symlink_to(elsewhere)


def _change(name: str, change: Callable[[Any], None], store: Path) -> None:
    """Change the content of a JSON file."""
    file = store / name
    first, *others = file.read_text(encoding="utf-8").rsplit("\n", int(name == HEADER))
    content = json.loads(first)
    change(content)
    file.write_text("\n".join([json.dumps(content), *others]), encoding="utf-8")


def _set(keys: tuple[str, ...], value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


def _drop(keys: tuple[str, ...]) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return change


def _other_array(name: str, store: Path) -> None:
    """Another array, whole and readable, in the place of a coordinate."""
    import zarr

    array = zarr.open_array(store / name, mode="r+", zarr_format=3)
    array[:] = np.asarray(array[:]) * 1.5


def _half_chunk(store: Path) -> None:
    """What a crash leaves: chunks that are cut, and no record."""
    _remove(RECORD, store)
    _cut(CHUNK, 0.5, store)


def _of_an_older_version(store: Path) -> None:
    """A store as ravine 0.2 wrote it: without a header."""
    (store / HEADER).rename(store / "tiles" / "seal")


def _begun(store: Path) -> None:
    """What is left of a run that was killed while it created the store."""
    for file in store.rglob("*"):
        if file.is_file() and file.name != "zarr.json":
            file.unlink()
    (store / "tiles" / "new").mkdir()


def _another_sweep(store: Path) -> None:
    """A whole tile of a sweep with other arguments: chunks and record."""
    _change(RECORD, _set(("sweep",), "0" * 64), store)


def _exchanged_tiles(store: Path) -> None:
    """Two tiles in each other's place, with their records."""
    for file in list(store.glob("*/c/1/0")):
        name = file.relative_to(store).as_posix()
        _swap(name, name.replace("/1/0", "/2/0"), store)
    _swap(RECORD, "tiles/00000002.json", store)


def _nothing_left(store: Path) -> None:
    shutil.rmtree(store)
    store.mkdir()


def _a_file(store: Path) -> None:
    shutil.rmtree(store)
    store.write_bytes(b"no store")


def _extra(name: str, content: bytes, store: Path) -> None:
    (store / name).parent.mkdir(parents=True, exist_ok=True)
    (store / name).write_bytes(content)


FILES = {
    "chunk": CHUNK,
    "record": RECORD,
    "header": HEADER,
    "root metadata": "zarr.json",
    "variable's metadata": "rate/zarr.json",
    "coordinate's metadata": "alpha/zarr.json",
    "coordinate": "beta/c/0",
}
"""One file of each kind."""

_TO_ANY_FILE: dict[str, Callable[[str, Path], None]] = {
    "cut to half": lambda name, store: _cut(name, 0.5, store),
    "without its last byte": lambda name, store: _cut(name, 1.0 - 1e-9, store),
    "emptied": lambda name, store: _cut(name, 0.0, store),
    "one byte longer": _append,
    "flipped at its beginning": lambda name, store: _flip(name, 0.0, store),
    "flipped in the middle": lambda name, store: _flip(name, 0.5, store),
    "flipped at its end": lambda name, store: _flip(name, 1.0, store),
    "missing": _remove,
    "full of zeros": _zeros,
    "not UTF-8": lambda name, store: _write(name, bytes(range(256)), store),
    "a copy of another file": lambda name, store: _copy(name, OTHER_CHUNK, store),
    "a link to its own copy": _linked_copy,
}


def _outcome(harm: str, kind: str) -> Outcome:
    if harm == "a link to its own copy":
        return Outcome.HARMLESS
    if kind == "header":
        return Outcome.LOST
    if (harm, kind) == ("missing", "record"):
        return Outcome.UNFINISHED

    return Outcome.RESTORED


GENERAL = [
    Damage(f"{kind} {harm}", _outcome(harm, kind), partial(change, name))
    for kind, name in FILES.items()
    for harm, change in _TO_ANY_FILE.items()
]
"""Every file, harmed in every way."""

SPECIAL = [
    Damage("chunks swapped", Outcome.RESTORED, partial(_swap, CHUNK, OTHER_CHUNK)),
    Damage(
        "chunks of two variables swapped", Outcome.RESTORED, partial(_swap, CHUNK, "floor/c/1/0")
    ),
    Damage("tiles exchanged with records", Outcome.RESTORED, _exchanged_tiles),
    Damage("chunk of a tile without record cut", Outcome.UNREADABLE, _half_chunk),
    Damage("record without sum", Outcome.RESTORED, partial(_change, RECORD, _drop(("sha256",)))),
    Damage("record with no sum", Outcome.RESTORED, partial(_change, RECORD, _set(("sha256",), ""))),
    Damage("record is null", Outcome.RESTORED, partial(_write, RECORD, b"null")),
    Damage(
        "record of other pixels",
        Outcome.RESTORED,
        partial(_change, RECORD, _set(("tile",), [0, 9])),
    ),
    Damage("record of another sweep", Outcome.RESTORED, _another_sweep),
    Damage(
        "record of another tile",
        Outcome.RESTORED,
        lambda store: _write(RECORD, (store / "tiles/00000002.json").read_bytes(), store),
    ),
    Damage("other step sizes", Outcome.RESTORED, partial(_other_array, "alpha")),
    Damage("other momenta", Outcome.RESTORED, partial(_other_array, "beta")),
    Damage("step sizes and momenta swapped", Outcome.RESTORED, partial(_swap, "alpha", "beta")),
    Damage(
        "variable of another dtype",
        Outcome.RESTORED,
        partial(_change, "rate/zarr.json", _set(("data_type",), "int64")),
    ),
    Damage(
        "variable of another shape",
        Outcome.RESTORED,
        partial(_change, "rate/zarr.json", _set(("shape",), [10**9, 10**9])),
    ),
    Damage(
        "variable with another filling",
        Outcome.RESTORED,
        partial(_change, "rate/zarr.json", _set(("fill_value",), 1.0)),
    ),
    Damage(
        "dataset's attribute changed",
        Outcome.RESTORED,
        partial(_change, "zarr.json", _set(("attributes", "L"), 2.0)),
    ),
    Damage(
        "dataset without its attributes",
        Outcome.RESTORED,
        partial(_change, "zarr.json", _drop(("attributes",))),
    ),
    Damage(
        "dataset without consolidated metadata",
        Outcome.RESTORED,
        partial(_change, "zarr.json", _drop(("consolidated_metadata",))),
    ),
    *(
        Damage(
            f"header: {key} {value!r:.40}",
            Outcome.LOST,
            partial(_change, HEADER, _set((key,), value)),
        )
        for key, value in [
            ("chunk", [0, 5]),
            ("shape", [-6, 5]),
            ("shape", [10**18, 10**18]),
            ("files", {}),
            ("variables", ["rate"]),
            ("made_with", {}),
            ("format", 1),
        ]
    ),
    Damage("a variable's folder missing", Outcome.RESTORED, partial(_remove, "rate")),
    Damage("a variable's chunks missing", Outcome.RESTORED, partial(_remove, "rate/c")),
    Damage("a coordinate's folder missing", Outcome.RESTORED, partial(_remove, "alpha")),
    Damage("a variable moved to another disk", Outcome.HARMLESS, partial(_linked_copy, "rate")),
    Damage("a strange file", Outcome.HARMLESS, partial(_extra, "notes.txt", b"hello")),
    Damage("a strange record", Outcome.HARMLESS, partial(_extra, "tiles/99999999.json", b"{")),
    Damage("a strange chunk", Outcome.HARMLESS, partial(_extra, "rate/c/77/0", b"{")),
    Damage("a strange variable", Outcome.HARMLESS, partial(_extra, "guess/zarr.json", b"{")),
    Damage("metadata of Zarr 2 beside", Outcome.HARMLESS, partial(_extra, ".zgroup", b"{}")),
    Damage(
        "array metadata of Zarr 2 beside", Outcome.HARMLESS, partial(_extra, "rate/.zarray", b"{}")
    ),
    Damage(
        "what a killed run leaves", Outcome.HARMLESS, partial(_extra, "rate/c/1/0.1.partial", b"x")
    ),
    Damage(
        "what a killed restoration leaves",
        Outcome.HARMLESS,
        partial(_extra, "tiles/new/zarr.json", b"x"),
    ),
    Damage("killed while it was created", Outcome.UNREADABLE, _begun),
    Damage("the folder of records missing", Outcome.LOST, partial(_remove, "tiles")),
    Damage("the folder of records a file", Outcome.LOST, partial(_write, "tiles", b"")),
    Damage("of ravine 0.2", Outcome.LOST, _of_an_older_version),
    Damage("an empty folder", Outcome.UNREADABLE, _nothing_left),
    Damage("a file", Outcome.LOST, _a_file),
]
"""What happens to one place only."""

DAMAGES = [*SPECIAL, *GENERAL]
