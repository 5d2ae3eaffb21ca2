"""What is on the page, from top to bottom; the numbers come in by the callbacks."""

from __future__ import annotations

import math
from typing import Any

from dash import dcc, html

from ravine.sampling import Sampling
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.claims_room import claims_room
from ravine.web.data_room import data_room
from ravine.web.presets import PRESETS
from ravine.web.quantities import QUANTITIES
from ravine.web.theme import EMPTY
from ravine.web.view import LABELS, RANGES, Axis, Example, Room, View

CONTROLS = ("Q", "step", "beta", "sigma2", "K", "n", "ratio", "batch", "seed")
"""Numbers that have a slider and a box."""

CHOICES = ("room", "colour", "axis", "sampling", "example", "gamma")
"""Settings that are picked from a list, and the look-ahead."""

_GRAPH = {"displayModeBar": False, "responsive": True, "doubleClick": False}


def page() -> html.Div:
    """The whole page at its defaults."""
    usual = View()
    return html.Div(
        id="page",
        className="page",
        children=[
            dcc.Store(id="picked"),
            dcc.Store(id="theme", data="light"),
            dcc.Interval(id="judge-clock", interval=250, disabled=True),
            _header(),
            html.Main(
                [
                    html.Section(_plane_room(usual), id="room-plane", className="room"),
                    html.Section(data_room(), id="room-data", className="room", hidden=True),
                    html.Section(claims_room(), id="room-claims", className="room", hidden=True),
                ]
            ),
            _share(),
        ],
    )


def _header() -> html.Header:
    return html.Header(
        [
            html.H1("ravine"),
            html.P(
                "Will Nesterov's method converge here, how fast, and to what error?",
                className="tagline",
            ),
            dcc.RadioItems(
                id="pick-room",
                options=[{"label": room.value, "value": room.value} for room in Room],
                value=Room.PLANE.value,
                className="rooms",
            ),
            html.Button("code and pictures", id="open-share", className="quiet"),
            html.Button("dark", id="toggle-theme", className="quiet"),
        ]
    )


def _plane_room(usual: View) -> list[Any]:
    return [
        html.Div(
            className="column wide",
            children=[
                html.Div(
                    className="row",
                    children=[_preset_picker(), _colour_picker(usual), _axis_picker(usual)],
                ),
                _plane(),
                html.Div(id="legend", className="legend"),
                html.P(
                    "Drag the orange point, or give it the focus and use the arrow keys (with "
                    "shift: ten times finer). White circle: the usual Nesterov parameters; white "
                    "square: SGD at 2/(μ+L).",
                    className="hint",
                ),
                html.Div(
                    className="controls", children=[_control(name, usual) for name in CONTROLS]
                ),
            ],
        ),
        html.Div(
            className="column",
            children=[
                _readout(),
                html.Div(
                    className="row",
                    children=[_example_picker(usual), _sampling_picker(usual), _gamma_box()],
                ),
                _run(),
            ],
        ),
    ]


def _plane() -> html.Div:
    return html.Div(
        id="plane-wrap",
        className="plane",
        children=[
            html.Div(
                [
                    dcc.Graph(id="plane", figure=EMPTY, config=_GRAPH, className="graph"),
                    html.Canvas(id="plane-layer", className="layer"),
                ],
                role="img",
                **{"aria-label": "plane of step size and momentum, with the regions in colour"},
            ),
            html.Div(
                "The first picture is on its way. On a new machine some kernels are compiled "
                "first, which takes a while, once.",
                id="plane-wait",
                className="wait",
            ),
            html.Div(
                id="knob",
                tabIndex=0,
                role="slider",
                className="knob",
                **{
                    "aria-label": "the method: step size and momentum",
                    "aria-valuemin": RANGES["step"].low,
                    "aria-valuemax": RANGES["step"].high,
                    "aria-valuenow": 1,
                    "aria-valuetext": "",
                },
            ),
        ],
    )


def _readout() -> html.Div:
    """A row for every rung, whose numbers come by the callbacks, and room for the verdict."""
    head = html.Tr(
        [
            html.Th("growth a step"),
            html.Th("method", className="number"),
            html.Th("cursor", className="number"),
            html.Th("holds for", className="scope"),
        ]
    )

    rows = [
        html.Tr(
            [
                html.Td(rung.title, className="name"),
                html.Td("", className="number", id=f"rung-{rung.key}"),
                html.Td("–", className="number faint", id=f"cursor-{rung.key}"),
                html.Td(rung.holds_for, className="scope"),
            ]
        )
        for rung in RUNGS
    ]

    return html.Div(
        className="readout",
        children=[
            html.Table([html.Thead(head), html.Tbody(rows)]),
            html.P("", className="verdict", id="verdict", role="status"),
        ],
    )


def _run() -> html.Div:
    """The method at work, and the buttons that play it."""
    return html.Div(
        className="run",
        children=[
            html.Div(id="run-legend", className="legend"),
            html.Div(
                id="run-wrap",
                role="img",
                children=[
                    dcc.Graph(id="run", figure=EMPTY, config=_GRAPH, className="graph"),
                    html.Canvas(id="run-layer", className="layer"),
                    html.Div(id="curtain", className="curtain"),
                ],
                **{"aria-label": "errors of the method over the steps"},
            ),
            html.Div(
                id="turning-wrap",
                role="img",
                hidden=True,
                children=[
                    dcc.Graph(id="turning", figure=EMPTY, config=_GRAPH, className="graph"),
                    html.Canvas(id="turning-layer", className="layer"),
                ],
                **{"aria-label": "path of the method over the valleys of four quadratics"},
            ),
            html.Div(
                className="row play",
                children=[
                    html.Button("play", id="play"),
                    html.Button("step", id="advance", className="quiet"),
                    html.Button("from the start", id="rewind", className="quiet"),
                    html.Button("new random draws", id="reseed", className="quiet"),
                    html.Span(id="at-step", className="hint"),
                ],
            ),
        ],
    )


def _control(name: str, usual: View) -> html.Div:
    """A labelled slider with a box to type into, and room for a message beside it."""
    span = RANGES[name]
    value = getattr(usual, name)
    low, high = (math.log10(span.low), math.log10(span.high)) if span.log else (span.low, span.high)
    place = math.log10(value) if span.log else value
    step = "any" if not span.whole or span.log else 1

    return html.Div(
        className="control",
        id=f"control-{name}",
        children=[
            html.Label(LABELS[name], htmlFor=f"box-{name}"),
            dcc.Input(
                id=f"slide-{name}", type="range", min=low, max=high, step=step, value=place,
                className="slide",
            ),
            dcc.Input(
                id=f"box-{name}", type="text", value=_short(value), className="box",
                debounce=False, inputMode="decimal",
            ),
            html.Span(id=f"message-{name}", className="message", role="alert"),
        ],
    )  # fmt: skip


def _short(value: float) -> str:
    return f"{value:.6g}"


def _picker(
    identity: str, label: str, options: dict[str, str], value: str, *, narrow: bool = False
) -> html.Div:
    return html.Div(
        className="picker narrow" if narrow else "picker",
        id=f"{identity}-place",
        children=[
            html.Label(label, htmlFor=identity),
            dcc.Dropdown(
                id=identity,
                options=[{"label": text, "value": key} for key, text in options.items()],
                value=value,
                clearable=False,
                searchable=False,
            ),
        ],
    )


def _colour_picker(usual: View) -> html.Div:
    names = {key: quantity.name for key, quantity in QUANTITIES.items()}
    return _picker("pick-colour", "colour", names, usual.colour)


def _axis_picker(usual: View) -> html.Div:
    names = {axis.value: axis.value for axis in Axis}
    return _picker("pick-axis", "step sizes", names, usual.axis.value, narrow=True)


def _preset_picker() -> html.Div:
    names = {key: preset.name for key, preset in PRESETS.items()}
    return _picker("pick-preset", "begin with", names, "usual")


def _example_picker(usual: View) -> html.Div:
    names = {example.value: example.sentence for example in Example}
    return _picker("pick-example", "run it on", names, usual.example.value)


def _sampling_picker(usual: View) -> html.Div:
    names = {rule.value: rule.value for rule in Sampling}
    return _picker("pick-sampling", "order of the functions", names, usual.sampling.value)


def _gamma_box() -> html.Div:
    return html.Div(
        className="picker narrow",
        children=[
            html.Label("look-ahead γ", htmlFor="box-gamma"),
            dcc.Input(id="box-gamma", type="text", value="", placeholder="β", className="box"),
            html.Span(id="message-gamma", className="message", role="alert"),
        ],
    )


def _share() -> html.Dialog:
    return html.Dialog(
        id="share",
        className="share",
        children=[
            html.H2("The same without the page", id="share-title"),
            *_code_block("Python", "python-code"),
            *_code_block("command line", "command-line"),
            html.Div(
                className="row",
                children=[
                    html.Span("the plane:", className="hint"),
                    html.Button("SVG", id="plane-svg", className="quiet"),
                    html.Button("PNG", id="plane-png", className="quiet"),
                    html.Button("CSV", id="export-csv", className="quiet"),
                    html.Span("the run:", className="hint"),
                    html.Button("SVG", id="run-svg", className="quiet"),
                    html.Button("PNG", id="run-png", className="quiet"),
                ],
            ),
            html.P(
                "The address of this page holds everything that is shown: send it to somebody who "
                "has ravine, or keep it.",
                className="hint",
            ),
            html.Div(
                className="row",
                children=[
                    html.Button("copy the address", id="copy-address", className="quiet"),
                    html.Button("close", id="close-share"),
                ],
            ),
        ],
        **{"aria-labelledby": "share-title"},
    )


def _code_block(label: str, identity: str) -> list[Any]:
    """Code with its name above it and a button that copies it."""
    return [
        html.Div(
            className="row code-head",
            children=[
                html.Span(label, className="hint"),
                html.Button("copy", id=f"copy-{identity}", className="quiet small"),
            ],
        ),
        html.Pre(id=identity, tabIndex=0, **{"aria-label": label}),
    ]
