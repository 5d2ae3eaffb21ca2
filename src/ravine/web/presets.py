"""Where to begin: well-known methods, and the settings of the paper's figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ravine.curvature import Curvature
from ravine.methods import Method, gradient_descent, heavy_ball, nesterov, sgd, triple_momentum
from ravine.web.view import View, parse


@dataclass(frozen=True)
class Preset:
    """Settings with a name; ``method`` puts the point at well-known parameters."""

    name: str
    method: Callable[[Curvature], Method]
    settings: dict[str, Any] = field(default_factory=dict)

    def applied(self, view: View) -> View:
        """The view with what the preset sets; the condition number stays unless it has its own."""
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


def _figure1(Q: float) -> Preset:
    settings = {"Q": Q, "sigma2": 0.01, "K": 200, "example": "noise", "colour": "floor"}
    return Preset(f"the paper's Figure 1, Q = {Q:g}", nesterov, settings)


def _figure2(n: int) -> Preset:
    settings = {
        "Q": 2000.0, "n": n, "K": 2000, "example": "inconsistent", "colour": "sum",
        "sampling": "reshuffle-no-repeat",
    }  # fmt: skip
    return Preset(f"the paper's Figure 2, n = {n}", nesterov, settings)


PRESETS: dict[str, Preset] = {
    "turning": Preset(
        "the four quadratics, textbook parameters",
        nesterov,
        {"Q": 32.0, "example": "turning", "colour": "regions"},
    ),
    "standard": Preset("standard Nesterov parameters", nesterov),
    "sgd": Preset("SGD at 2/(μ+L)", sgd),
    "descent": Preset("gradient descent at 1/L", gradient_descent),
    "heavy-ball": Preset("Polyak's heavy ball", heavy_ball),
    "triple": Preset("triple momentum", triple_momentum),
    "figure-1-2": _figure1(2.0),
    "figure-1-8": _figure1(8.0),
    "figure-1-32": _figure1(32.0),
    "figure-2-50": _figure2(50),
    "figure-2-250": _figure2(250),
    "figure-2-1000": _figure2(1000),
    "figure-3": Preset(
        "the paper's Figure 3: SGD on batches", sgd, {"Q": 16.0, "colour": "worst_case_rate"}
    ),
}
