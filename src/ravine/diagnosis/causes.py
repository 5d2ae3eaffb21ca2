"""Causes of the instability of the judged method, and remedies.

The second moments show which batches, rows and columns drive the growth. Remedies are tried on the
data; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import Recipe
from ravine.diagnosis.columns import column_sizes
from ravine.diagnosis.prediction import Outcome, Prediction, critical_batch, judge_outcome
from ravine.diagnosis.race import race
from ravine.diagnosis.setup import Setup, scaled_rows, standardised
from ravine.diagnosis.stability import growths
from ravine.diagnosis.survey import Survey, row_sizes, survey
from ravine.diagnosis.work import Budget
from ravine.methods import Method, nesterov

_SHOWN = 5
"""Maximum number of batches and rows that are named."""
_LEADING = 0.1
"""Share of the cause from which a row is one of those that matter."""
REMEDY_ENTRIES = 4_000_000
REMEDY_DIRECTIONS = 128
"""Largest data that are diagnosed again for every remedy."""
_SCALES = 3.0
"""Ratio of column sizes from which scaling is worthwhile."""
_Option: TypeAlias = tuple[str, Setup]
"""A change in words, and the data after the change."""


@dataclass(frozen=True, eq=False)
class Disagreement:
    """How the batch Hessians differ.

    Attributes
    ----------
    size
        √(E ‖H_b - H‖²) / ‖H‖ in the Frobenius norm, over the directions of the second moments.
    direction
        Unit vector along which they disagree, in the coordinates of the problem, shape (d,).
    columns
        Its main columns as (name, weight); the squared weights of all columns add up to 1.
    batches
        The batches that drive the disagreement, the strongest first; empty if every epoch has new
        batches, because then rows drive it.
    shares
        Share of each batch (of each of ``rows`` if there are no ``batches``) in the growth that the
        disagreement adds to the mean square.
    ratios
        Curvature of each of them along the direction, divided by the average.
    rows
        Rows of the model that drive the disagreement, or that contribute most to the curvature of
        the first batch; the strongest first.
    row_shares
        Share of each of these rows in the instability, or in the curvature of that batch.
    """

    size: float
    direction: FloatArray
    columns: tuple[tuple[str, float], ...]
    batches: tuple[int, ...]
    shares: tuple[float, ...]
    ratios: tuple[float, ...]
    rows: tuple[int, ...]
    row_shares: tuple[float, ...]

    @property
    def leading(self) -> dict[int, float]:
        """The rows with a tenth of it or more, and their shares."""
        both = zip(self.rows, self.row_shares, strict=True)
        return {row: share for row, share in both if share >= _LEADING}


def disagreement(survey: Survey, method: Method) -> Disagreement:
    """Find what drives the mean-square growth of a method, or would drive it if it grew.

    The direction is the main axis of the fastest growing second moments.
    """
    moments, batching = survey.moments, survey.batching
    mean_square = moments.sandwich(np.eye(moments.dimension))
    grown = moments.perron(method)
    unstable = grown.value >= 1.0
    pushed = grown.moments if unstable else mean_square
    shares = moments.shares(grown) if unstable else moments.deviations.squares()
    shares = np.maximum(shares * moments.weights, 0.0)
    total = float(shares.sum())
    shares = shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))

    axis = np.linalg.eigh(pushed)[1][:, -1]
    mean = float(axis**2 @ moments.eigenvalues)
    along = moments.deviations.along(axis)

    if not batching.fixed:
        # A row deviates more than a batch, by the root of this factor.
        along = along / np.sqrt(max(batching.variance_factor, 1e-300))

    lead = np.argsort(shares)[::-1][:_SHOWN]
    named = tuple(int(survey.sample[i]) for i in lead)
    lead_shares = tuple(float(shares[i]) for i in lead)
    direction = survey.moments.basis @ axis
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    rows = _rows(survey, direction, named[0]) if batching.fixed else (named, lead_shares)
    norm = float(np.linalg.norm(moments.eigenvalues))
    return Disagreement(
        size=float(np.sqrt(np.trace(mean_square))) / norm,
        direction=direction,
        columns=_columns(survey, direction),
        batches=named if batching.fixed else (),
        shares=lead_shares,
        ratios=tuple(float((along[i] + mean) / mean) for i in lead),
        rows=rows[0],
        row_shares=rows[1],
    )


def _rows(
    survey: Survey, direction: FloatArray, batch: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The fewest rows, at most five, with most of the batch's curvature along the direction."""
    rows = survey.batching.batch(batch)
    roots = survey.model.row_roots(rows, survey.minimiser, direction[:, None])
    parts = (roots**2).sum(axis=(1, 2))
    total = float(parts.sum())

    if total <= 0.0:
        return (), ()

    strongest = np.argsort(parts)[::-1][:_SHOWN]
    enough = int(np.searchsorted(np.cumsum(parts[strongest]) / total, 0.8)) + 1
    kept = strongest[:enough]

    return tuple(int(rows[i]) for i in kept), tuple(float(parts[i] / total) for i in kept)


def _columns(survey: Survey, direction: FloatArray) -> tuple[tuple[str, float], ...]:
    """The columns that make up most of a direction, with their weights."""
    weights = direction
    if survey.model.outputs > 1:
        weights = np.linalg.norm(direction.reshape(survey.model.features, -1), axis=1)

    # At most three columns, each with at least a fifth of the largest weight.
    lead = np.argsort(np.abs(weights))[::-1][:3]
    kept = [j for j in lead if abs(weights[j]) > 0.2 * abs(weights[lead[0]])]

    return tuple((survey.setup.columns[j], float(weights[j])) for j in kept)


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
        Growth of the root-mean-square error per step after the change.
    outcome
        Outcome of the method after the change.
    """

    kind: str
    action: str
    rate: float
    outcome: Outcome

    @property
    def works(self) -> bool:
        """Whether the method converges after the change."""
        return self.outcome is Outcome.CONVERGES


@dataclass(frozen=True)
class Scaling:
    """The effect of standardising the columns.

    Attributes
    ----------
    Q
        Condition number after standardising.
    share_before, share_after
        Smallest excess loss after the same epochs, as a share of that at the start, before and
        after standardising.
    recipe
        The recipe that reaches it.
    """

    Q: float
    share_before: float
    share_after: float
    recipe: Recipe

    @property
    def gain(self) -> float:
        """Factor by which the remaining loss is smaller."""
        return self.share_before / max(self.share_after, 1e-300)


class _Trials:
    """Changes of the data, the mildest first; the method is judged again after each.

    If ``yours`` is None, it is the textbook method for the changed data.
    """

    def __init__(self, before: Survey, yours: Method | None) -> None:
        self.setup = before.setup
        self.before = before
        self.yours = yours
        self.last = before

    def method(self, seen: Survey) -> Method:
        """The method to judge on changed data."""
        return nesterov(seen.curvature) if self.yours is None else self.yours

    def batch_sizes(self) -> Iterator[_Option]:
        """Larger batches; with new batches each epoch, the smallest that helps is already known."""
        rows, size = self.setup.rows, self.setup.batch_size
        known = critical_batch(self.before, self.method(self.before))
        if known is not None:
            size = max(size, min(known, rows) // 2)

        while size < rows:
            size = min(2 * size, rows)
            what = f"use batch size {size}" if size < rows else "use all rows in one batch"
            yield what, replace(self.setup, batch_size=size)

    def scaled(self) -> Iterator[_Option]:
        """Standardised columns, if their scales differ."""
        if worth_scaling(self.setup):
            changed = replace(self.setup, X=standardised(self.setup.X))
            yield "scale the columns to mean 0 and unit variance", changed

    def more_l2(self) -> Iterator[_Option]:
        """Larger weights of the regulariser, up to about the largest curvature."""
        top = float(self.before.curvature.L)
        first = max(self.setup.l2, 1e-4 * top)
        values = (float(f"{first * 10**exponent:.2g}") for exponent in np.arange(0.5, 5.0, 0.5))

        for value in values:
            if value <= 2.0 * top:
                yield f"use l2 = {value:g}", replace(self.setup, l2=value)

    def shuffled(self) -> Iterator[_Option]:
        """Rows in a random order, if they are in the order of the file."""
        if self.setup.shuffle is None:
            yield "shuffle the rows before batches are made", self.setup.shuffled(0)

    def rows_changed(self, rows: tuple[int, ...], *, dropped: bool) -> Iterator[_Option]:
        """Drop the rows that drive the growth, or clip them and their target to the median length.

        Then treat those that drive the remaining growth in the same way, a few times.
        """
        setup = self.setup
        # If these are most of the rows, the rest is a different table.
        most = max(5, int(0.02 * setup.rows))
        place = {int(row): i for i, row in enumerate(setup.source_rows)}
        sizes = np.sqrt(row_sizes(self.before.model))

        for _ in range(6):
            if not rows or len(rows) > most:
                return

            words = named_rows(setup.in_source(rows))
            if dropped:
                yield f"drop {words}", setup.taking(np.setdiff1d(np.arange(setup.rows), rows))
            else:
                shorter = np.minimum(1.0, np.median(sizes) / np.maximum(sizes, 1e-300))
                factors = np.where(np.isin(np.arange(setup.rows), rows), shorter, 1.0)
                y = setup.y * factors if setup.loss == "squared" else setup.y
                changed = replace(setup, X=scaled_rows(setup.X, factors), y=y)
                yield f"clip {words} to the median length", changed

            why = disagreement(self.last, self.method(self.last))
            more = (place[row] for row in self.last.setup.in_source(why.rows))
            fresh = tuple(row for row in more if row not in rows)
            rows = (*rows, *fresh) if fresh else ()


def remedies(
    before: Survey, yours: Method | None, rows: tuple[int, ...], *, budget: Budget
) -> list[Remedy]:
    """Try as many options as the budget allows.

    The options of each kind are tried from the mildest on, until one works.
    """
    seconds = 0.5 * budget.begin("trying remedies")
    most = int(np.clip(seconds / _trial_work(before), 1, 40))
    trials = _Trials(before, yours)
    kinds: dict[str, Iterable[_Option]] = {
        "batch size": trials.batch_sizes(),
        "standardise": trials.scaled(),
        "l2": trials.more_l2(),
        "shuffle": trials.shuffled(),
        "drop rows": trials.rows_changed(rows, dropped=True),
        "clip rows": trials.rows_changed(rows, dropped=False),
    }
    tried: dict[str, Remedy] = {}
    count = 0

    for kind, options in kinds.items():
        for action, changed in options:
            if count >= most:
                budget.leave_out("some of the remedies")
                break

            count += 1
            try:
                seen = survey(changed)
            except ValueError:
                # A label may disappear with the rows.
                break

            trials.last = seen
            both = growths(seen, trials.method(seen), seconds=seconds / most)
            remedy = Remedy(kind, action, both.mean_square.rate, judge_outcome(both))
            tried[kind] = remedy
            if remedy.works:
                break

    return list(tried.values())


def _trial_work(before: Survey) -> float:
    """Counted seconds to try one option: a survey, and growth by second moments.

    A survey computes the d² products of each row once or twice; the search for the growth rate
    applies the second-moment operator about fifty times, to the sampled rows or to a table of d⁴/2
    entries.
    """
    d = before.moments.dimension
    rows = 2.0 * before.model.rows * d**2
    moments = 50.0 * min(len(before.sample) * d**2, 0.5 * d**4)

    return 0.02 + 1e-9 * (rows + moments)


def worth_scaling(setup: Setup) -> bool:
    """Whether the scales of the columns differ so much that standardising may help."""
    mean, deviation = column_sizes(setup.X)
    size = np.sqrt(mean**2 + deviation**2)
    used = size[deviation > 0.0]
    far = np.abs(mean) > deviation
    return bool(used.size and (used.max() > _SCALES * used.min() or far.any()))


def standardised_race(
    seen: Survey, best: Prediction | None, steps: int, budget: Budget
) -> Scaling | None:
    """Repeat the race on standardised columns, if scales differ and much of the loss remains."""
    setup = seen.setup
    share = 1.0 if best is None else best.loss / seen.start_excess
    # If no loss remains, or the problem is already well conditioned, scale is not the cause.
    if setup.standardise or share < 1e-6 or float(seen.curvature.Q) < 4.0:
        return None

    seconds = budget.begin("racing on standardised columns")
    if not worth_scaling(setup):
        return None

    after = survey(replace(setup, X=standardised(setup.X)))
    raced = race(after, steps=steps, seconds=seconds)
    if raced is None:
        return None

    return Scaling(float(after.curvature.Q), share, raced.excess / after.start_excess, raced.best)


def named_rows(rows: tuple[int, ...]) -> str:
    """Name rows: "row 7", or "rows 7, 12 and 40"."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > 6:
        return f"rows {', '.join(str(r) for r in rows[:5])} and {len(rows) - 5} more"

    return f"rows {', '.join(str(r) for r in rows[:-1])} and {rows[-1]}"


def affordable(seen: Survey) -> bool:
    """Whether the data are small enough for a new diagnosis per remedy."""
    model = seen.model
    return model.entries <= REMEDY_ENTRIES and model.dimension <= REMEDY_DIRECTIONS
