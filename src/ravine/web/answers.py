"""What the page asks while it is used, and the answers: words, numbers and pictures as data.

A request is one small JSON object, an answer another. Every move is one request; a picture that has
not changed since the one that the page shows is left out of the answer.
"""

from __future__ import annotations

from typing import Any

from ravine.figures.style import METHODS, ORANGE
from ravine.tables.reading import NAMED
from ravine.theory.ladder.rungs import OUTSIDE as OUTSIDE_WORDS
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.plane_picture import plane_key, plane_picture
from ravine.web.presets import PRESETS, preset_of
from ravine.web.run_picture import run_key, run_picture
from ravine.web.view import Example, View, described, from_query, parse
from ravine.web.words import at_cursor, command_line, python_code, readout

COLOURS = {"chosen": ORANGE, "sgd": METHODS["sgd"].colour}
"""Colours of the two methods that run, for the page's style."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request.

    ``settings`` are those of the page; ``search`` instead begins with an address, and ``preset``
    goes to a place by its name: the answers to both hold the settings that follow. ``cursor`` asks
    for the numbers at one point and nothing else. ``calm`` says how long nothing has moved: at 0
    pictures are coarse, at 1 fine, and at 2 a run with noise has its bound, which may take longer
    than all the rest. ``plane`` and ``run`` are the keys of the pictures that the page shows.
    """
    view = _view(request)
    if "cursor" in request:
        place = request["cursor"] if isinstance(request["cursor"], dict) else {}
        return {"cursor": at_cursor(view, place.get("step"), place.get("beta"))}

    calm = request["calm"] if request.get("calm") in (0, 1, 2) else 0
    told: dict[str, Any] = {"query": view.query, "active": view.active, "words": readout(view)}
    key = _key(plane_key(view), min(calm, 1), request.get("plane"))
    if key:
        told["plane"] = {"key": key, "picture": plane_picture(view, fine=calm > 0)}
    with_bound = calm == 2 or view.example is not Example.NOISE
    key = _key(run_key(view), 2 * with_bound, request.get("run"))
    if key:
        told["run"] = {"key": key, "picture": run_picture(view, bound=with_bound)}
    if calm:
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
    view = parse(given if isinstance(given, dict) else {})
    preset = PRESETS.get(str(request.get("preset")))
    return view if preset is None else preset.applied(view)


def _key(content: str, quality: int, shown: Any) -> str:
    """The key of a picture; empty if the page shows it already, in this quality or a better one."""
    keys = [f"{better} {content}" for better in range(quality, 3)]
    return "" if shown in keys else keys[0]


def page() -> dict[str, Any]:
    """What the page does not know by itself: controls, choices, rungs, colours, words."""
    return described() | {
        "presets": [[key, preset.name] for key, preset in PRESETS.items()],
        "rungs": [[rung.key, rung.title, rung.holds_for] for rung in RUNGS],
        "outside": OUTSIDE_WORDS,
        "colours": COLOURS,
        "datasets": NAMED,
    }
