"""In which sense a random product of matrices grows."""

from __future__ import annotations

from ravine.choices import Choice


class Sense(Choice):
    """What is followed from step to step: one path, the mean norm, or the mean squared norm.

    Every function that takes a sense accepts a member or its value.

    Examples
    --------
    >>> Sense("mean-square").sentence
    'the factor by which E‖y - x*‖² changes a step'
    """

    ALMOST_SURE = (
        "almost-sure",
        "the factor by which ‖y - x*‖ changes a step along almost every path",
    )
    MEAN = "mean", "the factor by which E‖y - x*‖ changes a step"
    MEAN_SQUARE = "mean-square", "the factor by which E‖y - x*‖² changes a step"

    @property
    def power(self) -> int:
        """Power of the norm that is averaged; a path, which is not averaged, counts as 1."""
        return 2 if self is Sense.MEAN_SQUARE else 1
