"""Running tiles one after the other, with a bar on long work and a clean stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba

from ravine.arguments import FloatArray, complaint

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

Part = dict[str, FloatArray]
_QUIET = 1.0  # seconds before a bar appears


def run_all(
    run: Callable[[Spec, int, int], Part],
    spec: Spec,
    tiles: list[tuple[int, int]],
    threads: int | None,
) -> list[Part]:
    """Run all tiles on ``threads`` threads; say how far it came when it is interrupted."""
    before = numba.get_num_threads()
    if threads is not None:
        most = numba.config.NUMBA_NUM_THREADS
        if threads > most:
            remedy = "give fewer, or set NUMBA_NUM_THREADS before Python starts"
            raise ValueError(complaint("threads", f"at most {most}", threads, remedy))
        numba.set_num_threads(threads)
    parts: list[Part] = []
    bar = _Bar(len(tiles))
    try:
        for first, last in tiles:
            parts.append(run(spec, first, last))
            bar.advance()
    except KeyboardInterrupt:
        bar.close()
        print(f"stopped after {len(parts)} of {len(tiles)} tiles", file=sys.stderr, flush=True)
        raise
    finally:
        bar.close()
        numba.set_num_threads(before)
    return parts


class _Bar:
    """A progress bar on standard error that appears once the work has taken a second."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._since = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def advance(self) -> None:
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif time.monotonic() - self._since > _QUIET and self._done < self._total:
            self._open()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        self._bar = Progress(
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

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
