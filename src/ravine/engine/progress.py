"""Showing how far a sweep came."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

_QUIET = 1.0  # seconds before a bar appears: short work needs none


class Progress:
    """A bar on standard error that appears once the work has taken a second.

    Interrupted, it says in one line how far the work came.
    """

    def __init__(self, total: int, done: int = 0, resumable: bool = False) -> None:
        self._total = total
        self._done = done
        self._remedy = ": run it again with the same store to continue" if resumable else ""
        self._since = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if isinstance(error, KeyboardInterrupt):
            line = f"stopped after {self._done} of {self._total} tiles{self._remedy}"
            print(line, file=sys.stderr, flush=True)

    def advance(self) -> None:
        """Count one more tile."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif (
            sys.stderr.isatty()
            and time.monotonic() - self._since > _QUIET
            and self._done < self._total
        ):
            self._open()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            "sweep",
            BarColumn(),
            MofNCompleteColumn(),
            "tiles",
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

        self._task = self._bar.add_task("sweep", total=self._total, completed=self._done)
        self._bar.start()
