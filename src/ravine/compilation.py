"""Compiled functions on disk: taken from there where they are whole, else compiled anew.

Numba keeps an index and numbered files for each function. An index or a file that was cut is an
exception to it, and two runs that compile at the same time may give one number to two functions.
Here every compiled signature has a file of its own, named after what it was compiled from, that
begins with the SHA-256 of the rest; it appears under its name when it is whole. Where no folder can
be written to, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

Dispatcher = TypeVar("Dispatcher")

_SUM = hashlib.sha256().digest_size  # bytes at the beginning of a file


def kept(dispatcher: Dispatcher) -> Dispatcher:
    """Keep what Numba compiles for a function on disk, for later runs.

    Parameters
    ----------
    dispatcher
        What ``numba.njit`` returned, without ``cache``.

    Returns
    -------
    The same object. Without a folder to write to it is compiled again in each process.

    Examples
    --------
    >>> from numba import njit
    >>> double = kept(njit(lambda x: x + x))
    >>> double(2)
    4
    """
    function: Any = dispatcher
    if not _has_folder(function.py_func):
        return dispatcher

    # Numba says so where it knows no folder that it may write to.
    with suppress(RuntimeError):
        function._cache = _disk_cache()(function.py_func)

    return dispatcher


def is_kept(dispatcher: Any) -> bool:
    """Whether later runs will find on disk what is compiled for a function."""
    return isinstance(getattr(dispatcher, "_cache", None), _disk_cache())


def _has_folder(function: Any) -> bool:
    """Whether Numba may look for a folder: without a home it would make one that is called ~."""
    from numba import config

    beside = Path(function.__code__.co_filename).parent
    home = os.path.expanduser("~")
    return bool(config.CACHE_DIR) or os.access(beside, os.W_OK) or os.path.isabs(home)


@cache
def _disk_cache() -> Any:
    """Numba's cache of a function, on top of files that are checked; numba is imported here."""
    from numba.core.caching import FunctionCache

    class DiskCache(FunctionCache):  # type: ignore[misc]
        """A cache that forgets what it cannot read, and does without what it cannot write."""

        def __init__(self, function: Any) -> None:
            super().__init__(function)
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file = CheckedFiles(Path(self._cache_path), self._impl.filename_base, stamp)

        def save_overload(self, signature: Any, compiled: Any) -> None:
            # The disk may be full, or the folder gone.
            with suppress(OSError):
                super().save_overload(signature, compiled)

    return DiskCache


class CheckedFiles:
    """A file for each key in a folder; one that is not as it was written counts as missing."""

    def __init__(self, folder: Path, name: str, stamp: Any) -> None:
        from numba import __version__

        self._folder = folder
        self._name = name
        self._stamp = (__version__, stamp)

    def save(self, key: Any, value: Any) -> None:
        """Write the file of a key, whole or not at all."""
        from numba.core.serialize import dumps

        content: bytes = dumps((self._stamp, value))
        part = self._folder / f"{self._name}.{uuid4().hex}.tmp"
        try:
            with part.open("xb") as stream:
                stream.write(hashlib.sha256(content).digest() + content)
            part.replace(self._file(key))
        finally:
            part.unlink(missing_ok=True)

    def load(self, key: Any) -> Any:
        """The value of a key; None if it is not there, damaged, or of another source."""
        try:
            content = self._file(key).read_bytes()
        except OSError:
            return None

        if hashlib.sha256(content[_SUM:]).digest() != content[:_SUM]:
            return None

        stamp, value = pickle.loads(content[_SUM:])
        return value if stamp == self._stamp else None

    def flush(self) -> None:
        """Forget all files."""
        for file in self._folder.glob(f"{self._name}.*.nbc"):
            file.unlink(missing_ok=True)

    def _file(self, key: Any) -> Path:
        # Signature, processor and code in words; 16 digits tell the few of one function apart.
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return self._folder / f"{self._name}.{digest}.nbc"
