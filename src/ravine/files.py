"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path, *, flush: bool = False) -> Iterator[Path]:
    """Give a path to write to, beside ``path``; it becomes ``path`` when all went well.

    An interrupted run leaves what was there before, and no half-written file. The ending stays the
    same, for those who choose a format by it.

    Parameters
    ----------
    path
        The file to write; its folder is made if there is none.
    flush
        Whether to bring the bytes to the disk first, so that not even a crash of the machine
        leaves an empty file under the name.

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
