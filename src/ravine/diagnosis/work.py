"""What runs cost, counted before they begin, and the budget that they are counted against.

What a diagnosis tries and how often it runs is chosen by counted seconds of an ordinary core and
not by a clock, so that the same command gives the same answer on a busy machine and on an idle one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from ravine.diagnosis.batching import Batching
from ravine.problems.row_model import RowModel

Tell: TypeAlias = Callable[[str, float], None]
"""Takes the stage that begins, in words, and the share of the work that is done."""

USUAL_TIME = 60.0
"""Seconds for a diagnosis unless told otherwise."""
_CALLS = 6e-5
"""Seconds of a step beside its arithmetic: two dozen calls of NumPy."""
_NUMBER = 2e-9
"""Seconds to copy or update a number in memory, or to multiply it in a sparse product."""
_PRODUCT = 0.25e-9
"""Seconds of a multiplication in a product of small matrices; each step has two of them."""
_PASS = 0.05e-9
"""Seconds of a multiplication in a product with the whole table."""
_SCORE = {"squared": 3e-9, "huber": 6e-9}
_EXPONENTIAL = 25e-9
"""Seconds for the slope of one score, which is an exponential for most losses."""
_BY_THE_CLOCK = "some runs (the machine is slow or busy, so a repeat may differ)"


def step_work(model: RowModel, batching: Batching, runs: int, seeds: int) -> float:
    """Seconds of one step of so many runs on each of so many seeds."""
    m = batching.batch_size
    width = runs * model.outputs
    own = m * width * _score(model) + 4.0 * _NUMBER * model.features * width
    if model.sparse:
        entries = m * model.entries / max(model.rows, 1)
        own += 2.0 * _CALLS + entries * (1.0 + 2.0 * width) * _NUMBER
    else:
        own += m * model.features * (_NUMBER + 2.0 * width * _PRODUCT)

    return _CALLS + seeds * own


def loss_work(model: RowModel, runs: int, seeds: int) -> float:
    """Seconds to take the whole loss at the points of so many runs on each of so many seeds."""
    each = _NUMBER if model.sparse else _PASS
    points = runs * seeds * model.outputs
    return _CALLS + points * (model.entries * each + model.rows * _score(model))


def _score(model: RowModel) -> float:
    return _SCORE.get(model.loss.name, _EXPONENTIAL)


class TimeBudget:
    """Seconds for the whole, a share for each stage, and a list of what did not fit.

    Stages plan with counted seconds. The clock is the last resort: where a slow or busy machine
    would not keep the time, stages get less than their share, and that is said.

    Parameters
    ----------
    seconds
        For everything together.
    tell
        Called when a stage begins.

    Examples
    --------
    >>> TimeBudget(60.0).begin("running on the data", 0.25)
    15.0
    """

    def __init__(self, seconds: float, tell: Tell | None = None) -> None:
        self.seconds = seconds
        self.left_out: list[str] = []
        self._tell = tell
        self._begun = time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._begun

    def begin(self, stage: str, share: float) -> float:
        """Begin a stage that may take ``share`` of the whole; return its counted seconds."""
        if self._tell is not None:
            self._tell(stage, min(1.0, self.spent / self.seconds))

        return self.allowed(share)

    def allowed(self, share: float) -> float:
        """Counted seconds for ``share`` of the whole: fewer only where the clock runs out."""
        planned = share * self.seconds
        left = max(0.0, self.seconds - self.spent)
        if planned > left:
            self.leave_out(_BY_THE_CLOCK)

        return min(planned, left)

    @property
    def over(self) -> bool:
        """Whether the clock has run out, which is then said."""
        if self.spent < self.seconds:
            return False

        self.leave_out(_BY_THE_CLOCK)
        return True

    def leave_out(self, what: str) -> None:
        """Remember what was not computed, or less exactly, within the time."""
        if what not in self.left_out:
            self.left_out.append(what)
