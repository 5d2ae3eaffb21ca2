"""A diagnosis as the page shows it: the answer, the plane of the data, and the measured losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.figures.style import METHODS
from ravine.report.diagnosis_pictures import plane
from ravine.web.picture import Axis, Dot, Fill, Line, Picture, decades

if TYPE_CHECKING:
    from ravine.diagnosis import Diagnosis

_MOST = 6  # methods whose losses are drawn


def diagnosis_result(result: Diagnosis) -> dict[str, Any]:
    """Everything that the page shows of a diagnosis, as plain values that JSON can hold."""
    record = result.to_dict()
    return finite(
        {
            "answer": _answer(record),
            "L": record["curvature"]["L"],
            "plane": _plane_picture(result, record).as_json(),
            "curves": _curves(record).as_json(),
        }
    )


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    first, _, rest = record["verdict"].partition(". ")
    return {"do": first + ".", "why": rest, "certain": "", "data": [], "notes": [], "tone": ""}


def _plane_picture(result: Diagnosis, record: dict[str, Any]) -> Picture:
    data = plane(result)
    from ravine.figures.plane import Plane, Region

    def region(rate: Any, colour: str, words: str) -> Region:
        return Region(words, words, words, colour, ("#ffffff", "-"), words, np.exp(rate.T))

    regions = [
        region(data.exact_gradients, "#ffffcc", "converges with exact gradients"),
        region(data.mean_square, "#41b6c4", "converges with these batches"),
    ]
    plain = Plane(data.steps, data.momenta, tuple(regions), log=True)
    layers: list[Any] = [Fill(plain.borders(one), one.colour, one.words) for one in regions]
    L = record["curvature"]["L"]
    named = {record["recommended"], record["methods"][0]["key"]}
    layers += [
        Dot(one["alpha"] * L, one["beta"], one["key"], one["name"], one["key"] in named)
        for one in record["methods"]
    ]
    x = Axis("step size αL", float(data.steps[0]), float(data.steps[-1]), log=True)
    return Picture(x, Axis("momentum β", float(data.momenta[0]), 1.0), layers)


def _curves(record: dict[str, Any]) -> Picture:
    """Measured loss of the methods that matter most, with the floor predicted for each."""
    lines = []
    for method in _foremost(record)[:_MOST]:
        measured = method["measured"]
        steps = np.asarray(measured["loss_steps"], dtype=np.float64)
        values = np.asarray(measured["excess"], dtype=np.float64)
        shown = np.where(np.isfinite(values) & (values > 0.0), values, np.nan)
        if not np.isfinite(shown).any():
            continue
        colour = METHODS[method["key"]].colour
        lines.append(Line(steps, shown, colour, method["name"]))
        floor = method["excess_floor"]
        if floor and floor["value"]:
            ends = steps[[0, -1]]
            lines.append(Line(ends, np.full(2, floor["value"]), colour, width=1.4, dash=":"))

    last = max((float(line.x[-1]) for line in lines), default=1.0)
    return Picture(Axis("step", 0, last), decades(lines, "f(y) − f*, mean of the runs"), lines)


def _foremost(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The recommended method, the one that was asked about, the quick one; then the others."""
    methods = record["methods"]
    first = [record["recommended"], methods[0]["key"], record["quick"]]
    return sorted(methods, key=lambda one: first.index(one["key"]) if one["key"] in first else 3)


def finite(value: Any) -> Any:
    """A value with numbers that JSON can hold: infinite ones become None."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None

    return value
