"""What ``benchmarks.torch_monitor`` measured: warnings, false alarms, and how true the risk is.

    python -m benchmarks.torch_monitor_report [picture]

A warning counts where it came at least five steps before the blow-up. A false alarm is a warning in
the first 300 steps of a run that did not blow up: counted among all of these (strict), and among
those that went well, which ended within twice their least smoothed loss. ``picture`` draws the
reliability diagram into ``docs/images/torch-risk.svg``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.torch_monitor import LATE, RESULTS, STEPS
from ravine.torch.risk import blow_up_risk

AHEAD = 5
BARELY = 3
"""Steps that a warning must come before the blow-up to be of use, and barely."""

WITHIN = 40
"""Steps that the risk speaks of."""

SQUARES = ("mse", "quadratic")
ENTROPIES = ("ce", "logistic")
SPLITS = ("tuned on", "kept back", "worked example")
FEWEST = 3
"""Readings of a task that make a share."""

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "torch-risk.svg"

Row = dict[str, Any]


def counts(rows: list[Row]) -> dict[str, float]:
    """Late blow-ups, the shares warned of in time, and false alarms."""
    late = late_blow_ups(rows)
    foreseeable = [r for r in late if not sudden(r)]
    unsaid = [r for r in foreseeable if r["rising_for"] < AHEAD]
    ended = [r for r in rows if r["blow_up"] is None]
    well = went_well(rows)
    spoilt = [r for r in ended if r["spoilt"]]
    warned = [r for r in foreseeable if warned_by(r, r["blow_up"] - AHEAD)]
    barely = [r for r in foreseeable if warned_by(r, r["blow_up"] - BARELY)]

    return {
        "runs": len(rows),
        "late blow-ups": len(late),
        "foreseeable": len(foreseeable),
        "warned": _share(foreseeable, warned),
        "warned three steps ahead": _share(foreseeable, barely),
        "warned of all late": _share(late, [r for r in late if warned_by(r, r["blow_up"] - AHEAD)]),
        "median steps ahead": float(np.median([r["blow_up"] - r["warned"] for r in warned] or [0])),
        "loss said nothing in time": _share(foreseeable, unsaid),
        "did not blow up": len(ended),
        "false, strict": _share(ended, [r for r in ended if warned_by(r, STEPS - 1)]),
        "spoilt": len(spoilt),
        "spoilt, warned": len([r for r in spoilt if warned_by(r, STEPS - 1)]),
        "went well": len(well),
        "false": _share(well, [r for r in well if warned_by(r, STEPS - 1)]),
    }


def late_blow_ups(rows: list[Row]) -> list[Row]:
    """Runs that blew up after enough steps to learn from."""
    return [r for r in rows if r["blow_up"] is not None and r["blow_up"] >= LATE]


def went_well(rows: list[Row]) -> list[Row]:
    """Runs that neither blew up nor were spoilt."""
    return [r for r in rows if r["blow_up"] is None and not r["spoilt"]]


def sudden(row: Row) -> bool:
    """Whether lr jumped so late that nothing could be known in time."""
    return row["jump"] is not None and 0 <= row["blow_up"] - row["jump"] < AHEAD


def warned_by(row: Row, step: int) -> bool:
    return row["warned"] is not None and row["warned"] <= step


def _share(whole: list[Row], part: list[Row]) -> float:
    return round(len(part) / len(whole), 3) if whole else 0.0


class Share(NamedTuple):
    """What became of the readings that said one risk."""

    said: float
    came: float
    """The mean over tasks of the share that blew up within 40 steps."""
    error: float
    """Standard error of that mean, from its scatter over tasks."""
    pooled: float
    """The share of all readings, in which a task counts as often as it said this risk."""
    readings: int


def reliability(rows: list[Row]) -> list[Share]:
    """By risk said, what came; tasks with fewer than three such readings are left out."""
    outcomes: dict[float, dict[str, list[bool]]] = {}
    for row in rows:
        kind = "mse" if row["kind"] in SQUARES else "cross-entropy"
        for step, danger in row["readings"]:
            # What became of the last readings was not seen.
            if row["blow_up"] is None and step + WITHIN > row["steps"]:
                continue
            said = outcomes.setdefault(blow_up_risk(danger, kind), {})
            came = row["blow_up"] is not None and row["blow_up"] - step <= WITHIN
            said.setdefault(row["task"], []).append(came)

    shares = []
    for risk, by_task in sorted(outcomes.items()):
        means = [float(np.mean(came)) for came in by_task.values() if len(came) >= FEWEST]
        if len(means) > 1:
            every = [came for some in by_task.values() for came in some]
            error = float(np.std(means, ddof=1) / np.sqrt(len(means)))
            shares.append(
                Share(risk, float(np.mean(means)), error, float(np.mean(every)), len(every))
            )
    return shares


def select(rows: list[Row], split: str, kinds: tuple[str, ...]) -> list[Row]:
    """The rows of a split with these losses."""
    return [row for row in rows if row["split"] == split and row["kind"] in kinds]


def show(data: dict[str, Any]) -> None:
    """Print what was measured."""
    rows = data["rows"]
    print(f"{data['date']}, {data['machine']}, {len(rows)} runs")
    steps = sum(row["steps"] for row in rows)
    print(f"gradients of the monitor a step: {sum(row['gradients'] for row in rows) / steps:.3f}")
    for split in SPLITS:
        for kinds in (SQUARES, ENTROPIES):
            chosen = select(rows, split, kinds)
            if not chosen:
                continue

            print(f"\n{split}, {' and '.join(kinds)}")
            for name, value in counts(chosen).items():
                print(f"  {name:26s} {value:g}")
            for schedule in ("constant", "grows", "jumps"):
                of = counts([row for row in chosen if row["schedule"] == schedule])
                print(
                    f"  lr {schedule:9s} warned {of['warned']:.2f} of {of['foreseeable']}, "
                    f"false {of['false']:.2f} of {of['went well']}, "
                    f"strict {of['false, strict']:.2f} of {of['did not blow up']}"
                )
            for task in sorted({row["task"] for row in chosen}):
                of = counts([row for row in chosen if row["task"] == task])
                print(
                    f"  {task:35s} warned {of['warned']:.2f} of {of['foreseeable']}, "
                    f"false {of['false']:.2f} of {of['went well']}"
                )
            for share in reliability(chosen):
                print(
                    f"  risk said {share.said:5.3f}  came {share.came:5.3f} "
                    f"(error {share.error:5.3f}) in the mean over tasks, {share.pooled:5.3f} "
                    f"of {share.readings} readings"
                )


def draw(data: dict[str, Any]) -> None:
    """The reliability diagram of the tasks that the risk was not calibrated on."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "torch-risk"
    figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
    axes.plot([0.001, 1.0], [0.001, 1.0], color="0.6", linewidth=1, label="as said")
    for kinds, name, mark in ((SQUARES, "squared loss", "o"), (ENTROPIES, "cross-entropy", "s")):
        said, came, error, _, _ = (
            np.array(part)
            for part in zip(*reliability(select(data["rows"], "kept back", kinds)), strict=True)
        )
        axes.errorbar(
            said, came, yerr=[np.minimum(2.0 * error, 0.999 * came), 2.0 * error],
            marker=mark, capsize=2, linewidth=1, label=name,
        )  # fmt: skip
    axes.set(
        xscale="log", yscale="log", xlim=(0.004, 1.0), ylim=(0.001, 1.0),
        xlabel="risk said", ylabel="share that blew up within 40 steps, mean over tasks",
    )  # fmt: skip
    axes.legend(frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Show, or draw."""
    if not RESULTS.exists():
        raise SystemExit(f"{RESULTS} is not there yet: python -m benchmarks.torch_monitor run")

    data = json.loads(RESULTS.read_text())
    if sys.argv[1:] == ["picture"]:
        draw(data)
    else:
        show(data)


if __name__ == "__main__":
    main()
