"""Files opened with care: regular ones alone, unpacked as they are read, never past a limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ravine.arguments import Refusal
from ravine.tables.limits import MAX_FOOTER, MAX_LINE, Limits, amount

PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
"""First bytes of what is one compressed stream."""
_ZIP = b"PK\x03\x04"
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "a zstd archive", b"\x89HDF": "an HDF5 file", b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle", b"\x80\x04": "a pickle", b"\x80\x05": "a pickle",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook", b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7z archive", b"\x7fELF": "a program", b"%PDF": "a PDF",
    b"RDX": "an R workspace", b"SQLite": "an SQLite database", b"<!DOC": "a web page",
    b"<html": "a web page", b"ustar": "a tar archive",
}  # fmt: skip
"""First bytes of what is no table that can be read here."""
UNPACKING_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
                    RuntimeError, NotImplementedError)  # fmt: skip
_BLOCK = 2**20
"""Bytes that are read at a time."""


def broken(name: str, kind: str, error: object) -> Refusal:
    """The refusal of a file that is not what it says it is."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return Refusal("DATA", f"a readable {kind} file", f"{name} ({reason})", "write it again")


def regular_file(path: Path) -> int:
    """The size of a regular file in bytes; refuses everything else, unopened."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Refusal("DATA", "a file", f"{str(path)!r:.80} ({reason})", "check the name") from None

    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise Refusal("DATA", "a file", f"the folder {path}", "name a file in it")

    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"))
        kind = next((word for test, word in kinds if test(mode)), "device")
        raise Refusal("DATA", "a file", f"the {kind} {path}", "write it to a file first")

    if status.st_size == 0:
        raise Refusal("DATA", "a file with rows", f"the empty file {path}", "fill it")
    if not os.access(path, os.R_OK):
        raise Refusal("DATA", "readable", f"{path} (permission denied)", "change its permissions")

    return status.st_size


@dataclass(frozen=True)
class Source:
    """A file that may be opened again and again, unpacked.

    Attributes
    ----------
    path, name
        The file, and the name that tells its format: without ``.gz``, or that of the one member.
    size
        Bytes on the disk.
    packing
        ``""``, ``"gzip"``, ``"bzip2"``, ``"xz"`` or ``"zip"``.
    member
        The member of a zip archive.
    head
        The first bytes, unpacked.
    """

    path: Path
    name: str
    size: int
    packing: str = ""
    member: str = ""
    head: bytes = b""

    def open(self, limits: Limits) -> IO[bytes]:
        """The unpacked bytes as a stream that refuses to pass the limits."""
        file = self.path.open("rb")
        unpacked: Any = file
        if self.packing == "zip":
            archive = zipfile.ZipFile(file)
            unpacked = archive.open(self.member)
        elif self.packing:
            openers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
            unpacked = openers[self.packing](file)

        return io.BufferedReader(Guarded(unpacked, file, limits, self.name), _BLOCK)


class Guarded(io.RawIOBase):
    """A stream that counts what it gives, and refuses beyond the limits."""

    def __init__(self, inner: Any, file: IO[bytes], limits: Limits, name: str) -> None:
        self._inner = inner
        self._file = file
        self._limits = limits
        self._name = name
        self._given = 0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, count, and refuse what is too much."""
        try:
            part = self._inner.read(len(buffer))
        except UNPACKING_ERRORS as error:
            raise broken(self._name, "packed", error) from None

        self._given += len(part)
        # Against what was read of the file so far: a bomb shows itself long before its end.
        self._limits.check_bytes(self._given, packed=max(1, self._file.tell()))
        buffer[: len(part)] = part

        return len(part)

    def close(self) -> None:
        """Close what is under it."""
        self._inner.close()
        self._file.close()
        super().close()


def find_source(path: Path, limits: Limits) -> Source:
    """Look at a file: its packing, its format's name and its first bytes."""
    size = regular_file(path)
    with path.open("rb") as file:
        start = file.read(8)

    _no_foreign(path.name, start)
    if start.startswith(_ZIP):
        return _zip_source(path, size, limits)

    packing = next((word for magic, word in PACKED.items() if start.startswith(magic)), "")
    if not packing:
        limits.check_bytes(size, what="on the disk")

    name = path.name
    if packing and path.suffix.lower() in (".gz", ".bz2", ".xz", ".lzma"):
        name = path.stem

    return _with_head(Source(path, name, size, packing), limits)


def _with_head(source: Source, limits: Limits) -> Source:
    try:
        with source.open(limits) as stream:
            head = stream.read(_BLOCK)
    except UNPACKING_ERRORS as error:
        raise broken(source.path.name, source.packing or "plain", error) from None

    if not head:
        raise Refusal("DATA", "a file with rows", f"the empty file {source.path}", "fill it")

    if source.packing:
        nested = [word for magic, word in PACKED.items() if head.startswith(magic)]
        if nested or head.startswith(_ZIP):
            remedy = "unpack it once"
            raise Refusal("DATA", "packed once", f"an archive in an archive, {source.name}", remedy)

        _no_foreign(source.name, head)

    return Source(source.path, source.name, source.size, source.packing, source.member, head)


def _no_foreign(name: str, start: bytes) -> None:
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise Refusal("DATA", "a table", f"{what}, {name}", "save it as CSV or Parquet")


def open_zip(path: Path, kind: str) -> zipfile.ZipFile:
    """A zip archive whose list of members is of a sane length, which is seen before it is read."""
    # The end record: signature, four 16-bit numbers, bytes of the list of members (32 bits), ...
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        # It has 22 bytes and a comment of up to 65535.
        file.seek(max(0, file.tell() - 65_557))
        tail = file.read()

    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 22:
        raise broken(path.name, kind, "no zip archive, or one cut short")

    (listing,) = struct.unpack_from("<I", tail, end + 12)
    if listing > MAX_FOOTER:
        raise broken(path.name, kind, f"its list of members takes {amount(listing)}")

    try:
        return zipfile.ZipFile(path)
    except UNPACKING_ERRORS as error:
        raise broken(path.name, kind, error) from None


def _zip_source(path: Path, size: int, limits: Limits) -> Source:
    with open_zip(path, "zip") as archive:
        files = [
            info
            for info in archive.infolist()
            if not info.filename.endswith("/") and not info.filename.startswith(("__MACOSX", "."))
        ]

    names = [info.filename for info in files]
    if any(name.startswith("xl/") for name in names):
        raise Refusal("DATA", "a table", f"an Excel workbook, {path.name}", "save it as CSV")
    if names and all(name.endswith(".npy") for name in names):
        return Source(path, f"{path.stem}.npz", size, "npz")

    if len(files) != 1:
        shown = ", ".join(names[:5]) or "none"
        value = f"{len(names)} ({shown:.80})"
        raise Refusal("DATA", "a zip archive with one file", value, "unpack it and name one file")

    limits.check_bytes(files[0].file_size, packed=size)
    return _with_head(Source(path, Path(names[0]).name, size, "zip", names[0]), limits)


def lines(stream: IO[bytes], name: str) -> Any:
    """Lines of a stream without their ends; a line beyond the limit is refused."""
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise long_line(name)

        yield line.rstrip(b"\r\n")


def long_line(name: str) -> Refusal:
    """The refusal of a line that does not end."""
    rule = f"text in lines of at most {amount(MAX_LINE)}"
    return Refusal("DATA", rule, f"a longer line in {name}", "write one row on each line")
