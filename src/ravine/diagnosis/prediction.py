"""What becomes of a recipe: growth in every sense, noise floor, error and loss in the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.choices import Choice
from ravine.diagnosis.candidates import Candidate
from ravine.diagnosis.floors import Estimate, Floors, computed, over_runs
from ravine.diagnosis.runs import Runs
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.work import TimeBudget
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import Growths
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.finite_sums.limits import Deadline
from ravine.theory.finite_sums.moment_curve import Schedule, moment_curve
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate

_CURVES = "exact curves for independent batches"


class Outcome(Choice):
    """What becomes of a method on these batches, predicted and checked by runs."""

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
        """How it is coloured: ``"good"``, ``"bad"`` or ``"unsure"``."""
        return {"converges": "good", "diverges": "bad"}.get(self.value, "unsure")


@dataclass(frozen=True, eq=False)
class Prediction:
    """What is known of a candidate.

    Attributes
    ----------
    candidate
        The recipe.
    spectral_radius
        Growth per step with exact gradients, at the minimiser.
    mean_square
        Growth of E‖·‖² in the order in which the batches come, with the step it begins with.
    almost_sure
        Growth of ‖·‖ along almost every run.
    worst_case
        Largest growth over every order of such batches, from their curvature bounds alone; None
        where a batch may be flat.
    critical_batch
        Batch size from which its mean square converges on this data; None where exact gradients
        diverge.
    floor, floor_excess
        E‖y - x*‖² and E f - f* that are left in the end; None where there is none, or it could not
        be told.
    error_after, excess_after
        The same after all steps.
    curve
        E f - f* after every step by exact moments, for independent batches, of the point that the
        recipe reports; None where it was not computed.
    to_near
        Steps to 1 % of the excess loss at the start; infinite if that was not reached.
    held_out
        Mean loss of the rows that were set aside, in the end.
    outcome
        What becomes of a run.
    """

    candidate: Candidate
    spectral_radius: float
    mean_square: Growth
    almost_sure: Growth
    worst_case: float | None
    critical_batch: int | None
    floor: Estimate | None
    floor_excess: Estimate | None
    error_after: Estimate | None
    excess_after: Estimate | None
    curve: FloatArray | None
    to_near: float
    held_out: float | None
    outcome: Outcome

    @property
    def rate(self) -> float:
        """Growth of the root-mean-square error per step."""
        return self.mean_square.rate

    @property
    def loss(self) -> float:
        """What recipes are ranked by: E f - f* in the end, infinite where a run diverged."""
        return math.inf if self.excess_after is None else self.excess_after.value

    @property
    def safe(self) -> bool:
        """Whether the recipe converges and none of its runs was lost."""
        return self.outcome is Outcome.CONVERGES and math.isfinite(self.loss)


def judge_outcome(growths: Growths) -> Outcome:
    """Judge by the mean square first: where it falls, so does almost every run."""
    if growths.mean_square.diverges is False:
        return Outcome.CONVERGES
    if growths.almost_sure.diverges is True:
        return Outcome.DIVERGES

    return Outcome.ERRATIC if growths.mean_square.diverges is True else Outcome.UNDECIDED


def critical_batch(survey: Survey, method: Method) -> int | None:
    """Batch size from which the mean square converges on this data, independent draws.

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
    survey: Survey,
    judged: Sequence[Candidate],
    growth: Sequence[Growths],
    left: Sequence[Floors],
    runs: Runs,
    near: FloatArray,
    held_out: FloatArray | None,
    *,
    seconds: float,
    budget: TimeBudget,
) -> list[Prediction]:
    """Put together what theory says and what the runs did, and judge."""
    curves = moment_curves(survey, judged, int(runs.steps[-1]), seconds=seconds, budget=budget)
    exact = survey.exact and survey.quadratic and survey.batching.sampling is Sampling.IID
    proven = survey.certified_curvature
    out = []
    for i, candidate in enumerate(judged):
        method = candidate.method
        after = over_runs(runs.squares[-1, :, i])
        loss = over_runs(runs.excess[-1, :, i])
        curve = None
        if curves is not None:
            distance, curve = curves[0][i], curves[1][i]
            if exact and loss is not None and np.isfinite([distance[-1], curve[-1]]).all():
                after, loss = computed(float(distance[-1])), computed(float(curve[-1]))

        lost = float((runs.diverged_at[0, :, i] >= 0).mean())
        prediction = Prediction(
            candidate=candidate,
            spectral_radius=float(spectral_radius(survey.curvature, method)),
            mean_square=growth[i].mean_square,
            almost_sure=growth[i].almost_sure,
            worst_case=None if proven is None else float(worst_case_rate(proven, method)),
            critical_batch=critical_batch(survey, method),
            floor=left[i].square,
            floor_excess=left[i].excess,
            error_after=after,
            excess_after=loss,
            curve=curve,
            to_near=float(near[i]),
            held_out=None if held_out is None else float(held_out[i]),
            outcome=_outcome(survey, growth[i], left[i], loss, lost),
        )
        out.append(prediction)

    return out


def _outcome(
    survey: Survey, growth: Growths, left: Floors, loss: Estimate | None, lost: float
) -> Outcome:
    """What theory says, corrected by what the runs did where theory is local or silent.

    ``lost`` is the share of the runs that diverged.
    """
    outcome = judge_outcome(growth)
    ends_high = loss is not None and loss.value >= survey.start_excess
    if lost == 1.0 and outcome is not Outcome.ERRATIC:
        return Outcome.DIVERGES
    if outcome is Outcome.DIVERGES and not survey.quadratic and lost == 0.0:
        # The slopes of these losses are bounded: far away a run no longer grows.
        return Outcome.STALLS if loss is None or ends_high else outcome
    if outcome is Outcome.CONVERGES and lost > 0.0:
        return Outcome.ERRATIC

    # What ends above its start after all these steps is no use, whatever its rate.
    high_floor = left.excess is not None and left.excess.value >= survey.start_excess
    if outcome in (Outcome.CONVERGES, Outcome.UNDECIDED) and (ends_high or high_floor):
        return Outcome.STALLS

    return outcome


def moment_curves(
    survey: Survey, judged: Sequence[Candidate], steps: int, *, seconds: float, budget: TimeBudget
) -> tuple[FloatArray, FloatArray] | None:
    """Exact E‖y - x*‖² and E f - f* of every recipe, for independent draws: (recipes, steps + 1).

    Of an averaged recipe, from the middle on, those of the average. None where the loss is not
    quadratic, not every direction is followed, or the time is short.
    """
    if not survey.quadratic or not survey.every_direction:
        return None

    d = survey.moments.dimension
    # About 1e-9 s a multiplication and 100 µs a step beside them; a table serves small d.
    each = min(len(survey.sample) * d * d, 0.5 * d**4)
    if steps * (1e-4 + len(judged) * 2e-9 * (each + 20.0 * d * d)) > seconds:
        budget.leave_out(_CURVES)
        return None

    factors = np.stack([c.recipe.schedule.factors(steps) for c in judged])
    alpha, beta, gamma = (
        np.array([float(getattr(c.method, name)) for c in judged])[:, None]
        for name in ("alpha", "beta", "gamma")
    )
    flat = np.ones(steps)
    schedule = Schedule(alpha * factors, beta * flat, gamma * flat, lr_outside=True)
    half = steps // 2
    away = -survey.basis.T @ survey.minimiser
    deadline = Deadline(max(budget.seconds - budget.spent, seconds))
    curve = moment_curve(survey.moments, schedule, away, average_from=half, deadline=deadline)
    if np.isnan(curve.excess[:, -1]).any():
        budget.leave_out(_CURVES)
        return None

    distance, excess = curve.distance.copy(), curve.excess.copy()
    averaged = [i for i, c in enumerate(judged) if c.recipe.averaged]
    distance[averaged, half:] = curve.average_distance[averaged, half:]
    excess[averaged, half:] = curve.average_excess[averaged, half:]
    return distance, excess
