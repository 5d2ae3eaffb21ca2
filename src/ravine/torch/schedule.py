"""The learning-rate schedule of a planned run, and its compression to a short trial."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.optim.lr_scheduler import CyclicLR, LRScheduler, OneCycleLR, ReduceLROnPlateau

from ravine.arguments import Refusal, one_number, whole

SHAPES = ("constant", "linear", "cosine")
WARMUP = 0.05
"""Default share of a run for warm-up."""

ScheduleLike: TypeAlias = str | Callable[[int, int], float] | Callable[[Any], Any]


@dataclass(frozen=True)
class Schedule:
    """Factors on the learning rate over a run of ``steps`` steps."""

    name: str
    steps: int
    factor: Callable[[int], float]
    """The factor at a step, counted from 0."""
    code: str
    """The schedule as code, to follow the construction of ``optimizer``."""

    @cached_property
    def warmup(self) -> int:
        """Steps before the first with the largest factor."""
        factors = [float(self.factor(step)) for step in range(self.steps)]
        return factors.index(max(factors))

    def compressed(self, count: int, *, adaptive: bool = False) -> list[float]:
        """The factors of a trial of ``count`` steps that runs through the whole schedule.

        With an ``adaptive`` optimizer, warm-up keeps its length, up to an eighth of the trial: the
        steps in which Adam learns the size of the gradients are not fewer in a shorter run.
        """
        places = np.arange(count) + 0.5
        middles = places * self.steps / count
        rise = min(self.warmup, count // 8)
        if adaptive and rise * self.steps > self.warmup * count:
            start = places[:rise] * self.warmup / rise
            after = places[: count - rise] * (self.steps - self.warmup) / (count - rise)
            middles = np.concatenate([start, self.warmup + after])
        return [float(self.factor(round(middle - 0.5))) for middle in middles]

    @property
    def falls(self) -> bool:
        """Whether the run ends with less than half of its largest learning rate."""
        return self.factor(self.steps - 1) < 0.5 * max(self.compressed(100))


def schedule_of(schedule: ScheduleLike, steps: int, warmup: float | None) -> Schedule:
    """Convert the user's schedule.

    Parameters
    ----------
    schedule
        ``"constant"``, ``"linear"``, ``"cosine"``; a function (step, steps) -> factor; or a
        function of an optimizer that returns a ``torch.optim.lr_scheduler``.
    steps
        Steps of the planned run.
    warmup
        Steps of linear warm-up, or, below 1, their share of the run. None: 5 %, and no warm-up
        before a constant learning rate. Only for named schedules.

    Examples
    --------
    >>> schedule = schedule_of("linear", 100, warmup=10)
    >>> [round(schedule.factor(step), 3) for step in (0, 4, 10, 55, 99)]
    [0.1, 0.5, 1.0, 0.5, 0.011]
    >>> [round(factor, 3) for factor in schedule.compressed(4)]
    [0.978, 0.7, 0.422, 0.144]
    """
    whole("steps", steps, 1, remedy="give the number of optimizer steps that you plan")
    if isinstance(schedule, str):
        return _named(schedule, steps, warmup)
    if warmup is not None:
        raise Refusal("warmup", "omitted with a schedule of your own", warmup, "build it in")

    function: Any = schedule
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(p.default is p.empty and p.kind in kinds for p in parameters) == 2:
        code = f"LambdaLR(optimizer, lambda step: schedule(step, {steps}))  # your function"
        return Schedule(
            "your function", steps, lambda step: function(step, steps),
            f"scheduler = torch.optim.lr_scheduler.{code}",
        )  # fmt: skip

    return _of_factory(function, steps)


def _named(shape: str, steps: int, warmup: float | None) -> Schedule:
    if shape not in SHAPES:
        raise Refusal("schedule", f"one of {', '.join(SHAPES)}, or a function", shape, "pick one")
    if warmup is None:
        warmup = 0.0 if shape == "constant" else WARMUP
    one_number("warmup", warmup, "nonnegative", remedy="give steps, or a share below 1")
    rise = round(warmup * steps) if warmup < 1.0 else int(warmup)
    if rise >= steps:
        raise Refusal("warmup", f"shorter than the run of {steps} steps", rise, "give fewer steps")

    after = {
        "constant": "1.0",
        "linear": f"({steps} - step) / {steps - rise}",
        "cosine": f"0.5 * (1 + math.cos(math.pi * (step - {rise}) / {steps - rise}))",
    }[shape]
    body = f"(step + 1) / {rise} if step < {rise} else {after}" if rise else after
    # Evaluate the code that is shown, so that both agree.
    factor = eval(f"lambda step: {body}", {"math": math})
    code = (
        ("import math\n" if shape == "cosine" else "")
        + "scheduler = torch.optim.lr_scheduler.LambdaLR(\n"
        + f"    optimizer, lambda step: {body}\n)  # scheduler.step() after every optimizer.step()"
    )
    if shape == "constant" and not rise:
        code = "# a constant lr needs no scheduler"

    name = shape if shape == "constant" else f"{shape} decay"
    return Schedule(f"{rise} steps of warm-up, then {name}" if rise else name, steps, factor, code)


def _of_factory(factory: Callable[[Any], Any], steps: int) -> Schedule:
    """Run the scheduler through all steps, on a dummy optimizer."""
    # It has momentum, because some schedulers change it too.
    empty = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0, momentum=0.9)
    scheduler = factory(empty)
    kind = type(scheduler)
    if not issubclass(kind, LRScheduler) or issubclass(kind, ReduceLROnPlateau):
        rule = "a factory of a scheduler that needs no metric"
        remedy = "give a function (step, steps) -> factor"
        raise Refusal("schedule", rule, kind.__name__, remedy)

    factors: list[float] = []
    for _ in range(steps):
        factors.append(float(empty.param_groups[0]["lr"]))
        empty.step()
        scheduler.step()

    name = f"your {kind.__name__}"
    code = "scheduler = schedule(optimizer)  # your factory"
    if issubclass(kind, (OneCycleLR, CyclicLR)):
        # These schedulers have their own largest lr, which the recommended lr replaces.
        factors = [factor / max(factors) for factor in factors]
        code = (
            "scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, advice.schedule.factor)\n"
            f"# {name} with the advised lr in place of its own largest one"
        )

    # Schedulers need one more factor, after the last step.
    return Schedule(name, steps, lambda step: factors[min(step, steps - 1)], code)
