"""Run every peer in an environment of its own, and write the tables of docs/measured/peers.md.

    python -m benchmarks.peers [MODULE ...]

With names, only these modules run; the results of the others stay as they are. Environments are
kept under .peers/.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from benchmarks.peers import features
from benchmarks.results import write_rows

ROOT = Path(__file__).parent.parent.parent
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "measured" / "peers.md"
COMMAND = "make bench-peers"

SOLVERS = ["cvxpy==1.9.3", "clarabel==0.11.1"]
ENVIRONMENTS = {
    "autolyap": ["autolyap==0.2.1", *SOLVERS],
    "pepit": ["pepit==0.5.1", *SOLVERS],
    "cvxpy": SOLVERS,
    "scipy": [],
    "curvlinops": ["curvlinops-for-pytorch==3.0.1", "torch==2.13.0"],
}
"""What is installed beside ravine, by environment."""

MODULES = {
    "autolyap_rates": "autolyap",
    "pepit_worst_cases": "pepit",
    "common_lyapunov": "cvxpy",
    "discrete_lyapunov": "scipy",
    "batch_curvature": "curvlinops",
}
"""The environment that each comparison runs in."""


def interpreter(name: str) -> Path:
    """Python of one environment, made at the first call."""
    folder = ROOT / ".peers" / name
    python = folder / "bin" / "python"
    done = folder / "installed"
    wanted = "\n".join(ENVIRONMENTS[name])
    if not done.exists() or done.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        pins = ["--constraint", str(ROOT / "constraints.txt")]
        if ENVIRONMENTS[name]:
            subprocess.run([*pip, *ENVIRONMENTS[name]], check=True)
        subprocess.run([*pip, *pins, "--editable", str(ROOT)], check=True)
        done.write_text(wanted)
    return python


def run(module: str) -> list[dict[str, Any]]:
    """Comparisons that one module printed."""
    python = interpreter(MODULES[module])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(python), "-m", f"benchmarks.peers.{module}"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [{"module": module, **json.loads(line)} for line in done.stdout.splitlines()]


def times(row: dict[str, Any]) -> str:
    """How many times as fast ravine is, to two digits."""
    ratio = float(f"{row['seconds'] / row['ravine_seconds']:.2g}")
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:g} ×"


def speeds(rows: list[dict[str, Any]]) -> list[str]:
    """The table of speed and agreement."""
    lines = [
        "| question | peer | answers | peer, s | ravine, s | ravine is | agreement |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    lines.extend(
        f"| {row['question']} | {row['peer']} | {row['answers']} of {row['asked']} "
        f"| {row['seconds']:.3g} | {row['ravine_seconds']:.2g} | {times(row)} "
        f"| {row['agreement']} |"
        for row in rows
    )
    return lines


def write_pages(data: dict[str, Any]) -> None:
    """Put the tables between their marks, with date, machine and command."""
    stamp = f"{data['date']}, {data['machine']}, `{COMMAND}`; processor seconds of one core."
    _between(PAGE, "speed", [stamp, "", *speeds(data["rows"])])
    _between(PAGE, "features", features.table())


def _between(page: Path, mark: str, lines: list[str]) -> None:
    """Replace what stands between the marks of one name."""
    text = page.read_text(encoding="utf-8")
    opening = f"<!-- {mark} -->"
    closing = f"<!-- end of {mark} -->"
    before, rest = text.split(opening)
    after = rest.split(closing)[1]
    written = "\n".join([before + opening, "", *lines, "", closing + after])
    page.write_text(written, encoding="utf-8")


def main() -> None:
    """Run what is named, or everything."""
    names = sys.argv[1:] or list(MODULES)
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    for name in names:
        print(f"{name} ...", flush=True)
        fresh = run(name)
        for row in fresh:
            print(f"  {row['peer']}: {row['agreement']}", flush=True)
        # Written after each one: some take minutes, and none should be lost with a later one.
        rows = [row for row in rows if row["module"] != name] + fresh
        keep(rows)

    print("\n".join(speeds(rows)))


def keep(rows: list[dict[str, Any]]) -> None:
    """Write results and page."""
    order = list(MODULES)
    rows.sort(key=lambda row: order.index(row["module"]))
    cores = os.cpu_count()
    data = {
        "rows": rows,
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {cores} cores, Python {platform.python_version()}",
    }
    write_rows(RESULTS, data)
    write_pages(data)


if __name__ == "__main__":
    main()
