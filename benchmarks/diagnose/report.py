"""Shares of agreement and gaps of the advice, from the lines that ``benchmarks.diagnose`` wrote.

A number of a diagnosis is held against the loop's mean, which has a standard error of its own. Each
share is printed twice: of all numbers, and of those that the loop knows to a quarter of the
tolerance, so that a miss is a miss of the diagnosis and not of the yardstick.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

HORIZONS = (10, 30, 100)
DEFAULTS = ("lr .01/.9", "lr .01/.9 decay", "scikit-learn", "1/L")
ROUNDING = 1e-12
"""Of what is at the start: numbers below it are zero, as the loop finds its minimiser no closer."""
SHOWN = 40
"""Misses that are listed of each kind, the worst first."""


class Held(NamedTuple):
    """A number of a diagnosis, the loop's, and its standard error."""

    label: str
    says: float
    low: float
    high: float
    true: float
    error: float

    @property
    def ratio(self) -> float:
        """What was said over what is so."""
        return self.says / self.true

    @property
    def doubt(self) -> float:
        """Relative standard error of the loop."""
        return abs(self.error / self.true)

    @property
    def covered(self) -> bool:
        """Whether the limits that were given hold it, within two standard errors or 1 %."""
        low, high = sorted((self.low, self.high))
        slack = max(2.0 * self.error, 0.01 * abs(self.true))
        return low - slack <= self.true <= high + slack


def report(paths: list[Path]) -> None:
    """Print shares and gaps over all results."""
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    for part, show in (("agreement", _show_agreement), ("usefulness", _show_usefulness)):
        chosen = [line for line in lines if line["part"] == part]
        if chosen:
            show(chosen)


def _show_agreement(lines: list[dict]) -> None:
    answered = [line for line in lines if "failed" not in line]
    print(
        f"answered {len(answered)} of {len(lines)}; longest "
        f"{max(line['seconds'] for line in answered):.0f} s of CPU, median "
        f"{np.median([line['seconds'] for line in answered]):.1f} s"
    )
    for line in lines:
        if "failed" in line:
            print("  failed:", line["label"], line["failed"])

    for squared in (True, False):
        group = [line for line in answered if (line["loss"] == "squared") is squared]
        if group:
            _show_group("squared" if squared else "other losses", group)


def _show_group(name: str, group: list[dict]) -> None:
    outcomes = [
        (_same_outcome(m, line["start_excess"]), line, m) for line in group for m in line["methods"]
    ]
    for same, line, m in outcomes:
        if not same:
            print(
                f"  outcome differs: {line['label']} {m['key']} says {m['outcome']} at "
                f"{m['rate']:.6f}, loop {m['excess']} ± {m['error']} of "
                f"{line['start_excess']:.3g}, lost {m['lost']} of {line['seeds']}"
            )
    right = sum(same for same, _, _ in outcomes)
    print(
        f"{name}: {len(group)} cases, outcomes {right} of {len(outcomes)} "
        f"({100 * right / len(outcomes):.1f} %)"
    )

    losses, distances, floors, rates = [], [], [], []
    for line in group:
        for m in line["methods"]:
            where = f"{line['label']} {m['key']}"
            if m["outcome"] == "converges":
                least = ROUNDING * line["start_excess"]
                near = ROUNDING * line["start_square"]
                losses += _held(where, m["says"], m["excess"], m["error"], least)
                distances += _held(where, m["says_square"], m["square"], m["square_error"], near)
        for key, f in line["floors"].items():
            near = ROUNDING * line["start_square"]
            floors += _held(f"{line['label']} {key}", f["says"], f["is"], f["error"], near)
        for key, r in line["rates"].items():
            rates += _rate(f"{line['label']} {key}", r)

    _show_share("losses", losses, 0.2)
    _show_share("distances", distances, 0.2)
    _show_share("floors", floors, 0.1)
    _show_share("rates", rates, 0.05)


def _held(
    label: str, says: dict | None, true: float | None, error: float | None, least: float
) -> list[Held]:
    """The pair, unless there is nothing to compare: no number, or zero on both sides."""
    if says is None or true is None or error is None:
        return []
    if max(true, says["value"]) <= least:
        return []

    high = math.inf if says["high"] is None else says["high"]
    return [Held(label, says["value"], says["low"], high, true, error)]


def _rate(label: str, r: dict) -> list[Held]:
    if not r["is"] or r["error"] is None:
        return []

    low = math.log(max(r["low"], 1e-300)) if r["low"] is not None else -math.inf
    high = math.log(r["high"]) if r["high"] is not None else math.inf
    return [Held(label, r["says"], low, high, r["is"], r["error"])]


def _show_share(what: str, every: list[Held], within: float) -> None:
    if not every:
        return

    good = [h for h in every if abs(h.ratio - 1.0) <= within]
    known = [h for h in every if h.doubt <= 0.25 * within]
    sure = [h for h in known if abs(h.ratio - 1.0) <= within]
    covered = sum(h.covered for h in every)
    print(
        f"  {what}: {len(good)} of {len(every)} within {100 * within:.0f} % "
        f"({100 * len(good) / len(every):.1f} %); of those that the loop knows to "
        f"{25 * within:.2g} %: {len(sure)} of {len(known)} "
        f"({100 * len(sure) / max(len(known), 1):.1f} %); limits hold {covered} of {len(every)}; "
        f"median ratio {np.median([h.ratio for h in every]):.3f}"
    )
    missed = [h for h in every if abs(h.ratio - 1.0) > within]
    missed.sort(key=lambda h: -abs(math.log(max(h.ratio, 1e-300))))
    for h in missed[:SHOWN]:
        print(
            f"    {h.label}: says {h.says:.4g} ({h.low:.4g} to {h.high:.4g}), "
            f"is {h.true:.4g} ± {h.error:.2g}"
        )


def _same_outcome(m: dict, begin: float) -> bool:
    """Whether the loop did what was said, beyond three standard errors of its own."""
    lost = m["excess"] is None or m["lost"] > 0
    excess = math.inf if lost else m["excess"]
    doubt = 0.0 if lost else 3.0 * m["error"]
    if m["outcome"] == "converges":
        return excess - doubt < begin
    if m["outcome"] == "stalls":
        return excess + doubt > 0.5 * begin
    if m["outcome"] in ("diverges", "erratic"):
        return excess + doubt > 0.1 * begin

    return True


def _show_usefulness(lines: list[dict]) -> None:
    answered = [line for line in lines if "failed" not in line]
    print(f"advice given on {len(answered)} of {len(lines)}")
    for line in lines:
        if "failed" in line:
            print("  failed:", line["label"], line["failed"])

    for epochs in HORIZONS:
        every = [(line["label"], line["horizons"].get(str(epochs))) for line in answered]
        rows = [(label, row) for label, row in every if row and "left out" not in row]
        if rows:
            _show_horizon(epochs, rows)
            print(f"    no advice or no grid: {len(every) - len(rows)}")


def _show_horizon(epochs: int, rows: list[tuple[str, dict]]) -> None:
    gaps = []
    worse = 0
    quicker = []
    for label, row in rows:
        mine = _share(row["advice"])
        grid = min(_share(row["grid constant"]), _share(row["grid decay"]))
        gaps.append(mine / grid)
        default = min(_share(row[name]) for name in DEFAULTS)
        # Two standard errors of the difference: the loop's own doubt.
        doubt = 2.0 * (row["advice"]["error"] or 0.0)
        if mine > 1.05 * default:
            sure = "" if mine - doubt > 1.05 * default else ", within the loop's doubt"
            worse += not sure
            print(f"    {label}, {epochs} epochs: advice {mine:.3g}, a default {default:.3g}{sure}")

        named = [row[name]["to 1 %"] or math.inf for name in DEFAULTS]
        fast = row.get("quick", row["advice"])["to 1 %"] or math.inf
        if math.isfinite(min(*named, fast)):
            quicker.append(fast / min(named))

    print(
        f"{epochs} epochs: {len(rows)} cases, gap to the best of the grid: median "
        f"{np.median(gaps):.3g}, quartiles {np.quantile(gaps, 0.25):.3g} to "
        f"{np.quantile(gaps, 0.75):.3g}, largest {max(gaps):.3g}; worse than a default by more "
        f"than 5 %: {worse}"
    )
    if quicker:
        slower = sum(q > 1.0 for q in quicker)
        print(
            f"    epochs to 1 %, the fast choice over the best default: median "
            f"{np.median(quicker):.3g}, slower in {slower} of {len(quicker)}"
        )


def _share(row: dict) -> float:
    """What is left of the loss at the start; below rounding all are the same."""
    return math.inf if row["share"] is None else max(row["share"], ROUNDING)
