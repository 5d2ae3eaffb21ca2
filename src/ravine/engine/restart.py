"""When to set the momentum of a run to zero."""

from __future__ import annotations

from typing import assert_never

from ravine.arguments import Refusal, whole
from ravine.choices import Choice


class Restart(Choice):
    """A restart rule: after every step at which it holds, momentum is reset, x₋ = x.

    Examples
    --------
    >>> Restart("gradient").sentence
    'the step went against the gradient it was taken with'
    """

    GRADIENT = "gradient", "the step went against the gradient it was taken with"
    SAMPLED = "sampled", "the step raised the function it sampled"
    FULL = "full", "the step raised the whole objective"


NEVER, ON_GRADIENT, ON_SAMPLED, ON_FULL, EVERY = range(5)
"""The numbers by which the kernels know them."""


def parse_restart(restart: Restart | str | int | None) -> Restart | int | None:
    """Return the criterion of a name, or the number of steps between two restarts, or None."""
    if restart is None:
        return None

    if isinstance(restart, str):
        try:
            return Restart.parse(restart)
        except Refusal as refusal:
            rule = f"{refusal.rule}, a number of steps, or None"
            raise Refusal("restart", rule, refusal.value, "pick one") from None

    remedy = "give a name, e.g. 'gradient', or a number of steps between two restarts"
    return whole("restart", restart, 1, remedy=remedy)


def restart_rule(restart: Restart | str | int | None) -> tuple[int, int]:
    """Return (kind, period) of a restart: a name, a number of steps between two, or None.

    Examples
    --------
    >>> restart_rule("full"), restart_rule(25), restart_rule(None)
    ((3, 1), (4, 25), (0, 1))
    """
    rule = parse_restart(restart)
    if rule is None:
        return NEVER, 1
    if not isinstance(rule, Restart):
        return EVERY, rule

    match rule:
        case Restart.GRADIENT:
            return ON_GRADIENT, 1
        case Restart.SAMPLED:
            return ON_SAMPLED, 1
        case Restart.FULL:
            return ON_FULL, 1
        case _:
            assert_never(rule)
