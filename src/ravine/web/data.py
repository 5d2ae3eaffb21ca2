"""A diagnosis as the page shows it: the answer, the plane of the data, and the measured losses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader

from ravine.diagnosis.code import training_scripts
from ravine.diagnosis.report import plane
from ravine.figures.style import METHODS
from ravine.markup import table
from ravine.theory.ladder.rungs import OUTSIDE
from ravine.web.picture import axis, decades, line
from ravine.web.plane_picture import mark_layers, region_layers

if TYPE_CHECKING:
    from ravine.diagnosis import Diagnosis

_MOST = 6  # methods whose losses are drawn


def in_page_words(text: str) -> str:
    """Replace a flag of the command line by a field of the page or a whole command.

    Examples
    --------
    >>> in_page_words("use --target to change it")
    'use the field "column to predict" to change it'
    >>> in_page_words("Not computed with --time 30: floors. Use --time 150 to include them.")
    'Not computed in 30 s: floors. Use ravine diagnose --time 150 to include them.'
    """
    text = re.sub(r"with --time (\S+):", r"in \1 s:", text)
    text = re.sub(r"(use|with) --target\b", r'\1 the field "column to predict"', text)
    return re.sub(r"(?<!diagnose )(?<![\w-])--(?=[a-z])", "ravine diagnose --", text)


def shown(result: Diagnosis) -> dict[str, Any]:
    """Everything that the page shows of a diagnosis, as JSON values."""
    record = result.to_dict()
    return {
        "read": [in_page_words(words) for words in result.answer.data],
        "html": _html(result),
        "L": record["curvature"]["L"],
        "plane": _plane_picture(result, record),
        "curves": _curves(record),
    }


def _html(result: Diagnosis) -> str:
    """What to do, with code to copy, and all methods; text from the table is escaped."""
    pages = Environment(loader=PackageLoader("ravine.web", "assets"), autoescape=True)
    methods = result.answer.methods
    return pages.get_template("diagnosis.html").render(
        lines=result.answer.lines,
        notes=[in_page_words(words) for words in result.answer.notes],
        tone="" if result.recommendation else result.answer.tone,
        codes=training_scripts(result),
        methods=methods,
        table=table(*methods.cells()),
    )


def _plane_picture(result: Diagnosis, record: dict[str, Any]) -> dict[str, Any]:
    """The plane of these batches with every method that was tried."""
    whole = plane(result)
    first, last = float(whole.steps[0]), float(whole.steps[-1])
    inside = {mark.key for mark in whole.marks if first <= mark.step <= last}
    named = {record["recommended"], record["methods"][0]["key"]}
    return {
        "x": axis("step size αL", first, last, log=True),
        "y": axis("momentum β", float(whole.momenta[0]), 1.05),
        "outside": OUTSIDE,
        "layers": region_layers(whole) + mark_layers(whole, named & inside),
    }


def _curves(record: dict[str, Any]) -> dict[str, Any]:
    """Measured loss of the most important methods, with their predicted floors."""
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
