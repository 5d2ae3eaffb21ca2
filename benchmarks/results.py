"""Results of long benchmarks on disk: one row a line, so that a change shows what changed."""

from __future__ import annotations

import json
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
