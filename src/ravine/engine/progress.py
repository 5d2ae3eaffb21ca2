"""Show the progress of a sweep."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_QUIET = 1.0  # seconds before a bar appears; short work needs none


@contextmanager
def progress(total: int, done: int = 0, *, resumable: bool = False) -> Iterator[Callable[[], None]]:
    """Yield a function that counts one more tile, with a bar on standard error after a second.

    After an interrupt, it prints the progress in one line.
    """
    since = time.monotonic()
    bar: Any = None

    def advance() -> None:
        nonlocal bar, done
        done += 1
        late = time.monotonic() - since > _QUIET and done < total
        if bar is None and late and sys.stderr.isatty():
            bar = _new_bar(total)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)

    try:
        yield advance
    except KeyboardInterrupt:
        remedy = ": run it again with the same store to continue" if resumable else ""
        if bar is not None:
            bar.stop()
        print(f"stopped after {done} of {total} tiles{remedy}", file=sys.stderr, flush=True)
        raise
    finally:
        if bar is not None:
            bar.stop()


def _new_bar(total: int) -> Any:
    """Start a bar with one task."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("sweep", BarColumn(), MofNCompleteColumn(), "tiles", TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("sweep", total=total)
    bar.start()
    return bar
