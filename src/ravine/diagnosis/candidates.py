"""Recipes (methods with a schedule of the step size), and which of them are judged.

These are the user's, the common ones, those from theory, and the winners of a race.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.survey import Survey, row_sizes
from ravine.methods import Method, nesterov, sgd
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.ladder.safety import safe_step
from ravine.theory.ladder.worst_case import Certificate, certificate, worst_case_rate
from ravine.theory.tuning.fastest import fastest_on, fastest_step_on
from ravine.theory.tuning.recommend import recommend

METHODS = {
    "yours": ("yours", "as given"),
    "nesterov": ("textbook Nesterov", "1/L and (√Q-1)/(√Q+1) of the whole objective"),
    "pytorch": ("common default", "common in PyTorch scripts"),
    "pytorch-decay": (
        "default, linear decay",
        "the same, with a step that decays linearly to zero",
    ),
    "sgd": ("SGD at 2/(μ+L)", "best fixed step for exact gradients"),
    "one-over-L": ("SGD at 1/L", "the textbook's step"),
    "tuned-sgd": ("SGD, best rate", "smallest mean-square rate without momentum"),
    "certified": (
        "certified",
        "the fastest setting that converges in every order of the batches",
    ),
    "safe": ("safe step", "safe in every order; no certificate: some batch is flat"),
    "fastest": ("best rate", "smallest mean-square rate on these batches"),
    "iid": (
        "safe for iid",
        "stable in mean square for independent batches, on every problem with this curvature",
    ),
    "constant": ("best constant lr", "smallest loss of all constant steps in the race"),
    "schedule": ("best schedule", "smallest loss of all decaying steps in the race"),
    "averaged": ("averaged", "smallest loss of the mean over the second half"),
    "quick": ("fast to 1 %", "first to reach 1 % of the initial loss in the race"),
}
"""Every method that may be judged: its name, and the origin of its parameters."""

USUAL = ("yours", "nesterov", "pytorch", "pytorch-decay", "sgd", "one-over-L", "tuned-sgd")
"""Common methods; the others are ravine's own."""

PYTORCH_STEP = 0.01
PYTORCH_MOMENTUM = 0.9
"""The first choice of most training scripts."""

_MOST_VARIANCE = 6
_TOP = 4
_LOW = 2
"""Number of directions used for tuning: those of largest disagreement, and of largest and smallest
curvature. The others do not matter."""
_PRECISION = 1e-3
"""Relative accuracy of the logarithm of the best rate: runs cannot show smaller differences."""
_SAFE_MOMENTA = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Momenta among which the fastest safe one is searched."""
_MARGIN = 0.9
"""A step that is too long is repeatedly shortened to this share of the longest stable one."""


CONSTANT = 1.0
LINEAR = 0.0
"""Shares of a run with a constant step; after that, the step decays linearly to zero."""


@dataclass(frozen=True)
class Recipe:
    """A method, the schedule of its step, and whether the last half is averaged.

    Attributes
    ----------
    method
        Step size and momentum.
    constant_share
        The share of the run before the step starts to decay; 1 for a constant step.
    averaged
        Whether the result is the mean of the iterates of the second half.

    Examples
    --------
    >>> Recipe(Method(0.1), constant_share=0.5).factors(4).tolist()
    [1.0, 1.0, 1.0, 0.5]
    """

    method: Method
    constant_share: float = CONSTANT
    averaged: bool = False

    @property
    def key(self) -> tuple[float, ...]:
        """Identity of a recipe: step size, momentum, look-ahead, schedule, averaging."""
        return *self.method.single("give one at a time"), self.constant_share, self.averaged

    @property
    def constant(self) -> bool:
        """Whether the step never changes."""
        return self.constant_share >= CONSTANT

    @property
    def schedule(self) -> str:
        """The schedule as text, to follow the parameters."""
        if self.constant:
            return "constant"

        first = f"constant for {100 * self.constant_share:.0f} %, then "
        return f"{first if self.constant_share > LINEAR else ''}decaying linearly to 0"

    @property
    def words(self) -> str:
        """The recipe as text, with parameters as a user types them."""
        falls = "" if self.constant else f", {self.schedule}"
        mean = ", averaging the second half" if self.averaged else ""
        return f"{parameters(self.method)}{falls}{mean}"

    def factors(self, steps: int) -> FloatArray:
        """Factor of the step size at each step, shape (steps,)."""
        if self.constant:
            return np.ones(steps)

        done = np.arange(steps) / steps
        return np.minimum(1.0, (1.0 - done) / (1.0 - self.constant_share))

    def scaled(self, factor: float) -> Recipe:
        """The same recipe with the step size multiplied by ``factor``."""
        return replace(self, method=rounded(Method(factor * self.method.alpha, self.method.beta)))


def parameter_arrays(recipes: Sequence[Recipe]) -> FloatArray:
    """Step sizes, momenta and look-aheads of many recipes, shape (3, recipes)."""
    return np.array([recipe.key[:3] for recipe in recipes]).T


@dataclass(frozen=True, eq=False)
class Candidate:
    """A recipe to be judged on the data.

    Attributes
    ----------
    key
        The key of its method in ``METHODS``.
    recipe
        Its parameters and schedule.
    certificate
        The proof that it converges in every order of the batches, if there is one.
    own_name
        Its name, if it differs from that in ``METHODS``.
    """

    key: str
    recipe: Recipe
    certificate: Certificate | None = None
    own_name: str = ""

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.own_name or METHODS[self.key][0]

    @property
    def reason(self) -> str:
        """The origin of its parameters."""
        return METHODS[self.key][1]

    @property
    def recommended(self) -> bool:
        """Whether it is ravine's own."""
        return self.key not in USUAL

    @property
    def method(self) -> Method:
        """Step size and momentum."""
        return self.recipe.method


def parameters(method: Method) -> str:
    """Format step size and momentum, with enough digits to distinguish the momentum from 1."""
    text = f"lr = {float(method.alpha):.4g}, momentum = {momentum_digits(float(method.beta))}"
    return text if method.is_nesterov else f"{text}, look-ahead = {float(method.gamma):.4g}"


def momentum_digits(beta: float) -> str:
    """Format a momentum; the text is "1" only if it is exactly 1."""
    gap = abs(1.0 - beta)
    if beta == 0.0 or gap == 0.0 or gap >= 1e-3:
        return f"{beta:.4g}"

    # Two digits of 1 - beta.
    return f"{beta:.{1 - math.floor(math.log10(gap))}f}"


def rounded(method: Method) -> Method:
    """Round parameters to three digits, as people type them; the step is rounded down.

    Near 1, momentum keeps three digits of 1 - beta, so it is never rounded to 1.
    """
    alpha, beta = float(method.alpha), float(method.beta)
    digits = 2 - math.floor(math.log10(alpha)) if alpha > 0.0 else 3
    step = math.floor(alpha * 10.0**digits) / 10.0**digits if digits < 300 else alpha
    gap = abs(1.0 - beta)
    places = 3 if gap >= 0.1 or gap == 0.0 else 1 - math.floor(math.log10(gap))

    return Method(step, round(beta, max(3, places)))


def candidates(
    survey: Survey, winners: list[Candidate], *, yours: Method | None
) -> list[Candidate]:
    """The user's method if given, the common ones, those from theory, and the winners of a race."""
    return [*common_methods(survey, yours), *tuned_here(survey), *safe_for_draws(survey), *winners]


def common_methods(survey: Survey, yours: Method | None) -> list[Candidate]:
    """Common methods: the user's own, Nesterov's parameters, PyTorch scripts, plain SGD."""
    whole = survey.curvature
    common = Method(PYTORCH_STEP if yours is None else float(yours.alpha), PYTORCH_MOMENTUM)
    names = ("", "") if yours is None else ("your lr, 0.9", "your lr, linear decay")
    judged = [
        Candidate("nesterov", Recipe(nesterov(whole))),
        Candidate("pytorch", Recipe(common), own_name=names[0]),
        Candidate("pytorch-decay", Recipe(common, LINEAR), own_name=names[1]),
        Candidate("sgd", Recipe(sgd(whole))),
        Candidate("one-over-L", Recipe(Method(1.0 / float(whole.L)))),
    ]

    if yours is not None:
        first = Candidate("yours", Recipe(yours))
        judged = [first, *(c for c in judged if c.recipe.key != first.recipe.key)]

    return judged


def tuned_here(survey: Survey) -> list[Candidate]:
    """Methods tuned by theory: guaranteed in every order, or with the smallest mean-square rate."""
    moments = survey.moments
    tuning = tuning_moments(moments)
    # Accurate enough for the best step without momentum, to one per cent.
    step = fastest_step_on(tuning, precision=1e-4)
    plain = stabilised(moments, rounded(step.method))
    best = fastest_on(tuning, plain=plain, precision=_PRECISION, starts=1)

    return [
        Candidate("tuned-sgd", Recipe(plain)),
        *_certified(survey, tuning),
        Candidate("fastest", Recipe(stabilised(moments, rounded(best.method)))),
    ]


def safe_for_draws(survey: Survey) -> list[Candidate]:
    """Parameters that are stable in mean square for independent batches of rows of this size."""
    model, whole = survey.model, survey.curvature
    # The largest curvature that a single row can have, never below that of the whole objective.
    heaviest = model.loss.curvature_bound * float(row_sizes(model).max()) + model.l2
    if survey.batching.fixed or not math.isfinite(heaviest):
        return []

    safe = recommend(
        whole,
        batch_size=survey.batching.batch_size,
        L_max=max(heaviest, float(whole.L)),
        mu_min=min(model.l2, float(whole.mu)),
    )
    return [Candidate("iid", Recipe(rounded(safe.method)))]


def tuning_moments(moments: SecondMoments) -> SecondMoments:
    """The directions that matter: largest disagreement, largest and smallest curvature."""
    d = moments.dimension
    if d <= _MOST_VARIANCE + _TOP + _LOW:
        return moments

    by_variance = np.argsort(np.diag(moments.sandwich(np.eye(d))))[::-1]
    least_first = np.argsort(moments.eigenvalues)
    picked = [by_variance[:_MOST_VARIANCE], least_first[-_TOP:], least_first[:_LOW]]

    return moments.restricted(np.unique(np.concatenate(picked)))


def stabilised(moments: SecondMoments, method: Method) -> Method:
    """Shorten the step of a method until it is stable in all directions."""
    for _ in range(40):
        if moments.is_stable(method):
            break

        steady = moments.mean_rate(method) < 1.0
        # For small steps, the strain is proportional to the step.
        factor = _MARGIN / moments.strain(method) if steady else 0.5
        factor = float(np.clip(factor, 1.0 - _MARGIN, _MARGIN))
        method = rounded(Method(factor * method.alpha, method.beta))

    return method


def _certified(survey: Survey, tuning: SecondMoments) -> list[Candidate]:
    """The fastest parameters on these batches among those guaranteed in every order.

    None if the curvature of the loss is unbounded.
    """
    proven = survey.certified_curvature
    # Wider than the rounding of an eigenvalue.
    L = float(survey.bounds[:, 1].max()) * (1.0 + 1e-9)
    if not math.isfinite(L):
        return []

    options = [
        Method(fraction * float(safe_step(L, beta)), beta)
        for beta in _SAFE_MOMENTA
        # At the longest safe step itself the rate is 1.
        for fraction in (0.5, 0.7, 0.9, 0.98)
    ]
    if proven is not None:
        options.append(sgd(proven))

    best = rounded(min(options, key=lambda m: tuning.growth(m, tolerance=_PRECISION)))
    if proven is not None and float(worst_case_rate(proven, best)) < 1.0:
        proof = certificate(proven, best)
        if proof.rate < 1.0 and proof.verify():
            return [Candidate("certified", Recipe(best), proof)]

    return [Candidate("safe", Recipe(best))]
