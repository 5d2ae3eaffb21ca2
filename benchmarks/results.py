"""Results of long benchmarks on disk: one row a line, so that a change shows what changed."""

from __future__ import annotations

import datetime
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ravine.files import written_whole


def write_rows(path: Path, data: dict[str, Any]) -> None:
    """Write ``rows``, one a line, and behind them everything else, whole or not at all."""
    rows = ",\n".join(json.dumps(row) for row in data["rows"])
    rest = {name: value for name, value in data.items() if name != "rows"}
    tail = "".join(f",\n{json.dumps(name)}: {json.dumps(value)}" for name, value in rest.items())
    with written_whole(path) as part:
        part.write_text(f'{{"rows": [\n{rows}\n]{tail}\n}}\n', encoding="utf-8")


def go_on(
    path: Path, one_row: Callable[[int], dict[str, Any]], count: int, workers: int, **notes: str
) -> None:
    """Make the rows 0 ... count - 1 that are not there yet, so many at a time, and keep them."""
    data: dict[str, Any] = {"rows": []}
    if path.exists():
        data = json.loads(path.read_text())
    rows = data["rows"]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for row in pool.imap(one_row, range(len(rows), count)):
            rows.append(row)
            if len(rows) % 20 == 0 or len(rows) == count:
                write_rows(path, data | {"date": datetime.date.today().isoformat(), **notes})
                print(f"{len(rows)} runs", flush=True)
