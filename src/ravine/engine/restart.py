"""Restart rules: when to set the momentum of a run to zero."""

from __future__ import annotations

from ravine.arguments import Choice, Refusal, whole

NEVER, ON_GRADIENT, ON_SAMPLED, ON_FULL, EVERY = range(5)
"""Numbers of the restart rules in the kernels."""


class Restart(Choice):
    """A restart rule: after every step that satisfies it, momentum is reset, x₋ = x.

    Examples
    --------
    >>> Restart("gradient").sentence
    'the step went against the gradient it was taken with'
    """

    GRADIENT = "gradient", "the step went against the gradient it was taken with", ON_GRADIENT
    SAMPLED = "sampled", "the step raised the function it sampled", ON_SAMPLED
    FULL = "full", "the step raised the whole objective", ON_FULL


def parse_restart(restart: Restart | str | int | None) -> Restart | int | None:
    """Check a criterion, a number of steps between two restarts, or None."""
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


def restart_rule(restart: Restart | int | None) -> tuple[int, int]:
    """Return (kind, period) of a restart: a criterion, a number of steps between two, or None.

    Examples
    --------
    >>> restart_rule(Restart.FULL), restart_rule(25), restart_rule(None)
    ((3, 1), (4, 25), (0, 1))
    """
    if isinstance(restart, Restart):
        return restart.traits, 1

    return (NEVER, 1) if restart is None else (EVERY, restart)
