"""The rungs of the ladder as data: the function, the meaning and the look of each.

A new rung is a function of (curvature, method) in a file of its own and one entry of ``RUNGS``. The
ladder, the command line, its JSON and the maps read the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ravine.arguments import Real
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.batch_noise import SINGLE_TERMS, Batches
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.iid import iid_rate
from ravine.theory.ladder.rates import contraction, spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate


@dataclass(frozen=True)
class Rung:
    """One answer to "how fast, and is it stable?"."""

    function: Callable[..., Real | Bracket]
    """Computes the rate per step, or a bracket of it, from (curvature, method); arrays
    broadcast."""
    looks_at: Literal["objective", "batches", "terms"]
    """The relevant curvature: that of the objective, of random batches, or of every term."""
    name: str
    """Its common name."""
    symbol: str
    """Its symbol in formulas and legends."""
    holds_for: str
    """The problems and orders for which it holds, for a table."""
    region: str
    """The same in a few words, as the label of the region where the rate is below 1."""
    colour: str
    """Colour of the region where it is below 1, as #rrggbb."""
    contour: tuple[str, Literal["-", "--", "-.", ":"]]
    """Colour and dashes of the line where it is 1, over a measured map."""
    any_memory: bool = False
    """Whether it is defined for a ``LinearMethod`` too."""
    bracketed: bool = False
    """Whether only two bounds are known; tables and JSON then show both."""

    @property
    def key(self) -> str:
        """Its name in Python, in JSON and in the tables of a map: the name of its function."""
        return self.function.__name__

    @property
    def title(self) -> str:
        """Name and symbol, for the heading of a table or a map."""
        return f"{self.name} {self.symbol}"

    @property
    def region_label(self) -> str:
        """Legend of the region where it guarantees convergence."""
        return f"{self.region}  ({self.symbol} < 1)"

    @property
    def contour_label(self) -> str:
        """Legend of the line where it is 1."""
        return f"{self.symbol} = 1: {self.region}"

    def rate(
        self, curvature: Curvature, method: Method | LinearMethod, batches: Batches = SINGLE_TERMS
    ) -> Bracket:
        """The growth per step between two bounds, which are equal if it is known exactly."""
        if self.looks_at == "objective":
            value = self.function(curvature, method)
        elif self.looks_at == "batches":
            value = self.function(curvature, method, **batches.options())
        else:
            value = self.function(batches.terms(curvature), method)

        return value if isinstance(value, Bracket) else Bracket(value, value)


OUTSIDE = "diverges even with exact gradients"
"""Label of the region where no rung is below 1."""

RUNGS = (
    Rung(
        function=spectral_radius,
        looks_at="objective",
        name="spectral radius",
        symbol="ρ",
        holds_for="exact gradients, or additive noise",
        region="safe with exact gradients",
        colour="#ffffcc",
        contour=("#c1272d", "-"),
        any_memory=True,
    ),
    Rung(
        function=iid_rate,
        looks_at="batches",
        name="iid rate",
        symbol="r₂",
        holds_for="batches drawn independently, mean square",
        region="safe for independent batches",
        colour="#a1dab4",
        contour=("#009e73", "-."),
        any_memory=True,
    ),
    Rung(
        function=commuting_rate,
        looks_at="terms",
        name="commuting rate",
        symbol="JSR",
        holds_for="sums with shared eigenvectors, any order",
        region="safe in any order, shared eigenvectors",
        colour="#41b6c4",
        contour=("#e69f00", "--"),
        bracketed=True,
    ),
    Rung(
        function=worst_case_rate,
        looks_at="terms",
        name="worst-case rate",
        symbol="r*",
        holds_for="every finite sum, any order; exact",
        region="safe in any order",
        colour="#2c7fb8",
        contour=("#ffffff", "-"),
        any_memory=True,
    ),
    Rung(
        function=contraction,
        looks_at="terms",
        name="contraction",
        symbol="R",
        holds_for="the same; the paper's sufficient bound",
        region="covered by the paper's bound",
        colour="#253494",
        contour=("#ffffff", ":"),
    ),
)
"""From the most optimistic to the most cautious rung: for all parameters, none exceeds the next."""
