"""``examples/torch_digits.py`` with other seeds: how often its monitor is right.

    OMP_NUM_THREADS=1 python -m benchmarks.torch_monitor_example [SEEDS]

Of each seed of network and batches: the lr of the example that grows until it blows up, at 2 % a
step and at 1.5, 3 and 4 %, and lrs that stay, up to twice the advised. Counted as in
``benchmarks.torch_monitor``: warned at least five steps before the loss is ten times its start;
false alarms among runs that ended within twice their least smoothed loss.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from examples.torch_digits import train

from benchmarks.torch_monitor import blown_up, end_of
from benchmarks.torch_monitor_report import counts

GROWTHS = (1.02, 1.015, 1.03, 1.04)
STAYING = (0.02, 0.04, 0.0672, 0.1, 0.134)
"""lr with momentum 0.9; the example is advised 0.0672."""


def one_run(lr: float, growth: float, seed: int) -> dict[str, Any]:
    """The example's run, up to where the benchmark takes it for blown up."""
    losses, monitor = train(lr, 0.9, growth, seed)
    steps = range(1, len(losses) + 1)
    end = next((k for k in steps if blown_up(losses[:k])), len(losses))
    return {"jump": None, **end_of(losses[:end], monitor)}


def main() -> None:
    """Run and count."""
    torch.set_num_threads(1)
    seeds = range(1, 1 + (int(sys.argv[1]) if len(sys.argv) > 1 else 200))
    for lr, growth in [(0.005, growth) for growth in GROWTHS] + [(lr, 1.0) for lr in STAYING]:
        of = counts([one_run(lr, growth, seed) for seed in seeds])
        print(
            f"lr {lr:g}, growing by {100 * (growth - 1):g} % a step: {of['warned']:.1%} of "
            f"{of['late blow-ups']} late blow-ups warned of in time, {of['median steps ahead']:g} "
            f"steps ahead in the median; {of['false']:.1%} false alarms in {of['went well']} runs "
            "that went well", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
