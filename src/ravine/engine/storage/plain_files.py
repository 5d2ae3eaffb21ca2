"""Reading the files of a store, whatever may lie in their place.

Where a file belongs there may be a folder, a pipe that nobody writes to, or gigabytes of something
else. Reading says in a word or two what is wrong, and neither waits nor fills the memory.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ravine.arguments import Refusal


class Unreadable(Exception):
    """What keeps a file from being read: "is missing", "is a folder"."""


def read_plain(file: Path, most: int) -> bytes:
    """The bytes of a file that holds at most ``most`` of them.

    Raises
    ------
    Unreadable
        If it is missing, no file, or too large.
    """
    with _opened(file) as stream:
        content = stream.read(most + 1)

    if len(content) > most:
        raise Unreadable("is too large")

    return content


def sum_of(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits; ``Unreadable`` as in ``read_plain``."""
    with _opened(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _opened(file: Path) -> Iterator[BufferedReader]:
    """Open a plain file; a pipe is not waited for."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise Unreadable("is missing") from None
    except PermissionError:
        remedy = "give yourself the right to read it"
        raise Refusal("store", "readable", f"{file}, which is not", remedy) from None
    except (OSError, ValueError) as error:
        # Among others a loop of links, or a file where a folder belongs.
        raise Unreadable(f"cannot be read ({getattr(error, 'strerror', error)})") from None

    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        raise Unreadable("is a folder" if stat.S_ISDIR(kind) else "is no file")

    with open(handle, "rb") as stream:
        try:
            yield stream
        except OSError as error:
            raise Unreadable(f"cannot be read ({error.strerror})") from None
