"""Every setting of the page: meaning, range, form in an address; quantities in colour, presets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np

from ravine.arguments import Choice, FloatArray
from ravine.curvature import Curvature
from ravine.figures.style import METHODS
from ravine.methods import Method, gradient_descent, heavy_ball, nesterov, sgd, triple_momentum
from ravine.sampling import Sampling
from ravine.theory.finite_sums.inconsistent_term import inconsistent_term_rate
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.rungs import RUNGS, Rung
from ravine.theory.noise.moments import exact_noise_coefficient
from ravine.theory.tuning.budget import moment_after

RIGHT = 2.5
"""Largest step size αL of the plane: beyond 4/3 nothing with positive momentum converges."""


class Tab(Choice):
    """The views of the page."""

    EXPLORE = "explore"
    DATA = "data"
    CLAIMS = "claims"


class Example(Choice):
    """The example that the method runs on."""

    TURNING = "turning", "four quadratics with rotated axes"
    NOISE = "noise", "one quadratic with additive noise"
    INCONSISTENT = "inconsistent", "a finite sum with one inconsistent term"


class Axis(Choice):
    """How the step sizes are spaced."""

    LINEAR = "linear", "linear"
    LOG = "log", "logarithmic"


@dataclass(frozen=True)
class Control:
    """A numeric setting: its label, its range, and when it matters."""

    label: str
    help: str
    """A description in one sentence."""
    low: float
    high: float
    slider: str = "linear"
    """Scale of its slider: "linear", "log" (from ``first``), or "" without a slider."""
    whole: bool = False
    first: float = 0.0
    """Left end of a logarithmic slider; below it, the slider jumps to ``low`` if that is
    smaller."""
    examples: tuple[Example, ...] = ()
    """Examples whose runs depend on it; empty if the regions depend on it."""

    @property
    def rule(self) -> str:
        """The range of values that can be typed."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.low:g} to {self.high:g}"

    def read(self, value: Any) -> float:
        """Return ``value`` as a number inside the range, or raise an error."""
        number = float(value)
        if not self.low <= number <= self.high or (self.whole and number != round(number)):
            raise ValueError(self.rule)

        return int(number) if self.whole else number


_SUM = (Example.INCONSISTENT,)
_NOISE = (Example.NOISE,)
CONTROLS: dict[str, Control] = {
    "step": Control(
        "step size αL", "The learning rate times the largest curvature L.", 1e-3, RIGHT
    ),
    "beta": Control("momentum β", "The fraction of the last step that is kept.", -1.0, 1.0),
    "Q": Control(
        "condition number Q",
        "The largest curvature over the smallest, L/μ: how narrow the ravine is.",
        1.001, 1e6, "log", first=1.001,
    ),
    "sigma2": Control(
        "noise variance σ²", "Variance of the noise in each coordinate of the gradient.",
        0.0, 100.0, "log", first=1e-6, examples=_NOISE,
    ),
    "K": Control(
        "steps K", "Number of steps that the method runs.",
        1, 5000, "log", whole=True, first=1.0, examples=(*_NOISE, *_SUM),
    ),
    "n": Control(
        "terms n", "Number of terms in the finite sum.",
        2, 1000, "log", whole=True, first=2.0, examples=_SUM,
    ),
    "ratio": Control(
        "largest term Lₘₐₓ/L", "Largest curvature of one term, relative to the whole sum.",
        1.0, 1000.0, "log", first=1.0,
    ),
    "batch": Control(
        "batch size b", "Number of terms averaged in a gradient: a larger batch is less noisy.",
        1, 10000, "log", whole=True, first=1.0,
    ),
    "gamma": Control(
        "look-ahead γ", "Where gradients are taken; empty: β (Nesterov's).", -2.0, 2.0, slider=""
    ),
}  # fmt: skip
"""Numeric settings, in the order of the page."""

_SEED = Control("seed", "Seed of all random draws.", 0, 2**31, whole=True)
CHOICES: dict[str, type[Choice]] = {
    "tab": Tab, "axis": Axis, "example": Example, "sampling": Sampling,
}  # fmt: skip
"""Settings with a few named values, other than the quantity in colour."""


@dataclass(frozen=True)
class View:
    """Every setting of the page; the address omits defaults.

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
        """The method at the point in the plane."""
        return Method(self.step / self.Q, self.beta, self.gamma)

    @property
    def batches(self) -> Batches:
        """Options for the rungs that depend on single terms and batches."""
        largest = None if self.ratio == 1.0 else self.ratio * self.Q
        return Batches(L_max=largest, batch_size=self.batch)

    @property
    def needs(self) -> tuple[str, ...]:
        """Settings that the quantity in colour depends on, besides those of the regions."""
        return () if self.colour == "regions" else QUANTITIES[self.colour].needs

    @property
    def active(self) -> list[str]:
        """Settings that affect this view; the others are hidden."""
        examples = {name: one.examples for name, one in CONTROLS.items()} | {"sampling": _SUM}
        return [
            name
            for name, own in examples.items()
            if not own or self.example in own or name in self.needs
        ]

    @property
    def query(self) -> str:
        """The query of the address: every setting that differs from its default."""
        changed = {
            name: "" if value is None else str(value)
            for name, value in vars(self).items()
            if value != DEFAULTS[name]
        }
        return urlencode(changed)

    @property
    def typed(self) -> dict[str, str]:
        """Every setting as the text of its box or list.

        Examples
        --------
        >>> View(Q=8.0).typed["Q"], View().typed["beta"], View().typed["gamma"]
        ('8', '0.699558', '')
        """
        return {name: _typed(value) for name, value in vars(self).items()}

    def only(self, *names: str) -> View:
        """The view with these settings, all others at their defaults."""
        return View(**{name: getattr(self, name) for name in names})


DEFAULTS: dict[str, Any] = dict(vars(View()))
"""Every setting with its default."""


def parse(settings: dict[str, Any]) -> View:
    """Read settings, ignoring unknown or invalid ones.

    Examples
    --------
    >>> view = parse({"Q": "8", "beta": "3", "colour": "regions"})
    >>> view.Q, view.beta == View().beta
    (8.0, True)
    """
    view = View()
    for name, value in settings.items():
        with suppress(KeyError, OverflowError, TypeError, ValueError):
            view = replace(view, **{name: _read(name, value)})

    return view


def _read(name: str, value: Any) -> Any:
    if name in CHOICES:
        return CHOICES[name].parse(value, name)
    if name == "gamma" and value in (None, ""):
        return None
    if name == "colour" and value in ("regions", *QUANTITIES):
        return value

    return {"seed": _SEED, **CONTROLS}[name].read(value)


def _typed(value: Any) -> str:
    """A setting as the text of its box: short if that loses nothing, otherwise with every digit."""
    if value is None:
        return ""
    if isinstance(value, float):
        short = f"{value:.6g}"
        return short if abs(float(short) - value) <= 1e-5 * abs(value) else repr(value)

    return str(value)


@dataclass(frozen=True)
class Quantity:
    """A quantity that the plane can show."""

    name: str
    """Its name in the list."""
    label: str
    """The label of the colour bar."""
    values: Callable[[View, Method], FloatArray]
    """Computes an array from a view and a plane of methods."""
    needs: tuple[str, ...] = ()
    """Settings that it depends on, in addition to those of the regions."""
    rate: bool = True
    """A rate per step is shown below 1, on a linear scale; anything else on a logarithmic one."""


def _rung_rate(rung: Rung, view: View, plane: Method) -> FloatArray:
    return np.asarray(rung.rate(view.curvature, plane, view.batches).upper)


def _noise_floor(view: View, plane: Method) -> FloatArray:
    return view.sigma2 * np.asarray(exact_noise_coefficient(view.curvature, plane))


def _after(objective: bool, view: View, plane: Method) -> FloatArray:
    """E r² or E f - f* after K steps from r = 1, the larger one of lambda = mu and lambda = L."""
    alpha, beta, gamma = np.broadcast_arrays(plane.alpha, plane.beta, plane.gamma)
    each = Method(alpha[..., None], beta[..., None], gamma[..., None])
    ends = np.array([1.0, view.Q])
    moments = moment_after(ends, each, sigma2=view.sigma2, steps=view.K)
    return np.asarray((0.5 * ends * moments if objective else moments).max(axis=-1))


def _sum_rate(view: View, plane: Method) -> FloatArray:
    """Root-mean-square rate on the sum with one inconsistent term, in the order chosen."""
    third = inconsistent_term_rate(1.0, view.Q, plane, n=view.n, sampling=view.sampling)
    return np.maximum(third, np.asarray(spectral_radius(view.curvature, plane)))


_DRAWN, _BUDGET = ("n", "sampling"), ("sigma2", "K")
_DISTANCE, _LOSS = partial(_after, False), partial(_after, True)
QUANTITIES: dict[str, Quantity] = {
    **{rung.key: Quantity(rung.title, rung.title, partial(_rung_rate, rung)) for rung in RUNGS},
    "sum": Quantity("rate with one inconsistent term", "root-mean-square rate", _sum_rate, _DRAWN),
    "floor": Quantity("noise floor", "E‖y − x*‖², k → ∞", _noise_floor, ("sigma2",), rate=False),
    "error": Quantity(
        "distance after K steps", "E‖y − x*‖² after K", _DISTANCE, _BUDGET, rate=False
    ),
    "excess": Quantity("loss after K steps", "E f − f* after K", _LOSS, _BUDGET, rate=False),
}
"""Quantities by their name in an address. A new rung is included automatically."""


@dataclass(frozen=True)
class Preset:
    """Settings with a name; ``method`` moves the point to well-known parameters."""

    name: str
    method: Callable[[Curvature], Method]
    settings: dict[str, Any] = field(default_factory=dict)

    def applied(self, view: View) -> View:
        """The view with the settings of the preset; the condition number stays if it has none."""
        ratio = float(self.settings.get("Q", view.Q))
        point = self.method(Curvature(1.0, ratio))
        own = {
            "Q": ratio,
            "step": float(point.alpha) * ratio,
            "beta": float(point.beta),
            "gamma": None if point.is_nesterov else float(point.gamma),
        }

        return parse(view.typed | own | self.settings)


def preset_of(view: View) -> str:
    """The preset that sets most of this view, or an empty name."""
    own = [key for key, preset in PRESETS.items() if preset.applied(view).typed == view.typed]
    return max(own, key=lambda key: len(PRESETS[key].settings), default="")


_FIGURE_1 = {"sigma2": 0.01, "K": 200, "example": "noise", "colour": "floor"}
_FIGURE_2 = {
    "Q": 2000.0, "K": 2000, "example": "inconsistent", "colour": "sum",
    "sampling": "reshuffle-no-repeat",
}  # fmt: skip

PRESETS: dict[str, Preset] = {
    "turning": Preset(
        "four quadratics, textbook",
        nesterov,
        {"Q": 32.0, "example": "turning", "colour": "regions"},
    ),
    "standard": Preset("standard Nesterov parameters", nesterov),
    "sgd": Preset(METHODS["sgd"].words, sgd),
    "descent": Preset(METHODS["one-over-L"].words, gradient_descent),
    "heavy-ball": Preset("Polyak's heavy ball", heavy_ball),
    "triple": Preset("triple momentum", triple_momentum),
    **{
        f"figure-1-{Q}": Preset(f"the paper's Figure 1, Q = {Q}", nesterov, _FIGURE_1 | {"Q": Q})
        for Q in (2, 8, 32)
    },
    **{
        f"figure-2-{n}": Preset(f"the paper's Figure 2, n = {n}", nesterov, _FIGURE_2 | {"n": n})
        for n in (50, 250, 1000)
    },
    "figure-3": Preset("the paper's Figure 3", sgd, {"Q": 16.0, "colour": "worst_case_rate"}),
}
