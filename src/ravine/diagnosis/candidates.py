"""Which recipes are judged: the user's, the usual ones, the certain ones, those that won the race."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.diagnosis.race import Race, natural_step
from ravine.diagnosis.recipe import LINEAR, Recipe, rounded
from ravine.diagnosis.second_moments import SecondMoments
from ravine.diagnosis.survey import Survey
from ravine.methods import Method, nesterov, sgd
from ravine.theory.ladder.certificate import Certificate, certificate
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.safety import safe_step
from ravine.theory.ladder.worst_case import worst_case_rate

PYTORCH_STEP = 0.01
PYTORCH_MOMENTUM = 0.9
"""What most training scripts begin with."""
_TUNING_DIRECTIONS = 20
"""Directions in which parameters are tuned: the others decide nothing."""
_MOMENTA = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)
_SAFE_MOMENTA = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SAFE_FRACTIONS = (0.5, 0.7, 0.9, 0.98)
"""Of the longest safe step: at the whole of it the rate is 1."""
_FINALISTS = 2
"""Recipes of each kind that go from the race to the final comparison."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A recipe to be judged on the data.

    Attributes
    ----------
    key
        ``"yours"``, ``"nesterov"``, ``"pytorch"``, ``"pytorch-decay"``, ``"sgd"``, ``"one-over-L"``,
        ``"tuned-sgd"``, ``"certified"`` or ``"safe"``, ``"iid"``, ``"fastest"``, ``"constant"``,
        ``"schedule"``, ``"averaged"`` or ``"quick"``.
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
    return [*usual(survey, yours), *tuned_here(survey), *raced(race)]


def usual(survey: Survey, yours: Method | None) -> list[Candidate]:
    """What people run: the user's own, Nesterov's parameters, PyTorch scripts, plain SGD."""
    whole = survey.curvature
    judged = []
    if yours is not None:
        judged.append(Candidate("yours", "yours", Recipe(yours), "as given"))
    lr = PYTORCH_STEP if yours is None else float(yours.alpha)
    common = Method(lr, PYTORCH_MOMENTUM)
    judged.append(
        Candidate("nesterov", "usual Nesterov", Recipe(nesterov(whole)),
                  "1/L and (√Q-1)/(√Q+1) of the whole objective")
    )  # fmt: skip
    same = yours is not None and float(yours.beta) == PYTORCH_MOMENTUM and yours.is_nesterov
    if not same:
        judged.append(
            Candidate("pytorch", f"lr {lr:g}, 0.9", Recipe(common), "common in PyTorch scripts")
        )
    judged += [
        Candidate("pytorch-decay", f"lr {lr:g}, decay", Recipe(common, LINEAR),
                  "the same, the step falling linearly to zero"),
        Candidate("sgd", "SGD, 2/(mu+L)", Recipe(sgd(whole)),
                  "best fixed step for exact gradients"),
        Candidate("one-over-L", "SGD, 1/L", Recipe(Method(1.0 / float(whole.L))),
                  "the textbook's step"),
    ]  # fmt: skip
    return judged


def tuned_here(survey: Survey) -> list[Candidate]:
    """Tuned by theory: certain in every order, and least rates in mean square."""
    tuning = tuning_moments(survey.moments)
    plain = stabilised(survey.moments, tuned_sgd(survey, tuning))
    fastest = stabilised(survey.moments, tuned(survey, tuning, plain))
    return [
        Candidate("tuned-sgd", "SGD, best rate", Recipe(plain),
                  "least mean-square rate without momentum"),
        _certified(survey, tuning),
        Candidate("fastest", "best rate", Recipe(fastest),
                  "least mean-square rate on these batches", True),
    ]  # fmt: skip


def raced(race: Race | None) -> list[Candidate]:
    """The best of the race on the data, to be measured once more on new seeds."""
    if race is None:
        return []
    kinds = [
        ("constant", "best constant lr", race.constant, "least loss in a race of constant steps"),
        ("schedule", "best schedule", race.decayed, "least loss in a race of falling steps"),
        ("averaged", "averaged", race.averaged, "least loss of the mean over the last half"),
    ]
    judged = [
        Candidate(key, name, recipe, reason, True)
        for key, name, recipes, reason in kinds
        for recipe in recipes[:_FINALISTS]
    ]
    if race.quick is not None:
        reason = "first at 1 % of the loss at the start, in a race on the data"
        judged.append(Candidate("quick", "fast to 1 %", race.quick, reason, True))
    return judged


def tuning_moments(moments: SecondMoments) -> SecondMoments:
    """The directions that decide: most disagreement, largest and least curvature."""
    d = moments.dimension
    if d <= _TUNING_DIRECTIONS:
        return moments
    spread = np.diag(moments.sandwich(np.eye(d)))
    least_first = np.argsort(moments.eigenvalues)
    picked = [*np.argsort(spread)[::-1][:10], *least_first[::-1][:6], *least_first[:4]]
    return moments.restricted(np.unique(np.array(picked, dtype=np.intp)))


def speed(moments: SecondMoments, alpha: float, beta: float) -> float:
    """Logarithm of the growth of E‖s‖², negative if it falls: what tuning minimises."""
    value = moments.growth(Method(alpha, beta), tolerance=1e-3)
    return math.log(value) if 0.0 < value < math.inf else math.inf


def tuned_sgd(survey: Survey, moments: SecondMoments) -> Method:
    """The step without momentum whose mean-square rate is least."""
    from scipy.optimize import minimize_scalar

    scale = natural_step(survey)
    best = minimize_scalar(
        lambda t: speed(moments, scale * math.exp(t), 0.0),
        # A tenth to four times the natural step.
        bounds=(math.log(0.1), math.log(4.0)),
        method="bounded",
        options={"xatol": 1e-2},
    )
    return rounded(scale * math.exp(best.x), 0.0)


def tuned(survey: Survey, moments: SecondMoments, plain: Method) -> Method:
    """Step and momentum whose mean-square rate is least: a grid, then a simplex from its best."""
    from scipy.optimize import minimize

    scale = natural_step(survey)
    alpha = float(plain.alpha)
    grid = [(speed(moments, alpha, 0.0), math.log(alpha / scale), 0.0)]
    grid += [
        (speed(moments, scale * factor, beta), math.log(factor), beta)
        for beta in _MOMENTA
        for factor in np.geomspace(0.02, 2.0, 7)
        if moments.is_stable(Method(scale * factor, beta))
    ]
    _, t, beta = min(grid)

    def objective(p: FloatArray) -> float:
        if not -0.9 < p[1] < 0.9999 or abs(p[0]) > 12.0:
            return 1.0
        return speed(moments, scale * math.exp(p[0]), float(p[1]))

    gap = 0.3 * (1.0 - beta)
    simplex = np.array([[t, beta], [t - 0.3, beta], [t, beta + gap]])
    best = minimize(
        objective, simplex[0], method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": 40, "xatol": 1e-3, "fatol": 1e-9},
    )  # fmt: skip
    return rounded(scale * math.exp(best.x[0]), float(best.x[1]))


def stabilised(moments: SecondMoments, method: Method) -> Method:
    """The method, its step shortened until it is stable on all directions."""
    for _ in range(40):
        if moments.is_stable(method):
            return method
        whole = Curvature(moments.eigenvalues.min(), moments.eigenvalues.max())
        steady = float(spectral_radius(whole, method)) < 1.0
        # At small steps the strain is proportional to the step.
        factor = 0.9 / moments.strain(method) if steady else 0.5
        step = float(np.clip(factor, 0.1, 0.9)) * float(method.alpha)
        method = rounded(step, float(method.beta))
    return method


def _certified(survey: Survey, tuning: SecondMoments) -> Candidate:
    """Of the parameters that are certain in every order, the fastest on these batches."""
    proven = survey.certified_curvature
    # Widened by more than the rounding of an eigenvalue.
    L = float(survey.bounds[:, 1].max()) * (1.0 + 1e-9)
    options = [
        Method(fraction * float(safe_step(L, beta)), beta)
        for beta in _SAFE_MOMENTA
        for fraction in _SAFE_FRACTIONS
    ]
    if proven is not None:
        options.append(sgd(proven))
    best = min(options, key=lambda m: speed(tuning, float(m.alpha), float(m.beta)))
    best = rounded(float(best.alpha), float(best.beta))
    if proven is not None and float(worst_case_rate(proven, best)) < 1.0:
        proof = certificate(proven, best)
        if proof.rate < 1.0 and proof.verify():
            reason = "converges in every order of the batches; of those, the fastest here"
            return Candidate("certified", "certified", Recipe(best), reason, True, proof)
    reason = "safe in every order; no certificate, as some batch is flat somewhere"
    return Candidate("safe", "safe step", Recipe(best), reason, True)
