"""The stages of a diagnosis, each with its share of the time: from data to a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ravine.arguments import (
    LEAST,
    MOST,
    FloatArray,
    Refusal,
    one_number,
    overflow_allowed,
    seed_number,
    whole,
)
from ravine.diagnosis.batching import BatchRule
from ravine.diagnosis.candidates import candidates
from ravine.diagnosis.columns import column_findings
from ravine.diagnosis.comparison import compare
from ravine.diagnosis.diagnosis import Diagnosis, best_of, safe
from ravine.diagnosis.disagreement import disagreement
from ravine.diagnosis.floors import floors
from ravine.diagnosis.measurement import Runs, steps_to
from ravine.diagnosis.prediction import Outcome, Prediction, predict
from ravine.diagnosis.race import LEVELS, level_work, race
from ravine.diagnosis.remedies import Scaling, affordable, remedies, scaling
from ravine.diagnosis.setup import Setup, make_setup
from ravine.diagnosis.stability import growths
from ravine.diagnosis.survey import Survey, survey
from ravine.diagnosis.time_budget import USUAL_TIME, Tell, TimeBudget
from ravine.diagnosis.work import step_work
from ravine.engine.kernels.blas import one_blas_thread
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.tables import Finding, Table, as_table

USUAL_EPOCHS = 30
"""Epochs of a run unless told otherwise: what people train a linear model for."""
_LEAST_STEPS = 60
"""Steps of a run at least: a table of one batch has epochs of one step."""
_ALWAYS_SHOWN = ("certified", "safe", "iid")
"""Guarantees are shown whatever the runs made of them."""
_SURVEY = 0.15
_RACE = 0.02
_RUNS = 0.03
_GROWTHS = 0.05
_FLOORS = 0.03
_REMEDIES = 0.03
"""Shares of the whole time that the stages take where they can: small data answer in a few of 60
seconds. A stage may take more where its least work does not fit."""
_LONGEST_RACE = 0.2
_LONGEST_RUNS = 0.15
"""Shares that the least work of a stage may take: a machine three times slower than the one that
work is counted on still keeps the time."""
_KNOWN_MINIMUM = 1e-6
"""Share of the loss to which the minimum should be known."""
_NOTHING_LEFT = 1e-6
"""Share of the loss below which nobody asks for less."""
_ROUND = 4.0
"""Condition number below which scale is not the problem."""
_NEAR = 0.01
"""Share of the loss at the start that the fast choice has to reach."""
_LENGTH_RECIPES = 12
_LENGTH_SEEDS = 2
"""Runs whose steps decide how many epochs there is time for."""


@overflow_allowed
def diagnose(
    X: Any,
    y: Any = None,
    *,
    loss: str | None = None,
    l2: float | None = None,
    batch_size: int | None = None,
    batches: BatchRule | str | None = None,
    sampling: Sampling | str = Sampling.RESHUFFLE,
    alpha: float | None = None,
    beta: float | None = None,
    gamma: float | None = None,
    shuffle: int | None = 0,
    standardise: bool | None = None,
    intercept: bool | None = None,
    validation: float | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    seed: int = 0,
    time: float = USUAL_TIME,
    columns: tuple[str, ...] | None = None,
    name: str = "data",
    findings: tuple[Finding, ...] = (),
    try_remedies: bool = True,
    tell: Tell | None = None,
) -> Diagnosis:
    """Say whether momentum will converge on these data, why not, and what will.

    The objective is the mean over all rows of loss(x_rᵀ W, y_r) + l2/2 ‖W‖². For the squared loss
    all statements hold everywhere. For other losses rates are those of the quadratic at the
    minimiser, the certificate comes from curvature bounds that hold everywhere, and what is
    recommended was measured on the loss itself.

    Parameters
    ----------
    X, y
        Data as in :func:`ravine.tables.as_table`: a table that was read, a data frame, an array or
        a scipy sparse matrix, and a target of shape (rows,) or (rows, 1), or the name of a column.
        Columns that depend on each other are no obstacle: runs from zero find the minimiser of
        least norm, and mu is the least positive curvature.
    loss
        A name of :func:`ravine.from_data`; by the target unless given: numbers are squared, two
        labels logistic, more multinomial, as :func:`ravine.tables.target_kind` tells.
    l2
        Weight of the regulariser; unless given 0 for the squared loss and 1/rows otherwise.
    batch_size
        Rows in a batch, from 1 to all; 32 unless given, or all of fewer rows.
    batches
        ``"recut"``: every epoch cuts new batches, as a shuffling data loader does. ``"fixed"``:
        they are cut once, each counts the same, and the objective is their mean.
    sampling
        The order of the batches, one of :class:`ravine.Sampling`. All but ``reshuffle`` and ``iid``
        need a fixed cut.
    alpha, beta, gamma
        The method to be judged; the textbook Nesterov parameters unless ``alpha`` is given.
    shuffle
        Seed of the order in which a fixed cut takes the rows, None for the order given.
    standardise
        Scale the columns to mean 0 and variance 1 first (sparse ones to variance 1). Unless given,
        a table that was read is scaled, and arrays stay as they are.
    intercept
        Append a column of ones; unless given, to a table that was read, not to arrays.
    validation
        Share of the rows that is held out, between 0 and 1; their loss is reported.
    epochs, seeds, seed
        Length and number of the runs on the data, by the size of the data unless given.
    time
        Seconds that the diagnosis may take; what did not fit is named in ``left_out``.
    columns, name, findings
        Names for the report (a table that was read has its own), and what is already known.
    try_remedies
        Whether to try what would change the verdict.
    tell
        Called with (stage, share of the time spent) as stages begin.

    Returns
    -------
    Diagnosis
        With ``answer`` in words, ``code()`` to paste, ``predictions``, ``recommendation``,
        ``remedies`` and ``to_dict()``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((64, 2)) * [1.0, 3.0]
    >>> result = diagnose(X, X @ [1.0, 2.0], batch_size=4, epochs=5, try_remedies=False)
    >>> result.survey.cut.steps_per_epoch, result.survey.interpolates
    (16, True)
    """
    seconds = one_number("time", time, "positive", remedy="give seconds, e.g. time=60")
    budget = TimeBudget(seconds, tell)
    budget.begin("reading the columns", 0.1)
    seed = seed_number("seed", seed)
    was_read = isinstance(X, Table)
    table = X if was_read else as_table(X, y, columns=columns, name=name)

    setup, notes = make_setup(
        table, loss=loss, l2=l2, batch_size=batch_size, batches=batches, sampling=sampling,
        shuffle=shuffle, standardise=was_read if standardise is None else standardise,
        intercept=was_read if intercept is None else intercept, validation=validation, seed=seed,
    )  # fmt: skip

    yours = _method(alpha, beta, gamma)
    rounds = USUAL_EPOCHS
    if epochs is not None:
        rounds = whole("epochs", epochs, 1, remedy="give the epochs of a run, e.g. 30")
    if seeds is not None:
        seeds = whole("seeds", seeds, 1, remedy="give the number of runs, e.g. 8")

    asked = _Asked(setup, yours, rounds, epochs is not None, seeds, seed, try_remedies)

    # Many small products: more threads are slower, and would change the last digits.
    # What overflows is a run or a moment that is lost, and is said to be.
    with one_blas_thread(), np.errstate(all="ignore"):
        return _diagnose(asked, budget, table.name, (*findings, *table.findings, *notes))


@dataclass(frozen=True, eq=False)
class _Asked:
    """What the stages are asked, beside the data."""

    setup: Setup
    yours: Method | None
    epochs: int
    epochs_given: bool
    seeds: int | None
    seed: int
    try_remedies: bool


def _diagnose(
    asked: _Asked, budget: TimeBudget, name: str, notes: tuple[Finding, ...]
) -> Diagnosis:
    setup = asked.setup
    # The intercept is constant by design, which is no news.
    own = setup.X[:, : setup.features] if setup.intercept else setup.X
    about = column_findings(own, setup.columns[: setup.features])
    budget.begin("surveying the batches", 0.2)
    problem, cut, order = setup.problem()
    seen = survey(problem, cut, seconds=budget.allowed(_SURVEY))
    if seen.minimum.gap > _KNOWN_MINIMUM:
        budget.leave_out(f"the minimum, known to {100 * seen.minimum.gap:.1g} % of the excess loss")
    _check_curvature(seen)
    epochs, steps = _length(asked, seen, budget)

    most = budget.begin("racing step sizes and schedules", _LONGEST_RACE)
    usual = min(most, _RACE * budget.seconds)
    result = race(seen, steps=steps, seed=asked.seed, seconds=usual, most=most)
    if result is None:
        budget.leave_out("the race of step sizes and schedules")

    budget.begin("tuning by theory", 0.1)
    judged = candidates(seen, result, yours=asked.yours)

    share = budget.begin("computing growth rates", _GROWTHS)
    growth = [growths(seen, c.method, seed=asked.seed, seconds=share / len(judged)) for c in judged]

    budget.begin("running on the data", _RUNS)
    runs = compare(
        seen, [c.recipe for c in judged], steps=steps, seeds=asked.seeds, seed=asked.seed,
        share=_RUNS, budget=budget,
    )  # fmt: skip
    near = steps_to(runs, _NEAR * seen.start_excess)
    aside = _held_out(setup, seen, runs)

    budget.begin("following runs to their noise floors", _FLOORS)
    left = floors(seen, judged, growth, seed=asked.seed, share=_FLOORS, budget=budget)
    predictions = _chosen(predict(seen, judged, growth, left, runs, near, aside, budget=budget))
    kept = [i for i, p in enumerate(judged) if any(q.candidate is p for q in predictions)]
    runs = runs.of(kept)

    budget.begin("looking for the cause", 0.05)
    cause = disagreement(seen, predictions[0].candidate.method, setup.columns, order)
    scaled = _scaling(asked, seen, predictions, steps, budget)
    computed = asked.try_remedies and affordable(setup, seen)
    tried = []
    unstable = predictions[0].outcome not in (Outcome.CONVERGES, Outcome.STALLS)

    if computed and unstable:
        budget.begin("trying remedies", _REMEDIES)
        tried = remedies(
            setup, seen, asked.yours, cause.rows, seed=asked.seed, share=_REMEDIES, budget=budget
        )

    return Diagnosis(
        name=name, setup=setup, survey=seen,
        findings=(*notes, *about, *_batch_notes(seen)),
        disagreement=replace(cause, rows=setup.in_source(cause.rows)),
        predictions=tuple(predictions), runs=runs, remedies=tuple(tried),
        remedies_computed=computed, scaling=scaled, left_out=tuple(budget.left_out),
        epochs=epochs, steps=steps, seed=asked.seed, seconds=budget.spent,
        time=budget.seconds,
    )  # fmt: skip


def _check_curvature(seen: Survey) -> None:
    """Refuse a loss without curvature at its minimiser, which is then next to infinity."""
    mu = float(seen.minimum.spectrum[0])
    L = float(seen.minimum.spectrum[-1])
    if not (LEAST <= mu <= L <= MOST and np.isfinite(seen.minimiser).all()):
        rule = f"such that the curvature at the minimum is between {LEAST:g} and {MOST:g}"
        remedy = "add some, e.g. l2=1e-3, or standardise the columns"
        raise Refusal("l2", rule, f"{mu:.3g} to {L:.3g}", remedy)


def _method(alpha: float | None, beta: float | None, gamma: float | None) -> Method | None:
    if alpha is not None:
        step = one_number("alpha", alpha, "positive", remedy="give a step size, e.g. 0.01")

        return Method(step, 0.0 if beta is None else beta, gamma)
    if beta is not None or gamma is not None:
        raise Refusal("alpha", "given with beta or gamma", "none", "add a step size")

    return None


def _length(asked: _Asked, seen: Survey, budget: TimeBudget) -> tuple[int, int]:
    """Epochs and steps of the runs: shorter than planned where the time does not suffice."""
    n = seen.cut.steps_per_epoch
    planned = asked.epochs
    if not asked.epochs_given:
        planned = max(planned, math.ceil(_LEAST_STEPS / n))

    # Both the narrowest race and the comparison have to fit.
    epoch = n * step_work(seen.model, seen.cut, _LENGTH_RECIPES, _LENGTH_SEEDS)
    once = level_work(seen, LEVELS[0], 0)
    by_race = (budget.allowed(_LONGEST_RACE) - once) / (level_work(seen, LEVELS[0], n) - once)
    most = max(1, int(min(budget.allowed(_LONGEST_RUNS) / epoch, by_race)))
    if most < planned:
        budget.leave_out(f"epochs {most + 1} to {planned}")
        planned = most

    return planned, planned * n


def _held_out(setup: Setup, seen: Survey, runs: Runs) -> FloatArray | None:
    """Mean loss of the rows that were set aside at the end of each recipe."""
    aside = setup.aside()
    if aside is None:
        return None

    if aside.outputs != seen.model.outputs:
        raise Refusal(
            "validation", "a share that leaves every label on both sides",
            f"{aside.outputs} of {seen.model.outputs} labels held out", "hold more rows out",
        )  # fmt: skip

    return np.asarray(aside.losses(runs.final).mean(axis=0))


def _chosen(predictions: list[Prediction]) -> list[Prediction]:
    """Of the finalists of each kind the better one; ravine's own only where they converge.

    The fast choice stays only where no other row gets to 1 % sooner.
    """
    kept: dict[str, Prediction] = {}
    for p in predictions:
        key = p.candidate.key
        tuned = p.candidate.recommended and key not in _ALWAYS_SHOWN
        if tuned and p.outcome is not Outcome.CONVERGES:
            continue

        twin = kept.get(key)
        if twin is None or _better(p, twin):
            kept[key] = p

    fastest = min((p.to_near for p in kept.values() if safe(p)), default=math.inf)
    if "quick" in kept and kept["quick"].to_near > fastest:
        del kept["quick"]

    return list(kept.values())


def _better(p: Prediction, q: Prediction) -> bool:
    """Whether the first of two finalists of one kind is better at what that kind is for."""
    return p.to_near < q.to_near if p.candidate.key == "quick" else p.loss < q.loss


def _scaling(
    asked: _Asked, seen: Survey, predictions: list[Prediction], steps: int, budget: TimeBudget
) -> Scaling | None:
    """Whether standardised columns would leave much less, where that is worth a race."""
    best = best_of(tuple(predictions))
    share = 1.0 if best is None else best.loss / seen.start_excess
    done = asked.setup.standardise or not asked.try_remedies
    if done or share < _NOTHING_LEFT or float(seen.curvature.Q) < _ROUND:
        return None

    usual = budget.begin("racing on standardised columns", _RACE)
    return scaling(asked.setup, share, steps, seed=asked.seed, seconds=usual)


def _batch_notes(seen: Survey) -> list[Finding]:
    """What follows from the number of rows in a batch, and from columns that depend."""
    notes = []
    rows = int(seen.cut.sizes.max())
    d = seen.model.features

    if seen.cut.steps_per_epoch > 1 and rows < d and seen.quadratic and not seen.model.l2:
        what = f"a batch has {rows} rows for {d} columns, so each batch is flat in some directions"
        remedy = "without l2 no order-free certificate is possible; add some"
        notes.append(Finding("batch", what, remedy))

    sizes = seen.cut.sizes
    if not seen.cut.recut and len(set(sizes.tolist())) > 1:
        last = int(sizes[-1])
        what = (
            f"the last batch has {last} rows, so each of them weighs {rows / last:.3g} times more"
        )
        notes.append(Finding("batch", what, "cut batches anew (--batches recut)"))

    if seen.minimum.flat:
        many = "one direction" if seen.minimum.flat == 1 else f"{seen.minimum.flat} directions"
        what = (
            f"columns depend on each other: the loss is flat in {many}. Runs from zero find the "
            "minimiser of least norm, and mu is the least positive curvature"
        )
        notes.append(Finding("singular", what))

    return notes
