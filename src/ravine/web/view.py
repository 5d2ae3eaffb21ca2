"""What a page shows: every setting in one place, read from an address and written back to it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ravine.arguments import Refusal
from ravine.choices import Choice
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.ladder.batches import Batches
from ravine.web.quantities import QUANTITIES


class Room(Choice):
    """The views of the page."""

    PLANE = "plane", "step size and momentum, and the method at work"
    DATA = "data", "a table of your own, judged"
    CLAIMS = "claims", "every statement of the paper, measured"


class Example(Choice):
    """What the method is run on."""

    NOISE = "noise", "a quadratic whose gradients carry additive noise"
    ODD = "odd", "the paper's sum, in which one function is unlike all others"
    TURNING = "turning", "four quadratics whose axes turn, visited in turn"


class Axis(Choice):
    """How the step sizes are spaced."""

    LINEAR = "linear", "equal distances"
    LOG = "log", "equal ratios"


@dataclass(frozen=True)
class Range:
    """The numbers that a setting may have, and how its slider spaces them."""

    low: float
    high: float
    whole: bool = False
    log: bool = False
    """The slider moves in the logarithm."""

    def check(self, name: str, value: Any) -> float:
        """Return ``value`` as a number inside the range, or refuse it."""
        kind = "a whole number" if self.whole else "a number"
        rule = f"{kind} from {self.low:g} to {self.high:g}"

        try:
            number = float(value)
        except (TypeError, ValueError):
            raise Refusal(name, rule, repr(value), f"type {kind}") from None

        outside = not self.low <= number <= self.high
        if outside or (self.whole and number != round(number)):
            raise Refusal(name, rule, f"{number:g}", f"type {kind} in this range")

        return number


RANGES = {
    "Q": Range(1.001, 1e6, log=True),  # at 1 there is nothing to accelerate
    "step": Range(1e-6, 4.0),
    "beta": Range(-1.0, 1.0),
    "sigma2": Range(0.0, 100.0),
    "K": Range(1, 5000, whole=True, log=True),
    "n": Range(2, 1000, whole=True, log=True),
    "ratio": Range(1.0, 1000.0, log=True),
    "batch": Range(1, 10000, whole=True, log=True),
    "seed": Range(0, 2**31, whole=True),
}
"""Settings that are numbers."""

LABELS = {
    "Q": "condition number Q",
    "step": "step size αL",
    "beta": "momentum β",
    "sigma2": "noise variance σ²",
    "K": "steps K",
    "n": "functions n",
    "ratio": "single functions Lₘₐₓ/L",
    "batch": "batch size b",
    "seed": "seed",
}
"""What people read beside the boxes."""


@dataclass(frozen=True)
class View:
    """Every setting of the page. What is left at its default is left out of the address.

    ``step`` is alpha L, in units of mu = 1 and L = Q. ``gamma`` is None for Nesterov's look-ahead.
    """

    room: Room = Room.PLANE
    Q: float = 32.0
    step: float = 1.0
    beta: float = 0.6995577903553303
    gamma: float | None = None
    colour: str = "regions"
    axis: Axis = Axis.LINEAR
    sigma2: float = 0.01
    K: int = 200
    n: int = 50
    ratio: float = 1.0
    batch: int = 1
    sampling: Sampling = Sampling.IID_NO_REPEAT
    example: Example = Example.NOISE
    seed: int = 0

    @property
    def curvature(self) -> Curvature:
        """Curvature with mu = 1 and L = Q."""
        return Curvature(1.0, self.Q)

    @property
    def method(self) -> Method:
        """The method that the point in the plane stands for."""
        return Method(self.step / self.Q, self.beta, self.gamma)

    @property
    def batches(self) -> Batches:
        """What single functions and mini-batches are like, for the rungs that ask."""
        largest = None if self.ratio == 1.0 else self.ratio * self.Q
        return Batches(L_max=largest, batch_size=self.batch)

    @property
    def query(self) -> str:
        """The address's part behind the question mark: whatever is not at its default."""
        usual = View()
        changed = {
            field.name: _written(getattr(self, field.name))
            for field in fields(self)
            if getattr(self, field.name) != getattr(usual, field.name)
        }

        return urlencode(changed)

    @property
    def typed(self) -> dict[str, str]:
        """Every setting as it stands in its box or list.

        Examples
        --------
        >>> View(Q=8.0).typed["Q"], View().typed["beta"], View().typed["gamma"]
        ('8', '0.699558', '')
        """
        return {field.name: _typed(getattr(self, field.name)) for field in fields(self)}


SETTINGS = tuple(field.name for field in fields(View))
"""The names of all settings."""


def parse(settings: dict[str, Any]) -> tuple[View, dict[str, str]]:
    """Read settings; what cannot be used stays at its default and gets a line that says why.

    Examples
    --------
    >>> view, complaints = parse({"Q": "8", "beta": "3", "colour": "regions"})
    >>> view.Q, view.beta == View().beta, list(complaints)
    (8.0, True, ['beta'])
    """
    view = View()
    complaints: dict[str, str] = {}
    for name, value in settings.items():
        try:
            view = replace(view, **{name: _read(name, value)})
        except Refusal as refusal:
            complaints[name] = str(refusal)

    return view, complaints


def from_query(query: str) -> tuple[View, dict[str, str]]:
    """Read an address's query; unknown settings are ignored.

    Examples
    --------
    >>> from_query("?Q=8&beta=0.5&gamma=0")[0].method.is_nesterov
    False
    """
    try:
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=64)
    except ValueError:  # more fields than there can be settings: no address of ours
        pairs = []

    return parse({name: value for name, value in pairs if name in SETTINGS})


_CHOICES: dict[str, type[Choice]] = {
    "room": Room,
    "axis": Axis,
    "example": Example,
    "sampling": Sampling,
}


def _read(name: str, value: Any) -> Any:
    if name in _CHOICES:
        return _CHOICES[name].parse(value, name)

    if name == "colour":
        if value not in QUANTITIES:
            rule = f"one of {', '.join(QUANTITIES)}"
            raise Refusal(name, rule, repr(value), "pick one of these names")
        return value

    if name == "gamma":
        return None if value in (None, "") else Range(-2.0, 2.0).check(name, value)

    spread = RANGES[name]
    number = spread.check(LABELS[name], value)
    return int(number) if spread.whole else number


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):  # a choice, or the name of a quantity
        return str(value)

    return repr(value)


def _typed(value: Any) -> str:
    """A setting as it stands in its box: short where that says all, else every digit."""
    if value is None:
        return ""
    if isinstance(value, float):
        short = f"{value:.6g}"
        return short if abs(float(short) - value) <= 1e-5 * abs(value) else repr(value)

    return str(value)
