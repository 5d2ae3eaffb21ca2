"""What the page asks while it is used, and the answers: words, numbers and pictures as data.

A request is one small JSON object, an answer another. Every move is one request; a picture that has
not changed since the one that the page shows is left out of the answer.
"""

from __future__ import annotations

from typing import Any

from ravine.figures.style import METHODS, OUTSIDE
from ravine.tables.reading import NAMED
from ravine.theory.ladder.rungs import OUTSIDE as OUTSIDE_WORDS
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.code import command_line, python_code
from ravine.web.plane_picture import plane_key, plane_picture
from ravine.web.presets import PRESETS, preset_of
from ravine.web.run_picture import run_key, run_picture, turning_path
from ravine.web.view import SETTINGS, Example, View, described, from_query, parse
from ravine.web.words import at_cursor, readout

COLOURS = {"chosen": "#e69f00", "sgd": METHODS["sgd"].colour, "outside": OUTSIDE}
"""Colours of methods and of the ground of the plane, for the page's style."""

# Cividis: even in lightness, and told apart with any colour vision. Slow is dark.
SHADES = (
    "#fee838", "#e9d544", "#d0be67", "#bbab75", "#a59c74",
    "#8f8d78", "#7b7b78", "#666970", "#49566d", "#213d6f", "#00224e",
)  # fmt: skip


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request.

    ``settings`` are those of the page; ``search`` instead begins with an address, and ``preset``
    goes to a place by its name: the answers to both hold the settings that follow. ``cursor`` asks
    for the numbers at one point and nothing else. ``plane`` and ``run`` are the keys of the
    pictures that the page shows already. ``fine`` asks for the plane as it is at rest, ``bound``
    for the bound of a run with noise, which may take longer than all the rest.
    """
    view = _view(request)
    if "cursor" in request:
        place = request["cursor"] if isinstance(request["cursor"], dict) else {}
        return {"cursor": at_cursor(view, place.get("step"), place.get("beta"))}

    fine = request.get("fine") is True
    told: dict[str, Any] = {
        "query": view.query,
        "active": view.active,
        "words": readout(view),
        "plane": _plane(view, fine=fine, shown=request.get("plane")),
        "run": _run(view, bound=request.get("bound") is True, shown=request.get("run")),
    }
    if fine:
        told |= {"preset": preset_of(view), "python": python_code(view)}
        told["command"] = command_line(view)
    if "search" in request or "preset" in request:
        told["settings"] = view.typed
    if "search" in request:
        told["page"] = page()

    return told


def _view(request: dict[str, Any]) -> View:
    if "search" in request:
        return from_query(str(request["search"]))

    given = request.get("settings")
    view = parse(
        {
            name: value
            for name, value in (given if isinstance(given, dict) else {}).items()
            if name in SETTINGS and isinstance(value, str | int | float | None)
        }
    )
    preset = PRESETS.get(str(request.get("preset")))
    return view if preset is None else preset.applied(view)


def _plane(view: View, *, fine: bool, shown: Any) -> dict[str, Any] | None:
    key = plane_key(view, fine=fine)
    # A fine picture that is there already is not followed by the coarse one of the same plane.
    if shown in (key, plane_key(view, fine=True)):
        return None

    return {"key": key, "fine": fine, "picture": plane_picture(view, fine=fine)}


def _run(view: View, *, bound: bool, shown: Any) -> dict[str, Any] | None:
    bound = bound or view.example is not Example.NOISE  # all of it is there at once
    key = run_key(view, fine=bound)
    if shown in (key, run_key(view, fine=True)):
        return None

    told = {"key": key, "fine": bound, "picture": run_picture(view, bound=bound)}
    if view.example is Example.TURNING:
        told["path"] = turning_path(view)

    return told


def page() -> dict[str, Any]:
    """What the page does not know by itself: controls, choices, rungs, colours, words."""
    return described() | {
        "presets": [[key, preset.name] for key, preset in PRESETS.items()],
        "rungs": [[rung.key, rung.title, rung.holds_for] for rung in RUNGS],
        "outside": OUTSIDE_WORDS,
        "colours": COLOURS,
        "shades": SHADES,
        "marks": {key: [look.colour, look.marker] for key, look in METHODS.items()},
        "datasets": NAMED,
    }
