"""What the page asks while it is used, and what it is told: words, numbers and pictures as data.

A question is one small JSON object, an answer another. Every move is one question: whatever has not
changed since the picture that the page shows is left out of its answer.
"""

from __future__ import annotations

import json
from typing import Any

from flask import Flask, Response, request

from ravine.theory.ladder.rungs import RUNGS
from ravine.web.code import command_line, python_code
from ravine.web.plane import plane_figure, plane_key, plane_legend
from ravine.web.plane_table import plane_csv
from ravine.web.presets import PRESETS
from ravine.web.readout import at_cursor, readout
from ravine.web.run_picture import run_figure, run_key, run_legend
from ravine.web.theme import THEMES, Theme
from ravine.web.turning_picture import MOST_STEPS, turning_figure, turning_key
from ravine.web.view import SETTINGS, Example, View, from_query, parse

QUESTION_BYTES = 1 << 16
"""Largest question: a handful of settings."""


def connect_answers(server: Flask) -> None:
    """Let the server answer the page's questions, and give the plane away as a table."""

    @server.post("/answer")
    def answer() -> Response:
        if (request.content_length or 0) > QUESTION_BYTES:
            return Response("a question is shorter than that", 413)

        wish = request.get_json(silent=True)
        if not isinstance(wish, dict):
            return Response("a question is a JSON object", 400)

        words = json.dumps(told(wish), ensure_ascii=False, separators=(",", ":"))
        return Response(words, mimetype="application/json", headers={"Cache-Control": "no-store"})

    @server.get("/ravine-plane.csv")
    def table() -> Response:
        view, _ = from_query(request.query_string.decode("ascii", "replace"))
        head = {"Content-Disposition": "attachment; filename=ravine-plane.csv"}
        return Response(plane_csv(view), mimetype="text/csv", headers=head)


def told(wish: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question.

    ``settings`` are what stands in the boxes; ``search`` instead begins with an address, and
    ``preset`` goes to a place by its name: both are told the settings that follow. ``cursor`` asks
    for the numbers at one point and nothing else. ``plane`` and ``run`` are the keys of the
    pictures that the page shows already. ``fine`` asks for the plane at full resolution, ``bound``
    for the bound of a run with noise: both may take longer than all the rest.
    """
    settings = _settings(wish)
    view, complaints = parse(settings)
    if "cursor" in wish:
        return {"cursor": _under_cursor(view, wish["cursor"])}

    theme = THEMES.get(str(wish.get("theme")), THEMES["light"])
    fine = wish.get("fine") is True
    bound = wish.get("bound") is True
    answer = {
        "query": view.query,
        "words": _words(view, complaints),
        "plane": _plane(view, theme, fine=fine, shown=wish.get("plane")),
        "run": _run(
            view, theme, bound=bound, frame=_whole(wish.get("frame")), shown=wish.get("run")
        ),
    }
    if "search" in wish or "preset" in wish:
        answer["settings"] = settings

    return answer


def _settings(wish: dict[str, Any]) -> dict[str, Any]:
    """What stands in the boxes, as typed."""
    if "search" in wish:
        return from_query(str(wish["search"]))[0].typed

    given = wish.get("settings")
    settings = {
        name: value
        for name, value in (given if isinstance(given, dict) else {}).items()
        if name in SETTINGS and isinstance(value, str | int | float | None)
    }
    if "preset" not in wish:
        return settings

    view = parse(settings)[0]
    preset = PRESETS.get(str(wish["preset"]))
    chosen = {} if preset is None else preset.applied(view.Q)
    return parse(view.typed | chosen)[0].typed


def _whole(value: Any) -> int:
    """A step of the path, or the first of all."""
    return min(max(value, 0), MOST_STEPS) if type(value) is int else 0


def _words(view: View, complaints: dict[str, str]) -> dict[str, Any]:
    known = readout(view)
    return {
        "rungs": {
            rung.key: [row.text, row.tone] for rung, row in zip(RUNGS, known.rows, strict=True)
        },
        "verdict": known.verdict,
        "complaints": complaints,
        "python": python_code(view),
        "command": command_line(view),
    }


def _plane(view: View, theme: Theme, *, fine: bool, shown: Any) -> dict[str, Any] | None:
    key = plane_key(view, theme, fine=fine)
    # A fine picture that is there already is not followed by the coarse one of the same plane.
    if shown in (key, plane_key(view, theme, fine=True)):
        return None

    figure = plane_figure(view, theme, fine=fine)
    return {"key": key, "figure": figure, "legend": plane_legend(view), "fine": fine}


def _run(view: View, theme: Theme, *, bound: bool, frame: int, shown: Any) -> dict[str, Any] | None:
    if view.example is Example.TURNING:
        key = turning_key(view, theme, frame)
        if shown == key:
            return None

        figure = turning_figure(view, theme, frame)
        return {"key": key, "figure": figure, "legend": [], "fine": True, "turning": True}

    bound = bound or view.example is not Example.NOISE  # the sum's is there at once
    key = run_key(view, theme, bound=bound)
    if shown in (key, run_key(view, theme, bound=True)):
        return None

    figure = run_figure(view, theme, bound=bound)
    return {
        "key": key,
        "figure": figure,
        "legend": run_legend(figure),
        "fine": bound,
        "turning": False,
    }


def _under_cursor(view: View, cursor: Any) -> dict[str, str]:
    """Every rung's number under the cursor, by key; a dash where there is no method."""
    try:
        numbers = at_cursor(view, float(cursor["step"]), float(cursor["beta"]))
    except (KeyError, TypeError, ValueError):
        numbers = []

    return dict(zip([rung.key for rung in RUNGS], numbers or ["–"] * len(RUNGS), strict=True))
