"""What can happen to a store on disk: a table of damages, each with what must come of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


class Fate(Enum):
    """What must come of a damage."""

    MENDED = "readers refuse the store and name --resume, which brings every byte back"
    UNFINISHED = "a tile is missing: readers go without it, --resume computes it"
    HARMLESS = "the store is whole, with the same values"
    LOST = "readers and --resume refuse the store, each in one line"


@dataclass(frozen=True)
class Damage:
    """One thing that happens to a store."""

    name: str
    fate: Fate
    harm: Callable[[Path], None]


CHUNK = "rate/c/1/0"
OTHER_CHUNK = "rate/c/2/0"
RECORD = "tiles/00000001.json"
SEAL = "tiles/seal"
ATTRIBUTES = "tiles/zarr.json"


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


def _folder(name: str, store: Path) -> None:
    _remove(name, store)
    (store / name).mkdir()


def _pipe(name: str, store: Path) -> None:
    _remove(name, store)
    os.mkfifo(store / name)


def _link(name: str, target: str, store: Path) -> None:
    _remove(name, store)
    (store / name).symlink_to(store / target if target != name else store / name)


def _linked_copy(name: str, store: Path) -> None:
    """The same bytes, in another place."""
    elsewhere = store.parent / f"{store.name}-elsewhere"
    (store / name).rename(elsewhere)
    (store / name).symlink_to(elsewhere)


def _change(name: str, change: Callable[[Any], None], store: Path) -> None:
    """Change the content of a JSON file."""
    file = store / name
    content = json.loads(file.read_bytes())
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


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


def _both(store: Path) -> None:
    _write(SEAL, b"", store)
    _write(ATTRIBUTES, b"{}", store)


def _of_format_1(store: Path) -> None:
    """A store as ravine 0.1.0 wrote it."""
    _remove(SEAL, store)

    def older(content: Any) -> None:
        content["attributes"]["format"] = 1
        del content["attributes"]["variables"]

    _change(ATTRIBUTES, older, store)
    for file in store.glob("tiles/0*.json"):
        _change(f"tiles/{file.name}", _drop(("sweep",)), store)


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


_DEEP = b'{"sha256": ' * 100_000
_BINARY = bytes(range(256))

FILES = {
    "chunk": CHUNK,
    "record": RECORD,
    "seal": SEAL,
    "attributes": ATTRIBUTES,
    "root metadata": "zarr.json",
    "variable's metadata": "rate/zarr.json",
    "coordinate's metadata": "alpha/zarr.json",
    "coordinate": "beta/c/0",
}
"""One file of each kind."""

_TO_ANY_FILE: dict[str, Callable[[str, Path], None]] = {
    "cut to half": lambda name, store: _cut(name, 0.5, store),
    "emptied": lambda name, store: _cut(name, 0.0, store),
    "one byte longer": _append,
    "flipped in the middle": lambda name, store: _flip(name, 0.5, store),
    "flipped at its end": lambda name, store: _flip(name, 1.0, store),
    "missing": _remove,
    "a folder": _folder,
    "a pipe": _pipe,
    "a link to itself": lambda name, store: _link(name, name, store),
    "a link to another file": lambda name, store: _link(name, OTHER_CHUNK, store),
    "not UTF-8": lambda name, store: _write(name, _BINARY, store),
    "deeply nested": lambda name, store: _write(name, _DEEP, store),
    "a link to its own copy": _linked_copy,
}
_EXCEPTIONS = {
    ("missing", "record"): Fate.UNFINISHED,
}


def _fate(harm: str, kind: str) -> Fate:
    if harm == "a link to its own copy":
        return Fate.HARMLESS

    return _EXCEPTIONS.get((harm, kind), Fate.MENDED)


GENERAL = [
    Damage(f"{kind} {harm}", _fate(harm, kind), partial(change, name))
    for kind, name in FILES.items()
    for harm, change in _TO_ANY_FILE.items()
]
"""Every file, harmed in every way."""

SPECIAL = [
    Damage("chunks swapped", Fate.MENDED, partial(_swap, CHUNK, OTHER_CHUNK)),
    Damage("chunks of two variables swapped", Fate.MENDED, partial(_swap, CHUNK, "floor/c/1/0")),
    Damage("tiles exchanged with records", Fate.MENDED, _exchanged_tiles),
    Damage("chunk of a tile without record cut", Fate.UNFINISHED, _half_chunk),
    Damage("record without sums", Fate.MENDED, partial(_change, RECORD, _drop(("sha256",)))),
    Damage("record with no sum", Fate.MENDED, partial(_change, RECORD, _set(("sha256",), {}))),
    Damage(
        "record with some of the sums",
        Fate.MENDED,
        partial(_change, RECORD, _drop(("sha256", "rate"))),
    ),
    Damage(
        "record with sums in a list",
        Fate.MENDED,
        partial(_change, RECORD, _set(("sha256",), ["rate"])),
    ),
    Damage("record is null", Fate.MENDED, partial(_write, RECORD, b"null")),
    Damage(
        "record of other pixels", Fate.MENDED, partial(_change, RECORD, _set(("tile",), [0, 9]))
    ),
    Damage("record of another sweep", Fate.MENDED, _another_sweep),
    Damage(
        "record of another tile",
        Fate.MENDED,
        lambda store: _write(RECORD, (store / "tiles/00000002.json").read_bytes(), store),
    ),
    Damage("other step sizes", Fate.MENDED, partial(_other_array, "alpha")),
    Damage("other momenta", Fate.MENDED, partial(_other_array, "beta")),
    Damage("step sizes and momenta swapped", Fate.MENDED, partial(_swap, "alpha", "beta")),
    Damage(
        "variable of another dtype",
        Fate.MENDED,
        partial(_change, "rate/zarr.json", _set(("data_type",), "int64")),
    ),
    Damage(
        "variable of another shape",
        Fate.MENDED,
        partial(_change, "rate/zarr.json", _set(("shape",), [10**9, 10**9])),
    ),
    Damage(
        "variable with another filling",
        Fate.MENDED,
        partial(_change, "rate/zarr.json", _set(("fill_value",), 1.0)),
    ),
    Damage(
        "dataset's attribute changed",
        Fate.MENDED,
        partial(_change, "zarr.json", _set(("attributes", "L"), 2.0)),
    ),
    Damage(
        "dataset without its attributes",
        Fate.MENDED,
        partial(_change, "zarr.json", _drop(("attributes",))),
    ),
    Damage(
        "dataset without consolidated metadata",
        Fate.MENDED,
        partial(_change, "zarr.json", _drop(("consolidated_metadata",))),
    ),
    *(
        Damage(
            f"attributes: {key} {value!r:.40}",
            Fate.MENDED,
            partial(_change, ATTRIBUTES, _set(("attributes", key), value)),
        )
        for key, value in [
            ("chunk", [0, 5]),
            ("chunk", [-1, 5]),
            ("chunk", [2.5, 5]),
            ("chunk", "2"),
            ("chunk", []),
            ("shape", [-5, 5]),
            ("shape", [10**18, 10**18]),
            ("shape", [10**400]),
            ("shape", None),
            ("shape", [[6], [5]]),
            ("made_with", {}),
            ("made_with", "ravine"),
            ("made_with", {"steps": 3}),
            ("format", 3),
            ("format", "1"),
        ]
    ),
    *(
        Damage(
            f"attributes without {key}",
            Fate.MENDED,
            partial(_change, ATTRIBUTES, _drop(("attributes", key))),
        )
        for key in ("chunk", "shape", "made_with", "format")
    ),
    Damage("attributes missing", Fate.MENDED, partial(_change, ATTRIBUTES, _drop(("attributes",)))),
    *(
        Damage(
            f"seal: {key} {value!r:.40}", Fate.MENDED, partial(_change, SEAL, _set((key,), value))
        )
        for key, value in [
            ("chunk", [0, 5]),
            ("shape", [-6, 5]),
            ("shape", [10**18, 10**18]),
            ("files", {}),
            ("variables", ["rate"]),
            ("made_with", {}),
            ("sha256", "0" * 64),
            ("format", 1),
        ]
    ),
    Damage("a variable's folder missing", Fate.MENDED, partial(_remove, "rate")),
    Damage("a variable's folder a file", Fate.MENDED, partial(_write, "rate", b"")),
    Damage("a variable's chunks a file", Fate.MENDED, partial(_write, "rate/c", b"")),
    Damage("a row of chunks a file", Fate.MENDED, partial(_write, "rate/c/1", b"")),
    Damage("a variable linked to another", Fate.MENDED, partial(_link, "rate", "floor")),
    Damage("chunks linked to another's", Fate.MENDED, partial(_link, "rate/c", "floor/c")),
    Damage("chunks linked to nowhere", Fate.MENDED, partial(_link, "rate/c", "nowhere")),
    Damage("a coordinate's folder missing", Fate.MENDED, partial(_remove, "alpha")),
    Damage("a coordinate's folder a file", Fate.MENDED, partial(_write, "alpha", b"")),
    Damage("a coordinate linked to the other", Fate.MENDED, partial(_link, "alpha", "beta")),
    Damage("a variable moved to another disk", Fate.HARMLESS, partial(_linked_copy, "rate")),
    Damage("a strange file", Fate.HARMLESS, partial(_extra, "notes.txt", b"hello")),
    Damage("a strange record", Fate.HARMLESS, partial(_extra, "tiles/99999999.json", b"{")),
    Damage("a strange chunk", Fate.HARMLESS, partial(_extra, "rate/c/77/0", b"{")),
    Damage("a strange variable", Fate.HARMLESS, partial(_extra, "guess/zarr.json", b"{")),
    Damage("metadata of Zarr 2 beside", Fate.HARMLESS, partial(_extra, ".zgroup", b"{}")),
    Damage(
        "array metadata of Zarr 2 beside", Fate.HARMLESS, partial(_extra, "rate/.zarray", b"{}")
    ),
    Damage(
        "what a killed run leaves", Fate.HARMLESS, partial(_extra, "rate/c/1/0.1.partial", b"x")
    ),
    Damage(
        "what a killed mending leaves", Fate.HARMLESS, partial(_extra, ".mending/zarr.json", b"x")
    ),
    Damage("seal and attributes", Fate.LOST, _both),
    Damage("the group of records missing", Fate.LOST, partial(_remove, "tiles")),
    Damage("the group of records a file", Fate.LOST, partial(_write, "tiles", b"")),
    Damage("the group of records linked", Fate.LOST, partial(_link, "tiles", "rate")),
    Damage("of ravine 0.1.0", Fate.LOST, _of_format_1),
    Damage("an empty folder", Fate.LOST, _nothing_left),
    Damage("a file", Fate.LOST, _a_file),
    Damage("a strange folder as lock", Fate.HARMLESS, partial(_folder, "tiles/lock")),
]
"""What happens to one place only."""

DAMAGES = [*SPECIAL, *GENERAL]
