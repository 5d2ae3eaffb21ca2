"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path, *, flush: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; it is renamed to ``path`` if no error occurs.

    An interrupted run leaves the old file, never a half-written one. The ending stays the same, for
    writers that choose a format by it.

    Parameters
    ----------
    path
        The file to write; its folder is created if it does not exist.
    flush
        Whether to flush to the disk first, so that not even a crash of the machine leaves an empty
        file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     note = Path(folder) / "note.txt"
    ...     with written_whole(note) as part:
    ...         _ = part.write_text("done", encoding="utf-8")
    ...     note.read_text(encoding="utf-8"), len(list(Path(folder).iterdir()))
    ('done', 1)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        yield part
        if flush:
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
