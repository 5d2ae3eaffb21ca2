"""The answer of a diagnosis as plain data: all renderers show the same lines and table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

from ravine.diagnosis.candidates import LINEAR, Recipe, momentum_digits
from ravine.diagnosis.prediction import Prediction
from ravine.diagnosis.verdict import notes, percent, what_is_certain, what_is_wrong, what_to_do
from ravine.digits import counted, rate_digits
from ravine.markup import Cell
from ravine.theory.finite_sums.growth import Growth

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis

_short = partial(percent, short=True)


@dataclass(frozen=True)
class Column:
    """A column of the table of methods.

    Attributes
    ----------
    key, title
        The key of its raw values, and its heading.
    number
        Whether it is aligned right.
    detail
        Whether it is hidden where space is limited: in a terminal, a notebook, the page.
    """

    key: str
    title: str
    number: bool = True
    detail: bool = False


@dataclass(frozen=True)
class MethodRow:
    """One method: a text for each column, and the corresponding numbers.

    Attributes
    ----------
    key
        The key of the method, as in ``Candidate.key``.
    cells
        Texts, in the order of the columns.
    values
        Raw values by the key of their column; None if there is none.
    tone
        ``"good"``, ``"bad"`` or ``"unsure"``, for the colour of the outcome.
    recommended, fastest
        Whether this row is the recommendation, and whether it reaches 1 % of the excess loss first.
    """

    key: str
    cells: tuple[str, ...]
    values: dict[str, float | str | None]
    tone: str
    recommended: bool
    fastest: bool


@dataclass(frozen=True)
class MethodTable:
    """All methods that were judged, one row each.

    Attributes
    ----------
    columns
        The columns, in the order of the cells.
    rows
        The methods; the judged one comes first.
    caption
        What the columns mean, in a few sentences.
    """

    columns: tuple[Column, ...]
    rows: tuple[MethodRow, ...]
    caption: str

    def cells(self, *, detail: bool = False) -> tuple[list[Cell], list[list[Cell]]]:
        """The header and the rows: the names with the detail columns, or with all others.

        Outcomes have the colour of their tone.
        """
        shown = [column.detail is detail or column.key == "method" for column in self.columns]
        columns = list(compress(self.columns, shown))
        head = [Cell(column.title, number=column.number) for column in columns]
        rows = [
            [
                Cell(text, row.tone if column.key == "outcome" else "", column.number)
                for column, text in zip(columns, compress(row.cells, shown), strict=True)
            ]
            for row in self.rows
        ]

        return head, rows


@dataclass(frozen=True)
class Answer:
    """What to do, what is wrong, what is guaranteed: the same lines in every renderer.

    Attributes
    ----------
    do
        The setting to use, and the loss that remains.
    why
        What happens with the judged setting (the textbook one unless one was given), and which rows
        and columns cause it.
    certain
        What is guaranteed.
    data
        What was read, and how it was treated.
    notes
        At most three further lines.
    methods
        The table of methods.
    tone
        ``"good"``, ``"bad"`` or ``"unsure"``: the outcome of the judged setting.
    """

    do: str
    why: str
    certain: str
    data: tuple[str, ...]
    notes: tuple[str, ...]
    methods: MethodTable
    tone: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The three lines that come first."""
        return self.do, self.why, self.certain


def make_answer(result: Diagnosis) -> Answer:
    """Describe a diagnosis in a few sentences and one table."""
    return Answer(
        do=what_to_do(result),
        why=what_is_wrong(result),
        certain=what_is_certain(result),
        data=_data(result),
        notes=notes(result),
        methods=method_table(result),
        tone=result.subject.outcome.tone,
    )


def _data(result: Diagnosis) -> tuple[str, ...]:
    """The data that were read, how they were treated, and notes about them."""
    setup, batching = result.setup, result.survey.batching
    target = f", target {setup.target!r}" if setup.target else ""
    batches = f"batches of {batching.batch_size} rows {batching.sampling.traits.phrase}"

    if batching.steps_per_epoch == 1:
        batches = "one batch of all rows"

    read = (
        f"{result.name}: {batching.rows} rows, {counted(setup.features, 'column')}{target}, "
        f"{setup.loss} loss, l2 = {setup.l2:.3g}, {batches}"
    )
    scaled = "standardised" if setup.standardise else "not scaled"
    shift = "intercept added" if setup.intercept else "no intercept added"
    findings = (f"{f.message}: {f.remedy}" if f.remedy else f.message for f in result.findings)

    return read, f"columns {scaled}, {shift}", *findings


def method_table(result: Diagnosis) -> MethodTable:
    """The table of methods that every renderer shows."""
    caption = (
        "Loss left: what remains of the excess loss (above the minimum) after "
        f"{counted(result.epochs, 'epoch')}, mean of {result.runs.seeds} runs. To 1 %: steps until "
        "1 % remains. *: recommended."
    )
    hidden = "held_out" if result.setup.held_out is None else ""
    if not hidden:
        caption += " Held out: mean loss on the held-out rows."

    every = [_described(result, p) for p in result.predictions]
    columns = tuple(column for column, *_ in every[0] if column.key != hidden)
    rows = []
    for p, described in zip(result.predictions, every, strict=True):
        texts = {c.key: "-" if value is None else text(value) for c, value, text in described}
        row = MethodRow(
            key=p.candidate.key,
            cells=tuple(texts[column.key] for column in columns),
            values={column.key: value for column, value, _ in described},
            tone=p.outcome.tone,
            recommended=p is result.recommendation,
            fastest=p is result.quick,
        )
        rows.append(row)

    return MethodTable(columns, tuple(rows), caption)


def _described(result: Diagnosis, p: Prediction) -> list[tuple[Column, Any, Callable[[Any], str]]]:
    """Every column, with the value of a method and how it is written."""
    recipe = p.candidate.recipe
    word, more = partial(Column, number=False), partial(Column, detail=True)
    star = " *" if p is result.recommendation else ""
    distance = math.inf
    if p.error_after is not None:
        distance = math.sqrt(p.error_after.value / max(result.survey.start_square, 1e-300))

    near = p.steps_to_1_percent if p.safe else math.inf
    floor = p.excess_floor and result.share(p.excess_floor.value)
    return [
        (word("method", "method"), p.candidate.name, lambda name: f"{name}{star}"),
        (Column("lr", "lr"), float(recipe.method.alpha), "{:.3g}".format),
        (Column("momentum", "momentum"), float(recipe.method.beta), momentum_digits),
        (word("schedule", "schedule"), _schedule(recipe), str),
        (word("outcome", "outcome"), p.outcome.value, str),
        (Column("excess_share", "loss left"), result.share(p.loss), _short),
        (Column("held_out", "held out"), p.held_out_loss, "{:.4g}".format),
        (Column("steps_to_1_percent", "to 1 %"), near, _count),
        (more("distance_share", "distance left"), distance, _short),
        (more("spectral_radius", "exact gradients"), p.spectral_radius, rate_digits),
        (more("rate", "mean square"), p.rate, lambda _: _rate(p.mean_square)),
        (more("almost_sure", "almost sure"), p.almost_sure.rate, lambda _: _rate(p.almost_sure)),
        (more("worst_case", "any order"), p.worst_case_rate, rate_digits),
        (more("floor_share", "noise floor"), floor, _short),
        (more("smallest_stable_batch", "smallest stable batch"), p.critical_batch_size, _count),
    ]


def _schedule(recipe: Recipe) -> str:
    """The schedule in two words."""
    if recipe.averaged:
        return "averaged"
    if recipe.constant:
        return "constant"

    return "linear decay" if recipe.constant_share <= LINEAR else "late decay"


def _count(steps: float) -> str:
    return f"{steps:.0f}" if math.isfinite(steps) else "-"


def _rate(g: Growth) -> str:
    """A rate per step, with its limits if it is an estimate."""
    power = 0.5 if g.sense.power == 2 else 1.0
    reach = 0.5 * (g.high**power - g.low**power)
    if g.exact or reach < 1e-7 or g.rate > 100.0:
        return rate_digits(g.rate)

    return f"{g.rate:.{max(0, -math.floor(math.log10(reach)))}f} ± {reach:.1g}"
