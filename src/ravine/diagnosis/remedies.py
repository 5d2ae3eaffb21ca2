"""What would change the verdict: each option is tried on the data, none is guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from ravine.diagnosis.batching import BatchRule, Indices
from ravine.diagnosis.columns import column_sizes
from ravine.diagnosis.disagreement import disagreement
from ravine.diagnosis.prediction import Outcome, critical_batch, judge_outcome
from ravine.diagnosis.race import race
from ravine.diagnosis.recipe import Recipe
from ravine.diagnosis.setup import Setup, standardised
from ravine.diagnosis.stability import growths
from ravine.diagnosis.survey import Survey, survey
from ravine.diagnosis.time_budget import TimeBudget
from ravine.methods import Method, nesterov
from ravine.problems.spectrum import is_sparse

REMEDY_ENTRIES = 4_000_000
"""Data with more entries are not diagnosed again for every remedy."""
REMEDY_DIRECTIONS = 128
_ROW_ROUNDS = 6
_ROW_SHARE = 0.02
_ROW_LEAST = 5
"""Rows are dropped at most so many times, and at most this part of them, or this many."""
_MOST_TRIALS = 40
"""Options that are tried at most: what nobody has worked out by then is not worth waiting for."""
_SCALES = 3.0
"""Columns whose sizes differ by more than this are worth scaling."""


@dataclass(frozen=True)
class Remedy:
    """An option that was tried on the data.

    Attributes
    ----------
    kind
        ``"batch size"``, ``"l2"``, ``"standardise"``, ``"drop rows"``, ``"clip rows"`` or
        ``"shuffle"``.
    action
        What to do, in words.
    rate
        Growth of the root-mean-square error per step afterwards.
    outcome
        What becomes of a run afterwards.
    """

    kind: str
    action: str
    rate: float
    outcome: Outcome

    @property
    def works(self) -> bool:
        """Whether the method converges afterwards."""
        return self.outcome is Outcome.CONVERGES


@dataclass(frozen=True)
class Scaling:
    """What standardised columns would give.

    Attributes
    ----------
    Q
        Condition number afterwards.
    share_before, share_after
        Least excess loss after the same epochs, as a share of the start's, as is and scaled.
    recipe
        What reaches it.
    """

    Q: float
    share_before: float
    share_after: float
    recipe: Recipe

    @property
    def gain(self) -> float:
        """How many times less is left."""
        return self.share_before / max(self.share_after, 1e-300)


_Option: TypeAlias = tuple[str, str, Setup]


@dataclass(frozen=True, eq=False)
class _Trial:
    """What every option is judged with; ``method`` None means each option's own standard method."""

    method: Method | None
    seed: int
    seconds: float
    most: int
    budget: TimeBudget
    tried: list[str] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether as many options were tried as there is time for; said where it is so."""
        if len(self.tried) < self.most and not self.budget.over:
            return False

        self.budget.leave_out("some of the remedies")
        return True

    def judge(self, kind: str, action: str, setup: Setup) -> tuple[Remedy, Survey] | None:
        """The remedy and the survey after it, or None where a label is lost with the rows."""
        self.tried.append(action)
        try:
            problem, cut, _ = setup.problem()
            after = survey(problem, cut)
        except ValueError:
            return None

        method = self.of(after)
        both = growths(after, method, seed=self.seed, seconds=self.seconds)
        return Remedy(kind, action, both.mean_square.rate, judge_outcome(both)), after

    def of(self, after: Survey) -> Method:
        """The method that is judged on changed data."""
        return nesterov(after.curvature) if self.method is None else self.method


def remedies(
    setup: Setup,
    before: Survey,
    method: Method | None,
    rows: tuple[int, ...],
    *,
    seed: int,
    share: float,
    budget: TimeBudget,
) -> list[Remedy]:
    """Try the options on the method, as many as ``share`` of the time allows."""
    allowed = budget.allowed(share)
    each = _trial_work(before)
    most = int(np.clip(0.5 * allowed / each, 1, _MOST_TRIALS))
    trial = _Trial(method, seed, 0.5 * allowed / most, most, budget)
    tried: list[Remedy] = []
    families = [
        _batch_sizes(setup, before, trial),
        _scaled(setup),
        _more_l2(setup, before),
        _shuffled(setup),
    ]

    for options in families:
        last = None
        for kind, action, changed in options:
            if trial.ended:
                break

            answer = trial.judge(kind, action, changed)
            if answer is None:
                break

            last = answer[0]
            if last.works:
                break

        if last is not None:
            tried.append(last)

    for change in (_dropped, _clipped):
        if trial.ended:
            break

        changed_rows = _row_by_row(setup, rows, trial, change)
        if changed_rows is not None:
            tried.append(changed_rows)

    return tried


def _trial_work(before: Survey) -> float:
    """Counted seconds of one option: a survey, and growth by second moments.

    A survey takes each row's products d² once or twice; the search for the growth takes some fifty
    sandwiches of the sampled rows, or of the d⁴/2 entries of a table.
    """
    d = before.moments.dimension
    rows = 2.0 * before.model.rows * d**2
    moments = 50.0 * min(len(before.sample) * d**2, 0.5 * d**4)

    return 0.02 + 1e-9 * (rows + moments)


def _batch_sizes(setup: Setup, before: Survey, trial: _Trial) -> Iterator[_Option]:
    """Larger batches; where they are reshuffled, the least one that helps is known beforehand."""
    rows = setup.rows
    size = setup.batch_size
    known = critical_batch(before, trial.of(before))

    if known is not None:
        size = max(size, min(known, rows) // 2)

    while size < rows:
        size = min(2 * size, rows)
        what = f"batch size {size}" if size < rows else "the whole data in one batch"
        yield "batch size", what, replace(setup, batch_size=size)


def _more_l2(setup: Setup, before: Survey) -> Iterator[_Option]:
    top = float(before.curvature.L)
    first = max(setup.l2, 1e-4 * top)
    for exponent in np.arange(0.5, 5.0, 0.5):
        value = float(f"{first * 10**exponent:.2g}")
        if value > 2.0 * top:
            return

        yield "l2", f"l2 = {value:g}", replace(setup, l2=value)


def worth_scaling(setup: Setup) -> bool:
    """Whether the columns differ in scale by so much that standardising them may help."""
    mean, spread = column_sizes(setup.X)
    size = np.sqrt(mean**2 + spread**2)
    used = size[spread > 1e-12 * np.maximum(np.abs(mean), 1e-300)]

    if not used.size:
        return False

    return bool(used.max() > _SCALES * used.min() or (np.abs(mean) > spread).any())


def _scaled(setup: Setup) -> Iterator[_Option]:
    if worth_scaling(setup):
        changed = replace(setup, X=standardised(setup.X))
        yield "standardise", "scale the columns to mean 0 and unit variance", changed


def scaling(
    setup: Setup, share_before: float, steps: int, *, seed: int, seconds: float
) -> Scaling | None:
    """Race again on standardised columns; None where they are alike or the time is short."""
    if not worth_scaling(setup):
        return None

    problem, cut, _ = replace(setup, X=standardised(setup.X)).problem()
    after = survey(problem, cut)
    result = race(after, steps=steps, seed=seed, seconds=seconds)
    if result is None:
        return None

    best = min(result.entries, key=lambda e: e.excess)
    share = best.excess / after.start_excess
    return Scaling(float(after.curvature.Q), share_before, share, best.recipe)


def _shuffled(setup: Setup) -> Iterator[_Option]:
    if setup.shuffle is None:
        changed = replace(setup, shuffle=0, batches=BatchRule.FIXED)
        yield "shuffle", "shuffle the rows before cutting batches", changed


_Changed: TypeAlias = tuple[str, str, Setup, Indices | None]
_RowChange: TypeAlias = Callable[[Setup, tuple[int, ...]], _Changed]


def _row_by_row(
    setup: Setup, rows: tuple[int, ...], trial: _Trial, change: _RowChange
) -> Remedy | None:
    """Change the rows that drive the growth, then those that drive what is left, a few times."""
    named = list(rows)
    last: Remedy | None = None

    for _ in range(_ROW_ROUNDS):
        if not named or len(named) > max(_ROW_LEAST, int(_ROW_SHARE * setup.rows)):
            break

        kind, action, changed, kept = change(setup, tuple(named))
        answer = trial.judge(kind, action, changed)
        if answer is None:
            break

        last, after = answer
        if last.works or trial.ended:
            break

        order = _origin(changed, kept)
        more = disagreement(after, trial.of(after), setup.columns, order).rows
        fresh = [r for r in more if r not in named]
        if not fresh:
            break

        named += fresh

    return last


def _origin(changed: Setup, kept: Indices | None) -> Indices | None:
    """The row of the data as given that each row of the changed problem is."""
    _, _, order = changed.problem()
    if kept is None:
        return order

    return kept if order is None else kept[order]


def _dropped(setup: Setup, rows: tuple[int, ...]) -> _Changed:
    kept = np.setdiff1d(np.arange(setup.rows), rows)
    return "drop rows", f"drop {named_rows(setup.in_source(rows))}", setup.taking(kept), kept


def _clipped(setup: Setup, rows: tuple[int, ...]) -> _Changed:
    """Shorten the named rows to the median length, the target of a squared loss with them."""
    X = setup.X
    if is_sparse(X):
        sizes = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    else:
        sizes = np.linalg.norm(X, axis=1)

    factors = np.ones(len(sizes))
    chosen = np.array(rows)
    factors[chosen] = np.minimum(1.0, np.median(sizes) / np.maximum(sizes[chosen], 1e-300))
    X = X.multiply(factors[:, None]).tocsr() if is_sparse(X) else X * factors[:, None]
    y = setup.y

    if setup.loss == "squared":
        y = y.astype(np.float64) * factors

    action = f"clip {named_rows(setup.in_source(rows))} to the median length"
    return "clip rows", action, replace(setup, X=X, y=y), None


def named_rows(rows: tuple[int, ...]) -> str:
    """Rows in words: "row 7", or "rows 7, 12 and 40"."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > 6:
        return f"rows {', '.join(str(r) for r in rows[:5])} and {len(rows) - 5} more"

    return f"rows {', '.join(str(r) for r in rows[:-1])} and {rows[-1]}"


def affordable(setup: Setup, found: Survey) -> bool:
    """Whether the data are small enough to be diagnosed again for every remedy."""
    X = setup.X
    entries = X.nnz if is_sparse(X) else X.shape[0] * X.shape[1]

    return bool(entries <= REMEDY_ENTRIES and found.model.dimension <= REMEDY_DIRECTIONS)
