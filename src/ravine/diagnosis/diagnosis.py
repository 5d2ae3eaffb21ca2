"""The diagnosis: from data, a loss and a batch size to a verdict with its reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, whole
from ravine.diagnosis.batches import ShuffledRows, Survey, survey
from ravine.diagnosis.candidates import Candidate, candidates
from ravine.diagnosis.columns import column_findings
from ravine.diagnosis.disagreement import Disagreement, disagreement
from ravine.diagnosis.measurement import Runs, follow, marked_steps, on_data
from ravine.diagnosis.prediction import Outcome, Prediction, hold, predict
from ravine.diagnosis.remedies import Remedy, Setup, affordable, remedies, standardised
from ravine.engine.kernels.blas import one_blas_thread
from ravine.methods import Method
from ravine.problems import LinearModel, from_data
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.problems.losses import make_loss
from ravine.sampling import Sampling
from ravine.tables import Finding, TargetKind, target_kind

_RUN_WORK = 4e9
_USUAL_STEPS = 2000


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found on the data, predicted for each method, and measured.

    Attributes
    ----------
    name
        What the data are called.
    survey
        Curvature of the whole and of every batch, minimiser, gradients there.
    findings
        What to know about the columns.
    disagreement
        What the batches differ in, and which batches and rows drive it.
    predictions
        One for each method judged; the first is the user's, or the usual Nesterov one.
    runs
        What the methods did on the data, in the order of ``predictions``.
    remedies
        Options that were tried, and whether they make the first method converge.
    sampling, epochs, steps, seed
        How the runs drew batches, and how long they were.
    """

    name: str
    survey: Survey
    columns: tuple[str, ...]
    findings: tuple[Finding, ...]
    disagreement: Disagreement
    predictions: tuple[Prediction, ...]
    runs: Runs
    remedies: tuple[Remedy, ...]
    remedies_computed: bool
    sampling: Sampling
    epochs: int
    steps: int
    seed: int

    @property
    def subject(self) -> Prediction:
        """The method that the verdict is about: the user's, or the usual Nesterov one."""
        return self.predictions[0]

    @property
    def recommendation(self) -> Prediction | None:
        """Of ravine's methods that converge, the one with the least error after all steps."""
        return recommended(self.predictions)

    @property
    def verdict(self) -> str:
        """The verdict in plain words."""
        from ravine.diagnosis.verdict import verdict

        return " ".join(verdict(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words, for JSON."""
        from ravine.diagnosis.record import record

        return record(self)


def recommended(predictions: tuple[Prediction, ...]) -> Prediction | None:
    """The recommended method with the least predicted error, or the least rate without one."""
    good = [p for p in predictions if p.candidate.recommended and p.outcome is Outcome.CONVERGES]
    if not good:
        return None
    if all(p.error_after is not None for p in good):
        return min(good, key=lambda p: p.error_after.value if p.error_after else np.inf)
    return min(good, key=lambda p: p.rate)


def diagnose(
    X: Any,
    y: npt.ArrayLike,
    *,
    loss: str | None = None,
    l2: float | None = None,
    batch_size: int = 32,
    sampling: Sampling | str = Sampling.RESHUFFLE,
    alpha: float | None = None,
    beta: float | None = None,
    gamma: float | None = None,
    shuffle: int | None = 0,
    standardise: bool = False,
    intercept: bool = False,
    epochs: int | None = None,
    seeds: int | None = None,
    seed: int = 0,
    columns: tuple[str, ...] | None = None,
    name: str = "data",
    findings: tuple[Finding, ...] = (),
    try_remedies: bool = True,
) -> Diagnosis:
    """Say whether momentum will converge on these data, why not, and what will.

    The objective is the mean over mini-batches of (1/m) Σ loss(x_rᵀ W, y_r) + l2/2 ‖W‖². For the
    squared loss all statements hold everywhere. For the logistic losses the rates are those of
    the quadratic at the minimiser, and the certificate comes from curvature bounds that hold
    everywhere.

    Parameters
    ----------
    X, y
        Data as in :func:`ravine.from_data`: an array or a scipy sparse matrix, and a target.
    loss
        "squared", "logistic" or "multinomial"; by the target unless given: numbers are squared,
        two labels logistic, more multinomial, as :func:`ravine.tables.target_kind` tells.
    l2
        Weight of the regulariser; unless given 0 for the squared loss and 1/rows otherwise.
    batch_size
        Rows in a batch, from 1 to all.
    sampling
        The order of the batches, one of :class:`ravine.Sampling`. The batches stay the same from
        epoch to epoch.
    alpha, beta, gamma
        The method to be judged; the usual Nesterov parameters unless ``alpha`` is given.
    shuffle
        Seed of the order in which rows are cut into batches, None for the order given.
    standardise
        Scale the columns to mean 0 and variance 1 first (sparse ones to variance 1).
    intercept
        Append a column of ones.
    epochs, seeds, seed
        Length and number of the runs on the data, by the size of the data unless given.
    columns, name, findings
        Names for the report, and what is already known about the columns.
    try_remedies
        Whether to try what would change the verdict.

    Returns
    -------
    Diagnosis
        With ``verdict`` in words, ``predictions``, ``runs``, ``remedies``, ``to_dict()``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((64, 2)) * [1.0, 3.0]
    >>> found = diagnose(X, X @ [1.0, 2.0], batch_size=4, sampling="iid", try_remedies=False)
    >>> found.survey.problem.terms, found.survey.interpolates
    (16, True)
    """
    rule = Sampling.parse(sampling)
    seed = whole("seed", seed, 0, remedy="give a seed, e.g. seed=0")
    setup, notes = _setup(X, y, loss, l2, batch_size, shuffle, standardise, intercept, columns)
    yours = _method(alpha, beta, gamma)
    # Many small products: more threads are slower, and would change the last digits.
    with one_blas_thread():
        found = _diagnose(setup, yours, rule, epochs, seeds, seed, try_remedies)
    return replace(found, name=name, findings=(*findings, *notes, *found.findings))


def _diagnose(
    setup: Setup,
    yours: Method | None,
    rule: Sampling,
    epochs: int | None,
    seeds: int | None,
    seed: int,
    try_remedies: bool,
) -> Diagnosis:
    problem, order = _problem(setup)
    if problem.terms < 2:
        rule = Sampling.CYCLIC
    about = column_findings(setup.X, setup.columns)
    found = survey(problem, setup.columns)
    rounds, steps, count = _length(problem, epochs, seeds)
    start = problem.start
    judged = [
        hold(found, c, sampling=rule, seed=seed) if c.recommended else c
        for c in candidates(found, start, yours=yours, steps=steps)
    ]
    marks = marked_steps(steps)
    foreseen = predict(found, judged, sampling=rule, start=start, marks=marks, seed=seed)
    predictions = tuple(p for p in foreseen if not _withdrawn(p))
    judged = [p.candidate for p in predictions]
    cause = disagreement(found, judged[0].method, setup.columns, order)
    runs = _run(problem, judged, rule, start, steps, count, seed)
    computed = try_remedies and affordable(setup.X, problem)
    tried: list[Remedy] = []
    if computed and predictions[0].outcome is not Outcome.CONVERGES:
        tried = remedies(setup, found, yours, cause.rows, sampling=rule, seed=seed)
    return Diagnosis(
        name="data", survey=found, columns=setup.columns, findings=(*about, *_batch_notes(found)),
        disagreement=cause, predictions=predictions, runs=runs, remedies=tuple(tried),
        remedies_computed=computed, sampling=rule, epochs=rounds, steps=steps, seed=seed,
    )  # fmt: skip


def _withdrawn(prediction: Prediction) -> bool:
    """Whether a recommendation could not be made to converge; a certified one always does."""
    tuned_here = prediction.candidate.key in ("fastest", "budget")
    return tuned_here and prediction.outcome is not Outcome.CONVERGES


def _method(alpha: float | None, beta: float | None, gamma: float | None) -> Method | None:
    if alpha is not None:
        step = one_number("alpha", alpha, "positive", remedy="give a step size, e.g. 0.01")
        return Method(step, 0.0 if beta is None else beta, gamma)
    if beta is not None or gamma is not None:
        raise ValueError("alpha must be given with beta or gamma, got none: add a step size")
    return None


def _setup(
    X: Any,
    y: npt.ArrayLike,
    loss: str | None,
    l2: float | None,
    batch_size: int,
    shuffle: int | None,
    standardise: bool,
    intercept: bool,
    columns: tuple[str, ...] | None,
) -> tuple[Setup, list[Finding]]:
    """Check the data, choose what was left open, and say what was chosen."""
    notes: list[Finding] = []
    target = np.asarray(y)
    size = whole("batch_size", batch_size, 1, remedy="e.g. 32")
    checked = from_data(X, np.zeros(target.shape), batch_size=1)
    table = checked.X
    if table.shape[0] < 2:
        raise Refusal("X", "two rows or more", table.shape[0], "nothing to average")
    if size > table.shape[0]:
        rule = f"at most the {table.shape[0]} rows"
        raise Refusal("batch_size", rule, size, "use a smaller batch")
    if target.size and (target == target[0]).all():
        found = f"{target[0]!r:.40} in every row"
        raise Refusal("the target", "more than one value", found, "pick another column")
    kind = loss or _usual_loss(target)
    if loss is None:
        notes.append(Finding("loss", f"the {kind} loss was chosen by the target"))
    make_loss(kind, target)
    weight = l2
    if weight is None:
        weight = 0.0 if kind == "squared" else 1.0 / table.shape[0]
        if weight:
            notes.append(Finding("l2", f"l2 = 1/rows = {weight:.3g} was chosen, as none was given"))
    names = columns or tuple(f"x{j}" for j in range(table.shape[1]))
    if len(names) != table.shape[1]:
        rule = f"{table.shape[1]} names"
        raise Refusal("columns", rule, len(names), "one for each column of X")
    if standardise:
        table = standardised(table)
    if intercept:
        table, names = _with_intercept(table), (*names, "intercept")
    return Setup(table, target, names, kind, float(weight), size, shuffle), notes


def _usual_loss(target: npt.NDArray[Any]) -> str:
    if target_kind(target) is TargetKind.NUMBERS:
        return "squared"
    return "logistic" if len(np.unique(target)) == 2 else "multinomial"


def _with_intercept(table: Any) -> Any:
    ones = np.ones((table.shape[0], 1))
    if is_sparse(table):
        from scipy.sparse import hstack

        return hstack([table, ones], format="csr")
    return np.concatenate([table, ones], axis=1)


def _problem(setup: Setup) -> tuple[LinearModel, npt.NDArray[np.intp] | None]:
    """The model, and the row of the data that each of its rows is; dense data are not copied."""
    if setup.shuffle is None:
        return setup.problem(), None
    seed = whole("shuffle", setup.shuffle, 0, remedy="give a seed, or None for the given order")
    order = np.random.default_rng(seed).permutation(setup.X.shape[0])
    if is_sparse(setup.X):
        return setup.problem(X=setup.X[order], y=setup.y[order], shuffle=None), order
    # Checks the options on the order given; the model itself then reads the rows shuffled.
    plain = setup.problem(shuffle=None)
    loss = make_loss(setup.loss, setup.y[order])
    return LinearModel(
        ShuffledRows(plain.X, order), loss, l2=setup.l2, batch_size=setup.batch_size,
        name="from_data", parameters={**plain.parameters, "shuffle": seed},
    ), order  # fmt: skip


def _length(problem: LinearModel, epochs: int | None, seeds: int | None) -> tuple[int, int, int]:
    """Epochs, steps and seeds of the runs."""
    n = problem.terms
    entries = problem.X.nnz if is_sparse(problem.X) else problem.X.shape[0] * problem.features
    per_step = 40.0 * (entries / n) * problem.loss.outputs + 400.0 * problem.dimension + 1e6
    if epochs is None:
        wished = int(np.clip(np.ceil(_USUAL_STEPS / n), 1, 500))
        rounds = int(max(1, min(wished, 4 * _RUN_WORK / (per_step * n))))
    else:
        rounds = whole("epochs", epochs, 1, remedy="give the epochs of a run, e.g. 20")
    if seeds is None:
        count = int(np.clip(4 * _RUN_WORK / (per_step * n * rounds), 2, 8))
    else:
        count = whole("seeds", seeds, 1, remedy="give the number of runs, e.g. 8")
    return rounds, rounds * n, count


def _run(
    problem: LinearModel,
    judged: list[Candidate],
    sampling: Sampling,
    start: FloatArray,
    steps: int,
    seeds: int,
    seed: int,
) -> Runs:
    methods = [c.method for c in judged]
    return follow(
        on_data(problem), methods, start, problem.minimiser, batches=problem.terms,
        sampling=sampling, steps=steps, seeds=seeds, seed=seed,
    )  # fmt: skip


def _batch_notes(found: Survey) -> list[Finding]:
    """What follows from the number of rows in a batch."""
    problem = found.problem
    rows, d = int(problem.batch_sizes.max()), problem.features
    notes = []
    if problem.terms > 1 and rows < d and problem.loss.name == "squared":
        held = f"l2 = {problem.l2:g} alone" if problem.l2 else "nothing"
        what = (
            f"a batch has {rows} rows for {d} columns, so each batch is flat in some directions: "
            f"there its curvature is {held}"
        )
        remedy = "" if problem.l2 else "without l2 no order-free certificate is possible; add some"
        notes.append(Finding("batch", what, remedy))
    if len(set(problem.batch_sizes.tolist())) > 1:
        last = int(problem.batch_sizes[-1])
        what = (
            f"the last batch has {last} rows, so each of them weighs {rows / last:.3g} times more"
        )
        notes.append(Finding("batch", what, "drop the last batch" if rows > 4 * last else ""))
    return notes
