"""The sources that determine the numbers of a sweep, and their digest.

A store, a cluster and the cache of compiled code must know whether two versions of ravine compute
the same bits. They compare digests of the sources that determine these bits, and of no others:
changes to the progress bar, the store or the documentation do not matter.
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
"""Sources of compiled code: its functions, and the constants in it."""

DECIDING = (
    *COMPILED,
    "engine/cuda",
    "engine/device.py",
    "engine/recursion.py",
    "engine/repeats.py",
    "engine/run.py",
    "engine/schedule.py",
    "engine/spec.py",
    "methods.py",
    "problems",
)
"""Versions that the numbers of a tile depend on, in addition to its specification."""

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
