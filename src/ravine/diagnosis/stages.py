"""The stages of a diagnosis: from data to a verdict, within a budget of counted work."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from ravine.arguments import LEAST, MOST, Refusal, one_number, overflow_allowed, whole
from ravine.diagnosis.candidates import Candidate, candidates
from ravine.diagnosis.causes import affordable, disagreement, remedies, standardised_race
from ravine.diagnosis.columns import batch_findings, column_findings
from ravine.diagnosis.diagnosis import Diagnosis, best_of
from ravine.diagnosis.prediction import Outcome, Prediction, predict, settles_late
from ravine.diagnosis.race import LEVELS, NEAR, level_work, race
from ravine.diagnosis.runs import Runs, compare
from ravine.diagnosis.setup import Setup, make_setup
from ravine.diagnosis.stability import growths
from ravine.diagnosis.survey import Survey, survey
from ravine.diagnosis.work import LONGEST_RACE, LONGEST_RUNS, USUAL_TIME, Budget, Tell, step_work
from ravine.engine.kernels.blas import one_blas_thread
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.tables import Finding, Table, as_table
from ravine.theory.finite_sums.epochs import Growths

USUAL_EPOCHS = 30
"""Default number of epochs of a run, a common choice for linear models."""
_ALWAYS_SHOWN = ("certified", "safe", "iid")
"""Guaranteed methods, which are shown whatever the result of their runs."""
_LENGTH_RECIPES = 12
_LENGTH_SEEDS = 2
"""Number of runs that must fit into the time for the planned epochs."""


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
    name: str | None = None,
    findings: tuple[Finding, ...] = (),
    try_remedies: bool = True,
    tell: Tell | None = None,
) -> Diagnosis:
    """Find settings that converge on data, and say why others do not.

    The objective is the mean over all rows of loss(x_rᵀ W, y_r) + l2/2 ‖W‖². For the squared loss,
    all statements hold everywhere. For other losses, rates are those of the quadratic approximation
    at the minimiser, the certificate comes from curvature bounds that hold everywhere, and the
    recommendation is measured on the loss itself.

    Parameters
    ----------
    X, y
        Data as in :func:`ravine.tables.as_table`: a table that was read, a data frame, an array or
        a scipy sparse matrix, and a target of shape (rows,) or (rows, 1), or the name of a column.
        Columns may depend on each other: runs from zero converge to the minimiser of smallest norm,
        and mu is the smallest positive curvature.
    loss
        A name of :func:`ravine.from_data`. Default: by :func:`ravine.tables.target_kind` of the
        target, squared for numbers, logistic for two labels, multinomial for more.
    l2
        Weight of the regulariser. Default: 0 for the squared loss, 1/rows otherwise.
    batch_size
        Rows per batch, at least 1. Default: 32, or all rows if there are fewer.
    batches
        ``"new"``: every epoch has new batches, as with a shuffling data loader. ``"fixed"``: they
        stay the same, each counts the same, and the objective is their mean. Default: new, if the
        order of the batches allows it.
    sampling
        The order of the batches, one of :class:`ravine.Sampling`. All but ``reshuffle`` and ``iid``
        need fixed batches.
    alpha, beta, gamma
        The method to judge. Default: the textbook Nesterov parameters.
    shuffle
        Seed of the order of the rows in fixed batches; None keeps the given order.
    standardise
        Scale the columns to mean 0 and variance 1 first (sparse ones to variance 1). Default: yes
        for a table that was read, no for arrays.
    intercept
        Append a column of ones. Default: yes for a table that was read, no for arrays.
    validation
        Share of rows to hold out, between 0 and 1; their loss is reported.
    epochs, seeds, seed
        Length, number and seed of the runs on the data. Defaults depend on the size of the data.
    time
        Budget in seconds, counted as work of an ordinary core and not measured by a clock;
        ``left_out`` lists what did not fit.
    columns, name, findings
        Names for the report (a table that was read has its own), and known findings.
    try_remedies
        Whether to search for changes that would improve the verdict.
    tell
        Called with (stage, share of the time spent) when a stage begins.

    Returns
    -------
    Diagnosis
        With ``answer`` in words, ``code()`` to copy, ``predictions``, ``recommendation``,
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
    budget = Budget(seconds, tell)
    budget.begin("reading the columns")
    was_read = isinstance(X, Table)
    table = X if was_read else as_table(X, y, columns=columns)
    setup, notes = make_setup(
        table, loss=loss, l2=l2, batch_size=batch_size, batches=batches, sampling=sampling,
        shuffle=shuffle, standardise=was_read if standardise is None else standardise,
        intercept=was_read if intercept is None else intercept, validation=validation, seed=seed,
    )  # fmt: skip

    yours = None
    if alpha is not None:
        step = one_number("alpha", alpha, "positive", remedy="give a step size, e.g. 0.01")
        yours = Method(step, 0.0 if beta is None else beta, gamma)
    elif beta is not None or gamma is not None:
        raise Refusal("alpha", "given with beta or gamma", "none", "add a step size")

    if epochs is not None:
        epochs = whole("epochs", epochs, 1, remedy="give the epochs of a run, e.g. 30")

    if seeds is not None:
        seeds = whole("seeds", seeds, 1, remedy="give the number of runs, e.g. 8")

    # For many small products, more threads are slower, and they would change the last digits.
    with one_blas_thread():
        result = _diagnose(setup, yours, budget, epochs, seeds, try_remedies)

    about = (*findings, *table.findings, *notes, *result.findings)
    return replace(result, name=name or table.name, findings=about)


def _diagnose(
    setup: Setup, yours: Method | None, budget: Budget, epochs: int | None, seeds: int | None,
    try_remedies: bool,
) -> Diagnosis:  # fmt: skip
    seen = survey(setup, seconds=budget.begin("surveying the batches"))
    if seen.minimum.gap > 1e-6:
        budget.leave_out(f"the minimum, known to {100 * seen.minimum.gap:.1g} % of the excess loss")

    _check_curvature(seen)
    epochs, steps = _length(seen, epochs, budget)

    seconds = budget.begin("racing step sizes and schedules")
    most = LONGEST_RACE * budget.seconds
    raced = race(seen, steps=steps, seconds=seconds, most=most)

    if raced is None:
        budget.leave_out("the race of step sizes and schedules")

    seconds = budget.begin("tuning by theory")
    judged = candidates(seen, raced.winners if raced else [], yours=yours)
    each = seconds / len({c.key for c in judged})
    growth_of = cache(lambda method: growths(seen, method, seconds=each))

    seconds = budget.begin("running on the data")
    recipes = [c.recipe for c in judged]
    finalists = partial(_finalists, seen, judged, growth_of=growth_of)
    runs, kept = compare(seen, recipes, finalists, steps=steps, seeds=seeds, seconds=seconds)

    judged = [judged[i] for i in kept]
    growth = [growth_of(c.method) for c in judged]
    every = predict(seen, judged, growth, runs, budget=budget)
    shown = _shown(every)
    predictions = tuple(every[i] for i in shown)
    subject = predictions[0]

    budget.begin("finding the cause")
    cause = disagreement(seen, subject.candidate.method)
    computed = try_remedies and affordable(seen)
    scaled, tried = None, []

    if try_remedies:
        scaled = standardised_race(seen, best_of(predictions), steps, budget)

    if computed and subject.outcome not in (Outcome.CONVERGES, Outcome.STALLS):
        tried = remedies(seen, yours, tuple(cause.leading) or cause.rows, budget=budget)

    # The intercept is constant by design and not worth reporting.
    own = setup.X[:, : setup.features] if setup.intercept else setup.X
    about = column_findings(own, setup.columns[: setup.features])

    return Diagnosis(
        name="",
        survey=seen,
        findings=(*about, *batch_findings(seen)),
        disagreement=replace(cause, rows=setup.in_source(cause.rows)),
        predictions=predictions,
        runs=runs.of(shown),
        remedies=tuple(tried),
        remedies_computed=computed,
        scaling=scaled,
        left_out=tuple(budget.left_out),
        epochs=epochs,
        steps=steps,
        seconds=budget.spent,
        time=budget.seconds,
    )


def _check_curvature(seen: Survey) -> None:
    """Refuse a loss without curvature at its minimiser, which then is nearly at infinity."""
    mu, L = float(seen.minimum.spectrum[0]), float(seen.minimum.spectrum[-1])
    if not (LEAST <= mu <= L <= MOST and np.isfinite(seen.minimiser).all()):
        rule = f"such that the curvature at the minimum is between {LEAST:g} and {MOST:g}"
        remedy = "add some, e.g. l2=1e-3, or standardise the columns"
        raise Refusal("l2", rule, f"{mu:.3g} to {L:.3g}", remedy)


def _length(seen: Survey, epochs: int | None, budget: Budget) -> tuple[int, int]:
    """Epochs and steps of the runs: fewer than planned if time is short."""
    n = seen.batching.steps_per_epoch
    # A table of one batch has epochs of one step.
    planned = max(USUAL_EPOCHS, math.ceil(60 / n)) if epochs is None else epochs

    # The narrowest race and the comparison must both fit.
    epoch = n * step_work(seen.model, seen.batching, _LENGTH_RECIPES, _LENGTH_SEEDS)
    once = level_work(seen, LEVELS[0], 0)
    by_race = (LONGEST_RACE * budget.seconds - once) / (level_work(seen, LEVELS[0], n) - once)
    most = max(1, int(min(LONGEST_RUNS * budget.seconds / epoch, by_race)))

    if most < planned:
        last = most + 1 == planned
        budget.leave_out(f"epoch {planned}" if last else f"epochs {most + 1} to {planned}")
        planned = most

    return planned, planned * n


def _finalists(
    seen: Survey, judged: list[Candidate], runs: Runs, *, growth_of: Callable[[Method], Growths]
) -> list[int]:
    """The recipe of each kind with the smallest loss; ravine's own must also converge."""
    loss = runs.excess[-1].mean(axis=0)
    near = runs.steps_to(NEAR * seen.start_excess)
    kept: dict[str, int] = {}

    for i in sorted(range(len(judged)), key=lambda i: float(loss[i])):
        candidate = judged[i]
        better = candidate.key == "quick" and near[i] < near[kept.get("quick", i)]
        if (candidate.key not in kept or better) and (
            not _only_if_safe(candidate)
            or settles_late(seen, candidate)
            or growth_of(candidate.method).mean_square.diverges is False
        ):
            kept[candidate.key] = i

    return sorted(kept.values())


def _only_if_safe(candidate: Candidate) -> bool:
    """Whether a method is shown only if it converges: ravine's own, except guarantees."""
    return candidate.recommended and candidate.key not in _ALWAYS_SHOWN


def _shown(predictions: list[Prediction]) -> list[int]:
    """Drop ravine's own methods that do not converge, and a fast choice that is not the fastest."""
    fastest = min((p.steps_to_1_percent for p in predictions if p.safe), default=math.inf)
    return [
        i
        for i, p in enumerate(predictions)
        if (p.outcome is Outcome.CONVERGES or not _only_if_safe(p.candidate))
        and (p.candidate.key != "quick" or p.steps_to_1_percent <= fastest)
    ]
