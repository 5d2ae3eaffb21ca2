"""A method with the schedule of its step size: what a training script is told."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method


@dataclass(frozen=True)
class Schedule:
    """The step size over a run: constant at first, then decaying linearly to zero.

    Attributes
    ----------
    constant_share
        The share of the run before the step begins to fall; 1 for a constant step.

    Examples
    --------
    >>> Schedule(0.5).factors(4).tolist()
    [1.0, 1.0, 1.0, 0.5]
    """

    constant_share: float = 1.0

    @property
    def constant(self) -> bool:
        """Whether the step never changes."""
        return self.constant_share >= 1.0

    @property
    def words(self) -> str:
        """The schedule as it follows the parameters."""
        if self.constant:
            return "constant"
        if self.constant_share <= 0.0:
            return "decaying linearly to 0"

        return f"constant for {100 * self.constant_share:.0f} %, then decaying linearly to 0"

    def factors(self, steps: int) -> FloatArray:
        """What the step size is multiplied by at each step, shape (steps,)."""
        if self.constant:
            return np.ones(steps)

        done = np.arange(steps) / steps
        return np.minimum(1.0, (1.0 - done) / (1.0 - self.constant_share))


CONSTANT = Schedule(1.0)
LINEAR = Schedule(0.0)


@dataclass(frozen=True)
class Recipe:
    """A method, its schedule, and whether the iterates of the last half are averaged."""

    method: Method
    schedule: Schedule = CONSTANT
    averaged: bool = False

    @property
    def key(self) -> tuple[float, float, float, float, bool]:
        """What tells recipes apart: step size, momentum, look-ahead, schedule, averaging."""
        m = self.method
        share = self.schedule.constant_share
        return float(m.alpha), float(m.beta), float(m.gamma), share, self.averaged

    @property
    def words(self) -> str:
        """Parameters as a user types them."""
        text = parameters(self.method)
        if not self.schedule.constant:
            text += f", {self.schedule.words}"
        if self.averaged:
            text += ", averaging the second half"

        return text

    @property
    def schedule_word(self) -> str:
        """The schedule in two words."""
        if self.averaged:
            return "averaged"
        if self.schedule.constant:
            return "constant"

        return "linear decay" if self.schedule.constant_share <= 0.0 else "late decay"

    def scaled(self, factor: float) -> Recipe:
        """The same with a step size ``factor`` times as long."""
        step = factor * float(self.method.alpha)
        return replace(self, method=rounded(step, float(self.method.beta)))


def parameters(method: Method) -> str:
    """Step size and momentum, with as many digits as tell the momentum from 1."""
    text = f"lr = {float(method.alpha):.4g}, momentum = {momentum_digits(float(method.beta))}"
    return text if method.is_nesterov else f"{text}, look-ahead = {float(method.gamma):.4g}"


def momentum_digits(beta: float) -> str:
    """A momentum that never prints as 1 unless it is."""
    gap = abs(1.0 - beta)
    if beta == 0.0 or gap == 0.0 or gap >= 1e-3:
        return f"{beta:.4g}"

    # Two digits of 1 - beta.
    return f"{beta:.{1 - math.floor(math.log10(gap))}f}"


def rounded(alpha: float, beta: float) -> Method:
    """Parameters of three digits, as people type them; the step is rounded down.

    Of a momentum near 1 the digits of 1 - beta count: it is never rounded to 1.
    """
    digits = 2 - math.floor(math.log10(alpha)) if alpha > 0.0 else 3
    step = math.floor(alpha * 10.0**digits) / 10.0**digits if digits < 300 else alpha
    gap = abs(1.0 - beta)
    places = 3 if gap >= 0.1 or gap == 0.0 else 1 - math.floor(math.log10(gap))

    return Method(step, round(beta, max(3, places)))
