"""Momentum that changes during a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, real, whole


@dataclass(frozen=True)
class Tail:
    """The method's own momentum, then ``beta`` for the last ``steps`` steps; it may be negative.

    Examples
    --------
    >>> momenta(Tail(2, -0.5), 4).of(0.9).tolist()
    [0.9, 0.9, -0.5, -0.5, -0.5]
    """

    steps: int
    beta: float

    def __post_init__(self) -> None:
        whole("steps", self.steps, 0, remedy="give the length of the tail, e.g. 100")
        one_number("beta", self.beta, remedy="give the momentum of the tail, e.g. -0.5")


Schedule: TypeAlias = float | npt.ArrayLike | Callable[[int], float] | Tail
"""A number, a table with an entry per step, a function of the step (from 0), or a ``Tail``."""


class Momenta(NamedTuple):
    """The momentum of step k is scale[k] beta + shift[k], with beta from the method."""

    scale: FloatArray
    shift: FloatArray

    @property
    def steady(self) -> bool:
        """Whether the method's own momentum is used throughout."""
        return bool((self.scale == 1.0).all() and (self.shift == 0.0).all())

    def of(self, beta: float) -> FloatArray:
        """The momentum of each step for a method with momentum ``beta``."""
        return self.scale * beta + self.shift


def momenta(schedule: Schedule | None, steps: int) -> Momenta:
    """Return the momentum of the steps 0, ..., steps - 1, and of the look-ahead after the last.

    Nesterov's method looks ahead with the same momentum; a method with its own look-ahead, gamma !=
    beta, keeps it.

    Examples
    --------
    >>> momenta(lambda k: k / (k + 3), 3).of(0.9).tolist()
    [0.0, 0.25, 0.4, 0.4]
    """
    if schedule is None:
        return Momenta(np.ones(steps + 1), np.zeros(steps + 1))
    if isinstance(schedule, Tail):
        last = np.arange(steps + 1) >= steps - schedule.steps
        return Momenta(np.where(last, 0.0, 1.0), np.where(last, schedule.beta, 0.0))

    remedy = f"give a momentum for each of the {steps} steps"
    values = [schedule(k) for k in range(steps)] if callable(schedule) else schedule
    table = np.asarray(real("schedule", values, remedy=remedy))
    if table.ndim == 0:
        table = np.full(steps, float(table))
    if table.shape != (steps,):
        shown = f"an array of shape {table.shape}"
        raise Refusal("schedule", f"{steps} momenta", shown, remedy)

    return Momenta(np.zeros(steps + 1), np.append(table, table[-1]))
