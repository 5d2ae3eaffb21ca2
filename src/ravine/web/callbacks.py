"""Which answer follows which input. What needs no number from the library is done by the page."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, html, no_update

from ravine.theory.ladder.rungs import RUNGS
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
    )

    app.clientside_callback(
        ClientsideFunction("ravine", "split"),
        Output("ground", "data"),
        Output("point", "data"),
        Input("settings", "data"),
        Input("theme", "data"),
    )

    @app.callback(
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
        Output("run-wrap", "hidden"),
        Output("turning-wrap", "hidden"),
        Input("point", "data"),
    )
    def run(point: dict[str, Any] | None) -> Any:
        if point is None:
            return no_update, no_update, no_update

        view, _ = parse(point["settings"])
        if view.example is Example.TURNING:
            return no_update, True, False

        return run_figure(view, _theme(point)), False, True

    @app.callback(Output("turning", "figure"), Input("point", "data"), Input("frame", "data"))
    def turning(point: dict[str, Any] | None, frame: int) -> Any:
        if point is None:
            return no_update

        view, _ = parse(point["settings"])
        if view.example is not Example.TURNING:
            return no_update

        return turning_figure(view, _theme(point), int(frame or 0))


def _theme(wish: dict[str, Any]) -> Theme:
    return THEMES.get(str(wish.get("theme")), THEMES["light"])


def _connect_words(app: Dash) -> None:
    @app.callback(
        Output("readout", "children"),
        *(Output(f"message-{name}", "children") for name in (*CONTROLS, "gamma")),
        Output("query", "data"),
        Output("python-code", "children"),
        Output("command-line", "children"),
        Input("point", "data"),
        Input("cursor", "data"),
    )
    def words(point: dict[str, Any] | None, cursor: dict[str, float] | None) -> Any:
        if point is None:
            return (no_update,) * (len(CONTROLS) + 5)

        view, complaints = parse(point["settings"])
        return (
            _table(view, cursor),
            *(complaints.get(name, "") for name in (*CONTROLS, "gamma")),
            view.query,
            python_code(view),
            command_line(view),
        )

    @app.callback(Output("legend", "children"), Input("ground", "data"))
    def legend(ground: dict[str, Any] | None) -> Any:
        if ground is None:
            return no_update

        regions = ground["settings"].get("colour") == "regions"
        return [
            html.Span(
                [html.I(style={"background": rung.colour}), rung.region_label],
                className="entry",
            )
            for rung in RUNGS
            if regions
        ]


def _table(view: View, cursor: dict[str, float] | None) -> list[Any]:
    """The rungs at the point, and under the cursor; then the verdict in words."""
    known = readout(view)
    under: list[str] = []
    if cursor is not None:
        under = at_cursor(view, float(cursor["step"]), float(cursor["beta"]))

    head = html.Tr(
        [
            html.Th("growth a step"),
            html.Th("the method", className="number"),
            html.Th("cursor", className="number"),
            html.Th("holds for"),
        ]
    )

    rows = [
        html.Tr(
            [
                html.Td(row.name),
                html.Td(row.text, className=f"number {row.tone}", id=f"rung-{key}"),
                html.Td(other, className="number"),
                html.Td(row.scope, className="scope"),
            ]
        )
        for key, row, other in zip(
            (rung.key for rung in RUNGS), known.rows, under or [""] * len(RUNGS), strict=True
        )
    ]

    return [
        html.Table([html.Thead(head), html.Tbody(rows)]),
        html.P(known.verdict, className="verdict", id="verdict"),
    ]


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
