"""A diagnosis as the page shows it: the answer, the plane of the data, and the measured losses."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.figures.plane import Plane, Region
from ravine.figures.style import METHODS
from ravine.markup import Cell, table
from ravine.report.diagnosis_pictures import plane
from ravine.web.picture import Layer, axis, decades, joined, line

if TYPE_CHECKING:
    from ravine.diagnosis import Diagnosis

FRAMEWORKS = ("torch", "sklearn", "numpy")
_MOST = 6  # methods whose losses are drawn


def shown(result: Diagnosis) -> dict[str, Any]:
    """Everything that the page shows of a diagnosis, as plain values that JSON can hold."""
    record = result.to_dict()
    return {
        "read": result.answer.data,
        "html": _html(result),
        "L": record["curvature"]["L"],
        "plane": _plane_picture(result, record),
        "curves": _curves(record),
    }


def _html(result: Diagnosis) -> str:
    """What to do, with code to copy, and all methods; what comes from the table is escaped."""
    answer = result.answer
    lines = "".join(f"<p>{escape(words)}</p>" for words in answer.lines)
    notes = "".join(f'<p class="hint">{escape(words)}</p>' for words in answer.notes)
    codes = "".join(
        f'<div class="row code-head"><span class="hint">{name}</span>'
        f'<button class="quiet small" data-copy="code-{name}">Copy</button></div>'
        f'<pre id="code-{name}" tabindex="0">{escape(result.code(name))}</pre>'
        for name in FRAMEWORKS
    )
    methods = answer.methods.short()
    header = [Cell(column.title, number=column.number) for column in methods.columns]
    rows = [
        [
            Cell(text, row.tone if column.key == "outcome" else "", column.number)
            for column, text in zip(methods.columns, row.cells, strict=True)
        ]
        for row in methods.rows
    ]
    return (
        f'<h2>What to do</h2><div class="lead {answer.tone}">{lines}</div>{notes}'
        f"<details><summary>Code to copy</summary>{codes}</details>"
        f'<h2>All methods</h2>{table(header, rows)}<p class="hint">{escape(methods.caption)}</p>'
    )


def _plane_picture(result: Diagnosis, record: dict[str, Any]) -> dict[str, Any]:
    data = plane(result)

    def region(rate: Any, colour: str, words: str) -> Region:
        return Region(words, words, words, colour, ("#ffffff", "-"), words, np.exp(rate.T))

    regions = [
        region(data.exact_gradients, "#ffffcc", "converges with exact gradients"),
        region(data.mean_square, "#41b6c4", "converges with these batches"),
    ]
    plain = Plane(data.steps, data.momenta, tuple(regions), log=True)
    layers: list[Layer] = [
        {"kind": "fill", "colour": one.colour, "words": one.words, **joined(plain.borders(one))}
        for one in regions
    ]
    L = record["curvature"]["L"]
    named = {record["recommended"], record["methods"][0]["key"]}
    layers += [
        {
            "kind": "dot",
            "x": one["alpha"] * L,
            "y": one["beta"],
            "key": one["key"],
            "words": one["name"],
            "named": one["key"] in named,
        }
        for one in record["methods"]
    ]
    ends = float(data.steps[0]), float(data.steps[-1])
    return {
        "x": axis("step size αL", *ends, log=True),
        "y": axis("momentum β", float(data.momenta[0]), 1.0),
        "layers": layers,
    }


def _curves(record: dict[str, Any]) -> dict[str, Any]:
    """Measured loss of the methods that matter most, with the floor predicted for each."""
    first = [record["recommended"], record["methods"][0]["key"], record["quick"]]
    methods = sorted(
        record["methods"], key=lambda one: first.index(one["key"]) if one["key"] in first else 3
    )
    lines = []
    for method in methods[:_MOST]:
        steps = np.asarray(method["measured"]["loss_steps"], dtype=np.float64)
        values = np.asarray(method["measured"]["excess"], dtype=np.float64)
        colour = METHODS[method["key"]].colour
        seen = np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
        lines.append(line(steps, seen, colour, method["name"]))
        floor = method["excess_floor"]
        if floor and floor["value"]:
            level = np.full(2, floor["value"])
            lines.append(line(steps[[0, -1]], level, colour, width=1.4, dash=":"))

    last = max(float(one["x"][-1]) for one in lines)
    return {
        "x": axis("step", 0, last),
        "y": decades(lines, "f(y) − f*, mean of the runs"),
        "layers": lines,
    }
