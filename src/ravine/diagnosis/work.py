"""The cost of runs, counted before they start, and the budget for it.

Counted seconds of an ordinary core, not a clock, decide what a diagnosis tries and how often it
runs, so that the same command gives the same answer on a busy and on an idle machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from ravine.diagnosis.setup import Batching
from ravine.problems import LinearModel

Tell: TypeAlias = Callable[[str, float], None]
"""Called with a new stage and the share of the work done so far."""

USUAL_TIME = 60.0
"""Default budget of a diagnosis in seconds."""
_CALLS = 6e-5
"""Overhead of a step in seconds: two dozen calls of NumPy."""
_NUMBER = 2e-9
"""Seconds to copy or update a number in memory, or to multiply it in a sparse product."""
_PRODUCT = 0.25e-9
"""Seconds of a multiplication in a product of small matrices; each step has two products."""
_PASS = 0.05e-9
"""Seconds of a multiplication in a product with the whole table."""
_SCORE = {"squared": 3e-9, "huber": 6e-9}
_EXPONENTIAL = 25e-9
"""Seconds for the slope of one score, an exponential for most losses."""


def step_work(model: LinearModel, batching: Batching, runs: int, seeds: int) -> float:
    """Seconds of one step of ``runs`` runs on each of ``seeds`` seeds."""
    m = batching.batch_size
    width = runs * model.outputs
    own = m * width * _score(model) + 4.0 * _NUMBER * model.features * width

    if model.sparse:
        entries = m * model.entries / max(model.rows, 1)
        own += 2.0 * _CALLS + entries * (1.0 + 2.0 * width) * _NUMBER
    else:
        own += m * model.features * (_NUMBER + 2.0 * width * _PRODUCT)

    return _CALLS + seeds * own


def loss_work(model: LinearModel, runs: int, seeds: int) -> float:
    """Seconds to compute the whole loss at the points of all runs and seeds."""
    each = _NUMBER if model.sparse else _PASS
    points = runs * seeds * model.outputs

    return _CALLS + points * (model.entries * each + model.rows * _score(model))


def _score(model: LinearModel) -> float:
    return _SCORE.get(model.loss.name, _EXPONENTIAL)


STAGES = {
    "reading the columns": 0.0,
    "surveying the batches": 0.15,
    "racing step sizes and schedules": 0.02,
    "tuning by theory": 0.02,
    "running on the data": 0.08,
    "following runs to their noise floors": 0.03,
    "computing exact curves": 0.03,
    "finding the cause": 0.0,
    "racing on standardised columns": 0.02,
    "trying remedies": 0.03,
}
"""The stages of a diagnosis, and the shares of the total time that they may take. Small data need
only a few of 60 seconds."""
LONGEST_RACE = 0.2
LONGEST_RUNS = 0.15
"""Larger shares, for the minimal work of a stage that does not fit into its own share. A machine
three times slower than the ordinary core still keeps the time."""


class Budget:
    """A budget of counted seconds for the whole diagnosis, and a list of what did not fit.

    It does not depend on a clock: the same command gives the same answer on every machine.

    Parameters
    ----------
    seconds
        The total.
    tell
        Called when a stage begins.

    Examples
    --------
    >>> round(Budget(60.0).begin("running on the data"), 9)
    4.8
    """

    def __init__(self, seconds: float, tell: Tell | None = None) -> None:
        self.seconds = seconds
        self.left_out: list[str] = []
        self._tell = tell
        self._begun = time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds on the clock since the start, for the report only."""
        return time.perf_counter() - self._begun

    def begin(self, stage: str) -> float:
        """Start a stage of ``STAGES``; return the counted seconds that it may take."""
        if self._tell is not None:
            self._tell(stage, min(1.0, self.spent / self.seconds))

        return STAGES[stage] * self.seconds

    def leave_out(self, what: str) -> None:
        """Note what was not computed, or is less accurate, because of the budget."""
        if what not in self.left_out:
            self.left_out.append(what)
