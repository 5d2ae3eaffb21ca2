"""Open files and bytes safely: regular files only, decompressed while read, within limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ravine.arguments import Refusal, whole

NAMED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""Data sets that ship with scikit-learn."""
MAX_LINE = 2**25
"""Maximum bytes of a line of text: the most columns at 300 bytes each."""
MAX_RATIO = 200
"""Largest allowed growth of a file when it is decompressed. Text tables compress 3 to 50 times; a
file close to deflate's limit of 1032 holds almost no information."""
_SMALL = 2**26
"""Bytes below which any growth is harmless."""
_BLOCK = 2**20
"""Bytes that are read at a time."""
_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
"""How to open a compressed stream, by its first bytes."""
ZIP = b"PK\x03\x04"
_OTHERS = (b"\x80", b"\x89hdf", b"%pdf", b"<!doctype", b"<html", b"<?xml")
"""First bytes of files that are not tables, in lower case."""


@dataclass(frozen=True)
class Limits:
    """Limits on the size of a table, checked before memory is allocated.

    Attributes
    ----------
    rows, columns, classes
        The largest numbers allowed. Text columns count as the columns they are encoded to. Each
        class of a target has its own weights, so the model grows with the classes.
    bytes
        The largest size allowed for unpacked text, or for the numbers of the table.
    trusted
        Whether the user chose ``bytes``: then a compressed file may grow to it at any ratio.

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
        """Limits from options ``max_rows``, ``max_columns``, ...; None means the default."""
        chosen = {
            name.removeprefix("max_"): whole(name, value, 1, remedy="give a count, e.g. 1000000")
            for name, value in most.items()
            if value is not None
        }
        return cls(**chosen, trusted="bytes" in chosen)

    def check(self, *, packed: int | None = None, **counts: int) -> None:
        """Refuse more ``rows``, ``columns``, ``classes`` or ``bytes`` than allowed.

        Rows and columns of float64 numbers have bytes, too. With the bytes before unpacking,
        ``packed``, a suspicious growth is refused as well.
        """
        # A float64 has 8 bytes.
        size = counts.get("bytes", 8 * counts.get("rows", 0) * counts.get("columns", 0))
        for limit, count in (counts | {"bytes": size}).items():
            most = getattr(self, limit)
            if count > most:
                name = "the target" if limit == "classes" else "DATA"
                remedy = f"raise the limit with --max-{limit} (max_{limit}=)"
                raise Refusal(name, f"of at most {most:,} {limit}", f"{count:,}", remedy)

        if packed is not None and size > max(_SMALL, MAX_RATIO * packed) and not self.trusted:
            rule = f"at most {MAX_RATIO} times its compressed size"
            value = f"{size:,} bytes or more from {packed:,}"
            raise Refusal("DATA", rule, value, f"use --max-bytes {self.bytes} to allow it")


@contextmanager
def readable(name: str, kind: str) -> Iterator[None]:
    """Refuse, in one line, a file that is not what it claims to be."""
    try:
        yield
    except (Refusal, ImportError, MemoryError):
        raise
    except Exception as error:
        # Many libraries raise all kinds of errors on damaged bytes.
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        remedy = "correct it" if kind == "text" else "correct it, or save it as CSV or Parquet"
        raise Refusal("DATA", f"a readable {kind} file", f"{name} ({reason})", remedy) from error


class Source:
    """A file, or bytes in memory, that can be opened repeatedly and is decompressed while read.

    Parameters
    ----------
    file
        A path, or the content.
    label
        Its name in messages, which may hint at the format.
    limits
        Limits on the size of the table.

    Attributes
    ----------
    size
        Bytes before unpacking.
    unpack
        Opens the stream inside a compressed one; None if it is not compressed, or holds arrays.
    head
        The first megabyte, unpacked.
    """

    def __init__(self, file: Path | bytes, label: str, limits: Limits) -> None:
        if isinstance(file, Path) and not file.is_file():
            rule = f"a file or one of {', '.join(NAMED)}"
            raise Refusal("DATA", rule, f"{str(file)!r:.80}", "check the name")

        self.file = file
        self.name = label
        self.limits = limits
        self.size = len(file) if isinstance(file, bytes) else file.stat().st_size
        self.unpack: Callable[[Any], Any] | None = None
        with self.raw() as raw:
            start = raw.read(8)

        with readable(label, "data"):
            if start.startswith(ZIP):
                self._look_into_zip()
            else:
                self.unpack = next((f for x, f in _OPENERS.items() if start.startswith(x)), None)
                if self.unpack is None:
                    limits.check(bytes=self.size)

            with self.open() as stream:
                self.head = stream.read(_BLOCK)
            if not self.head:
                raise ValueError("it is empty")
            if self.head.lstrip()[:16].lower().startswith(_OTHERS):
                raise ValueError("a pickle, HDF5 file, PDF or web page")

    def _look_into_zip(self) -> None:
        """Open the only file in a zip archive; leave an archive of arrays as it is."""
        with self.raw() as raw, zipfile.ZipFile(raw) as archive:
            files = [info for info in archive.infolist() if not info.is_dir()]

        files = [info for info in files if not info.filename.startswith(("__MACOSX", "."))]
        names = [info.filename for info in files]
        if any(name.startswith("xl/") for name in names):
            raise ValueError("an Excel workbook")
        if names and all(name.endswith(".npy") for name in names):
            return
        if len(names) != 1:
            raise ValueError(f"an archive of {len(names)} files instead of one")

        self.limits.check(bytes=files[0].file_size, packed=self.size)
        self.unpack = lambda file: zipfile.ZipFile(file).open(names[0])  # noqa: SIM115

    def raw(self) -> IO[bytes]:
        """The bytes as they are."""
        return io.BytesIO(self.file) if isinstance(self.file, bytes) else self.file.open("rb")

    def open(self, *, lines: bool = False) -> IO[bytes]:
        """The decompressed bytes as a stream that refuses to exceed the limits.

        With ``lines`` it also refuses lines that are too long.
        """
        return io.BufferedReader(_Guarded(self, lines), _BLOCK)


class _Guarded(io.RawIOBase):
    """A stream that counts the bytes it returns, and refuses to exceed the limits."""

    def __init__(self, source: Source, lines: bool) -> None:
        self._source = source
        self._file = source.raw()
        self._unpacked = source.unpack(self._file) if source.unpack else self._file
        self._lines = lines
        self._returned = 0
        self._line = 0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and check the limits."""
        part = self._unpacked.read(len(buffer))
        self._returned += len(part)
        # Compared with the part of the file read so far, to detect a zip bomb early.
        self._source.limits.check(bytes=self._returned, packed=max(1, self._file.tell()))
        if self._lines:
            end = max(part.rfind(b"\n"), part.rfind(b"\r"))
            self._line = len(part) - end - 1 + (self._line if end < 0 else 0)
            if self._line > MAX_LINE:
                raise ValueError(f"a line of more than {MAX_LINE:,} bytes")

        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the underlying stream."""
        self._unpacked.close()
        self._file.close()
        super().close()
