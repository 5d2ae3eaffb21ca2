"""Steps of ``ravine.torch.ASG`` and of ``torch.optim.SGD(nesterov=True)``, in turn, in CPU time.

OMP_NUM_THREADS=1 python -m benchmarks.torch.asg_speed [rounds]
"""

from __future__ import annotations

import sys
import time

import torch

from benchmarks.contest import Contender, Workload, contest, show
from ravine.torch import ASG

STEPS = 20
"""Optimizer steps a measurement: some tens of milliseconds."""


def stepper(make: type[torch.optim.Optimizer], sizes: list[int], **words: object) -> object:
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(size)) for size in sizes]
    rule = make(weights, lr=1e-3, momentum=0.9, **words)
    for w in weights:
        w.grad = torch.randn_like(w) * 1e-3

    def work() -> None:
        for _ in range(STEPS):
            rule.step()

    return work


def main() -> None:
    """Small and large parameters, the three kinds of kernels."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    torch.set_num_threads(1)
    for title, sizes in {
        "20 parameters of 1,000": [1000] * 20,
        "4 parameters of 250,000": [250_000] * 4,
    }.items():
        for path in ({"foreach": False}, {"foreach": True}, {"fused": True}):
            contenders = [
                Contender("ravine.torch.ASG", stepper(ASG, sizes, **path), STEPS),
                Contender(
                    "torch.optim.SGD(nesterov=True)",
                    stepper(torch.optim.SGD, sizes, nesterov=True, **path),
                    STEPS,
                ),
            ]
            speeds = contest(contenders, rounds, time.process_time)
            show(Workload(f"{title}, {path}", "steps a second", 1.0, contenders,
                          {"torch.optim": 0.9}), speeds)  # fmt: skip


if __name__ == "__main__":
    main()
