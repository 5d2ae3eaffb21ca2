"""What ``benchmarks.torch_monitor`` measured: warnings, false alarms, and how true the risk is.

    python -m benchmarks.torch_monitor_report [picture]

A warning counts where it came at least five steps before the blow-up. A false alarm is a warning in
the first 300 steps of a run that did not blow up: counted among all of these (strict), and among
those that went well, which ended within twice their least smoothed loss. ``picture`` draws the
reliability diagram into ``docs/images/torch-risk.svg``.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.torch_monitor import LATE, RESULTS, STEPS
from ravine.torch.risk import blow_up_risk

AHEAD = 5
"""Steps that a warning must come before the blow-up to be of use."""

WITHIN = 40
"""Steps that the risk speaks of."""

SQUARES = ("mse", "quadratic")
ENTROPIES = ("ce", "logistic")
SPLITS = ("tuned on", "kept back", "worked example")
CLASSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.01)
"""Of the risk, in the reliability diagram."""

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "torch-risk.svg"

Row = dict[str, Any]


def counts(rows: list[Row]) -> dict[str, float]:
    """Late blow-ups, the shares warned of in time, and false alarms."""
    late = [r for r in rows if r["blow_up"] is not None and r["blow_up"] >= LATE]
    foreseeable = [r for r in late if not _sudden(r)]
    unsaid = [r for r in foreseeable if r["rising_for"] < AHEAD]
    ended = [r for r in rows if r["blow_up"] is None]
    well = [r for r in ended if not r["spoilt"]]
    warned = [r for r in foreseeable if _warned_by(r, r["blow_up"] - AHEAD)]

    return {
        "runs": len(rows),
        "late blow-ups": len(late),
        "foreseeable": len(foreseeable),
        "warned": _share(foreseeable, warned),
        "warned of all late": _share(
            late, [r for r in late if _warned_by(r, r["blow_up"] - AHEAD)]
        ),
        "median steps ahead": float(np.median([r["blow_up"] - r["warned"] for r in warned] or [0])),
        "loss said nothing in time": _share(foreseeable, unsaid),
        "did not blow up": len(ended),
        "false, strict": _share(ended, [r for r in ended if _warned_by(r, STEPS - 1)]),
        "went well": len(well),
        "false": _share(well, [r for r in well if _warned_by(r, STEPS - 1)]),
    }


def _sudden(row: Row) -> bool:
    """Whether lr jumped so late that nothing could be known in time."""
    return row["jump"] is not None and 0 <= row["blow_up"] - row["jump"] < AHEAD


def _warned_by(row: Row, step: int) -> bool:
    return row["warned"] is not None and row["warned"] <= step


def _share(whole: list[Row], part: list[Row]) -> float:
    return round(len(part) / len(whole), 3) if whole else 0.0


def reliability(rows: list[Row]) -> list[tuple[float, float, int]]:
    """(risk said, share that blew up within 40 steps, readings), by class of the risk."""
    said: list[float] = []
    came: list[bool] = []
    for row in rows:
        kind = "mse" if row["kind"] in SQUARES else "cross-entropy"
        for step, danger in row["readings"]:
            # What became of the last readings was not seen.
            if row["blow_up"] is None and step + WITHIN > row["steps"]:
                continue
            said.append(blow_up_risk(danger, kind))
            came.append(row["blow_up"] is not None and row["blow_up"] - step <= WITHIN)

    risk = np.array(said)
    share = np.array(came)
    points = []
    for low, high in itertools.pairwise(CLASSES):
        inside = (risk >= low) & (risk < high)
        if inside.any():
            points.append(
                (float(risk[inside].mean()), float(share[inside].mean()), int(inside.sum()))
            )
    return points


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
            for said, came, number in reliability(chosen):
                print(f"  risk said {said:6.3f}  came {came:6.3f}  ({number} readings)")


def draw(data: dict[str, Any]) -> None:
    """The reliability diagram of the tasks that the risk was not calibrated on."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "torch-risk"
    figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
    axes.plot([0.003, 1.0], [0.003, 1.0], color="0.6", linewidth=1, label="as said")
    for kinds, name, mark in ((SQUARES, "squared loss", "o"), (ENTROPIES, "cross-entropy", "s")):
        points = reliability(select(data["rows"], "kept back", kinds))
        said, came, numbers = (np.array(part) for part in zip(*points, strict=True))
        # Two standard errors as if readings were independent; those of one run are not.
        error = 2.0 * np.sqrt(np.maximum(came * (1.0 - came), 1e-4) / numbers)
        axes.errorbar(
            said, np.maximum(came, 0.003), yerr=[np.minimum(error, 0.999 * came), error],
            marker=mark, capsize=2, linewidth=1, label=name,
        )  # fmt: skip
    axes.set(
        xscale="log", yscale="log", xlim=(0.004, 1.0), ylim=(0.003, 1.0),
        xlabel="risk said", ylabel="share that blew up within 40 steps",
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
