"""Every setting of the page in one place: what it means, its range, and how an address holds it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ravine.arguments import Refusal
from ravine.choices import Choice
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.ladder.batches import Batches
from ravine.web.quantities import QUANTITIES

RIGHT = 2.5
"""Largest step size αL of the plane: beyond 4/3 nothing with positive momentum converges."""


class Tab(Choice):
    """The views of the page."""

    EXPLORE = "explore", "Explore"
    DATA = "data", "Your data"
    CLAIMS = "claims", "The paper's claims"


class Example(Choice):
    """What the method is run on."""

    TURNING = "turning", "four quadratics with rotated axes, visited in turn"
    NOISE = "noise", "one quadratic, gradients with additive noise"
    INCONSISTENT = "inconsistent", "a finite sum with one inconsistent term"


class Axis(Choice):
    """How the step sizes are spaced."""

    LINEAR = "linear", "linear"
    LOG = "log", "logarithmic"


@dataclass(frozen=True)
class Control:
    """A setting that is a number: its words, its range, and when it changes anything."""

    label: str
    help: str
    """What it is, in one plain sentence."""
    low: float
    high: float
    whole: bool = False
    log: bool = False
    """The slider moves in the logarithm."""
    zero: bool = False
    """Zero is allowed too: it is the left end of a logarithmic slider."""
    examples: tuple[Example, ...] = tuple(Example)
    """Examples whose run depends on it."""
    always: bool = False
    """Whether the regions and rates depend on it."""

    def check(self, value: Any) -> float:
        """Return ``value`` as a number inside the range, or refuse it."""
        kind = "a whole number" if self.whole else "a number"
        rule = f"{kind} from {0.0 if self.zero else self.low:g} to {self.high:g}"
        remedy = f"type {kind} in this range"
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise Refusal(self.label, rule, repr(value), remedy) from None

        inside = self.low <= number <= self.high or (self.zero and number == 0.0)
        if not inside or (self.whole and number != round(number)):
            raise Refusal(self.label, rule, f"{number:g}", remedy)

        return number


_SUM = (Example.INCONSISTENT,)
_NOISE = (Example.NOISE,)
CONTROLS: dict[str, Control] = {
    "step": Control(
        "step size αL", "The learning rate times the largest curvature L.", 1e-3, RIGHT, always=True
    ),
    "beta": Control(
        "momentum β", "The share of the last step that is kept.", -1.0, 1.0, always=True
    ),
    "Q": Control(
        "condition number Q",
        "The largest curvature over the smallest, L/μ: how narrow the ravine is.",
        1.001, 1e6, log=True, always=True,
    ),
    "sigma2": Control(
        "noise variance σ²", "Variance of the noise in each coordinate of the gradient.",
        1e-6, 100.0, log=True, zero=True, examples=_NOISE,
    ),
    "K": Control(
        "steps K", "How long the method runs.", 1, 5000, whole=True, log=True,
        examples=(*_NOISE, *_SUM),
    ),
    "n": Control(
        "terms n", "How many functions the finite sum has.", 2, 1000, whole=True, log=True,
        examples=_SUM,
    ),
    "ratio": Control(
        "largest term Lₘₐₓ/L",
        "How much more one term of the sum may curve than the whole.",
        1.0, 1000.0, log=True, always=True,
    ),
    "batch": Control(
        "batch size b",
        "How many terms are averaged in one gradient: more of them disagree less.",
        1, 10000, whole=True, log=True, always=True,
    ),
}  # fmt: skip
"""Settings that are numbers, in the order of the page."""

_GAMMA = Control("look-ahead γ", "Where the gradient is taken; empty: β, Nesterov's.", -2.0, 2.0)
_SEED = Control("seed", "Of all random draws.", 0, 2**31, whole=True)


@dataclass(frozen=True)
class View:
    """Every setting of the page. What is left at its default is left out of the address.

    ``step`` is alpha L, in units of mu = 1 and L = Q. ``gamma`` is None for Nesterov's look-ahead.
    """

    tab: Tab = Tab.EXPLORE
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
    example: Example = Example.TURNING
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
        """What single terms and batches are like, for the rungs that ask."""
        largest = None if self.ratio == 1.0 else self.ratio * self.Q
        return Batches(L_max=largest, batch_size=self.batch)

    @property
    def needs(self) -> tuple[str, ...]:
        """Settings that the quantity in colour depends on, besides those of the regions."""
        return () if self.colour == "regions" else QUANTITIES[self.colour].needs

    @property
    def active(self) -> list[str]:
        """Settings that change something in this view: the others are hidden."""
        needs = self.needs
        names = [
            name
            for name, control in CONTROLS.items()
            if control.always or self.example in control.examples or name in needs
        ]
        if self.example is Example.INCONSISTENT or "sampling" in needs:
            names.append("sampling")

        return names

    @property
    def query(self) -> str:
        """The address's part behind the question mark: whatever is not at its default."""
        usual = asdict(View())
        changed = {
            name: "" if value is None else str(value)
            for name, value in asdict(self).items()
            if value != usual[name]
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
        return {name: _typed(value) for name, value in asdict(self).items()}

    def only(self, *names: str) -> View:
        """The view with everything but these settings at its default."""
        return View(**{name: getattr(self, name) for name in names})


SETTINGS = tuple(field.name for field in fields(View))
"""The names of all settings."""


def parse(settings: dict[str, Any]) -> View:
    """Read settings; what cannot be used stays at its default.

    Examples
    --------
    >>> view = parse({"Q": "8", "beta": "3", "colour": "regions"})
    >>> view.Q, view.beta == View().beta
    (8.0, True)
    """
    view = View()
    for name, value in settings.items():
        try:
            view = replace(view, **{name: _read(name, value)})
        except Refusal:
            continue

    return view


def from_query(query: str) -> View:
    """Read an address's query; unknown settings are ignored.

    Examples
    --------
    >>> from_query("?Q=8&beta=0.5&gamma=0").method.is_nesterov
    False
    """
    try:
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=64)
    except ValueError:  # more fields than there can be settings: no address of ours
        pairs = []

    return parse({name: value for name, value in pairs if name in SETTINGS})


_CHOICES: dict[str, type[Choice]] = {
    "tab": Tab,
    "axis": Axis,
    "example": Example,
    "sampling": Sampling,
}


def _read(name: str, value: Any) -> Any:
    if name in _CHOICES:
        return _CHOICES[name].parse(value, name)
    if name == "colour":
        if value == "regions" or value in QUANTITIES:
            return value
        raise Refusal(name, f"one of {', '.join(QUANTITIES)}", repr(value), "pick one of these")
    if name == "gamma" and value in (None, ""):
        return None

    control = {"gamma": _GAMMA, "seed": _SEED, **CONTROLS}[name]
    number = control.check(value)
    return int(number) if control.whole else number


def _typed(value: Any) -> str:
    """A setting as it stands in its box: short where that says all, else every digit."""
    if value is None:
        return ""
    if isinstance(value, float):
        short = f"{value:.6g}"
        return short if abs(float(short) - value) <= 1e-5 * abs(value) else repr(value)

    return str(value)


def described() -> dict[str, Any]:
    """What the page needs to know of the settings: it has no ranges and words of its own."""
    choices = {
        name: [[member.value, member.sentence] for member in kind]
        for name, kind in _CHOICES.items()
    }
    choices["sampling"] = [[rule.value, f"{rule.value}: {rule.sentence}"] for rule in Sampling]
    choices["colour"] = [["regions", "where it converges"]]
    choices["colour"] += [[key, quantity.name] for key, quantity in QUANTITIES.items()]
    numbers = {**CONTROLS, "gamma": _GAMMA}
    return {
        "controls": {name: asdict(control) for name, control in numbers.items()},
        "choices": choices,
    }
