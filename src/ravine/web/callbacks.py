"""Which answer follows which input. What needs no number from the library is done by the page."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, html, no_update

from ravine.theory.ladder.rungs import RUNGS, Rung
from ravine.web.code import command_line, python_code
from ravine.web.layout import CHOICES, CONTROLS
from ravine.web.plane import FINE, alpha_axis, beta_axis, methods, plane_figure, rungs_at
from ravine.web.presets import PRESETS
from ravine.web.quantities import QUANTITIES
from ravine.web.readout import at_cursor, readout
from ravine.web.run_picture import run_figure
from ravine.web.theme import THEMES, Theme
from ravine.web.turning_picture import turning_figure
from ravine.web.view import Example, View, from_query, parse

LINES = {"-": "solid", "--": "dashed", "-.": "dashed", ":": "dotted"}
"""The nearest that a legend can draw to the dashes of a contour."""

_PICKS = {
    "room": "pick-room",
    "colour": "pick-colour",
    "axis": "pick-axis",
    "sampling": "pick-sampling",
    "example": "pick-example",
    "gamma": "box-gamma",
}


def connect(app: Dash) -> None:
    """Register every callback."""
    _connect_controls(app)
    _connect_pictures(app)
    _connect_words(app)
    _connect_sharing(app)


def _connect_controls(app: Dash) -> None:
    inputs = [Input(f"box-{name}", "value") for name in CONTROLS]
    picks = [Input(_PICKS[name], "value") for name in CHOICES]
    for name in CONTROLS:
        app.clientside_callback(
            ClientsideFunction("ravine", "couple"),
            Output(f"box-{name}", "value", allow_duplicate=True),
            Output(f"slide-{name}", "value", allow_duplicate=True),
            Input(f"box-{name}", "value"),
            Input(f"slide-{name}", "value"),
            prevent_initial_call=True,
        )

    app.clientside_callback(
        ClientsideFunction("ravine", "gather"),
        Output("settings", "data"),
        *inputs,
        *picks,
        Input("address", "search"),
        Input("restored", "data"),
    )

    app.clientside_callback(
        ClientsideFunction("ravine", "split"),
        Output("ground", "data"),
        Output("point", "data"),
        Input("settings", "data"),
        Input("theme", "data"),
    )

    # An answer has come: what was wished for meanwhile is asked for now, the latest of it alone.
    app.clientside_callback(
        ClientsideFunction("ravine", "landed"),
        Output("landed", "data"),
        Input("plane", "figure"),
        Input("run", "figure"),
        Input("turning", "figure"),
        Input(f"cursor-{RUNGS[0].key}", "children"),
    )

    @app.callback(
        Output("restored", "data"),
        *(Output(f"box-{name}", "value", allow_duplicate=True) for name in CONTROLS),
        *(Output(_PICKS[name], "value", allow_duplicate=True) for name in CHOICES),
        Input("address", "search"),
        Input("pick-preset", "value"),
        State("settings", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def restore(search: str, preset: str, settings: dict[str, Any] | None) -> tuple[Any, ...]:
        if ctx.triggered_id == "pick-preset":
            view = parse(settings or {})[0]
            chosen = PRESETS[preset].applied(view.Q) if preset in PRESETS else {}
            view = parse((settings or {}) | chosen)[0]
        else:
            view = from_query(search or "")[0]

        return (
            True,
            *(_typed(getattr(view, name)) for name in CONTROLS),
            *(_typed(getattr(view, name)) for name in CHOICES),
        )


def _typed(value: Any) -> str:
    """A setting as it stands in its box: short where that says all, else every digit."""
    if value is None:
        return ""
    if isinstance(value, float):
        short = f"{value:.6g}"
        return short if abs(float(short) - value) <= 1e-5 * abs(value) else repr(value)

    return str(value)


def _connect_pictures(app: Dash) -> None:
    @app.callback(Output("plane", "figure"), Input("ground", "data"))
    def plane(ground: dict[str, Any] | None) -> Any:
        if ground is None:
            return no_update

        view, _ = parse(ground["settings"])
        return plane_figure(view, _theme(ground), fine=bool(ground.get("fine", True)))

    @app.callback(
        Output("run", "figure"),
        Output("turning", "figure"),
        Output("run-wrap", "hidden"),
        Output("turning-wrap", "hidden"),
        Input("point", "data"),
        Input("frame", "data"),
    )
    def run(point: dict[str, Any] | None, frame: int) -> Any:
        if point is None:
            return (no_update,) * 4

        view, _ = parse(point["settings"])
        if view.example is Example.TURNING:
            return no_update, turning_figure(view, _theme(point), int(frame or 0)), True, False
        if ctx.triggered_id == "frame":
            return (no_update,) * 4

        fine = bool(point.get("fine", True))
        return run_figure(view, _theme(point), fine=fine), no_update, False, True


def _theme(wish: dict[str, Any]) -> Theme:
    return THEMES.get(str(wish.get("theme")), THEMES["light"])


def _connect_words(app: Dash) -> None:
    keys = [rung.key for rung in RUNGS]
    named = (*CONTROLS, "gamma")

    @app.callback(
        *(Output(f"rung-{key}", "children") for key in keys),
        *(Output(f"rung-{key}", "className") for key in keys),
        *(Output(f"message-{name}", "children") for name in named),
        Output("verdict", "children"),
        Output("query", "data"),
        Output("python-code", "children"),
        Output("command-line", "children"),
        Input("point", "data"),
    )
    def words(point: dict[str, Any] | None) -> Any:
        if point is None:
            return (no_update,) * (2 * len(keys) + len(named) + 4)

        view, complaints = parse(point["settings"])
        known = readout(view)
        return (
            *(row.text for row in known.rows),
            *(f"number {row.tone}" for row in known.rows),
            *(complaints.get(name, "") for name in named),
            known.verdict,
            view.query,
            python_code(view),
            command_line(view),
        )

    @app.callback(
        *(Output(f"cursor-{key}", "children") for key in keys),
        Input("cursor", "data"),
        State("settings", "data"),
    )
    def under_cursor(cursor: dict[str, float] | None, settings: dict[str, Any] | None) -> Any:
        if cursor is None or settings is None:
            return (no_update,) * len(keys)

        view, _ = parse(settings)
        return at_cursor(view, float(cursor["step"]), float(cursor["beta"])) or ["–"] * len(keys)

    @app.callback(Output("legend", "children"), Input("ground", "data"))
    def legend(ground: dict[str, Any] | None) -> Any:
        if ground is None:
            return no_update

        filled = ground["settings"].get("colour") == "regions"
        return [_entry(rung, filled) for rung in RUNGS]


def _entry(rung: Rung, filled: bool) -> html.Span:
    """The colour of a region with its name, or the line around it."""
    if filled:
        swatch = html.I(style={"background": rung.colour})
        return html.Span([swatch, rung.region_label], className="entry")

    colour, dashes = rung.contour
    style = {"border-top": f"3px {LINES[dashes]} {colour}"}
    return html.Span(
        [html.I(html.B(style=style), className="line"), rung.contour_label], className="entry"
    )


def _connect_sharing(app: Dash) -> None:
    app.clientside_callback(
        ClientsideFunction("ravine", "address"),
        Output("query", "clear_data"),
        Input("query", "data"),
    )

    @app.callback(
        Output("download", "data"),
        Input("export-csv", "n_clicks"),
        State("settings", "data"),
        prevent_initial_call=True,
    )
    def export(clicks: int, settings: dict[str, Any]) -> dict[str, str]:
        view, _ = parse(settings)
        return {"filename": "ravine-plane.csv", "content": plane_csv(view), "type": "text/csv"}


def plane_csv(view: View) -> str:
    """The plane as a table: step, momentum, every rung, and the quantity in colour."""
    plane = methods(view, FINE)
    columns = rungs_at(view, plane)
    if view.colour != "regions":
        columns[view.colour] = QUANTITIES[view.colour].values(view, plane)

    names = ["alpha_L", "beta", *columns]
    lines = [",".join(names)]
    alphas = alpha_axis(view, FINE)
    betas = beta_axis(FINE)
    for row, beta in enumerate(betas):
        for column, alpha in enumerate(alphas):
            values = [alpha, beta, *(table[row, column] for table in columns.values())]
            lines.append(",".join(f"{value:.9g}" for value in values))

    return "\n".join(lines) + "\n"
