"""The stages of a diagnosis, each with its share of the time: from data to a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
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
from ravine.diagnosis.candidates import Candidate, candidates
from ravine.diagnosis.columns import column_findings
from ravine.diagnosis.diagnosis import Diagnosis, best_of
from ravine.diagnosis.disagreement import disagreement
from ravine.diagnosis.floors import floors
from ravine.diagnosis.prediction import Outcome, Prediction, predict
from ravine.diagnosis.race import LEVELS, NEAR, level_work, race
from ravine.diagnosis.remedies import Scaling, affordable, remedies, scaling
from ravine.diagnosis.runs import Runs, compare
from ravine.diagnosis.setup import Setup, make_setup
from ravine.diagnosis.stability import growths
from ravine.diagnosis.survey import Survey, survey
from ravine.diagnosis.work import USUAL_TIME, Tell, TimeBudget, step_work
from ravine.engine.kernels.blas import one_blas_thread
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.tables import Finding, Table, as_table
from ravine.theory.finite_sums.epochs import Growths

USUAL_EPOCHS = 30
"""Epochs of a run unless told otherwise: what people train a linear model for."""
_LEAST_STEPS = 60
"""Steps of a run at least: a table of one batch has epochs of one step."""
_ALWAYS_SHOWN = ("certified", "safe", "iid")
"""Guarantees are shown whatever the runs made of them."""
_SURVEY = 0.15
_RACE = 0.02
_RUNS = 0.03
_GROWTHS = 0.02
_FLOORS = 0.03
_CURVES = 0.03
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
    batches: str | None = None,
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
        ``"new"``: every epoch has new batches, as those of a shuffling data loader. ``"fixed"``:
        they stay the same, each counts the same, and the objective is their mean. New ones unless
        given, where the order of the batches allows it.
    sampling
        The order of the batches, one of :class:`ravine.Sampling`. All but ``reshuffle`` and ``iid``
        need fixed batches.
    alpha, beta, gamma
        The method to be judged; the textbook Nesterov parameters unless ``alpha`` is given.
    shuffle
        Seed of the order of the rows in fixed batches, None for the order given.
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
    >>> result.survey.batching.steps_per_epoch, result.survey.interpolates
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
    if epochs is not None:
        epochs = whole("epochs", epochs, 1, remedy="give the epochs of a run, e.g. 30")
    if seeds is not None:
        seeds = whole("seeds", seeds, 1, remedy="give the number of runs, e.g. 8")

    # Many small products: more threads are slower, and would change the last digits.
    # What overflows is a run or a moment that is lost, and is said to be.
    with one_blas_thread(), np.errstate(all="ignore"):
        return _diagnose(
            setup, yours, budget, epochs=epochs, seeds=seeds, seed=seed, try_remedies=try_remedies,
            name=table.name, notes=(*findings, *table.findings, *notes),
        )  # fmt: skip


def _diagnose(
    setup: Setup,
    yours: Method | None,
    budget: TimeBudget,
    *,
    epochs: int | None,
    seeds: int | None,
    seed: int,
    try_remedies: bool,
    name: str,
    notes: tuple[Finding, ...],
) -> Diagnosis:
    seen = survey(setup, seconds=budget.begin("surveying the batches", _SURVEY))
    if seen.minimum.gap > _KNOWN_MINIMUM:
        budget.leave_out(f"the minimum, known to {100 * seen.minimum.gap:.1g} % of the excess loss")
    _check_curvature(seen)
    epochs, steps = _length(seen, epochs, budget)

    most = budget.begin("racing step sizes and schedules", _LONGEST_RACE)
    usual = min(most, _RACE * budget.seconds)
    result = race(seen, steps=steps, seed=seed, seconds=usual, most=most)
    if result is None:
        budget.leave_out("the race of step sizes and schedules")

    budget.begin("tuning by theory", 0.1)
    judged = candidates(seen, result, yours=yours)
    each = _GROWTHS * budget.seconds / len({c.key for c in judged})
    growth_of = cache(lambda method: growths(seen, method, seed=seed, seconds=each))
    runs, kept = compare(
        seen, [c.recipe for c in judged], lambda runs: _finalists(seen, judged, runs, growth_of),
        steps=steps, seeds=seeds, seed=seed, seconds=budget.begin("running on the data", _RUNS),
        budget=budget,
    )  # fmt: skip
    judged = [judged[i] for i in kept]
    growth = [growth_of(c.method) for c in judged]
    share = budget.begin("following runs to their noise floors", _FLOORS)
    left = floors(seen, judged, growth, seed=seed, seconds=share, budget=budget)
    every = predict(
        seen, judged, growth, left, runs, runs.steps_to(NEAR * seen.start_excess),
        _held_out(setup, runs), seconds=_CURVES * budget.seconds, budget=budget,
    )  # fmt: skip
    predictions = _shown(every)

    budget.begin("looking for the cause", 0.05)
    cause = disagreement(seen, predictions[0].candidate.method, setup.columns)
    scaled = _scaling(setup, seen, predictions, steps, seed, budget) if try_remedies else None
    computed = try_remedies and affordable(seen)
    tried = []
    if computed and predictions[0].outcome not in (Outcome.CONVERGES, Outcome.STALLS):
        share = budget.begin("trying remedies", _REMEDIES)
        tried = remedies(setup, seen, yours, cause.rows, seed=seed, seconds=share, budget=budget)

    # The intercept is constant by design, which is no news.
    own = setup.X[:, : setup.features] if setup.intercept else setup.X
    about = column_findings(own, setup.columns[: setup.features])
    return Diagnosis(
        name=name, setup=setup, survey=seen, findings=(*notes, *about, *_batch_notes(seen)),
        disagreement=replace(cause, rows=setup.in_source(cause.rows)),
        predictions=tuple(predictions), runs=runs.of([every.index(p) for p in predictions]),
        remedies=tuple(tried), remedies_computed=computed, scaling=scaled,
        left_out=tuple(budget.left_out), epochs=epochs, steps=steps, seed=seed,
        seconds=budget.spent, time=budget.seconds,
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


def _length(seen: Survey, epochs: int | None, budget: TimeBudget) -> tuple[int, int]:
    """Epochs and steps of the runs: shorter than planned where the time does not suffice."""
    n = seen.batching.steps_per_epoch
    planned = max(USUAL_EPOCHS, math.ceil(_LEAST_STEPS / n)) if epochs is None else epochs

    # Both the narrowest race and the comparison have to fit.
    epoch = n * step_work(seen.model, seen.batching, _LENGTH_RECIPES, _LENGTH_SEEDS)
    once = level_work(seen, LEVELS[0], 0)
    by_race = (budget.allowed(_LONGEST_RACE) - once) / (level_work(seen, LEVELS[0], n) - once)
    most = max(1, int(min(budget.allowed(_LONGEST_RUNS) / epoch, by_race)))
    if most < planned:
        budget.leave_out(f"epochs {most + 1} to {planned}")
        planned = most

    return planned, planned * n


def _held_out(setup: Setup, runs: Runs) -> FloatArray | None:
    """Mean loss of the rows that were set aside at the end of each recipe."""
    model = setup.held_out
    if model is None:
        return None

    _, seeds, recipes = runs.final.shape
    points = runs.final.reshape(model.features, model.outputs, -1).swapaxes(1, 2)
    losses = model.losses(points.reshape(1, model.features, -1))
    return np.asarray(losses.reshape(seeds, recipes).mean(axis=0))


def _finalists(
    seen: Survey, judged: list[Candidate], runs: Runs, growth_of: Callable[[Method], Growths]
) -> list[int]:
    """Of each kind the recipe with the least loss; of ravine's own, of those that converge."""
    loss = runs.excess[-1].mean(axis=0)
    near = runs.steps_to(NEAR * seen.start_excess)
    kept: dict[str, int] = {}
    for i in sorted(range(len(judged)), key=lambda i: float(loss[i])):
        candidate = judged[i]
        first = candidate.key not in kept or (
            candidate.key == "quick" and near[i] < near[kept["quick"]]
        )
        if first and not (
            _only_if_safe(candidate)
            and growth_of(candidate.method).mean_square.diverges is not False
        ):
            kept[candidate.key] = i

    return sorted(kept.values())


def _only_if_safe(candidate: Candidate) -> bool:
    """Whether a method is shown only where it converges: ravine's own, except for guarantees."""
    return candidate.recommended and candidate.key not in _ALWAYS_SHOWN


def _shown(predictions: list[Prediction]) -> list[Prediction]:
    """Without ravine's own that do not converge, and a fast choice that is not the fastest."""
    fastest = min((p.to_near for p in predictions if p.safe), default=math.inf)
    return [
        p
        for p in predictions
        if (p.outcome is Outcome.CONVERGES or not _only_if_safe(p.candidate))
        and (p.candidate.key != "quick" or p.to_near <= fastest)
    ]


def _scaling(
    setup: Setup, seen: Survey, predictions: list[Prediction], steps: int, seed: int,
    budget: TimeBudget,
) -> Scaling | None:  # fmt: skip
    """Whether standardised columns would leave much less, where that is worth a race."""
    best = best_of(tuple(predictions))
    share = 1.0 if best is None else best.loss / seen.start_excess
    if setup.standardise or share < _NOTHING_LEFT or float(seen.curvature.Q) < _ROUND:
        return None

    usual = budget.begin("racing on standardised columns", _RACE)
    return scaling(setup, share, steps, seed=seed, seconds=usual)


def _batch_notes(seen: Survey) -> list[Finding]:
    """What follows from the number of rows in a batch, and from columns that depend."""
    notes = []
    rows = int(seen.batching.sizes.max())
    d = seen.model.features

    if seen.batching.steps_per_epoch > 1 and rows < d and seen.quadratic and not seen.model.l2:
        what = f"a batch has {rows} rows for {d} columns, so each batch is flat in some directions"
        remedy = "without l2 no order-free certificate is possible; add some"
        notes.append(Finding("batch", what, remedy))

    sizes = seen.batching.sizes
    if seen.batching.fixed and len(set(sizes.tolist())) > 1:
        last = int(sizes[-1])
        what = (
            f"the last batch has {last} rows, so each of them weighs {rows / last:.3g} times more"
        )
        notes.append(Finding("batch", what, "use new batches each epoch (--batches new)"))

    if seen.minimum.flat:
        many = "one direction" if seen.minimum.flat == 1 else f"{seen.minimum.flat} directions"
        what = (
            f"columns depend on each other: the loss is flat in {many}. Runs from zero find the "
            "minimiser of least norm, and mu is the least positive curvature"
        )
        notes.append(Finding("singular", what))

    return notes
