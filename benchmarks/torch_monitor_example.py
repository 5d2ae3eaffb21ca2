"""``examples/torch_digits.py`` with other seeds: how often its monitor is right.

    OMP_NUM_THREADS=1 python -m benchmarks.torch_monitor_example [SEEDS]

Of each seed of network and batches: the lr of the example that grows until it blows up, at 2 % a
step and at 1.5, 3 and 4 %, and lrs that stay, up to twice the advised. Counted as in
``benchmarks.torch_monitor``: warned at least five steps before the loss is ten times its start;
false alarms among runs that ended within twice their least smoothed loss.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import torch
from examples.torch_digits import STEPS, train

from benchmarks.torch_monitor import BLOWN_UP, LATE, RECENT, smoothed
from benchmarks.torch_monitor_report import AHEAD

GROWTHS = (1.02, 1.015, 1.03, 1.04)
STAYING = (0.02, 0.04, 0.0672, 0.1, 0.134)
"""lr with momentum 0.9; the example is advised 0.0672."""


@dataclass(frozen=True)
class Run:
    """How a run ended, and when it was first warned of."""

    blow_up: int | None
    warned: int | None
    well: bool

    @property
    def in_time(self) -> bool:
        """Whether it was warned of in time, or at all where it did not blow up."""
        until = STEPS if self.blow_up is None else self.blow_up - AHEAD
        return self.warned is not None and self.warned <= until


def one_run(lr: float, growth: float, seed: int) -> Run:
    """The example's run."""
    losses, monitor = train(lr, 0.9, growth, seed)
    high = BLOWN_UP * float(np.mean(losses[:RECENT]))
    recent = [float(np.mean(losses[max(0, k - RECENT + 1) : k + 1])) for k in range(len(losses))]
    blow_up = next((k for k, loss in enumerate(recent) if not loss <= high), None)
    warned = next((r.step for r in monitor.readings if r.level == "warning"), None)
    well = blow_up is None and float(np.mean(losses[-20:])) <= 2.0 * min(smoothed(losses)[5:])
    return Run(blow_up, warned, well)


def main() -> None:
    """Run and count."""
    torch.set_num_threads(1)
    seeds = range(1, 1 + (int(sys.argv[1]) if len(sys.argv) > 1 else 200))
    for growth in GROWTHS:
        runs = [one_run(0.005, growth, seed) for seed in seeds]
        late = [run for run in runs if run.blow_up is not None and run.blow_up >= LATE]
        ahead = [run.blow_up - run.warned for run in late if run.in_time]
        print(
            f"lr grows by {100 * (growth - 1):g} % a step: {len(late)} late blow-ups, "
            f"{len(ahead) / max(len(late), 1):.1%} warned of in time, "
            f"{np.median(ahead or [0]):g} steps ahead in the median", flush=True,
        )  # fmt: skip

    for lr in STAYING:
        runs = [one_run(lr, 1.0, seed) for seed in seeds]
        late = [run for run in runs if run.blow_up is not None and run.blow_up >= LATE]
        well = [run for run in runs if run.well]
        print(
            f"lr stays {lr:g}: {len(late)} late blow-ups, {sum(r.in_time for r in late)} warned of "
            f"in time; {len(well)} went well, {sum(r.in_time for r in well)} false alarms",
            flush=True,
        )


if __name__ == "__main__":
    main()
