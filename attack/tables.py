"""Hostile table files: bombs, headers that lie, links that loop; the list of the benchmarks."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.diagnose.reading import hostile


def main() -> int:
    """Give every file to ``ravine diagnose``; print how each ended and return the failures."""
    with tempfile.TemporaryDirectory() as folder:
        return hostile(Path(folder))
