"""Files and bytes opened with care: regular files only, unpacked while read, within the limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from ravine.arguments import Refusal
from ravine.tables.limits import MAX_LINE, Limits, amount

_PACKED: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
"""First bytes of compressed streams."""
_ZIP = b"PK\x03\x04"
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "a zstd archive", b"\x89HDF": "an HDF5 file", b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle", b"\x80\x04": "a pickle", b"\x80\x05": "a pickle",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook", b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7z archive", b"\x7fELF": "a program", b"%PDF": "a PDF",
    b"RDX": "an R workspace", b"SQLite": "an SQLite database", b"<!DOC": "a web page",
    b"<html": "a web page",
}  # fmt: skip
"""First bytes of formats that are not read."""
UNPACKING_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
                    RuntimeError, NotImplementedError)  # fmt: skip
_BLOCK = 2**20
"""Bytes that are read at a time."""


def broken(name: str, kind: str, error: object) -> Refusal:
    """The refusal of a file that cannot be read as what it claims to be."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return Refusal("DATA", f"a readable {kind} file", f"{name} ({reason})", "write it again")


def _regular_file(path: Path) -> int:
    """The size of a regular file in bytes; refuses everything else without opening it."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Refusal("DATA", "a file", f"{str(path)!r:.80} ({reason})", "check the name") from None

    mode = status.st_mode
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
        kind = kinds.get(stat.S_IFMT(mode), "device")
        raise Refusal("DATA", "a file", f"the {kind} {path}", "give the name of a regular file")
    if not os.access(path, os.R_OK):
        raise Refusal("DATA", "readable", f"{path} (permission denied)", "change its permissions")

    return status.st_size


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
    packing
        ``""``, ``"gzip"``, ``"bzip2"``, ``"xz"``, ``"zip"``, or ``"npz"`` for a zip of arrays.
    member
        The member of a zip archive.
    head
        The first bytes, unpacked.
    """

    file: Path | bytes
    label: str
    name: str
    size: int
    packing: str = ""
    member: str = ""
    head: bytes = b""

    def raw(self) -> IO[bytes]:
        """The bytes as they are."""
        return io.BytesIO(self.file) if isinstance(self.file, bytes) else self.file.open("rb")

    def open(self, limits: Limits, *, lines: bool = False) -> IO[bytes]:
        """The unpacked bytes as a stream that refuses to pass the limits.

        With ``lines`` it also refuses text that goes on without the end of a line.
        """
        file = self.raw()
        unpacked: Any = file
        if self.packing == "zip":
            try:
                unpacked = zipfile.ZipFile(file).open(self.member)  # noqa: SIM115, closed below
            except (*UNPACKING_ERRORS, ValueError) as error:
                raise broken(self.label, "zip", error) from None
        elif self.packing:
            unpacked = dict(_PACKED.values())[self.packing](file)

        return io.BufferedReader(_Guarded(unpacked, file, limits, self.name, lines), _BLOCK)

    def archive(self, kind: str) -> zipfile.ZipFile:
        """The zip archive that it is."""
        try:
            in_memory = isinstance(self.file, bytes)
            return zipfile.ZipFile(self.raw() if in_memory else self.file)  # type: ignore[arg-type]
        except (*UNPACKING_ERRORS, ValueError) as error:
            raise broken(self.label, kind, error) from None


class _Guarded(io.RawIOBase):
    """A stream that counts what it returns, and refuses to pass the limits."""

    def __init__(self, inner: Any, file: IO[bytes], limits: Limits, name: str, lines: bool) -> None:
        self._inner = inner
        self._file = file
        self._limits = limits
        self._name = name
        self._lines = lines
        self._returned = 0
        self._line = 0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, count, and refuse what is too much."""
        try:
            part = self._inner.read(len(buffer))
        except UNPACKING_ERRORS as error:
            raise broken(self._name, "packed", error) from None

        self._returned += len(part)
        # Compared with the part of the file read so far: a bomb shows long before its end.
        self._limits.check_bytes(self._returned, packed=max(1, self._file.tell()))
        if self._lines:
            end = max(part.rfind(b"\n"), part.rfind(b"\r"))
            self._line = len(part) - end - 1 + (self._line if end < 0 else 0)
            if self._line > MAX_LINE:
                rule = f"text in lines of at most {amount(MAX_LINE)}"
                remedy = "write one row on each line"
                raise Refusal("DATA", rule, f"a longer line in {self._name}", remedy)

        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close what it reads from."""
        self._inner.close()
        self._file.close()
        super().close()


def find_source(data: Path | bytes, limits: Limits, label: str) -> Source:
    """Look at a file or at bytes: packing, name of the format, first bytes."""
    size = len(data) if isinstance(data, bytes) else _regular_file(data)
    if size == 0:
        raise Refusal("DATA", "a file with rows", f"the empty file {label}", "fill it")

    source = Source(data, label, label, size)
    with source.raw() as file:
        start = file.read(8)

    _refuse_foreign(label, start)
    if start.startswith(_ZIP):
        return _zip_source(source, limits)

    packing = next((word for magic, (word, _) in _PACKED.items() if start.startswith(magic)), "")
    if not packing:
        limits.check_bytes(size, what="in the file")
    elif Path(label).suffix.lower() in (".gz", ".bz2", ".xz", ".lzma"):
        source = replace(source, name=Path(label).stem)

    return _with_head(replace(source, packing=packing), limits)


def _with_head(source: Source, limits: Limits) -> Source:
    try:
        with source.open(limits) as stream:
            head = stream.read(_BLOCK)
    except UNPACKING_ERRORS as error:
        raise broken(source.label, source.packing or "plain", error) from None

    if not head:
        raise Refusal("DATA", "a file with rows", f"the empty file {source.label}", "fill it")

    if source.packing:
        if head.startswith((_ZIP, *_PACKED)):
            value = f"an archive in an archive, {source.name}"
            raise Refusal("DATA", "packed once", value, "unpack it once")

        _refuse_foreign(source.name, head)

    return replace(source, head=head)


def _refuse_foreign(name: str, start: bytes) -> None:
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise Refusal("DATA", "a table", f"{what}, {name}", "save it as CSV or Parquet")


def _zip_source(source: Source, limits: Limits) -> Source:
    with source.archive("zip") as archive:
        files = [
            info
            for info in archive.infolist()
            if not info.filename.endswith("/") and not info.filename.startswith(("__MACOSX", "."))
        ]

    names = [info.filename for info in files]
    if any(name.startswith("xl/") for name in names):
        raise Refusal("DATA", "a table", f"an Excel workbook, {source.label}", "save it as CSV")
    if names and all(name.endswith(".npy") for name in names):
        return replace(source, packing="npz")

    if len(files) != 1:
        value = f"{len(names)} ({', '.join(names[:5]) or 'none':.80})"
        raise Refusal("DATA", "a zip archive with one file", value, "unpack it and name one file")

    limits.check_bytes(files[0].file_size, packed=source.size)
    member = names[0]
    return _with_head(replace(source, packing="zip", member=member, name=Path(member).name), limits)
