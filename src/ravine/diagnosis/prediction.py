"""Predictions for a recipe: growth rates, noise floor, final error and loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ravine.arguments import Choice, FloatArray
from ravine.diagnosis.candidates import Candidate, parameter_arrays
from ravine.diagnosis.race import NEAR
from ravine.diagnosis.runs import Runs
from ravine.diagnosis.stability import Estimate, Floors, computed, floors, over_runs
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.work import Budget
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import Growths
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.finite_sums.second_moments import moment_curve
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate


class Outcome(Choice):
    """The outcome of a method on these batches, predicted and checked by runs."""

    CONVERGES = "converges", "the mean squared error falls to a floor"
    STALLS = "stalls", "the loss stays bounded, but ends no lower than it began"
    ERRATIC = (
        "erratic",
        "the mean squared error grows without bound, in bursts; a single run may recover",
    )
    DIVERGES = "diverges", "almost every run moves away from the minimiser"
    UNDECIDED = "undecided", "too close to call within the confidence limits"

    @property
    def tone(self) -> str:
        """Its colour: ``"good"``, ``"bad"`` or ``"unsure"``."""
        return {"converges": "good", "diverges": "bad"}.get(self.value, "unsure")


@dataclass(frozen=True, eq=False)
class Prediction:
    """The prediction for a candidate.

    Attributes
    ----------
    candidate
        The recipe.
    outcome
        The predicted outcome.
    spectral_radius
        Growth per step with exact gradients, at the minimiser.
    mean_square
        Growth of E‖·‖² in the order of the batches, with the first step size.
    almost_sure
        Growth of ‖·‖ along almost every run.
    worst_case_rate
        Largest growth over every order of such batches, from their curvature bounds alone; None if
        a batch may be flat.
    critical_batch_size
        Batch size from which its mean square converges on this data; None if exact gradients
        diverge.
    floor, excess_floor
        E‖y - x*‖² and E f - f* that remain after many steps; None if the error does not settle, or
        if the floor could not be determined.
    error_after, excess_after
        The same after the last step.
    steps_to_1_percent
        Steps to 1 % of the excess loss at the start; infinite if it was not reached.
    held_out_loss
        Mean loss of the held-out rows after the last step.
    curve
        E f - f* after every step, by exact moments for independent batches, at the point that the
        recipe reports; None if it was not computed.
    """

    candidate: Candidate
    outcome: Outcome
    spectral_radius: float
    mean_square: Growth
    almost_sure: Growth
    worst_case_rate: float | None
    critical_batch_size: int | None
    floor: Estimate | None
    excess_floor: Estimate | None
    error_after: Estimate | None
    excess_after: Estimate | None
    steps_to_1_percent: float
    held_out_loss: float | None
    curve: FloatArray | None

    @property
    def rate(self) -> float:
        """Growth of the root-mean-square error per step."""
        return self.mean_square.rate

    @property
    def loss(self) -> float:
        """The final E f - f*, which ranks recipes; infinite if a run diverged."""
        return math.inf if self.excess_after is None else self.excess_after.value

    @property
    def safe(self) -> bool:
        """Whether the recipe converges and none of its runs diverged."""
        return self.outcome is Outcome.CONVERGES and math.isfinite(self.loss)


def judge_outcome(growths: Growths) -> Outcome:
    """Judge first by the mean square: if it falls, so does almost every run."""
    if growths.mean_square.diverges is False:
        return Outcome.CONVERGES
    if growths.almost_sure.diverges is True:
        return Outcome.DIVERGES

    return Outcome.ERRATIC if growths.mean_square.diverges is True else Outcome.UNDECIDED


def critical_batch(survey: Survey, method: Method) -> int | None:
    """Batch size from which the mean square converges on this data, for independent draws.

    The strain, the spectral radius that must stay below 1, is proportional to the variance of a
    batch, (n - m)/(m (n - 1)).
    """
    batching = survey.batching
    if batching.fixed or float(spectral_radius(survey.curvature, method)) >= 1.0:
        return None

    n = batching.rows
    allowed = batching.variance_factor / max(survey.moments.strain(method), 1e-300)
    if batching.replaced:
        return max(1, math.ceil(1.0 / allowed))

    return int(np.clip(math.ceil(n / (1.0 + allowed * (n - 1))), 1, n))


def predict(
    survey: Survey, judged: Sequence[Candidate], growth: Sequence[Growths], runs: Runs,
    *, budget: Budget,
) -> list[Prediction]:  # fmt: skip
    """Combine theory and runs into a prediction."""
    left = floors(survey, judged, growth, budget=budget)
    near = runs.steps_to(NEAR * survey.start_excess)
    held_out = survey.setup.held_out
    held = None if held_out is None else runs.mean_losses(held_out)
    curves = moment_curves(survey, judged, int(runs.steps[-1]), budget=budget)
    exact = survey.exact and survey.quadratic and survey.batching.sampling is Sampling.IID
    proven = survey.certified_curvature
    out = []

    for i, candidate in enumerate(judged):
        after, loss = over_runs(runs.squares[-1, :, i]), over_runs(runs.excess[-1, :, i])
        curve = None
        if curves is not None:
            distance, curve = curves[:, i]
            if exact and loss is not None and np.isfinite([distance[-1], curve[-1]]).all():
                after, loss = computed(float(distance[-1])), computed(float(curve[-1]))

        lost = float((runs.diverged_at[0, :, i] >= 0).mean())
        method = candidate.method
        prediction = Prediction(
            candidate=candidate,
            outcome=_outcome(survey, candidate, growth[i], left[i], loss, lost),
            spectral_radius=float(spectral_radius(survey.curvature, method)),
            mean_square=growth[i].mean_square,
            almost_sure=growth[i].almost_sure,
            worst_case_rate=None if proven is None else float(worst_case_rate(proven, method)),
            critical_batch_size=critical_batch(survey, method),
            floor=left[i].square,
            excess_floor=left[i].excess,
            error_after=after,
            excess_after=loss,
            steps_to_1_percent=float(near[i]),
            held_out_loss=None if held is None else float(held[i]),
            curve=curve,
        )
        out.append(prediction)

    return out


def settles_late(survey: Survey, candidate: Candidate) -> bool:
    """Whether a run converges in the end even if its first steps are too long.

    Losses with bounded curvature, except the squared one, have bounded slopes: a run cannot grow
    fast, and a step that decays to zero becomes short enough.
    """
    bounded = math.isfinite(survey.model.loss.curvature_bound)
    return bounded and not survey.quadratic and not candidate.recipe.constant


def _outcome(
    survey: Survey, candidate: Candidate, growth: Growths, left: Floors, loss: Estimate | None,
    lost: float,
) -> Outcome:  # fmt: skip
    """The outcome by theory; by the runs where theory holds only locally or has no answer.

    ``lost`` is the share of diverged runs.
    """
    outcome = judge_outcome(growth)
    ends_high = loss is not None and loss.value >= survey.start_excess
    if settles_late(survey, candidate) and loss is not None:
        return Outcome.STALLS if ends_high else Outcome.CONVERGES
    if lost == 1.0 and outcome is not Outcome.ERRATIC:
        return Outcome.DIVERGES
    if outcome is Outcome.DIVERGES and not survey.quadratic and lost == 0.0:
        # The slopes of these losses are bounded, so a run stops growing far away.
        return Outcome.STALLS if loss is None or ends_high else outcome
    if outcome is Outcome.CONVERGES and lost > 0.0:
        return Outcome.ERRATIC
    if outcome is Outcome.DIVERGES and not (candidate.recipe.constant or ends_high):
        # The first steps are too long; the last ones bring every run back.
        return Outcome.ERRATIC if loss is not None else outcome

    # A method that ends above its start does not learn, whatever its rate.
    high_floor = left.excess is not None and left.excess.value >= survey.start_excess
    if outcome in (Outcome.CONVERGES, Outcome.UNDECIDED) and (ends_high or high_floor):
        return Outcome.STALLS

    return outcome


def moment_curves(
    survey: Survey, judged: Sequence[Candidate], steps: int, *, budget: Budget
) -> FloatArray | None:
    """Exact E‖y - x*‖² and E f - f* of every recipe, independent draws: (2, recipes, steps + 1).

    For an averaged recipe, those of the average from the middle on. None if the loss is not
    quadratic, if second moments do not cover every direction, or if time is short.
    """
    if not survey.quadratic or not survey.every_direction:
        return None

    d = survey.moments.dimension
    # About 1e-9 s a multiplication and 100 µs a step beside them; a table serves small d.
    each = min(len(survey.sample) * d * d, 0.5 * d**4)
    seconds = budget.begin("computing exact curves")
    if steps * (1e-4 + len(judged) * 2e-9 * (each + 20.0 * d * d)) > seconds:
        budget.leave_out("exact curves for independent batches")
        return None

    factors = np.stack([c.recipe.factors(steps) for c in judged])
    alpha, beta, gamma = parameter_arrays([c.recipe for c in judged])
    method, lr = Method(alpha, beta, gamma), alpha[:, None] * factors
    half = steps // 2
    away = -survey.moments.basis.T @ survey.minimiser
    one = moment_curve(survey.moments, method, lr, away, average_from=half)
    averaged = np.array([c.recipe.averaged for c in judged])[:, None]
    late = averaged & (np.arange(steps + 1) >= half)

    return np.where(late, [one.average_distance, one.average_excess], [one.distance, one.excess])
