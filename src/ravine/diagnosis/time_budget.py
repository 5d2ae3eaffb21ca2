"""The time that a diagnosis may take, shared out to its stages, and what had to be left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Tell: TypeAlias = Callable[[str, float], None]
"""Takes the stage that begins, in words, and the share of the work that is done."""

USUAL_TIME = 60.0
"""Seconds for a diagnosis unless told otherwise."""
_TELLING = 0.5
"""Seconds of counted work after which its pace on this machine is known."""
_BY_THE_CLOCK = "some runs (the machine is slow or busy, so a repeat may differ)"


class TimeBudget:
    """Seconds for the whole, a share for each stage, and a list of what did not fit.

    Stages plan with counted seconds (:mod:`ravine.diagnosis.work`), the same on every machine. The
    clock is the last resort: where a slow or busy machine would not keep the time, stages get less
    than their share, and that is said.

    Parameters
    ----------
    seconds
        For everything together.
    tell
        Called when a stage begins.

    Examples
    --------
    >>> budget = TimeBudget(60.0)
    >>> budget.begin("surveying the batches", 0.25)
    15.0
    """

    def __init__(self, seconds: float, tell: Tell | None = None) -> None:
        self.seconds = seconds
        self.left_out: list[str] = []
        self._tell = tell
        self._begun = time.perf_counter()
        self._counted = 0.0
        self._taken = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._begun

    @property
    def left(self) -> float:
        """Seconds that are left of the whole, zero at least."""
        return max(0.0, self.seconds - self.spent)

    @property
    def slowness(self) -> float:
        """Seconds that a counted second takes on this machine, one at least."""
        if self._counted < _TELLING:
            return 1.0

        return max(1.0, self._taken / self._counted)

    def begin(self, stage: str, share: float) -> float:
        """Begin a stage that may take ``share`` of the whole; return its counted seconds."""
        if self._tell is not None:
            self._tell(stage, min(1.0, self.spent / self.seconds))

        return self.allowed(share)

    def allowed(self, share: float) -> float:
        """Counted seconds for ``share`` of the whole: fewer only where the clock runs out."""
        planned = share * self.seconds
        real = self.left / self.slowness
        if planned <= real:
            return planned

        self.leave_out(_BY_THE_CLOCK)
        return real

    @property
    def over(self) -> bool:
        """Whether the clock has run out, which is then said."""
        if self.left > 0.0:
            return False

        self.leave_out(_BY_THE_CLOCK)
        return True

    @contextmanager
    def counting(self, work: float) -> Iterator[None]:
        """Do ``work`` counted seconds, to learn how fast this machine is."""
        begun = time.perf_counter()
        yield
        self._counted += work
        self._taken += time.perf_counter() - begun

    def leave_out(self, what: str) -> None:
        """Remember what was not computed, or less exactly, within the time."""
        if what not in self.left_out:
            self.left_out.append(what)
