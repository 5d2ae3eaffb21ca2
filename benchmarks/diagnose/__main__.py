"""What a diagnosis says and advises against a training loop written apart; time on large data.

    python -m benchmarks.diagnose agreement RESULTS.jsonl [TABLE...]
    python -m benchmarks.diagnose usefulness RESULTS.jsonl [TABLE...]
    python -m benchmarks.diagnose report RESULTS.jsonl...
    python -m benchmarks.diagnose small | large | sparse

Tables are files (any that ``ravine diagnose`` reads), each as it is and standardised; without any,
those of ``benchmarks.diagnose.tables``, small ones first. Every case is one line of the results;
cases that are there already are not run again, so a benchmark that was stopped can go on.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.diagnose.report import HORIZONS, report
from benchmarks.diagnose.tables import write_tables
from benchmarks.diagnose.training_loop import Config, Model, mean_square_rate, train
from ravine.diagnosis import diagnose, read_table, work
from ravine.engine.kernels.blas import one_blas_thread

BUDGET = 60.0
"""Seconds of a diagnosis, here of CPU time: what else the machine does shall not count."""
work.time.perf_counter = time.process_time
SEEDS = 32
"""Seeds of the loop that run side by side."""
MOST_BLOCKS = 100
"""Blocks of seeds at most: 3200 runs of every recipe."""
FLOOR_SEEDS = 128
PARTICLES = 256
"""Runs side by side to a floor, and particles of a mean-square rate."""
RESOLVED = 0.03
"""Relative standard error of the loop's losses at which it stops."""
LOOP_SECONDS = 5.0
SIDE_SECONDS = 2.0
"""CPU seconds for the loop on one case, and beside it for its floors and for its rates."""
GRID = (20, 12)
GRID_SECONDS = 6.0
"""CPU seconds for the grid of one table at one horizon; larger tables are left out."""
MOMENTA = (0.0, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)


def cases(tables: list[Path], done: set[str]) -> Iterator[tuple[str, Path, bool]]:
    """Every table, raw and standardised, that has no result yet."""
    for table in tables:
        for scaled in (False, True):
            label = f"{table.name}{' standardised' if scaled else ''}"
            if label not in done:
                yield label, table, scaled


def run(part: str, out: Path, tables: list[Path]) -> None:
    """Run one part on all tables and write a line for each case."""
    done = set()
    if out.exists():
        done = {json.loads(line)["label"] for line in out.read_text().splitlines()}

    judge = {"agreement": agree, "usefulness": use}[part]
    for label, path, scaled in cases(tables, done):
        begun = time.perf_counter()
        line = {"part": part, "label": label}
        try:
            table = read_table(path)
            line["shape"] = list(table.X.shape)
            line["read_seconds"] = round(time.perf_counter() - begun, 3)
            line |= judge(table, scaled)
        except Exception as error:  # a failure is a result
            line["failed"] = f"{type(error).__name__}: {error}"[:300]

        line["all_seconds"] = round(time.perf_counter() - begun, 1)
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(label, line.get("failed", ""), f"{line['all_seconds']:.0f} s", flush=True)


def agree(table, scaled: bool) -> dict:
    """One diagnosis against the loop: outcome, loss, distance, floor and rate of every recipe."""
    begun = time.process_time()
    result = diagnose(table, standardise=scaled, intercept=False, time=BUDGET, try_remedies=False)
    seconds = time.process_time() - begun
    record = result.to_dict()
    data = record["data"]
    model = _model(table, scaled, data)
    best = model.best()
    with one_blas_thread(), np.errstate(all="ignore"):
        loop, seeds = _many_runs(model, record, best)
        floors = _floors(model, record, best)
        rates = _rates(model, record) if data["loss"] == "squared" else {}

    rows = []
    for i, m in enumerate(record["methods"]):
        losses = loop["excess"][:, i]
        rows.append({
            "key": m["key"], "outcome": m["outcome"], "rate": m["mean_square"]["rate"],
            "says": m["excess_after"], "says_square": m["error_after"],
            "excess": _finite(losses.mean()), "error": _standard_error(losses),
            "square": _finite(loop["square"][:, i].mean()),
            "square_error": _standard_error(loop["square"][:, i]),
            "largest": _finite(losses.max()), "lost": int(np.isinf(losses).sum()),
        })  # fmt: skip

    return {
        "seconds": round(seconds, 2), "loss": data["loss"], "seeds": seeds,
        "own_seeds": int(result.runs.squares.shape[1]), "methods": rows,
        "start_excess": loop["start_excess"], "says_start": data["start_excess"],
        "start_square": float(best @ best),
        "floors": floors, "rates": rates, "left_out": record["left_out"],
    }  # fmt: skip


def _model(table, scaled: bool, data: dict) -> Model:
    """The loop's own model of a table, with its own scaling."""
    X = table.X.toarray() if hasattr(table.X, "toarray") else np.asarray(table.X)
    if scaled:
        mean = X.mean(axis=0)
        spread = X.std(axis=0)
        varies = spread > 1e-12 * np.abs(mean)
        X = np.where(varies, (X - mean) / np.where(varies, spread, 1.0), X)

    return Model(X, table.y, data["loss"], data["l2"])


def _config(m: dict) -> Config:
    return Config(m["alpha"], m["beta"], m["constant_share"], m["averaged"])


def _many_runs(model: Model, record: dict, best) -> tuple[dict, int]:
    """Blocks of seeds until every loss is known well, or the time is spent."""
    configs = [_config(m) for m in record["methods"]]
    steady = [i for i, m in enumerate(record["methods"]) if m["outcome"] == "converges"]
    ends = time.process_time() + LOOP_SECONDS
    blocks: list[dict] = []
    while len(blocks) < MOST_BLOCKS:
        begun = time.process_time()
        blocks.append(
            train(model, configs, batch_size=record["data"]["batch_size"], best=best,
                  epochs=record["epochs"], seeds=SEEDS, seed=len(blocks))
        )  # fmt: skip
        losses = np.concatenate([b["excess"] for b in blocks])[:, steady]
        errors = losses.std(axis=0, ddof=1) / (np.sqrt(len(losses)) * losses.mean(axis=0))
        known = bool((errors[np.isfinite(errors)] <= RESOLVED).all())
        if known or 2.0 * time.process_time() - begun > ends:
            break

    joined = {name: np.concatenate([b[name] for b in blocks]) for name in ("excess", "square")}
    return joined | {"start_excess": blocks[0]["start_excess"]}, SEEDS * len(blocks)


def _step_seconds(model: Model, configs: int, seeds: int, batch: int) -> float:
    """Time of one step, with what the loop does beside the gradient."""
    points = np.zeros((seeds, model.features, configs * model.outputs))
    rows = np.arange(seeds * min(batch, len(model.X))).reshape(seeds, -1) % len(model.X)
    begun = time.process_time()
    for _ in range(10):
        model.gradient(rows, points)

    return 2.0 * (time.process_time() - begun) / 10


def _floors(model: Model, record: dict, best) -> dict:
    """Runs from the minimiser, for every floor that was given and settles in the time."""
    batch = record["data"]["batch_size"]
    per_epoch = -(-len(model.X) // batch)
    once = _step_seconds(model, 1, FLOOR_SEEDS, batch)
    ends = time.process_time() + SIDE_SECONDS
    out = {}
    for m in record["methods"]:
        if m["floor"] is None:
            continue
        memory = 1.0 / max(1.0 - m["mean_square"]["rate"], 1e-12)
        epochs = max(20, math.ceil(12.0 * memory / per_epoch))
        if once * epochs * per_epoch > ends - time.process_time():
            continue
        loop = train(model, [_config(m)], batch_size=batch, epochs=epochs, seeds=FLOOR_SEEDS,
                     start=best, best=best)  # fmt: skip
        late = loop["late_square"][:, 0]
        out[m["key"]] = {
            "says": m["floor"], "is": _finite(late.mean()), "error": _standard_error(late)
        }  # fmt: skip

    return out


def _rates(model: Model, record: dict) -> dict:
    """Growth of the root-mean-square error without gradient noise."""
    batch = record["data"]["batch_size"]
    per_epoch = -(-len(model.X) // batch)
    once = 4.0 * _step_seconds(model, 1, PARTICLES, batch)
    ends = time.process_time() + SIDE_SECONDS
    out = {}
    for m in record["methods"]:
        rate = m["mean_square"]["rate"]
        if m["constant_share"] < 1.0 or m["averaged"]:
            continue
        memory = 1.0 / max(abs(1.0 - rate), 1e-12)
        # Momentum makes growth oscillate: many memories average that out.
        epochs = max(60, math.ceil(60.0 * memory / per_epoch))
        if once * epochs * per_epoch > ends - time.process_time():
            continue
        slope, error = mean_square_rate(model, _config(m), batch_size=batch, epochs=epochs,
                                        particles=PARTICLES)  # fmt: skip
        growth = m["mean_square"]
        out[m["key"]] = {
            "says": math.log(max(rate, 1e-300)), "is": _finite(slope), "error": _finite(error),
            "low": growth.get("low"), "high": growth.get("high"),
        }  # fmt: skip

    return out


def use(table, scaled: bool) -> dict:
    """The advice against usual defaults and a grid, at several horizons."""
    out = {"horizons": {}}
    seconds = []
    for epochs in HORIZONS:
        begun = time.process_time()
        result = diagnose(table, standardise=scaled, intercept=False, epochs=epochs,
                          time=BUDGET, try_remedies=False)  # fmt: skip
        seconds.append(round(time.process_time() - begun, 2))
        if result.recommendation is None:
            out["horizons"][epochs] = None
            continue
        record = result.to_dict()
        with one_blas_thread(), np.errstate(all="ignore"):
            out["horizons"][epochs] = _compare(
                _model(table, scaled, record["data"]), record, epochs
            )

    return out | {"seconds": seconds}


def _compare(model: Model, record: dict, epochs: int) -> dict:
    """Losses as shares of the start's, and epochs to 1 %: advice, defaults, the grid's best.

    The best of the grid are chosen on two seeds and judged, with everything else, on others.
    """
    L = record["curvature"]["L"]
    batch = record["data"]["batch_size"]
    sizes = np.geomspace(1e-4, 4.0, GRID[0]) / L
    grid = [Config(lr, b, c) for lr in sizes for b in MOMENTA[: GRID[1]] for c in (1.0, 0.0)]
    steps = epochs * -(-len(model.X) // batch)
    if steps * _step_seconds(model, len(grid), 2, batch) > GRID_SECONDS:
        return {"left out": f"the grid would take more than {GRID_SECONDS:.0f} s"}

    best = model.best()
    first = train(model, grid, batch_size=batch, epochs=epochs, seeds=2, best=best)
    chosen = first["excess"].mean(axis=0)
    picked = [c + 2 * int(np.nanargmin(chosen[c::2])) for c in (0, 1)]

    a = record["advice"]
    named = {
        "advice": Config(a["alpha"], a["beta"], a["constant_share"], a["averaged"]),
        "lr .01/.9": Config(0.01, 0.9),
        "lr .01/.9 decay": Config(0.01, 0.9, 0.0),
        "scikit-learn": Config(0.01, 0.0),
        "1/L": Config(1.0 / L, 0.0),
        "grid constant": grid[picked[0]],
        "grid decay": grid[picked[1]],
    }
    for m in record["methods"]:
        if m["key"] == record["quick"]:
            named["quick"] = _config(m)

    marks = tuple(range(1, epochs + 1))
    loop = train(model, list(named.values()), batch_size=batch, epochs=epochs, seeds=16,
                 best=best, marks=marks, seed=1)  # fmt: skip

    start = loop["start_excess"]
    curve = np.stack([loop["marked"][e].mean(axis=0) for e in marks]) / start
    shares = loop["excess"].mean(axis=0) / start
    out = {}
    for i, name in enumerate(named):
        near = np.flatnonzero(curve[:, i] <= 0.01)
        reached = int(marks[near[0]]) if near.size else None
        error = _standard_error(loop["excess"][:, i] / start)
        out[name] = {"share": _finite(shares[i]), "error": error, "to 1 %": reached}

    return out


def _standard_error(values) -> float | None:
    if not np.isfinite(values).all():
        return None

    return _finite(values.std(ddof=1) / math.sqrt(len(values)))


def _finite(value) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None


def small() -> None:
    """CPU seconds on 10^4 rows and 100 columns, squared and logistic, and with many batches."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10**4, 100)) * np.geomspace(0.3, 3.0, 100)
    y = X @ rng.standard_normal(100) + rng.standard_normal(10**4)
    for name, target in (("squared", y), ("logistic", y > 0.0)):
        for batch in (32, 4):
            begun = time.process_time()
            result = diagnose(X, target, batch_size=batch)
            spent = time.process_time() - begun
            print(f"10^4 x 100, {name}, batches of {batch}: {spent:.1f} s; "
                  f"left out: {'; '.join(result.left_out) or 'nothing'}")  # fmt: skip


def large() -> None:
    """10^6 rows, 100 columns, against one pass X_b.T @ X_b over all batches."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10**6, 100))
    X *= np.geomspace(0.3, 3.0, 100)  # in place: the peak counts what the diagnosis needs
    X[::5000] *= 6.0
    y = X @ rng.standard_normal(100) + rng.standard_normal(10**6)
    begin = time.perf_counter()
    result = diagnose(X, y, l2=1e-3, batch_size=32)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"10^6 x 100: {seconds:.1f} s of {BUDGET:.0f}; peak memory {peak / X.nbytes:.2f} x the "
          "data")  # fmt: skip
    print(result.verdict)


def sparse() -> None:
    """10^5 x 10^5 with 10^7 non-zeros."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    n = d = 10**5
    columns = rng.integers(d, size=10**7)
    values = rng.standard_normal(10**7)
    X = csr_matrix((values, columns, np.arange(0, 10**7 + 1, 100)), shape=(n, d))
    y = np.asarray(X @ rng.standard_normal(d)) + rng.standard_normal(n)
    begin = time.perf_counter()
    result = diagnose(X, y, l2=1e-3, batch_size=1000)
    print(f"sparse 10^5 x 10^5, 10^7 non-zeros: {time.perf_counter() - begin:.1f} s, peak "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")  # fmt: skip
    print(result.verdict)


@contextmanager
def _chosen(given: list[str]) -> Iterator[list[Path]]:
    """The files that were named, or those of the packages, small ones first."""
    if given:
        yield [Path(path) for path in given]
        return

    with tempfile.TemporaryDirectory() as folder:
        copies = [copy for _, copy in write_tables(Path(folder))]
        yield sorted(copies, key=lambda copy: copy.stat().st_size)


def main() -> None:
    """Run what the first word names."""
    part, *rest = sys.argv[1:] or ["small"]
    if part == "report":
        report([Path(path) for path in rest])
    elif part in ("agreement", "usefulness"):
        with _chosen(rest[1:]) as tables:
            run(part, Path(rest[0]), tables)
    else:
        sizes: dict[str, Callable[[], None]] = {"small": small, "large": large, "sparse": sparse}
        sizes[part]()


if __name__ == "__main__":
    main()
