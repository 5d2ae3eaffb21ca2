"""Choosing a learning rate by short runs of real steps.

The loss after some steps falls with lr up to an edge and jumps there. So lrs are tried in powers
of two of the stability limit of the measured curvature: uphill from a start below it in factors
of four, then the neighbours of the best to more steps, the worse dropped at each stage. A winner
that is near its edge is halved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ravine.torch.trial import Setting, Trial

LARGEST = 6
"""lrs above 2⁶ times the limit of the curvature were never the best of 380 configurations."""

SMALLEST = -24
"""Below 2⁻²⁴ times it a float32 weight hardly moves."""

FLAT = 0.002
"""Relative gain below which a smaller lr is not taken for better: on a plateau one stays."""

LONG_MEMORY = 0.95
"""Momentum from which a run of 80 steps is shorter than four memories 1/(1 - momentum)."""


@dataclass(frozen=True)
class Plan:
    """How many steps are taken, and where one begins."""

    start: int
    """The first lr is 2^start times the limit of the curvature."""
    first: int
    """Steps of every lr on the way to the best."""
    below: int
    above: int
    """Powers of two on either side of the best that go on with it."""
    stages: tuple[tuple[int, int], ...]
    """(steps, how many are left) of the best and its neighbours."""
    with_long_memory: int
    """Steps of the last stage when momentum has a long memory."""
    blow_up: float
    """A run is dropped when the loss exceeds this many times its start."""
    rise: float
    """A winner whose loss had risen by more than this share is near its edge: its lr is halved."""
    halvings: int
    """With a long memory lr is halved so often: so few steps do not show what 300 will."""
    looks: int
    """Checks that are averaged into a score."""


PLANS = {
    "race": Plan(-2, 30, 1, 2, ((40, 3), (80, 1)), 150, 3.0, 0.5, 1, 3),
    "quick": Plan(-3, 15, 0, 0, ((50, 1),), 50, 2.0, 0.3, 2, 1),
}
"""Chosen on the tasks ``benchmarks.torch_tasks.TUNED`` alone, among some hundred such plans."""


@dataclass
class Race:
    """All lrs that were tried with one momentum, and the winner."""

    unit: float
    """The lr of exponent 0: the stability limit of the measured curvature."""
    momentum: float | None
    trials: dict[int, Trial]
    """By exponent: lr = unit 2^exponent."""
    winner: int | None
    """None where every run blew up."""
    chosen: float | None
    """The winner's exponent, lowered where it was near its edge."""

    @property
    def steps(self) -> int:
        """Real steps that were taken."""
        return sum(trial.steps for trial in self.trials.values())

    @property
    def score(self) -> float:
        """The winner's score; infinite where there is none."""
        return math.inf if self.winner is None else self.trials[self.winner].score(3)


def race(setting: Setting, unit: float, momentum: float | None, budget: str) -> Race:
    """Try lrs around ``unit`` and choose one."""
    plan = PLANS[budget]
    field = Race(unit, momentum, {}, None, None)
    best = _climb(setting, field, plan)
    if best is None:
        return field

    long_memory = momentum is not None and momentum >= LONG_MEMORY
    stages = plan.stages
    if long_memory:
        stages = (*stages[:-1], (plan.with_long_memory, 1))

    live = list(range(best - plan.below, best + plan.above + 1))
    for exponent in live:
        _try(setting, field, exponent, plan.first, plan)

    for steps, places in stages:
        entered = live
        for exponent in live:
            _try(setting, field, exponent, steps, plan)
        live = [e for e in live if field.trials[e].alive]
        live = sorted(live, key=lambda e: field.trials[e].score(plan.looks))[:places]
        if not live:
            live = [_lower_until_alive(setting, field, min(entered), stages[-1][0], plan)]
            break

    winner = live[0]
    if not field.trials[winner].alive:
        return field

    field.winner = winner
    field.chosen = (
        winner - plan.halvings * int(long_memory) - _distance_from_edge(field, plan, winner)
    )
    return field


def _distance_from_edge(field: Race, plan: Plan, winner: int) -> float:
    """Powers of two to go down, for another order of the batches might blow the winner up.

    One where its loss had risen already; a half where the lr above it did blow up.
    """
    if field.trials[winner].rise(plan.looks) > plan.rise:
        return 1.0

    above = field.trials.get(winner + 1)
    return 0.5 if above is not None and not above.alive else 0.0


def _lower_until_alive(setting: Setting, field: Race, exponent: int, steps: int, plan: Plan) -> int:
    """Go down from lrs that all blew up on the longer way until one arrives."""
    while exponent > SMALLEST:
        exponent -= 1
        if _try(setting, field, exponent, steps, plan).alive:
            break

    return exponent


def _try(setting: Setting, field: Race, exponent: int, steps: int, plan: Plan) -> Trial:
    if exponent not in field.trials:
        lr = field.unit * 2.0**exponent
        field.trials[exponent] = Trial(setting, lr, field.momentum)

    trial = field.trials[exponent]
    start = trial.checks[0]
    trial.to(steps, start + (plan.blow_up - 1.0) * abs(start))
    return trial


def _climb(setting: Setting, field: Race, plan: Plan) -> int | None:
    """The best exponent in strides of two, from the plan's start; None where all blow up."""

    def score(exponent: int) -> float:
        return _try(setting, field, exponent, plan.first, plan).score(plan.looks)

    at = plan.start
    while not math.isfinite(score(at)):
        at -= 2
        if at < SMALLEST:
            return None

    while True:
        neighbours = [e for e in (at - 2, at + 2) if SMALLEST <= e <= LARGEST]
        better = min(neighbours, key=score)
        needed = FLAT * abs(score(at)) if better < at else 0.0
        if score(better) >= score(at) - needed:
            return at
        at = better
