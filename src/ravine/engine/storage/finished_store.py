"""A view of a store that shows finished tiles alone.

A run that was killed may leave chunks of a tile that has no record yet, cut anywhere. Zarr sees
such a chunk as missing here, and fills its pixels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zarr.storage import LocalStore, WrapperStore


class _FinishedStore(WrapperStore[LocalStore]):
    """A local store without some of its files."""

    unfinished: frozenset[str] = frozenset()

    def _with_store(self, store: LocalStore) -> _FinishedStore:
        view = type(self)(store)
        view.unfinished = self.unfinished
        return view

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        if key in self.unfinished:
            return None

        return await self._store.get(key, prototype, byte_range)


def finished_store(path: Path, unfinished: set[str]) -> _FinishedStore:
    """Open a store for reading; the files named in ``unfinished`` count as missing."""
    view = _FinishedStore(LocalStore(path, read_only=True))
    view.unfinished = frozenset(unfinished)
    return view
