"""The time that a diagnosis may take, shared out to its stages, and what had to be left out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

Tell: TypeAlias = Callable[[str, float], None]
"""Takes the stage that begins, in words, and the share of the work that is done."""

USUAL_TIME = 60.0
"""Seconds for a diagnosis unless told otherwise."""


class TimeBudget:
    """Seconds for the whole, a share for each stage, and a list of what did not fit.

    Parameters
    ----------
    seconds
        For everything together.
    tell
        Called when a stage begins.

    Examples
    --------
    >>> budget = TimeBudget(60.0)
    >>> with_share = budget.begin("surveying the batches", 0.2)
    >>> with_share <= 12.0
    True
    """

    def __init__(self, seconds: float, tell: Tell | None = None) -> None:
        self.seconds = seconds
        self.left_out: list[str] = []
        self._tell = tell
        self._begun = time.perf_counter()
        self._stage_ends = self._begun + seconds

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._begun

    @property
    def left(self) -> float:
        """Seconds that are left of the whole, zero at least."""
        return max(0.0, self.seconds - self.spent)

    @property
    def stage_left(self) -> float:
        """Seconds that are left of the present stage, zero at least."""
        return max(0.0, self._stage_ends - time.perf_counter())

    def begin(self, stage: str, share: float) -> float:
        """Begin a stage that may take ``share`` of the whole; return the seconds it has."""
        if self._tell is not None:
            self._tell(stage, min(1.0, self.spent / self.seconds))

        allowed = min(share * self.seconds, self.left)
        self._stage_ends = time.perf_counter() + allowed
        return allowed

    def leave_out(self, what: str) -> None:
        """Remember a number that was left out or widened for want of time."""
        if what not in self.left_out:
            self.left_out.append(what)
