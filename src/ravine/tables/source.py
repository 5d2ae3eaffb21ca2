"""Files and bytes opened with care: regular files only, unpacked while read, within limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ravine.arguments import Refusal, whole

MAX_LINE = 2**25
"""Bytes of a line of text: the most columns at 300 bytes each."""
MAX_RATIO = 200
"""Largest allowed growth of a file when it is unpacked. Tables of text shrink 3 to 50 times when
packed; a file that approaches deflate's limit of 1032 holds next to no information."""
_SMALL = 2**26
"""Bytes below which any growth is harmless."""
_BLOCK = 2**20
"""Bytes that are read at a time."""
_OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
"""By the first bytes of a compressed stream."""
_ZIP = b"PK\x03\x04"
UNPACKING_ERRORS = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
                    RuntimeError, NotImplementedError)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """How large a table may be; checked before the memory is taken.

    Attributes
    ----------
    rows, columns, classes
        The most that are read. Text columns count as the columns they are encoded to. Each class
        of a target has its own weights, so the model grows with the classes.
    bytes
        The most that unpacked text, or the numbers of the table, may take.
    trusted
        Whether the user chose ``bytes``: then a packed file may grow to it at any ratio.

    Examples
    --------
    >>> limits = Limits.of(max_columns=10)
    >>> limits.columns, limits.rows, limits.trusted
    (10, 50000000, False)
    """

    rows: int = 50_000_000
    columns: int = 100_000
    classes: int = 100
    bytes: int = 4 * 2**30
    trusted: bool = False

    @classmethod
    def of(cls, **most: int | None) -> Limits:
        """Limits from options ``max_rows``, ``max_columns``, ...; the defaults where None."""
        chosen = {
            name.removeprefix("max_"): whole(name, value, 1, remedy="give a count, e.g. 1000000")
            for name, value in most.items()
            if value is not None
        }
        return cls(**chosen, trusted="bytes" in chosen)

    def check_classes(self, classes: int) -> None:
        """Refuse a target with too many classes."""
        self._check("the target", classes, "classes", "classes")

    def check_bytes(self, size: int, *, packed: int | None = None, what: str = "unpacked") -> None:
        """Refuse a size in bytes, and one that is suspiciously larger than the ``packed`` one."""
        self._check("DATA", size, "bytes", f"bytes {what}")
        if packed is not None and size > max(_SMALL, MAX_RATIO * packed) and not self.trusted:
            rule = f"at most {MAX_RATIO} times its packed size"
            value = f"{size:,} bytes or more from {packed:,}"
            raise Refusal("DATA", rule, value, f"use --max-bytes {self.bytes} to allow it")

    def check_shape(self, rows: int, columns: int, *, packed: int | None = None) -> None:
        """Refuse a table of float64 numbers that is too long, too wide or too large."""
        self._check("DATA", columns, "columns", "columns")
        self._check("DATA", rows, "rows", "rows")
        # A float64 has 8 bytes.
        self.check_bytes(8 * rows * columns, packed=packed, what="of numbers")

    def _check(self, name: str, count: int, limit: str, what: str) -> None:
        most = getattr(self, limit)
        if count > most:
            remedy = f"raise the limit with --max-{limit} (max_{limit}=)"
            raise Refusal(name, f"of at most {most:,} {what}", f"{count:,}", remedy)


@contextmanager
def readable(name: str, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn the errors of a library into the refusal of a broken file."""
    try:
        yield
    except Refusal:
        raise
    except errors as error:
        raise broken(name, kind, error) from None


def needed(module: str) -> Any:
    """Import a library that is optional."""
    try:
        return import_module(module)
    except ImportError:
        name = {"sklearn": "scikit-learn"}.get(module.partition(".")[0], "pyarrow")
        line = f"this data needs {name}, which is not installed: pip install 'ravine[data]'"
        raise ImportError(line) from None


def broken(name: str, kind: str, error: object) -> Refusal:
    """The refusal of a file that cannot be read as what it claims to be."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return Refusal("DATA", f"a readable {kind} file", f"{name} ({reason})", "write it again")


@dataclass(frozen=True)
class Source:
    """A file, or bytes in memory, that can be opened repeatedly and is unpacked while read.

    Attributes
    ----------
    file
        A path, or the content.
    label
        What messages and the table call it.
    name
        The name that may hint at the format: without ``.gz``, or that of the archive's member.
    size
        Bytes before unpacking.
    limits
        How large the table may be.
    head
        The first megabyte, unpacked; nothing for a zip archive of arrays (NPZ).
    packing
        ``""``, ``"stream"`` (gzip, bzip2 or xz), ``"zip"``, or ``"npz"`` for a zip of arrays.
    member
        The member of a zip archive.
    """

    file: Path | bytes
    label: str
    name: str
    size: int
    limits: Limits
    head: bytes = b""
    packing: str = ""
    member: str = ""

    def raw(self) -> IO[bytes]:
        """The bytes as they are."""
        return io.BytesIO(self.file) if isinstance(self.file, bytes) else self.file.open("rb")

    def open(self, *, lines: bool = False) -> IO[bytes]:
        """The unpacked bytes as a stream that refuses to pass the limits.

        With ``lines`` it also refuses text that goes on without the end of a line.
        """
        file = self.raw()
        unpacked: Any = file
        try:
            if self.packing == "zip":
                unpacked = zipfile.ZipFile(file).open(self.member)  # noqa: SIM115, closed below
            elif self.packing:
                start = file.read(8)
                file.seek(0)
                unpacked = next(f for magic, f in _OPENERS.items() if start.startswith(magic))(file)
        except UNPACKING_ERRORS as error:
            raise broken(self.label, "packed", error) from None

        return io.BufferedReader(_Guarded(unpacked, file, self, lines), _BLOCK)


class _Guarded(io.RawIOBase):
    """A stream that counts what it returns, and refuses to pass the limits."""

    def __init__(self, unpacked: Any, file: IO[bytes], source: Source, lines: bool) -> None:
        self._unpacked = unpacked
        self._file = file
        self._source = source
        self._lines = lines
        self._returned = 0
        self._line = 0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, count, and refuse what is too much."""
        with readable(self._source.name, "packed", *UNPACKING_ERRORS):
            part = self._unpacked.read(len(buffer))

        self._returned += len(part)
        # Compared with the part of the file read so far: a bomb shows long before its end.
        self._source.limits.check_bytes(self._returned, packed=max(1, self._file.tell()))
        if self._lines:
            end = max(part.rfind(b"\n"), part.rfind(b"\r"))
            self._line = len(part) - end - 1 + (self._line if end < 0 else 0)
            if self._line > MAX_LINE:
                rule = f"text in lines of at most {MAX_LINE:,} bytes"
                value = f"a longer line in {self._source.name}"
                raise Refusal("DATA", rule, value, "write one row on each line")

        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close what it reads from."""
        self._unpacked.close()
        self._file.close()
        super().close()


def find_source(data: Path | bytes, limits: Limits, label: str) -> Source:
    """Look at a file or at bytes: packing, name of the format, first bytes."""
    if isinstance(data, Path) and not stat.S_ISREG(data.stat().st_mode):
        value = f"{data}, a folder, pipe or device"
        raise Refusal("DATA", "a file", value, "give the name of a regular file")

    size = len(data) if isinstance(data, bytes) else data.stat().st_size
    source = Source(data, label, label, size, limits)
    with source.raw() as file:
        start = file.read(8)

    if start.startswith(_ZIP):
        source = _zip_source(source)
    elif start.startswith(tuple(_OPENERS)):
        is_ending = Path(label).suffix.lower() in (".gz", ".bz2", ".xz")
        source = replace(source, packing="stream", name=Path(label).stem if is_ending else label)
    else:
        limits.check_bytes(size, what="in the file")

    if source.packing == "npz":
        return source

    with source.open() as stream:
        source = replace(source, head=stream.read(_BLOCK))

    _refuse_other_formats(source)
    return source


def _zip_source(source: Source) -> Source:
    """The one file in a zip archive, or an archive of arrays."""
    kind = "NPZ" if source.label.endswith(".npz") else "zip"
    with (
        readable(source.label, kind, *UNPACKING_ERRORS),
        source.raw() as raw,
        zipfile.ZipFile(raw) as archive,
    ):
        hidden = ("__MACOSX", ".")
        files = [
            info
            for info in archive.infolist()
            if not info.is_dir() and not info.filename.startswith(hidden)
        ]

    names = [info.filename for info in files]
    if any(name.startswith("xl/") for name in names):
        value = f"an Excel workbook, {source.label}"
        raise Refusal("DATA", "a table", value, "save it as CSV or Parquet")
    if names and all(name.endswith(".npy") for name in names):
        return replace(source, packing="npz")
    if len(names) != 1:
        value = f"{len(names)} ({', '.join(names[:5]) or 'none':.80})"
        raise Refusal("DATA", "a zip archive with one file", value, "unpack it and name one file")

    source.limits.check_bytes(files[0].file_size, packed=source.size)
    return replace(source, packing="zip", member=names[0], name=Path(names[0]).name)


def _refuse_other_formats(source: Source) -> None:
    if not source.head:
        raise Refusal("DATA", "a file with rows", f"the empty file {source.label}", "fill it")
    if source.packing and source.head.startswith((_ZIP, *_OPENERS)):
        value = f"an archive in an archive, {source.name}"
        raise Refusal("DATA", "packed once", value, "unpack it once")

    other = (b"\x80", b"\x89hdf", b"%pdf", b"<!doctype", b"<html", b"<?xml")
    if source.head.lstrip()[:16].lower().startswith(other):
        value = f"{source.name}, a pickle, HDF5 file, PDF or web page"
        raise Refusal("DATA", "a table", value, "save it as CSV or Parquet")
