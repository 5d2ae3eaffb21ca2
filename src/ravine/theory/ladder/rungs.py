"""The rungs of the ladder as data: the one place that says what each is, means and looks like.

A new rung is a function of (curvature, method) in a file of its own and one entry of ``RUNGS``. The
ladder, the command line, its JSON and the maps read the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ravine.arguments import Real
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.rates import contraction, spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate


@dataclass(frozen=True)
class Rung:
    """One answer to "how fast, and is it stable?"."""

    function: Callable[[Curvature, Method], Real | Bracket]
    """The growth per step, or a bracket of it; arrays broadcast."""
    name: str
    """What people call it."""
    symbol: str
    """What formulas and legends call it."""
    holds_for: str
    """The problems and orders that grow no faster, for a table."""
    region: str
    """The same in the few words of a legend."""
    colour: str
    """Of the region where it is below 1, as #rrggbb."""
    contour: tuple[str, Literal["-", "--", "-.", ":"]]
    """Colour and dashes of the line where it is 1, drawn over a measured map."""
    bracketed: bool = False
    """Whether it is known between two bounds only: then tables and JSON show both."""

    @property
    def key(self) -> str:
        """Its name in Python, in JSON and in the tables of a map: that of its function."""
        return self.function.__name__

    @property
    def title(self) -> str:
        """Name and symbol, for the head of a table or of a map."""
        return f"{self.name} {self.symbol}"

    @property
    def region_label(self) -> str:
        """Legend of the region in which it guarantees convergence."""
        return f"{self.region}  ({self.symbol} < 1)"

    @property
    def contour_label(self) -> str:
        """Legend of the line on which it is 1."""
        return f"{self.symbol} = 1: {self.region}"

    def rate(self, curvature: Curvature, method: Method) -> Bracket:
        """The growth per step between two bounds, which are equal where it is known exactly."""
        value = self.function(curvature, method)
        return value if isinstance(value, Bracket) else Bracket(value, value)


RUNGS = (
    Rung(
        function=spectral_radius,
        name="spectral radius",
        symbol="ρ",
        holds_for="exact gradients, or additive noise",
        region="additive noise",
        colour="#cfe3f1",
        contour=("#c1272d", "-"),
    ),
    Rung(
        function=commuting_rate,
        name="commuting rate",
        symbol="JSR",
        holds_for="sums with shared eigenvectors, any order",
        region="sums with shared eigenvectors",
        colour="#8fbfdf",
        contour=("#e69f00", "--"),
        bracketed=True,
    ),
    Rung(
        function=worst_case_rate,
        name="worst-case rate",
        symbol="r*",
        holds_for="every finite sum, any order; exact",
        region="every finite sum, any order",
        colour="#3d85bd",
        contour=("#ffffff", "-"),
    ),
    Rung(
        function=contraction,
        name="contraction",
        symbol="R",
        holds_for="the same; the paper's sufficient bound",
        region="the paper's guarantee",
        colour="#0b3c66",
        contour=("#ffffff", ":"),
    ),
)
"""From the most optimistic to the most cautious: for all parameters none exceeds the next."""
