"""Every rung of the ladder for one method, with a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.arguments import one_number
from ravine.curvature import Curvature
from ravine.methods import Method, gradient_descent, heavy_ball, nesterov, sgd, triple_momentum
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.rates import contraction, spectral_radius
from ravine.theory.ladder.safety import safe_step
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.noise.moments import exact_noise_coefficient

_USUAL = {
    "usual Nesterov parameters": nesterov,
    "SGD at 2/(mu + L)": sgd,
    "gradient descent at 1/L": gradient_descent,
    "Polyak's heavy ball": heavy_ball,
    "triple momentum": triple_momentum,
}


@dataclass(frozen=True, eq=False)
class Ladder:
    """The five answers to "how fast, and is it stable?", from optimistic to cautious.

    ``spectral_radius <= commuting.lower <= commuting.upper <= worst_case_rate <= contraction``.
    """

    curvature: Curvature
    method: Method
    spectral_radius: float
    """Deterministic rate; also the rate under additive noise."""
    commuting: Bracket
    """Worst order of quadratics that share eigenvectors."""
    worst_case_rate: float
    """Worst order of any smooth strongly convex functions: exact."""
    contraction: float
    """The paper's sufficient bound."""
    noise_coefficient: float
    """Stationary E‖y - x*‖² for unit noise variance, in the worst direction; may be infinite."""
    sgd_noise_coefficient: float
    """The same for SGD at 2/(mu + L)."""

    @property
    def name(self) -> str:
        """The name of the parameters where they are well-known ones, else the family's."""
        for name, usual in _USUAL.items():
            if _same(self.method, usual(self.curvature)):
                return name
        if not self.method.is_nesterov:
            return "heavy ball" if self.method.gamma == 0.0 else "momentum with look-ahead"
        return "SGD" if self.method.beta == 0.0 else "Nesterov's method"

    @property
    def verdict(self) -> str:
        """What the rungs mean, in plain words."""
        name = self.name[0].upper() + self.name[1:]
        if self.spectral_radius >= 1.0:
            return (
                f"{name}: diverges even with exact gradients, {_growth(self.spectral_radius)}. "
                f"{self._remedy()}"
            )
        noise = f"converges for additive noise at {_shrinks(self.spectral_radius)} a step"
        worst = self.worst_case_rate
        if worst < 1.0:
            return (
                f"{name}: {noise}, and is certain to converge on every finite sum, in every "
                f"order, at {_shrinks(worst)} a step or faster."
            )
        return (
            f"{name}: {noise}; can diverge when mini-batches disagree: worst case "
            f"{_growth(worst)}. {self._shared()} {self._remedy()}"
        )

    def _shared(self) -> str:
        """One sentence on mini-batches with common eigenvectors."""
        if self.commuting.upper < 1.0:
            return "While they share eigenvectors it converges in every order."
        if self.commuting.lower > 1.0:
            return (
                f"Sharing eigenvectors does not help: still {_growth(float(self.commuting.lower))}."
            )
        return "Whether sharing eigenvectors is enough is too close to call."

    def _remedy(self) -> str:
        step = float(sgd(self.curvature).alpha)
        rate = float(worst_case_rate(self.curvature, sgd(self.curvature)))
        advice = f"SGD with alpha = {step:.4g} is certain, at {_shrinks(rate)} a step"
        beta = float(self.method.beta)
        if self.method.is_nesterov and 0.0 < beta < 1.0:
            limit = float(safe_step(self.curvature.L, beta))
            advice += f"; so is any alpha < {limit:.4g} at this momentum"
        return advice + "."


def ladder(curvature: Curvature, method: Method) -> Ladder:
    """Climb every rung for one curvature and one method.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(0.05, 100)
    >>> print(ladder(c, nesterov(c)).verdict[:88])
    Usual Nesterov parameters: converges for additive noise at 0.9776 a step; can diverge wh
    """
    remedy = "the ladder is for one curvature and one method at a time; the rungs take arrays"
    for name in ("mu", "L"):
        one_number(name, getattr(curvature, name), remedy=remedy)
    for name in ("alpha", "beta", "gamma"):
        one_number(name, getattr(method, name), remedy=remedy)
    return Ladder(
        curvature,
        method,
        spectral_radius=float(spectral_radius(curvature, method)),
        commuting=commuting_rate(curvature, method),
        worst_case_rate=float(worst_case_rate(curvature, method)),
        contraction=float(contraction(curvature, method)),
        noise_coefficient=float(exact_noise_coefficient(curvature, method)),
        sgd_noise_coefficient=float(exact_noise_coefficient(curvature, sgd(curvature))),
    )


def _same(one: Method, other: Method) -> bool:
    pairs = ((one.alpha, other.alpha), (one.beta, other.beta), (one.gamma, other.gamma))
    return all(bool(np.isclose(a, b, rtol=1e-9, atol=0.0)) for a, b in pairs)


def _shrinks(rate: float) -> str:
    """A rate below one with enough digits to tell it from one."""
    return f"{rate:.4f}" if rate < 0.995 else f"{rate:.6g}"


def _growth(rate: float) -> str:
    """A rate of one or more as words."""
    if rate < 1.001:
        return f"grows by 1 + {rate - 1.0:.2g} a step" if rate > 1.0 else "does not shrink"
    return f"grows by {rate:.4g} a step"
