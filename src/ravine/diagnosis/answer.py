"""The answer of a diagnosis as plain data: every renderer shows these lines and this table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ravine.diagnosis.candidates import momentum_digits
from ravine.diagnosis.prediction import Prediction
from ravine.diagnosis.verdict import (
    digits,
    notes,
    percent,
    what_is_certain,
    what_is_wrong,
    what_to_do,
)
from ravine.markup import Cell
from ravine.theory.finite_sums.growth import Growth

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis

_NONE = "-"


@dataclass(frozen=True)
class Column:
    """A column of the table of methods.

    Attributes
    ----------
    key, title
        The name of its raw values, and its heading.
    number
        Whether it is set to the right.
    detail
        Whether it is left out where there is little space: a terminal, a notebook, the page.
    """

    key: str
    title: str
    number: bool = True
    detail: bool = False


_COLUMNS = (
    Column("method", "method", number=False),
    Column("lr", "lr"),
    Column("momentum", "momentum"),
    Column("schedule", "schedule", number=False),
    Column("outcome", "outcome", number=False),
    Column("excess_share", "loss left"),
    Column("held_out", "held out"),
    Column("steps_to_1_percent", "to 1 %"),
    Column("distance_share", "distance left", detail=True),
    Column("spectral_radius", "exact gradients", detail=True),
    Column("rate", "mean square", detail=True),
    Column("almost_sure", "almost sure", detail=True),
    Column("worst_case", "any order", detail=True),
    Column("floor_share", "noise floor", detail=True),
    Column("smallest_stable_batch", "smallest stable batch", detail=True),
)
_Value = float | str | None


@dataclass(frozen=True)
class MethodRow:
    """One method: a text for each column, and the numbers behind the texts.

    Attributes
    ----------
    key
        Which method it is, as in ``Candidate.key``.
    cells
        Texts, in the order of the columns.
    values
        Raw values by the key of their column; None where there is none.
    tone
        ``"good"``, ``"bad"`` or ``"unsure"``, for the colour of the outcome.
    recommended, fastest
        Whether this row is the recommendation, and the first at 1 % of the excess loss.
    """

    key: str
    cells: tuple[str, ...]
    values: dict[str, _Value]
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
        The methods: the judged one first.
    caption
        What the columns mean, in a few sentences.
    """

    columns: tuple[Column, ...]
    rows: tuple[MethodRow, ...]
    caption: str

    def short(self) -> MethodTable:
        """The same without the columns of detail."""
        return self._of([i for i, column in enumerate(self.columns) if not column.detail])

    def detail(self) -> MethodTable:
        """The names of the methods and the columns of detail."""
        return self._of([i for i, column in enumerate(self.columns) if column.detail or i == 0])

    def cells(self) -> tuple[list[Cell], list[list[Cell]]]:
        """The head and the rows as a page shows them; outcomes have the colour of their tone."""
        head = [Cell(column.title, number=column.number) for column in self.columns]
        rows = [
            [
                Cell(text, row.tone if column.key == "outcome" else "", column.number)
                for text, column in zip(row.cells, self.columns, strict=True)
            ]
            for row in self.rows
        ]

        return head, rows

    def _of(self, kept: list[int]) -> MethodTable:
        rows = tuple(replace(r, cells=tuple(r.cells[i] for i in kept)) for r in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)


@dataclass(frozen=True)
class Answer:
    """What to do, what is wrong, what is certain: the same lines wherever they are shown.

    Attributes
    ----------
    do
        The setting to use, and what it leaves.
    why
        What becomes of the judged setting (the textbook one unless one was given), and which rows
        and columns cause it.
    certain
        What is guaranteed.
    data
        What was read, and what was done with it.
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
    """Put a diagnosis into words and one table."""
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
    """What was read, what was done with it, and what is worth knowing about it."""
    setup, batching = result.setup, result.survey.batching
    target = f", target {setup.target!r}" if setup.target else ""
    many = "1 column" if setup.features == 1 else f"{setup.features} columns"
    batches = f"batches of {batching.batch_size} {batching.phrase}"

    if batching.steps_per_epoch == 1:
        batches = "one batch of all rows"

    read = (
        f"{result.name}: {batching.rows} rows, {many}{target}, {setup.loss} loss, "
        f"l2 = {setup.l2:.3g}, {batches}"
    )
    scaled = "standardised" if setup.standardise else "not scaled"
    shift = "intercept added" if setup.intercept else "no intercept added"
    findings = (f"{f.message}: {f.remedy}" if f.remedy else f.message for f in result.findings)

    return read, f"columns {scaled}, {shift}", *findings


def method_table(result: Diagnosis) -> MethodTable:
    """The table of methods that every renderer shows."""
    caption = (
        f"Loss left: excess over the minimum after {result.epochs} epochs, as a share of the "
        f"start's, mean of {result.runs.seeds} runs. To 1 %: steps to 1 % of it. * recommended."
    )
    columns: tuple[Column, ...] = _COLUMNS
    if result.setup.held_out is None:
        columns = tuple(column for column in columns if column.key != "held_out")
    else:
        caption += " Held out: mean loss of the rows set aside."

    rows = []
    for p in result.predictions:
        values = _values(result, p)
        best = p is result.recommendation
        cells = [_cell(column.key, values[column.key]) for column in columns]
        cells[0] += " *" * best
        raw = {key: v.rate if isinstance(v, Growth) else v for key, v in values.items()}
        row = MethodRow(p.candidate.key, tuple(cells), raw, p.outcome.tone, best, p is result.quick)
        rows.append(row)

    return MethodTable(columns, tuple(rows), caption)


def _values(result: Diagnosis, p: Prediction) -> dict[str, _Value | Growth]:
    """The value of every column."""
    recipe = p.candidate.recipe
    distance = math.inf
    if p.error_after is not None:
        distance = math.sqrt(p.error_after.value / max(result.survey.start_square, 1e-300))

    return {
        "method": p.candidate.name,
        "lr": float(recipe.method.alpha),
        "momentum": float(recipe.method.beta),
        "schedule": recipe.schedule_word,
        "outcome": p.outcome.value,
        "excess_share": result.share(p.loss),
        "held_out": p.held_out_loss,
        "steps_to_1_percent": p.steps_to_1_percent if p.safe else math.inf,
        "distance_share": distance,
        "spectral_radius": p.spectral_radius,
        "rate": p.mean_square,
        "almost_sure": p.almost_sure,
        "worst_case": p.worst_case_rate,
        "floor_share": None if p.excess_floor is None else result.share(p.excess_floor.value),
        "smallest_stable_batch": p.critical_batch_size,
    }


def _cell(key: str, value: _Value | Growth) -> str:
    """What a cell of the table holds."""
    match key, value:
        case _, None:
            return "-"
        case _, str():
            return value
        case _, Growth():
            return _rate(value)
        case "momentum", float():
            return momentum_digits(value)
        case (("excess_share" | "distance_share" | "floor_share"), float()):
            return percent(value, short=True)
        case (("spectral_radius" | "worst_case"), float()):
            return digits(value)
        case (("steps_to_1_percent" | "smallest_stable_batch"), float() | int()):
            return f"{value:.0f}" if math.isfinite(value) else "-"

    return f"{value:.4g}" if key == "held_out" else f"{value:.3g}"


def _rate(g: Growth) -> str:
    """A rate per step, with its limits where it is an estimate."""
    power = 0.5 if g.sense.power == 2 else 1.0
    reach = 0.5 * (g.high**power - g.low**power)
    if g.exact or reach < 1e-7 or g.rate > 100.0:
        return digits(g.rate)

    return f"{digits(g.rate)} ± {reach:.1g}"
