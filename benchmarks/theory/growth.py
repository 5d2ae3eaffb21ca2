"""How the cost of an answer grows: each size over two decades, with its slope.

    python -m benchmarks.theory.growth [--write]

Processor seconds of one thread, the least of several rounds in which all sizes take turns.
``--write`` puts the table into docs/measured/growth.md and the picture beside it.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ravine
from benchmarks.results import write_rows
from ravine.problems import counterexample, from_data, worst_case_quadratic

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("growth.json")
PAGE = ROOT / "docs" / "measured" / "growth.md"
PICTURE = ROOT / "docs" / "images" / "growth.svg"
GPU = ROOT / "benchmarks" / "sweeps" / "gpu_h200.json"
MARKS = ("<!-- table -->", "<!-- end of table -->")

ROUNDS = 3
HOUR = 3600.0  # seconds: the patience that "runs out" is measured against

BYTES_PIXEL = 80  # of a result in memory, without a store
BYTES_BEYOND = 100  # which a sweep needs besides, for a pixel, while it gathers them

DRIVER = 5e-3  # seconds of the driver for a tile, docs/cluster.md
TILE = 2048  # pixels of a tile at this dimension
CROWD = (10, 30, 100, 300, 1000)  # workers that the model is asked about
TILES = 100_000  # of the sweep that they share


class Axis(NamedTuple):
    """One size that grows while all others stay."""

    name: str
    of: str
    sizes: tuple[int, ...]
    work: Callable[[int], Callable[[], object]]


def _sweep(pixels: int, d: int, steps: int, repeats: int) -> Callable[[], object]:
    problem = worst_case_quadratic(32, d)
    alphas = np.linspace(0.1, 1.0, pixels) / 32

    def work() -> object:
        return ravine.sweep(
            problem, alphas, [0.5], steps=steps, repeats=repeats, sigma2=1e-4, threads=1
        )

    return work


def _model_sweep(rows: int, features: int) -> Callable[[], object]:
    draw = np.random.default_rng(0)
    X = draw.standard_normal((rows, features))
    y = X @ draw.standard_normal(features) + draw.standard_normal(rows) > 0.0
    problem = from_data(X, y, loss="logistic", l2=1e-2, batch_size=rows // 10)
    L = float(problem.curvature.L)
    alphas = np.linspace(0.1, 1.0, 4) / L

    def work() -> object:
        return ravine.sweep(problem, alphas, [0.5], steps=50, sampling="reshuffle", threads=1)

    return work


def _rungs(pixels: int) -> Callable[[], object]:
    curvature = ravine.Curvature(1 / 32, 1.0)
    plane = ravine.Method(np.linspace(0.01, 2.0, pixels), 0.5)
    return lambda: (ravine.iid_rate(curvature, plane), ravine.worst_case_rate(curvature, plane))


def _batch_growth(batches: int) -> Callable[[], object]:
    problem = counterexample(mu=0.05, L=1.0, n=batches)
    hessians = np.stack([np.diag([1.0, 0.05, 1.0 if i == 0 else 0.05]) for i in range(batches)])
    method = ravine.nesterov(problem.curvature)
    return lambda: ravine.growth(hessians, method, sampling="iid")


TABLES = (3000, 10_000, 30_000, 100_000, 300_000)
"""Rows of a table, a tenth of them in a batch."""
SUMS = (1000, 3000, 10_000, 30_000, 100_000)
"""Terms of a finite sum in three dimensions."""

AXES = (
    Axis("pixels", "sweep", (300, 1000, 3000, 10_000, 30_000), lambda n: _sweep(n, 100, 500, 1)),
    Axis("dimension", "sweep", (10, 30, 100, 300, 1000), lambda d: _sweep(1000, d, 500, 1)),
    Axis("steps", "sweep", (300, 1000, 3000, 10_000, 30_000), lambda k: _sweep(256, 100, k, 1)),
    Axis("repeats", "sweep", (1, 3, 10, 30, 100), lambda r: _sweep(256, 100, 500, r)),
    Axis("rows", "table's sweep", TABLES, lambda n: _model_sweep(n, 10)),
    Axis("features", "table's sweep", (4, 12, 40, 120, 400), lambda p: _model_sweep(3000, p)),
    Axis("batches", "mean-square growth", SUMS, _batch_growth),
    Axis("pixels", "closed forms", (10_000, 30_000, 100_000, 300_000, 1_000_000), _rungs),
)  # fmt: skip


def measure() -> list[dict[str, Any]]:
    """Seconds of every size of every axis, and the slopes."""
    rows = []
    for axis in AXES:
        works = [axis.work(size) for size in axis.sizes]
        works[0]()
        best = [float("inf")] * len(works)
        for _ in range(ROUNDS):
            for place, work in enumerate(works):
                began = time.process_time()
                work()
                best[place] = min(best[place], time.process_time() - began)

        logs = np.log(np.array([axis.sizes, best]))
        # The last decade: what is fixed (set-up, one dataset) is behind it.
        slope = float(np.polyfit(*logs[:, -3:], 1)[0])
        row = {
            "axis": axis.name,
            "of": axis.of,
            "sizes": axis.sizes,
            "seconds": best,
            "slope": slope,
        }
        rows.append(row)
        print(
            f"{axis.of}: {axis.name:10} {slope:5.2f}  {best[-1]:.3g} s at {axis.sizes[-1]}",
            flush=True,
        )
    return rows


def _crowd(updates: float) -> dict[str, Any]:
    """Seconds of one sweep on ever more workers: not run, but computed from the measured model."""
    tile = TILE * 100 * 1000 / updates
    seconds = [max(-(-TILES // w) * tile, TILES * DRIVER) for w in CROWD]
    logs = np.log(np.array([CROWD, seconds]))
    return {
        "axis": "workers",
        "of": "sweep on a cluster, by the model",
        "sizes": CROWD,
        "seconds": seconds,
        "slope": float(np.polyfit(*logs[:, -3:], 1)[0]),
    }


def _updates(rows: list[dict[str, Any]]) -> float:
    """Coordinate updates of one thread in a second, from the largest sweep."""
    pixels = next(row for row in rows if row["of"] == "sweep" and row["axis"] == "pixels")
    return float(pixels["sizes"][-1] * 100 * 500 / pixels["seconds"][-1])


def limits(rows: list[dict[str, Any]]) -> list[str]:
    """What runs out first, at d = 100 and 1000 steps: a table in Markdown."""
    updates = _updates(rows)
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    work = 100 * 1000  # coordinate updates of a pixel

    table = json.loads(GPU.read_text())["table"]
    card = max(
        row["rate"]
        for row in table
        if row["noise"] == "independent"
        and row["dtype"] == "float32"
        and row["contender"] == "ravine, whole sweep"
    )
    cluster = min(1000 * updates, TILE * work / DRIVER)

    def line(place: str, speed: float, memory: float, first: str) -> str:
        hour = speed * HOUR / work
        held = memory / (BYTES_PIXEL + BYTES_BEYOND)
        return f"| {place} | {speed:.1e} | {hour:.1e} | {held:.1e} | {first} |"

    driver = "the driver" if cluster < 1000 * updates else "time"
    beside = 128 * 2**30  # bytes of memory of the card's host
    minutes = beside / (BYTES_PIXEL + BYTES_BEYOND) * work / card / 60
    here = f"one machine, {cores} cores, {memory / 2**30:.0f} GiB"
    return [
        "| | updates/s | pixels in an hour | pixels in memory, no store | what runs out first |",
        "|---|---:|---:|---:|---|",
        line(here, cores * updates, memory, "time"),
        line("one H200", card, beside, f"memory, after {minutes:.0f} minutes: use a store"),
        line("1000 workers of one core, by the model", cluster, memory, driver),
    ]


def draw(rows: list[dict[str, Any]]) -> None:
    """One panel for each axis, seconds against size, both logarithmic."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "growth"
    figure, panels = plt.subplots(3, 3, figsize=(10, 7.5), layout="constrained")
    for row, panel in zip(rows, panels.flat, strict=True):
        panel.loglog(row["sizes"], row["seconds"], "o-", color="#0072b2", markersize=4)
        ends = np.array(row["sizes"][-3:], dtype=float)
        panel.loglog(
            ends, row["seconds"][-1] * (ends / ends[-1]) ** row["slope"], ":", color="#555555"
        )
        panel.set_title(f"{row['of']}: {row['axis']}", fontsize=9)
        panel.text(
            0.05,
            0.9 if row["slope"] > 0.1 else 0.05,
            f"slope {row['slope']:.2f}",
            transform=panel.transAxes,
            fontsize=9,
        )
        panel.grid(alpha=0.3)
        panel.tick_params(labelsize=8)
    for panel in panels[:, 0]:
        panel.set_ylabel("processor seconds", fontsize=9)
    figure.savefig(PICTURE, metadata={"Date": None})


def write(rows: list[dict[str, Any]]) -> None:
    """Table and picture for the documentation."""
    lines = [
        "| of | size | from | to | seconds at the end | slope |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        first, *_, last = row["sizes"]
        lines.append(
            f"| {row['of']} | {row['axis']} | {first:,} | {last:,} | {row['seconds'][-1]:.3g} "
            f"| {row['slope']:.2f} |"
        )
    stamp = f"{datetime.date.today().isoformat()}, `python -m benchmarks.theory.growth --write`."
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    middle = [stamp, "", *lines, "", *limits(rows)]
    PAGE.write_text(
        "\n".join([before + MARKS[0], "", *middle, "", MARKS[1] + after]), encoding="utf-8"
    )
    write_rows(RESULTS, {"rows": rows, "date": datetime.date.today().isoformat()})
    draw(rows)


def main() -> None:
    """Measure, print, and write if asked to."""
    rows = measure()
    rows.append(_crowd(_updates(rows)))
    print("\n".join(limits(rows)))
    if "--write" in sys.argv:
        write(rows)


if __name__ == "__main__":
    main()
