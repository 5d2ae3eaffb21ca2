"""What a diagnosis says and advises against a training loop written apart; time on large data.

    python -m benchmarks.diagnose agreement RESULTS.jsonl TABLE...
    python -m benchmarks.diagnose usefulness RESULTS.jsonl TABLE...
    python -m benchmarks.diagnose report RESULTS.jsonl...
    python -m benchmarks.diagnose large | sparse

Tables are files (any that ``ravine diagnose`` reads), each as it is and standardised. Results are
written as they come, one line a case, and what is there already is not run again.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.training_loop import Config, Model, train
from ravine.diagnosis import diagnose, read_table
from ravine.engine.kernels.blas import one_blas_thread

BUDGET = 60.0
"""Seconds of a diagnosis."""
SEEDS = 100
LOOP_SECONDS = 10.0
"""For the loop on one table: fewer seeds where it would take longer."""
PART = 8.0
"""Seconds for the floors, and for the rates, of one table."""
HORIZONS = (10, 30, 100)
GRID = (20, 12)


def cases(tables: list[str], done: set[str]) -> Iterator[tuple[str, str, bool]]:
    """Every table, raw and standardised, that has no result yet."""
    for table in tables:
        for scaled in (False, True):
            label = f"{Path(table).name}{' standardised' if scaled else ''}"
            if label not in done:
                yield label, table, scaled


def run(part: str, out: Path, tables: list[str]) -> None:
    """Run one part on all tables and write a line for each case."""
    done = set()
    if out.exists():
        done = {json.loads(line)["label"] for line in out.read_text().splitlines()}
    for label, path, scaled in cases(tables, done):
        begun = time.perf_counter()
        line = {"part": part, "label": label}
        try:
            table = read_table(path)
            line["shape"] = list(table.X.shape)
            read = time.perf_counter() - begun
            line |= {"agreement": agree, "usefulness": use}[part](table, scaled)
            line["read_seconds"] = read
        except Exception as error:  # noqa: BLE001: a failure is a result
            line["failed"] = f"{type(error).__name__}: {error}"[:300]
        line["all_seconds"] = time.perf_counter() - begun
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(label, line.get("failed", ""), f"{line['all_seconds']:.0f} s", flush=True)


def agree(table, scaled: bool) -> dict:
    """One diagnosis against the loop: outcome, loss, distance, floor and rate of every recipe."""
    begun = time.perf_counter()
    result = diagnose(table, standardise=scaled, time=BUDGET, try_remedies=False)
    seconds = time.perf_counter() - begun
    record = result.to_dict()
    data = record["data"]
    model = _model(table, scaled, data)
    configs = [_config(m) for m in record["methods"]]
    best = model.best()
    n = len(model.X)
    steps = record["epochs"] * -(-n // data["batch_size"])
    once = _time_of_step(model, configs, data["batch_size"])
    seeds = int(np.clip(LOOP_SECONDS / max(once * steps, 1e-9), 6, SEEDS))
    with one_blas_thread(), np.errstate(all="ignore"):
        loop = train(model, configs, batch_size=data["batch_size"], epochs=record["epochs"],
                     seeds=seeds, best=best)  # fmt: skip
    rows = []
    for i, m in enumerate(record["methods"]):
        rows.append({
            "key": m["key"], "outcome": m["outcome"], "rate": m["mean_square"]["rate"],
            "says_excess": _value(m["excess_after"]), "says_square": _value(m["error_after"]),
            "excess": _mean(loop["excess"][:, i]), "square": _mean(loop["square"][:, i]),
            "largest": _finite(loop["excess"][:, i].max()),
            "error": _finite(loop["excess"][:, i].std(ddof=1) / math.sqrt(seeds)),
            "lost": int(np.isinf(loop["excess"][:, i]).sum()),
        })  # fmt: skip
    floors = _floors(model, record, best, once)
    rates = _rates(model, record, once) if data["loss"] == "squared" else {}
    return {
        "seconds": seconds, "loss": data["loss"], "seeds": seeds, "methods": rows,
        "start_excess": loop["start_excess"], "says_start": data["start_excess"],
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


def _time_of_step(model: Model, configs: list[Config], batch: int) -> float:
    points = np.zeros((len(configs), model.dimension))
    rows = np.arange(min(batch, len(model.X)))
    begun = time.perf_counter()
    for _ in range(20):
        model.gradient(rows, points)
    return 1.4 * (time.perf_counter() - begun) / 20


def _floors(model: Model, record: dict, best, once: float) -> dict:
    """Runs from the minimiser, for every floor that was given and settles in the time."""
    out = {}
    begun = time.perf_counter()
    per_epoch = -(-len(model.X) // record["data"]["batch_size"])
    for m in record["methods"]:
        if m["floor"] is None:
            continue
        memory = 1.0 / max(1.0 - m["mean_square"]["rate"], 1e-12)
        epochs = max(20, math.ceil(12.0 * memory / per_epoch))
        seeds = int(np.clip(5.0 / max(0.3 * once * epochs * per_epoch, 1e-9), 2, 24))
        if 0.3 * once * epochs * per_epoch * seeds > 6.0 or time.perf_counter() - begun > PART:
            continue
        with one_blas_thread(), np.errstate(all="ignore"):
            loop = train(model, [_config(m)], batch_size=record["data"]["batch_size"],
                         epochs=epochs, seeds=seeds, start=best, best=best)  # fmt: skip
        late = loop["late_square"][:, 0]
        out[m["key"]] = {
            "says": m["floor"]["value"], "is": _mean(late),
            "error": _finite(late.std(ddof=1) / math.sqrt(seeds)),
        }  # fmt: skip
    return out


def _rates(model: Model, record: dict, once: float) -> dict:
    """Growth of E‖p - p*‖² without gradient noise: the target is made to fit exactly."""
    out = {}
    begun = time.perf_counter()
    per_epoch = -(-len(model.X) // record["data"]["batch_size"])
    exact = Model(model.X, model.X @ np.ones(model.dimension), "squared", model.l2)
    best = exact.best()
    for m in record["methods"]:
        rate = m["mean_square"]["rate"]
        if m["constant_share"] < 1.0 or m["averaged"] or m["outcome"] in ("diverges", "erratic"):
            continue
        memory = 1.0 / max(1.0 - rate, 1e-12)
        epochs = 4 * max(2, math.ceil(3.0 * memory / per_epoch))
        dear = 0.3 * once * epochs * per_epoch * 32 > 4.0
        # A rate far below 1 is made by rare draws, which a few dozen runs do not see.
        if rate < 0.5 or dear or time.perf_counter() - begun > PART:
            continue
        marks = tuple(range(1, epochs + 1))
        with one_blas_thread(), np.errstate(all="ignore"):
            loop = train(exact, [_config(m)], batch_size=record["data"]["batch_size"],
                         epochs=epochs, seeds=32, best=best, marks=marks)  # fmt: skip
        curve = np.array([loop["marked"][e][:, 0].mean() for e in marks])
        # Sums over the second and the last quarter: a decay may oscillate.
        half = curve[epochs // 4 : epochs // 2].sum()
        full = curve[3 * epochs // 4 :].sum()
        if not (np.isfinite(full) and full > 1e-22 * loop["start_excess"] and half > full):
            continue
        slope = math.log(full / half) / (2.0 * (epochs // 2) * per_epoch)
        out[m["key"]] = {"says": math.log(max(rate, 1e-300)), "is": slope}
    return out


def use(table, scaled: bool) -> dict:
    """The advice against usual defaults and a grid, at several horizons."""
    out = {"horizons": {}}
    seconds = []
    for epochs in HORIZONS:
        begun = time.perf_counter()
        result = diagnose(table, standardise=scaled, epochs=epochs, time=BUDGET, try_remedies=False)
        seconds.append(time.perf_counter() - begun)
        if result.recommendation is None:
            out["horizons"][epochs] = None
            continue
        record = result.to_dict()
        data = record["data"]
        model = _model(table, scaled, data)
        out["horizons"][epochs] = _compare(model, record, epochs)
    out["seconds"] = seconds
    return out


def _compare(model: Model, record: dict, epochs: int) -> dict:
    a = record["advice"]
    L = record["curvature"]["L"]
    named = {
        "advice": Config(a["alpha"], a["beta"], a["constant_share"], a["averaged"]),
        "lr .01/.9": Config(0.01, 0.9),
        "lr .01/.9 decay": Config(0.01, 0.9, 0.0),
        "scikit-learn": Config(0.01, 0.0),
        "1/L": Config(1.0 / L, 0.0),
    }
    momenta = [0.0, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99][: GRID[1]]
    steps = np.geomspace(1e-4, 4.0, GRID[0]) / L
    grid = [Config(lr, b, c) for lr in steps for b in momenta for c in (1.0, 0.0)]
    every = [*named.values(), *grid]
    with one_blas_thread(), np.errstate(all="ignore"):
        loop = train(model, every, batch_size=record["data"]["batch_size"], epochs=epochs, seeds=4)
    mean = loop["excess"].mean(axis=0) / loop["start_excess"]
    out = {name: _finite(mean[i]) for i, name in enumerate(named)}
    rest = mean[len(named) :]
    # The best of the grid is chosen on two seeds and judged on the two others.
    chosen = loop["excess"][:2].mean(axis=0)[len(named) :]
    for name, first in (("grid constant", 0), ("grid decay", 1)):
        pick = first + 2 * int(np.nanargmin(chosen[first::2]))
        judged = loop["excess"][2:, len(named) + pick].mean() / loop["start_excess"]
        out[name] = _finite(judged)
    out["advice judged"] = _finite(loop["excess"][2:, 0].mean() / loop["start_excess"])
    out["grid least"] = _finite(np.nanmin(rest))
    return out


def _value(estimate: dict | None) -> float | None:
    return None if estimate is None else estimate["value"]


def _mean(values) -> float | None:
    return _finite(values.mean())


def _finite(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def report(paths: list[str]) -> None:
    """Shares of agreement and gaps of the advice over all results."""
    lines = [json.loads(one) for path in paths for one in Path(path).read_text().splitlines()]
    for part, show in (("agreement", _show_agreement), ("usefulness", _show_usefulness)):
        mine = [line for line in lines if line["part"] == part]
        if mine:
            show(mine)


def _show_agreement(lines: list[dict]) -> None:
    answered = [line for line in lines if "failed" not in line]
    print(f"answered {len(answered)} of {len(lines)}; longest "
          f"{max(line['seconds'] for line in answered):.0f} s of {BUDGET:.0f}")  # fmt: skip
    for line in lines:
        if "failed" in line:
            print("  failed:", line["label"], line["failed"])
    for squared in (True, False):
        group = [line for line in answered if (line["loss"] == "squared") is squared]
        _show_group("squared" if squared else "other losses", group)


def _show_group(name: str, group: list[dict]) -> None:
    right = wrong = allowed = 0
    errors: list[float] = []
    squares: list[float] = []
    floors: list[float] = []
    rates: list[float] = []
    for line in group:
        begin = line["start_excess"]
        for m in line["methods"]:
            good = _same_outcome(m, begin)
            right += good
            wrong += not good
            if not good:
                print(f"  outcome differs: {line['label']} {m['key']} says {m['outcome']} at "
                      f"{m['rate']:.6f}, loop excess {m['excess']} of {begin:.3g}, "
                      f"lost {m['lost']}")  # fmt: skip
            if m["outcome"] == "converges" and m["excess"] and m["says_excess"]:
                ratio = m["says_excess"] / m["excess"]
                errors.append(ratio)
                noise = 3.0 * (m["error"] or math.inf) / m["excess"]
                allowed += abs(ratio - 1.0) <= max(0.2, noise)
                squares.append(m["says_square"] / m["square"])
        floors += [f["says"] / f["is"] for f in line["floors"].values() if f["is"]]
        rates += [r["says"] / r["is"] for r in line["rates"].values() if r["is"]]
    print(f"{name}: {len(group)} cases, outcomes {right} of {right + wrong}; losses within 20 % "
          f"or three standard errors of the loop: {allowed} of {len(errors)}")  # fmt: skip
    for what, ratios, within in (
        ("losses", errors, 0.2), ("distances", squares, 0.2), ("floors", floors, 0.1),
        ("rates", rates, 0.05),
    ):  # fmt: skip
        good = sum(abs(r - 1.0) <= within for r in ratios)
        if ratios:
            print(f"  {what}: {good} of {len(ratios)} within {100 * within:.0f} %, "
                  f"median ratio {np.median(ratios):.3f}")  # fmt: skip


def _same_outcome(m: dict, begin: float) -> bool:
    excess = math.inf if m["excess"] is None or m["lost"] else m["excess"]
    if m["outcome"] == "converges":
        return excess < begin
    if m["outcome"] == "useless":
        return excess > 0.5 * begin
    if m["outcome"] in ("diverges", "erratic"):
        return excess > 0.1 * begin
    return True


def _show_usefulness(lines: list[dict]) -> None:
    answered = [line for line in lines if "failed" not in line]
    print(f"advice given on {len(answered)} of {len(lines)}")
    for epochs in HORIZONS:
        rows = [line["horizons"].get(str(epochs)) for line in answered]
        rows = [(line["label"], r) for line, r in zip(answered, rows, strict=True) if r]
        gaps, worse = [], 0
        for label, r in rows:
            mine = r["advice"] if r["advice"] is not None else math.inf
            judged = r["advice judged"] if r["advice judged"] is not None else math.inf
            grid = min(v for v in (r["grid constant"], r["grid decay"]) if v is not None)
            gaps.append(judged / max(grid, 1e-300))
            named = [r[k] for k in ("lr .01/.9", "lr .01/.9 decay", "scikit-learn", "1/L")]
            best = min(v for v in [*named, math.inf] if v is not None)
            if mine > 1.05 * best:
                worse += 1
                print(f"  {label}, {epochs} epochs: advice {mine:.3g}, a default {best:.3g}")
        if rows:
            print(f"{epochs} epochs: {len(rows)} cases, gap to the best of the grid: median "
                  f"{np.median(gaps):.3g}, quartiles {np.quantile(gaps, 0.25):.3g} to "
                  f"{np.quantile(gaps, 0.75):.3g}; worse than a default by 5 %: "
                  f"{worse}")  # fmt: skip


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


def main() -> None:
    """Run what the first word names."""
    part, *rest = sys.argv[1:] or ["large"]
    if part == "report":
        report(rest)
    elif part in ("agreement", "usefulness"):
        run(part, Path(rest[0]), rest[1:])
    else:
        {"large": large, "sparse": sparse}[part]()


if __name__ == "__main__":
    main()
