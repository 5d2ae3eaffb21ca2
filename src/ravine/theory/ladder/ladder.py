"""All rungs of the ladder for one method, with a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ravine.arguments import overflow_allowed
from ravine.curvature import Curvature
from ravine.digits import at_least, rate_digits, safe_digits
from ravine.markup import card
from ravine.methods import (
    LinearMethod,
    Method,
    gradient_descent,
    heavy_ball,
    nesterov,
    sgd,
    triple_momentum,
)
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.iid import iid_noise_floor, smallest_stable_batch
from ravine.theory.ladder.rungs import RUNGS
from ravine.theory.ladder.safety import safe_step
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.values import Value

_STANDARD = {
    "standard Nesterov parameters": nesterov,
    "SGD at 2/(mu + L)": sgd,
    "gradient descent at 1/L": gradient_descent,
    "Polyak's heavy ball": heavy_ball,
    "triple momentum": triple_momentum,
}


@dataclass(frozen=True, eq=False, repr=False)
class Ladder(Value):
    """The answers to "how fast, and is it stable?", from optimistic to cautious.

    ``spectral_radius <= iid_rate <= commuting.upper <= worst_case_rate <= contraction``.
    """

    curvature: Curvature
    method: Method | LinearMethod
    rates: Mapping[str, Bracket]
    """Rate per step on every rung of the method, in the order of ``RUNGS``."""
    noise_coefficient: float
    """Stationary E‖y - x*‖² for unit noise variance, in the worst direction; may be infinite."""
    sgd_noise_coefficient: float
    """The same for SGD at 2/(mu + L)."""
    batches: Batches
    """Single terms and batches, for all rungs except the first."""
    critical_batch_size: float
    """Smallest batch size that is stable in mean square on every such problem; may be infinite."""
    called: str | None = None
    """The method's own name, if it has one."""

    @property
    def spectral_radius(self) -> float:
        """Deterministic rate; also the rate under additive noise."""
        return float(self.rates["spectral_radius"].upper)

    @property
    def iid_rate(self) -> float:
        """Worst root-mean-square growth with independent batches; exact."""
        return float(self.rates["iid_rate"].upper)

    @property
    def commuting(self) -> Bracket:
        """Rate in the worst order of quadratics that share eigenvectors."""
        return self.rates["commuting_rate"]

    @property
    def worst_case_rate(self) -> float:
        """Rate in the worst order of any smooth, strongly convex functions; exact."""
        return float(self.rates["worst_case_rate"].upper)

    @property
    def contraction(self) -> float:
        """The paper's sufficient bound."""
        return float(self.rates["contraction"].upper)

    @property
    def name(self) -> str:
        """The name of well-known parameters, else that of the family."""
        if self.called is not None:
            return self.called
        if isinstance(self.method, LinearMethod):
            return f"linear method of memory {self.method.memory}"

        for name, standard in _STANDARD.items():
            known = standard(self.curvature).parameters.values()
            pairs = zip(self.method.parameters.values(), known, strict=True)
            if all(np.isclose(own, other, rtol=1e-9, atol=0.0) for own, other in pairs):
                return name

        if not self.method.is_nesterov:
            return "heavy ball" if self.method.gamma == 0.0 else "momentum with look-ahead"

        return "SGD" if self.method.beta == 0.0 else "Nesterov's method"

    @property
    def verdict(self) -> str:
        """The meaning of the rungs, in plain words."""
        name = self.name[0].upper() + self.name[1:]
        if self.spectral_radius >= 1.0:
            grows = _growth(self.spectral_radius)
            return (
                f"{name}: diverges even with exact gradients; the error {grows}. {self._remedy()}"
            )

        noise = (
            f"converges with additive noise at rate {rate_digits(self.spectral_radius)} per step"
        )
        worst = self.worst_case_rate
        if worst < 1.0:
            return (
                f"{name}: {noise}, and is certain to converge on every finite sum, in every "
                f"order (worst-case rate {rate_digits(worst)} per step)."
            )

        shared = [] if isinstance(self.method, LinearMethod) else [self._shared()]
        sentences = [self._independent(), *shared, self._remedy()]
        return (
            f"{name}: {noise}; can diverge when mini-batches disagree: in the worst case the error "
            f"{_growth(worst)}. {' '.join(sentences)}"
        )

    def _repr_html_(self) -> str:
        """The rungs as a table, with the verdict, for notebooks."""
        rows = [
            (rung.title, f"{float(self.rates[rung.key].upper):.6g}", rung.holds_for)
            for rung in RUNGS
            if rung.key in self.rates
        ]
        return card(
            f"{self.name[0].upper()}{self.name[1:]}, Q = {float(self.curvature.Q):.6g}",
            rows,
            head=("rate per step", "at most", "holds for"),
            sentences=[self.verdict],
        )

    def _independent(self) -> str:
        """One sentence on independent batches."""
        size = self.batches.batch_size
        batches = "Single samples" if size == 1 else f"Batches of {size:g}"
        if self.iid_rate < 1.0:
            return (
                f"{batches} drawn independently converge in mean square (guaranteed rate "
                f"{rate_digits(self.iid_rate)} per step)."
            )

        # Finite, because exact gradients converge.
        safe = at_least(self.critical_batch_size)
        return (
            f"{batches} drawn independently can diverge in mean square; batches of {safe} are "
            "stable."
        )

    def _shared(self) -> str:
        """One sentence on mini-batches with common eigenvectors."""
        if self.batches.flat_terms:
            return (
                "Samples may have zero curvature, so in the worst order no method makes progress."
            )
        if self.commuting.upper < 1.0:
            return "It converges in every order if their Hessians share eigenvectors."

        if self.commuting.lower > 1.0:
            grows = _growth(float(self.commuting.lower))
            return f"Even if their Hessians share eigenvectors, the error {grows}."

        return "Whether shared eigenvectors are enough is too close to call."

    def _remedy(self) -> str:
        if self.batches.flat_terms:
            limit = safe_step(
                self.curvature.L, 0.0, batch_size=self.batches.batch_size, L_max=self.batches.L_max
            )
            most = safe_digits(limit)
            return f"SGD with any alpha < {most} is stable in mean square at this batch size."

        terms = self.batches.terms(self.curvature)
        step = float(sgd(terms).alpha)
        rate = float(worst_case_rate(terms, sgd(terms)))
        advice = (
            f"SGD with alpha = {safe_digits(step)} is certain to converge, at rate "
            f"{rate_digits(rate)} per step"
        )
        method = self.method
        if isinstance(method, Method) and method.is_nesterov and 0.0 < method.beta < 1.0:
            beta = float(method.beta)
            longest = float(safe_step(terms.L, beta))
            advice += f"; so is any alpha < {safe_digits(longest)} at this momentum"

        return advice + "."


@overflow_allowed
def ladder(
    curvature: Curvature,
    method: Method | LinearMethod,
    *,
    L_max: float | None = None,
    batch_size: float = 1,
    mu_min: float | None = None,
) -> Ladder:
    """Compute every rung of the ladder for one curvature and one method.

    Parameters
    ----------
    curvature, method
        Single values. Without L_max, every term of the sum has this curvature. A ``LinearMethod``
        has the rungs that are known for any memory.
    L_max, batch_size, mu_min
        Curvature of single terms and size of the batches, as in :func:`ravine.iid_rate`. The rungs
        for any order then hold for terms with curvature in [mu_min, L_max].

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(0.05, 100)
    >>> print(ladder(c, nesterov(c)).verdict[:87])
    Standard Nesterov parameters: converges with additive noise at rate 0.978 per step; can
    """
    remedy = "the ladder is for one curvature and one method at a time; the rungs take arrays"
    curvature.single(remedy)
    if isinstance(method, Method):
        method.single(remedy)
    batches = Batches(L_max, batch_size, mu_min)
    limit = smallest_stable_batch(curvature, method, L_max=batches.L_max, mu_min=batches.mu_min)

    return Ladder(
        curvature,
        method,
        batches=batches,
        critical_batch_size=float(limit),
        rates={
            rung.key: rung.rate(curvature, method, batches)
            for rung in RUNGS
            if rung.any_memory or isinstance(method, Method)
        },
        noise_coefficient=float(iid_noise_floor(curvature, method, variance=0.0)),
        sgd_noise_coefficient=float(iid_noise_floor(curvature, sgd(curvature), variance=0.0)),
    )


def _growth(rate: float) -> str:
    """Growth of the error at a rate of 1 or more, in words."""
    if rate <= 1.0:
        return "does not shrink"

    factor = f"{rate:.3g}" if rate >= 1.01 else f"1 + {rate - 1.0:.2g}"
    return f"grows by a factor of {factor} per step"
