"""Which recipes are judged: the user's, the usual ones, the certain ones, the race's best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine.curvature import Curvature
from ravine.diagnosis.race import Race
from ravine.diagnosis.recipe import LINEAR, Recipe, rounded
from ravine.diagnosis.survey import Survey
from ravine.methods import Method, nesterov, sgd
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.ladder.certificate import Certificate, certificate
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.safety import safe_step
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.tuning.fastest import fastest_on, fastest_step_on
from ravine.theory.tuning.recommend import recommend

PYTORCH_STEP = 0.01
PYTORCH_MOMENTUM = 0.9
"""What most training scripts begin with."""
_MOST_VARIANCE = 6
_TOP = 4
_LOW = 2
"""Directions in which parameters are tuned, of the most disagreement, the largest and the least
curvature: the others decide nothing."""
_PRECISION = 1e-3
"""Of the logarithm of the best rate: no run could tell more."""
_STEP_PRECISION = 1e-4
"""The same of the best step without momentum, which is then known to a per cent."""
_WIDENED = 1e-9
"""Relative widening of a curvature bound: more than the rounding of an eigenvalue."""
_SAFE_MOMENTA = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Momenta among which the fastest safe one is looked for."""
_SAFE_FRACTIONS = (0.5, 0.7, 0.9, 0.98)
"""Of the longest safe step: at the whole of it the rate is 1."""
_SHORTENINGS = 40
_MARGIN = 0.9
"""A step that is too long is shortened so often, each time to this part of what would just do."""
_RACED = {
    "constant": ("best constant lr", "least loss in a race of constant steps"),
    "schedule": ("best schedule", "least loss in a race of falling steps"),
    "averaged": ("averaged", "least loss of the mean over the last half"),
    "quick": ("fast to 1 %", "first at 1 % of the loss at the start, in a race on the data"),
}
"""Names and reasons of what a race finds, by its kind."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A recipe to be judged on the data.

    Attributes
    ----------
    key
        ``"yours"``, ``"nesterov"``, ``"pytorch"``, ``"pytorch-decay"``, ``"sgd"``,
        ``"one-over-L"``, ``"tuned-sgd"``, ``"certified"`` or ``"safe"``, ``"iid"``, ``"fastest"``,
        ``"constant"``, ``"schedule"``, ``"averaged"`` or ``"quick"``.
    name
        What it is called in reports.
    recipe
        Its parameters and schedule.
    reason
        Where they come from.
    recommended
        Whether it is ravine's.
    certificate
        The proof that it converges in every order of the batches, where there is one.
    """

    key: str
    name: str
    recipe: Recipe
    reason: str
    recommended: bool = False
    certificate: Certificate | None = None

    @property
    def method(self) -> Method:
        """Step size and momentum."""
        return self.recipe.method


def candidates(survey: Survey, race: Race | None, *, yours: Method | None) -> list[Candidate]:
    """The user's method if given, the usual ones, and ravine's."""
    return [*usual(survey, yours), *tuned_here(survey), *safe_for_draws(survey), *raced(race)]


def usual(survey: Survey, yours: Method | None) -> list[Candidate]:
    """What people run: the user's own, Nesterov's parameters, PyTorch scripts, plain SGD."""
    whole = survey.curvature
    lr = PYTORCH_STEP if yours is None else float(yours.alpha)
    common = Method(lr, PYTORCH_MOMENTUM)
    own = "common default" if yours is None else "your lr, 0.9"
    judged = [
        Candidate("nesterov", "textbook Nesterov", Recipe(nesterov(whole)),
                  "1/L and (√Q-1)/(√Q+1) of the whole objective"),
        Candidate("pytorch", own, Recipe(common), "common in PyTorch scripts"),
        Candidate("pytorch-decay", f"{own}, decay", Recipe(common, LINEAR),
                  "the same, the step decaying linearly to zero"),
        Candidate("sgd", "SGD, 2/(mu+L)", Recipe(sgd(whole)),
                  "best fixed step for exact gradients"),
        Candidate("one-over-L", "SGD, 1/L", Recipe(Method(1.0 / float(whole.L))),
                  "the textbook's step"),
    ]  # fmt: skip
    if yours is None:
        return judged

    first = Candidate("yours", "yours", Recipe(yours), "as given")
    return [first, *(c for c in judged if c.recipe.key != first.recipe.key)]


def tuned_here(survey: Survey) -> list[Candidate]:
    """Tuned by theory: certain in every order, and least rates in mean square."""
    tuning = tuning_moments(survey.moments)
    plain = stabilised(
        survey.moments, _as_typed(fastest_step_on(tuning, precision=_STEP_PRECISION).method)
    )
    best = fastest_on(tuning, plain=plain, precision=_PRECISION, starts=1)
    fastest = stabilised(survey.moments, _as_typed(best.method))
    return [
        Candidate("tuned-sgd", "SGD, best rate", Recipe(plain),
                  "least mean-square rate without momentum"),
        *_certified(survey, tuning),
        Candidate("fastest", "best rate", Recipe(fastest),
                  "least mean-square rate on these batches", True),
    ]  # fmt: skip


def safe_for_draws(survey: Survey) -> list[Candidate]:
    """Parameters that are safe in mean square for independent draws of rows of such curvature."""
    if survey.batching.fixed or not math.isfinite(survey.heaviest_row):
        return []

    safe = recommend(
        survey.curvature, batch_size=survey.batching.batch_size, L_max=survey.heaviest_row,
        mu_min=min(survey.model.l2, float(survey.curvature.mu)),
    )  # fmt: skip
    reason = "stable in mean square for independent batches, on every problem of this curvature"
    return [Candidate("iid", "safe for iid", Recipe(_as_typed(safe.method)), reason, True)]


def raced(race: Race | None) -> list[Candidate]:
    """The best of the race on the data, to be measured once more on new seeds."""
    return [
        Candidate(key, name, recipe, reason, True)
        for key, (name, reason) in (_RACED.items() if race is not None else ())
        for recipe in getattr(race, key)
    ]


def tuning_moments(moments: SecondMoments) -> SecondMoments:
    """The directions that decide: most disagreement, largest and least curvature."""
    d = moments.dimension
    if d <= _MOST_VARIANCE + _TOP + _LOW:
        return moments

    by_variance = np.argsort(np.diag(moments.sandwich(np.eye(d))))[::-1]
    least_first = np.argsort(moments.eigenvalues)
    picked = [by_variance[:_MOST_VARIANCE], least_first[-_TOP:], least_first[:_LOW]]
    return moments.restricted(np.unique(np.concatenate(picked)))


def _as_typed(method: Method) -> Method:
    return rounded(float(method.alpha), float(method.beta))


def stabilised(moments: SecondMoments, method: Method) -> Method:
    """The method, its step shortened until it is stable on all directions."""
    whole = Curvature(moments.eigenvalues.min(), moments.eigenvalues.max())
    for _ in range(_SHORTENINGS):
        if moments.is_stable(method):
            break

        steady = float(spectral_radius(whole, method)) < 1.0
        # At small steps the strain is proportional to the step.
        factor = _MARGIN / moments.strain(method) if steady else 0.5
        step = float(np.clip(factor, 1.0 - _MARGIN, _MARGIN)) * float(method.alpha)
        method = rounded(step, float(method.beta))

    return method


def _certified(survey: Survey, tuning: SecondMoments) -> list[Candidate]:
    """Of the parameters that are certain in every order, the fastest on these batches.

    None where the curvature of a loss has no bound.
    """
    proven = survey.certified_curvature
    L = float(survey.bounds[:, 1].max()) * (1.0 + _WIDENED)
    if not math.isfinite(L):
        return []

    options = [
        Method(fraction * float(safe_step(L, beta)), beta)
        for beta in _SAFE_MOMENTA
        for fraction in _SAFE_FRACTIONS
    ]
    if proven is not None:
        options.append(sgd(proven))

    best = _as_typed(min(options, key=lambda m: tuning.growth(m, tolerance=_PRECISION)))
    if proven is not None and float(worst_case_rate(proven, best)) < 1.0:
        proof = certificate(proven, best)
        if proof.rate < 1.0 and proof.verify():
            reason = "converges in every order of the batches; of those, the fastest here"
            return [Candidate("certified", "certified", Recipe(best), reason, True, proof)]

    reason = "safe in every order; no certificate, as some batch is flat somewhere"
    return [Candidate("safe", "safe step", Recipe(best), reason, True)]
