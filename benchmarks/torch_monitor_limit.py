"""What any monitor could know: the share of blow-ups among futures drawn again.

    OMP_NUM_THREADS=1 python -m benchmarks.torch_monitor_limit [run [WORKERS]]

Runs of the worked example as in ``benchmarks.torch_monitor``. Every five steps the next 25 are run
48 times from the weights and velocity of that step, with batches drawn anew from the whole data:
the share that blows up is the probability that nothing can beat which does not know the batches to
come. It takes 240 gradients a step. An alarm is a share above a threshold. The lr of the future is
that of the schedule while it grows ("known"), or stays as it is ("frozen"); a jump is never known.

Results go to ``benchmarks/torch_monitor_limit.json``; without ``run`` what is there is counted.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from benchmarks.results import go_on
from benchmarks.torch_monitor import (
    BLOWN_UP,
    RECENT,
    STEPS,
    Setting,
    drawn_setting,
    one_run,
    top_of,
)
from benchmarks.torch_monitor_report import (
    AHEAD,
    late_blow_ups,
    sudden,
    warned_by,
    went_well,
)
from benchmarks.torch_tasks import WORKED_EXAMPLE

RESULTS = Path(__file__).with_name("torch_monitor_limit.json")
RUNS = 600
TASK = WORKED_EXAMPLE
FUTURES = 48
HORIZON = 25
EVERY = 5
FIRST = 15
"""Steps before the first look."""


def blown_up_share(
    model: nn.Module,
    rule: torch.optim.Optimizer,
    lrs: list[float],
    setting: Setting,
    start: float,
    draw: torch.Generator,
) -> float:
    """The share of futures that blow up, from the weights and velocity of now."""
    x, y = TASK.data()
    weights, _ = stack_module_state([model] * FUTURES)
    velocity = {
        name: _buffer(rule, p).expand(FUTURES, *p.shape).clone()
        for name, p in model.named_parameters()
    }

    def loss(own: dict[str, Tensor], rows: Tensor) -> Tensor:
        return TASK.loss(functional_call(model, own, (x[rows],)), y[rows])

    slopes = vmap(grad_and_value(loss))
    losses: list[Tensor] = []
    blown_up = torch.zeros(FUTURES, dtype=torch.bool)
    with torch.no_grad():
        for lr in lrs:
            rows = torch.randint(len(x), (FUTURES, setting.batch), generator=draw)
            gradients, values = slopes(weights, rows)
            losses.append(values)
            blown_up |= ~(torch.stack(losses[-RECENT:]).mean(dim=0) <= BLOWN_UP * start)
            for name, g in gradients.items():
                velocity[name] = setting.momentum * velocity[name] + g
                move = g + setting.momentum * velocity[name]
                # A future that is over must not slow the others down with numbers that are none.
                weights[name] = (weights[name] - lr * move).nan_to_num().clamp(-1e6, 1e6)

    return float(blown_up.float().mean())


def _buffer(rule: torch.optim.Optimizer, p: nn.Parameter) -> Tensor:
    state = rule.state.get(p, {})
    buffer = state.get("momentum_buffer")
    return torch.zeros_like(p) if buffer is None else buffer.detach()


def numbered_run(number: int) -> dict[str, Any]:
    """The run of this number, with the largest shares that were seen in time."""
    torch.set_num_threads(1)
    setting = drawn_setting(TASK, top_of(TASK.name), np.random.default_rng([2026, 4, number]))
    draw = torch.Generator().manual_seed(number)
    looks: list[tuple[int, float, float]] = []

    def look(step: int, model: nn.Module, rule: torch.optim.Optimizer, losses: list[float]) -> None:
        after_jump = setting.schedule == "jumps" and step == setting.jump
        if not (FIRST <= step < STEPS and (step % EVERY == 0 or after_jump)):
            return

        start = float(np.mean(losses[:RECENT]))
        now = setting.lr * setting.scale(step)
        frozen = blown_up_share(model, rule, [now] * HORIZON, setting, start, draw)
        known = frozen
        if setting.schedule == "grows":
            lrs = [setting.lr * setting.scale(later) for later in range(step, step + HORIZON)]
            known = blown_up_share(model, rule, lrs, setting, start, draw)

        looks.append((step, round(known, 4), round(frozen, 4)))

    row = one_run(TASK, setting, look)
    until = STEPS if row["blow_up"] is None else row["blow_up"] - AHEAD
    in_time = [shares for step, *shares in looks if step <= until]
    kept = ("momentum", "schedule", "jump", "blow_up", "spoilt", "warned")
    return {
        **{name: row[name] for name in kept},
        "known": max((known for known, _ in in_time), default=0.0),
        "frozen": max((frozen for _, frozen in in_time), default=0.0),
    }


def show(data: dict[str, Any]) -> None:
    """Warnings and false alarms by threshold, beside those of the monitor in the same runs."""
    rows = data["rows"]
    foreseeable = [r for r in late_blow_ups(rows) if not sudden(r)]
    well = went_well(rows)
    print(
        f"{data['date']}, {len(rows)} runs: {len(foreseeable)} foreseeable late blow-ups, "
        f"{len(well)} went well"
    )

    warned = np.mean([warned_by(r, r["blow_up"] - AHEAD) for r in foreseeable])
    false = np.mean([warned_by(r, STEPS - 1) for r in well])
    print(f"{'monitor':22s} warned {warned:.3f}, false {false:.3f}")
    for name, threshold in itertools.product(("known", "frozen"), np.arange(0.1, 0.95, 0.05)):
        warned = np.mean([row[name] >= threshold for row in foreseeable])
        false = np.mean([row[name] >= threshold for row in well])
        print(f"{name + f', above {threshold:.2f}':22s} warned {warned:.3f}, false {false:.3f}")


def main() -> None:
    """Run, and count."""
    if sys.argv[1:2] == ["run"]:
        go_on(RESULTS, numbered_run, RUNS, int(sys.argv[2]) if len(sys.argv) > 2 else 1)

    show(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
