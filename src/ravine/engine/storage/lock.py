"""One run at a time: locks that end with their process, in whatever way it ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ravine.arguments import Refusal


@contextmanager
def locked(place: Path, store: Path) -> Iterator[None]:
    """Hold the lock of a folder, or of a file that is made for it, on behalf of a store.

    Raises
    ------
    Refusal
        If another run holds it, or it cannot be opened.
    """
    handle = _opened(place, store)
    try:
        _lock(handle, store)
        yield
    finally:
        os.close(handle)


def _opened(place: Path, store: Path) -> int:
    flags = os.O_RDONLY if place.is_dir() else os.O_RDWR | os.O_CREAT
    try:
        return os.open(place, flags)
    except OSError as error:
        shown = f"{store}, where {place.name} cannot be opened ({error.strerror})"
        raise Refusal("store", "writable", shown, "mend that or give another path") from None


def _lock(handle: int, store: Path) -> None:
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass  # a system without such locks
    except OSError as error:
        # Some network file systems have no locks at all, and say something else.
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            remedy = "wait for the other run to end"
            raise Refusal("store", "free", f"{store}, which a run writes to now", remedy) from None
