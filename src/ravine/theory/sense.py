"""In which sense a random product of matrices grows."""

from __future__ import annotations

from enum import StrEnum

from ravine.arguments import complaint


class Sense(StrEnum):
    """What is followed from step to step: one path, the mean norm, or the mean squared norm.

    Every function that takes a sense accepts a member or its value.

    Examples
    --------
    >>> Sense("mean-square").sentence
    'the factor by which E‖y - x*‖² changes a step'
    """

    ALMOST_SURE = "almost-sure"
    MEAN = "mean"
    MEAN_SQUARE = "mean-square"

    @property
    def power(self) -> int:
        """Power of the norm that is averaged; a path, which is not averaged, counts as 1."""
        return 2 if self is Sense.MEAN_SQUARE else 1

    @property
    def sentence(self) -> str:
        """What the growth factor is, in words."""
        return _SENTENCES[self]

    @classmethod
    def parse(cls, value: Sense | str) -> Sense:
        """Return the member for ``value``, or say which there are."""
        try:
            return cls(value)
        except ValueError:
            names = ", ".join(member.value for member in cls)
            raise ValueError(
                complaint("sense", f"one of {names}", repr(value), "pick one of these names")
            ) from None


_SENTENCES = {
    Sense.ALMOST_SURE: "the factor by which ‖y - x*‖ changes a step along almost every path",
    Sense.MEAN: "the factor by which E‖y - x*‖ changes a step",
    Sense.MEAN_SQUARE: "the factor by which E‖y - x*‖² changes a step",
}
