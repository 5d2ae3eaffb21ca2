"""Which sources decide the numbers of a sweep, and a digest of them.

A store, a cluster and the cache of compiled code have to know whether two states of ravine compute
the same bits. They compare digests of the sources that decide them, and of no others: a change to
the progress bar, the store or the documentation leaves them as they are.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

COMPILED = (
    "engine/draws",
    "engine/kernels",
    "engine/measures.py",
    "engine/restart.py",
    "problems/losses.py",
)
"""Source of compiled code: its functions, and the constants that it has built in."""

DECIDING = (
    *COMPILED,
    "engine/cuda",
    "engine/recursion.py",
    "engine/repeats.py",
    "engine/run.py",
    "engine/schedule.py",
    "engine/spec.py",
    "linear_method.py",
    "problems",
)
"""Versions that the numbers of a tile depend on, besides its specification."""

_PACKAGE = Path(__file__).parent.parent


def digest(names: tuple[str, ...], package: Path = _PACKAGE) -> bytes:
    """SHA-256 of the named files and folders of the package, each file with its name."""
    state = hashlib.sha256()
    files = {file for name in names for file in _python_files(package / name)}
    for file in sorted(files):
        state.update(file.relative_to(package).as_posix().encode())
        state.update(file.read_bytes())

    return state.digest()


def _python_files(path: Path) -> list[Path]:
    return list(path.rglob("*.py")) if path.is_dir() else [path]
