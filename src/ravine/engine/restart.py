"""When to set the momentum of a run to zero."""

from __future__ import annotations

from enum import StrEnum

from ravine.arguments import Refusal, whole


class Restart(StrEnum):
    """A criterion that is checked after every step; where it holds, x₋ = x.

    Examples
    --------
    >>> Restart("gradient").sentence
    'the step went against the gradient it was taken with'
    """

    GRADIENT = "gradient"
    SAMPLED = "sampled"
    FULL = "full"

    @property
    def sentence(self) -> str:
        """When the criterion holds, in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Restart.GRADIENT: "the step went against the gradient it was taken with",
    Restart.SAMPLED: "the step raised the function it sampled",
    Restart.FULL: "the step raised the whole objective",
}

NEVER, ON_GRADIENT, ON_SAMPLED, ON_FULL, EVERY = range(5)
"""The numbers by which the kernels know them."""
_CODES = {
    Restart.GRADIENT: ON_GRADIENT,
    Restart.SAMPLED: ON_SAMPLED,
    Restart.FULL: ON_FULL,
}


def restart_rule(restart: Restart | str | int | None) -> tuple[int, int]:
    """Return (kind, period) of a restart: a name, a number of steps between two, or None.

    Examples
    --------
    >>> restart_rule("full"), restart_rule(25), restart_rule(None)
    ((3, 1), (4, 25), (0, 1))
    """
    if restart is None:
        return NEVER, 1
    if isinstance(restart, str):
        try:
            return _CODES[Restart(restart)], 1
        except ValueError:
            names = ", ".join(member.value for member in Restart)
            rule = f"one of {names}, a number of steps, or None"
            raise Refusal("restart", rule, repr(restart), "pick one") from None
    remedy = "give a name, e.g. 'gradient', or a number of steps between two restarts"
    return EVERY, whole("restart", restart, 1, remedy=remedy)
