"""A number, or an array of numbers, between two bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.arguments import Real
from ravine.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class Bracket(Value):
    """Two bounds, ``lower <= value <= upper``, elementwise for arrays.

    Examples
    --------
    >>> bracket = Bracket(np.float64(1.0), np.float64(1.25))
    >>> float(bracket.width), float(bracket.relative_width)
    (0.25, 0.25)
    """

    lower: Real
    upper: Real

    @property
    def width(self) -> Real:
        """``upper - lower``."""
        return self.upper - self.lower

    @property
    def relative_width(self) -> Real:
        """``upper / lower - 1``; zero where both are zero, infinite where only ``lower`` is."""
        lower = np.asarray(self.lower)
        width = np.asarray(self.width)
        share = np.full(width.shape, np.inf)
        np.divide(width, lower, out=share, where=lower > 0.0)
        return np.where(width == 0.0, 0.0, share)[()]
