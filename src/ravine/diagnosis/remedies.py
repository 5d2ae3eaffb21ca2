"""What would change the verdict: each option is tried on the data, none is guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ravine.diagnosis.columns import column_sizes
from ravine.diagnosis.disagreement import disagreement
from ravine.diagnosis.prediction import Outcome, critical_batch, judge_outcome
from ravine.diagnosis.race import race
from ravine.diagnosis.recipe import Recipe
from ravine.diagnosis.setup import Setup, scaled_rows, standardised
from ravine.diagnosis.stability import growths
from ravine.diagnosis.survey import Survey, row_sizes, survey
from ravine.diagnosis.work import TimeBudget
from ravine.methods import Method, nesterov

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
_Option: TypeAlias = tuple[str, str, Setup]
"""A kind of change, the change in words, and the data after it."""


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


class _Trials:
    """Options that are tried on a method, one after the other.

    ``method`` None means the textbook method of the data after each option.
    """

    def __init__(self, setup: Setup, before: Survey, method: Method | None) -> None:
        self.setup = setup
        self.before = before
        self._method = method
        self._last: tuple[Setup, Survey] = (setup, before)

    def method(self, seen: Survey) -> Method:
        """The method that is judged on changed data."""
        return nesterov(seen.curvature) if self._method is None else self._method

    def judge(self, kind: str, action: str, changed: Setup, seed: int, seconds: float) -> Remedy:
        """What becomes of the method after a change."""
        seen = survey(changed)
        self._last = changed, seen
        both = growths(seen, self.method(seen), seed=seed, seconds=seconds)
        return Remedy(kind, action, both.mean_square.rate, judge_outcome(both))

    def batch_sizes(self) -> Iterator[_Option]:
        """Larger batches; where they are new each epoch, the least that helps is known already."""
        rows = self.setup.rows
        size = self.setup.batch_size
        known = critical_batch(self.before, self.method(self.before))
        if known is not None:
            size = max(size, min(known, rows) // 2)

        while size < rows:
            size = min(2 * size, rows)
            what = f"batch size {size}" if size < rows else "the whole data in one batch"
            yield "batch size", what, replace(self.setup, batch_size=size)

    def scaled(self) -> Iterator[_Option]:
        """Standardised columns, where they differ in scale."""
        if worth_scaling(self.setup):
            changed = replace(self.setup, X=standardised(self.setup.X))
            yield "standardise", "scale the columns to mean 0 and unit variance", changed

    def more_l2(self) -> Iterator[_Option]:
        """Weights of the regulariser, up to about the largest curvature."""
        top = float(self.before.curvature.L)
        first = max(self.setup.l2, 1e-4 * top)
        for exponent in np.arange(0.5, 5.0, 0.5):
            value = float(f"{first * 10**exponent:.2g}")
            if value > 2.0 * top:
                return

            yield "l2", f"l2 = {value:g}", replace(self.setup, l2=value)

    def shuffled(self) -> Iterator[_Option]:
        """Rows in a random order, where they are in the order of the file."""
        if self.setup.shuffle is None:
            yield "shuffle", "shuffle the rows before batches are made", self.setup.shuffled(0)

    def fewer_rows(self, rows: tuple[int, ...]) -> Iterator[_Option]:
        """Without the rows that drive the growth."""
        for named in self._more_rows(rows):
            kept = np.setdiff1d(np.arange(self.setup.rows), named)
            action = f"drop {named_rows(self.setup.in_source(named))}"
            yield "drop rows", action, self.setup.taking(kept)

    def clipped_rows(self, rows: tuple[int, ...]) -> Iterator[_Option]:
        """The rows that drive the growth at the median length, their squared loss with them."""
        sizes = np.sqrt(row_sizes(self.before.model))
        for named in self._more_rows(rows):
            chosen = list(named)
            factors = np.ones(len(sizes))
            factors[chosen] = np.minimum(1.0, np.median(sizes) / np.maximum(sizes[chosen], 1e-300))
            y = self.setup.y * factors if self.setup.loss == "squared" else self.setup.y
            action = f"clip {named_rows(self.setup.in_source(named))} to the median length"
            changed = replace(self.setup, X=scaled_rows(self.setup.X, factors), y=y)
            yield "clip rows", action, changed

    def _more_rows(self, rows: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The rows that drive the growth, then also those that drive what is left, a few times."""
        most = max(_ROW_LEAST, int(_ROW_SHARE * self.setup.rows))
        place = {int(row): i for i, row in enumerate(self.setup.source_rows)}
        for _ in range(_ROW_ROUNDS):
            if not rows or len(rows) > most:
                return

            yield rows
            changed, seen = self._last
            why = disagreement(seen, self.method(seen), changed.columns)
            more = [place[row] for row in changed.in_source(why.rows)]
            fresh = tuple(row for row in more if row not in rows)
            rows = (*rows, *fresh) if fresh else ()


def remedies(
    setup: Setup,
    before: Survey,
    method: Method | None,
    rows: tuple[int, ...],
    *,
    seed: int,
    seconds: float,
    budget: TimeBudget,
) -> list[Remedy]:
    """Try the options on the method, as many as ``seconds`` of counted work allow.

    Of each kind the mildest comes first, and the first that works counts.
    """
    most = int(np.clip(0.5 * seconds / _trial_work(before), 1, _MOST_TRIALS))
    trials = _Trials(setup, before, method)
    families = (
        trials.batch_sizes(),
        trials.scaled(),
        trials.more_l2(),
        trials.shuffled(),
        trials.fewer_rows(rows),
        trials.clipped_rows(rows),
    )
    tried: list[Remedy] = []
    count = 0
    for options in families:
        last: Remedy | None = None
        for option in options:
            if count >= most or budget.over:
                budget.leave_out("some of the remedies")
                break

            count += 1
            try:
                last = trials.judge(*option, seed, 0.5 * seconds / most)
            except ValueError:
                # A label is lost with the rows.
                break
            if last.works:
                break

        if last is not None:
            tried.append(last)

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


def worth_scaling(setup: Setup) -> bool:
    """Whether the columns differ in scale by so much that standardising them may help."""
    mean, deviation = column_sizes(setup.X)
    size = np.sqrt(mean**2 + deviation**2)
    used = size[deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300)]
    if not used.size:
        return False

    return bool(used.max() > _SCALES * used.min() or (np.abs(mean) > deviation).any())


def scaling(
    setup: Setup, share_before: float, steps: int, *, seed: int, seconds: float
) -> Scaling | None:
    """Race again on standardised columns; None where they are alike or the time is short."""
    if not worth_scaling(setup):
        return None

    after = survey(replace(setup, X=standardised(setup.X)))
    result = race(after, steps=steps, seed=seed, seconds=seconds)
    if result is None:
        return None

    share = result.excess / after.start_excess
    return Scaling(float(after.curvature.Q), share_before, share, result.best)


def named_rows(rows: tuple[int, ...]) -> str:
    """Rows in words: "row 7", or "rows 7, 12 and 40"."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > 6:
        return f"rows {', '.join(str(r) for r in rows[:5])} and {len(rows) - 5} more"

    return f"rows {', '.join(str(r) for r in rows[:-1])} and {rows[-1]}"


def affordable(seen: Survey) -> bool:
    """Whether the data are small enough to be diagnosed again for every remedy."""
    model = seen.model
    return model.entries <= REMEDY_ENTRIES and model.dimension <= REMEDY_DIRECTIONS
