"""Running tiles here one after the other, and showing how far a sweep came."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numba

from ravine.arguments import FloatArray, Refusal

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

Part = dict[str, FloatArray]
Tile = tuple[int, int]
RunTile = Callable[["Spec", int, int], Part]
_QUIET = 1.0  # seconds before a bar appears


def run_here(
    run: RunTile, spec: Spec, tiles: Iterable[Tile], threads: int | None
) -> Iterator[tuple[Tile, Part]]:
    """Run tiles in this process on ``threads`` threads; yield each as it is finished."""
    before = numba.get_num_threads()
    if threads is not None:
        most = numba.config.NUMBA_NUM_THREADS
        if threads > most:
            remedy = "give fewer, or set NUMBA_NUM_THREADS before Python starts"
            raise Refusal("threads", f"at most {most}", threads, remedy)
        numba.set_num_threads(threads)
    try:
        for first, last in tiles:
            yield (first, last), run(spec, first, last)
    finally:
        numba.set_num_threads(before)


class Progress:
    """A bar on standard error that appears once the work has taken a second.

    Interrupted, it says in one line how far the work came.
    """

    def __init__(self, total: int, done: int = 0, resumable: bool = False) -> None:
        self._total = total
        self._done = done
        self._remedy = ": run it again with the same store to go on" if resumable else ""
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
