"""Choose a learning rate by trials that run the whole schedule, compressed.

A short run at a constant lr favours small lrs, so every trial runs through the schedule of the
planned run, including warm-up and decay. Short trials in factors of four find the region, longer
ones in factors of two find the lr.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from ravine.torch.trial import SLACK, Setting, Trial, run_trial

LEAST_GAIN = 0.002
"""Gain, as a share of the initial loss, that a smaller lr must have; on a plateau the larger
wins."""

HARDLY_MOVED = 0.95
STILL_HIGH = 0.9
"""If the best score exceeds this share of the start after the first or second stage, the trials are
too short to distinguish lrs; longer ones follow if the budget allows it."""

LONGER = 1.5
"""Trials of SGD and ASG are longer by this factor, because too large an lr shows late."""

LOWEST = -40
"""lrs below 2⁻⁴⁰ times the first are not tried."""


@dataclass(frozen=True)
class Plan:
    """The number of steps of a race, and the length of its trials."""

    most: int
    """Maximum number of steps of all trials together."""
    short: int
    """Steps of a trial in the first stage."""
    long: int
    """Steps of a trial in the second stage."""
    repeats: bool = False
    """Whether the second stage is repeated with trials of twice the length."""

    def within(self, most: int) -> Plan:
        """The same plan for fewer steps."""
        share = min(most / self.most, 1.0)
        return Plan(
            max(math.floor(share * self.most), 1), max(round(share * self.short), 2),
            max(round(share * self.long), 4), self.repeats,
        )  # fmt: skip

    def longer(self) -> Plan:
        """The same plan for SGD and ASG; if the second stage is repeated, it is long enough."""
        return self if self.repeats else replace(self, long=round(LONGER * self.long))


PLANS = {
    "quick": Plan(250, 12, 45),
    "race": Plan(800, 36, 144),
    "thorough": Plan(2000, 40, 160, repeats=True),
}


@dataclass
class Race:
    """All trials with one momentum, and the winner."""

    setting: Setting
    plan: Plan
    unit: float
    """The lr of exponent 0."""
    momentum: float | None
    keep: Callable[[Trial, torch.optim.Optimizer], None] | None = None
    """Called at the end of every trial, with the model at that point."""
    trials: dict[tuple[int, int], Trial] = field(default_factory=dict)
    """Trials by exponent and length: lr = unit 2^exponent."""
    winner: Trial | None = None
    """None if no trial lowered the loss."""

    @property
    def steps(self) -> int:
        """Steps that were taken."""
        return sum(trial.taken for trial in self.trials.values())

    def run(self) -> None:
        """Find the winner."""
        best = self._coarse()
        score = self.trials[best, self.plan.short].loss
        length = self.plan.long
        if math.inf > score > HARDLY_MOVED * self.setting.start > 0.0:
            length = max(length, (self.plan.most - self.steps) // 3)

        best = self._fine(best, length)
        score = self._known(best, length)
        is_high = score > STILL_HIGH * self.setting.start > 0.0
        # Three trials of twice the length must fit: one decides nothing without its neighbours.
        if (self.plan.repeats or is_high) and self.steps + 3 * 2 * length <= self.plan.most:
            best, length = self._fine(best, 2 * length), 2 * length

        if math.isfinite(self._known(best, length)):
            self.winner = self.trials[best, length]
        else:
            # The budget ran out: the best of the longest trials.
            finished = [t for t in self.trials.values() if math.isfinite(t.loss)]
            self.winner = min(finished, key=lambda t: (-t.steps, t.loss), default=None)

        start = self.setting.start
        if self.winner is not None and self.winner.loss > start + SLACK * abs(start):
            self.winner = None

    def _try(self, exponent: int, length: int) -> float | None:
        """The score of a trial, which runs if it is new; None if the budget is spent."""
        if (exponent, length) not in self.trials:
            if (self.trials and self.steps + length > self.plan.most) or exponent < LOWEST:
                return None
            lr = self.unit * 2.0**exponent
            trial, optimizer = run_trial(self.setting, lr, self.momentum, length)
            self.trials[exponent, length] = trial
            if self.keep is not None:
                self.keep(trial, optimizer)

        return self.trials[exponent, length].loss

    def _known(self, exponent: int, length: int) -> float:
        trial = self.trials.get((exponent, length))
        return math.inf if trial is None else trial.loss

    def _coarse(self) -> int:
        """The best exponent in steps of two, by short trials."""
        length = self.plan.short
        best, at, worse = 0, 0, 0
        while worse < 2:
            score = self._try(at, length)
            if score is None:
                break
            if score < self._known(best, length):
                best, worse = at, 0
            elif at > 0:
                worse += 1
            if score == math.inf:
                break
            at += 2

        while best == min(exponent for exponent, _ in self.trials):
            score = self._try(best - 2, length)
            if score is None or (score >= self._known(best, length) < math.inf):
                break
            best -= 2

        return best

    def _fine(self, first: int, length: int) -> int:
        """The best exponent by longer trials: upwards while better, then downwards while better."""
        least = LEAST_GAIN * abs(self.setting.start)
        # If trials of this length blow up, downwards in steps of two to an lr that does not.
        while self._try(first, length) == math.inf:
            first -= 2

        best = first
        while math.isfinite(self._known(best, length)):
            score = self._try(best + 1, length)
            if score is None or score >= self._known(best, length):
                break
            best += 1

        while best <= first:
            score = self._try(best - 1, length)
            if score is None or score >= self._known(best, length) - least:
                break
            best -= 1

        return best
