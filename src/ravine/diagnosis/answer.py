"""The answer of a diagnosis as plain data: every renderer shows these lines and this table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ravine.diagnosis.prediction import Prediction
from ravine.diagnosis.recipe import Recipe, momentum_digits
from ravine.diagnosis.verdict import (
    digits,
    loss_share,
    notes,
    percent,
    share_of_start,
    what_is_certain,
    what_is_wrong,
    what_to_do,
)
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
    values: dict[str, float | str | bool | None]
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

    def _of(self, kept: list[int]) -> MethodTable:
        rows = tuple(replace(r, cells=tuple(r.cells[i] for i in kept)) for r in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """Columns and rows as plain values, for JSON."""
        return {
            "columns": [vars(column) for column in self.columns],
            "rows": [{**vars(row), "cells": list(row.cells)} for row in self.rows],
            "caption": self.caption,
        }


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

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "do": self.do, "why": self.why, "certain": self.certain, "data": list(self.data),
            "notes": list(self.notes), "methods": self.methods.to_dict(), "tone": self.tone,
        }  # fmt: skip


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
    setup = result.setup
    cut = result.survey.cut
    target = f", target {setup.target!r}" if setup.target else ""
    loss = result.survey.model.loss.name
    many = "1 column" if setup.features == 1 else f"{setup.features} columns"
    read = (
        f"{result.name}: {cut.rows} rows, {many}{target}, {loss} loss, "
        f"l2 = {result.survey.model.l2:.3g}, batches of {cut.batch_size} {cut.phrase}"
    )
    scaled = "standardised" if setup.standardise else "not scaled"
    shift = "intercept added" if setup.intercept else "no intercept added"
    findings = (f"{f.message}: {f.remedy}" if f.remedy else f.message for f in result.findings)

    return read, f"columns {scaled}, {shift}", *findings


def method_table(result: Diagnosis) -> MethodTable:
    """The table of methods that every renderer shows."""
    columns = [
        Column("method", "method", number=False),
        Column("lr", "lr"),
        Column("momentum", "momentum"),
        Column("schedule", "schedule", number=False),
        Column("outcome", "outcome", number=False),
        Column("excess_share", "loss left"),
        Column("steps_to_1_percent", "to 1 %"),
        Column("distance_share", "distance left", detail=True),
        Column("spectral_radius", "exact gradients", detail=True),
        Column("rate", "mean square", detail=True),
        Column("almost_sure", "almost sure", detail=True),
        Column("worst_case", "any order", detail=True),
        Column("floor_share", "noise floor", detail=True),
        Column("smallest_stable_batch", "smallest stable batch", detail=True),
    ]
    caption = (
        f"Loss left: excess over the minimum after {result.epochs} epochs, as a share of the "
        f"start's, mean of {result.runs.seeds} runs. To 1 %: steps to 1 % of it. * recommended."
    )
    if result.subject.held_out is not None:
        columns.insert(6, Column("held_out", "held out"))
        caption += " Held out: mean loss of the rows set aside."

    rows = tuple(_row(result, p, tuple(columns)) for p in result.predictions)
    return MethodTable(tuple(columns), rows, caption)


def _row(result: Diagnosis, p: Prediction, columns: tuple[Column, ...]) -> MethodRow:
    recipe = p.candidate.recipe
    best = p is result.recommendation
    after, floor = p.error_after, p.floor_excess
    values: dict[str, float | str | bool | None] = {
        "method": p.candidate.name,
        "lr": float(recipe.method.alpha),
        "momentum": float(recipe.method.beta),
        "schedule": recipe.schedule.words,
        "averaged": recipe.averaged,
        "outcome": p.outcome.value,
        "excess_share": loss_share(result, p.loss),
        "steps_to_1_percent": p.to_near,
        "distance_share": math.inf if after is None else share_of_start(result, after.value),
        "spectral_radius": p.spectral_radius,
        "rate": p.rate,
        "almost_sure": p.almost_sure.value,
        "worst_case": p.worst_case,
        "floor_share": None if floor is None else loss_share(result, floor.value),
        "smallest_stable_batch": p.critical_batch,
        "held_out": p.held_out,
    }
    texts = {
        "method": p.candidate.name + (" *" if best else ""),
        "lr": f"{float(recipe.method.alpha):.3g}",
        "momentum": momentum_digits(float(recipe.method.beta)),
        "schedule": _schedule(recipe),
        "outcome": p.outcome.value,
        "excess_share": _share(values["excess_share"]),
        "steps_to_1_percent": f"{p.to_near:.0f}" if math.isfinite(p.to_near) else _NONE,
        "distance_share": _share(values["distance_share"]),
        "spectral_radius": digits(p.spectral_radius),
        "rate": _rate(p.mean_square),
        "almost_sure": _rate(p.almost_sure),
        "worst_case": _NONE if p.worst_case is None else digits(p.worst_case),
        "floor_share": _NONE if floor is None else _share(values["floor_share"]),
        "smallest_stable_batch": _NONE if p.critical_batch is None else str(p.critical_batch),
        "held_out": _NONE if p.held_out is None else f"{p.held_out:.4g}",
    }
    return MethodRow(
        p.candidate.key, tuple(texts[column.key] for column in columns), values, p.outcome.tone,
        best, p is result.quick,
    )  # fmt: skip


def _schedule(recipe: Recipe) -> str:
    """The schedule in two words."""
    if recipe.averaged:
        return "averaged"
    if recipe.schedule.constant:
        return "constant"

    return "linear decay" if recipe.schedule.constant_share <= 0.0 else "late decay"


def _share(share: Any) -> str:
    """A share in few characters."""
    if math.isfinite(share) and share > 999.0:
        return f"{share:.0e} x"

    return percent(share)


def _rate(g: Growth) -> str:
    """A rate per step, with its limits where it is an estimate."""
    power = 0.5 if g.sense.power == 2 else 1.0
    value = g.value**power
    reach = 0.5 * (g.high**power - g.low**power)
    if g.exact or reach < 1e-7 or value > 100.0:
        return digits(value)

    return f"{digits(value)} ± {reach:.1g}"
