"""A table of one's own: dropped on the page, diagnosed in a process of its own, judged."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, Patch, State, ctx, dcc, html, no_update

from ravine.tables.reading import NAMED
from ravine.web.data_pictures import curves_figure, data_plane_figure
from ravine.web.jobs import Jobs
from ravine.web.theme import EMPTY, THEMES

UPLOAD = 40 << 20
"""Bytes of a table that may be dropped on the page."""

SECONDS = 30.0
"""For a diagnosis on the page: people are waiting."""

_POLL = 300  # milliseconds between two looks at a job
_GRAPH = {"displayModeBar": False, "responsive": True}
_COLUMNS = (
    ("method", ""),
    ("step size", "number"),
    ("momentum", "number"),
    ("schedule", ""),
    ("growth a step, predicted", "number"),
    ("what becomes of it", ""),
    ("share of the loss left, measured", "number"),
)
_TONES = {"converges": "good", "diverges": "bad"}


def data_room() -> list[Any]:
    """The room before anything was dropped."""
    return [
        html.Div(
            className="column full",
            children=[
                html.H2("Your own table"),
                dcc.Upload(
                    id="upload",
                    className="upload",
                    max_size=UPLOAD,
                    children=html.Div(
                        "Drop a table here, or click to choose one: CSV and its kin, Parquet, "
                        "Feather, JSON, NPY, NPZ, LIBSVM. It stays on this machine, in memory."
                    ),
                ),
                html.Div(className="row", children=_options()),
                html.Div(
                    className="row",
                    children=[
                        html.Span(id="data-progress", className="hint", role="status"),
                        html.Button("cancel", id="data-cancel", className="quiet", hidden=True),
                    ],
                ),
                html.P(id="data-refusal", className="message", role="alert"),
                dcc.Store(id="data-job"),
                dcc.Store(id="data-result"),
                dcc.Store(id="data-asked", data=0),
                dcc.Interval(id="data-clock", interval=_POLL, disabled=True),
                html.Div(id="data-words", className="readout", hidden=True),
            ],
        ),
        html.Div(
            className="column",
            id="data-plane-wrap",
            hidden=True,
            children=[
                html.H2("Where its batches converge"),
                _picture("data-plane", "plane of step size and momentum for this table"),
                html.P(
                    "Dark: batches of this table converge in mean square; light: exact gradients "
                    "alone do. Click a point to have it judged on this table, or type it:",
                    className="hint",
                ),
                html.Div(className="row", children=_judging()),
                html.P(id="data-judged", role="status", className="verdict"),
            ],
        ),
        html.Div(
            className="column",
            id="data-curves-wrap",
            hidden=True,
            children=[
                html.H2("What was measured"),
                _picture("data-curves", "measured loss of the methods over the steps"),
                html.P("Dotted: the floor that is predicted for the method.", className="hint"),
            ],
        ),
    ]


def _picture(identity: str, label: str) -> html.Div:
    """An empty picture, with the words that a screen reader says for it."""
    return html.Div(
        dcc.Graph(id=identity, figure=EMPTY, config=_GRAPH, className="graph"),
        className="picture",
        role="img",
        **{"aria-label": label},
    )


def _judging() -> list[Any]:
    """A point by its numbers, for those who do not click."""
    return [
        html.Div(
            [
                html.Label("step size αL", htmlFor="judge-step"),
                dcc.Input(
                    id="judge-step", type="number", value=1, min=0, step="any", className="box"
                ),
            ],
            className="picker narrow",
        ),
        html.Div(
            [
                html.Label("momentum β", htmlFor="judge-beta"),
                dcc.Input(
                    id="judge-beta", type="number", value=0.9, min=-1, max=1, step="any",
                    className="box",
                ),
            ],
            className="picker narrow",
        ),
        html.Button("judge this point", id="judge-point", className="quiet"),
    ]  # fmt: skip


def _options() -> list[Any]:
    named = dcc.Dropdown(
        id="dataset",
        options=[{"label": name, "value": name} for name in NAMED],
        placeholder="or a data set of scikit-learn",
    )

    return [
        html.Div([html.Label("data set", htmlFor="dataset"), named], className="picker"),
        html.Div(
            [
                html.Label("target column", htmlFor="target"),
                dcc.Input(id="target", type="text", placeholder="chosen", className="box"),
            ],
            className="picker narrow",
        ),
        html.Div(
            [
                html.Label("batch size", htmlFor="data-batch"),
                dcc.Input(id="data-batch", type="number", min=1, value=32, className="box"),
            ],
            className="picker narrow",
        ),
        dcc.Checklist(
            id="data-flags",
            options=[
                {"label": "standardise", "value": "standardise"},
                {"label": "intercept", "value": "intercept"},
            ],
            value=["standardise", "intercept"],
            className="rooms",
        ),
    ]


def connect_data(app: Dash, jobs: Jobs) -> None:
    """Register the callbacks of the room."""
    _connect_start(app, jobs)
    _connect_results(app, jobs)
    _connect_judging(app, jobs)
    # Pictures that were drawn while hidden have no size: they are fitted once they are shown.
    app.clientside_callback(
        ClientsideFunction("ravine", "fit"),
        Output("data-result", "clear_data"),
        Input("data-plane-wrap", "hidden"),
    )


def _connect_start(app: Dash, jobs: Jobs) -> None:
    @app.callback(
        Output("data-job", "data"),
        Output("data-clock", "disabled"),
        Output("data-cancel", "hidden"),
        Output("data-refusal", "children"),
        Input("upload", "contents"),
        Input("dataset", "value"),
        Input("data-cancel", "n_clicks"),
        State("target", "value"),
        State("data-batch", "value"),
        State("data-flags", "value"),
        State("data-job", "data"),
        prevent_initial_call=True,
    )
    def begin(
        contents: str | None,
        dataset: str | None,
        _: int,
        target: str | None,
        batch: int | None,
        flags: list[str],
        running: str | None,
    ) -> Any:
        jobs.cancel(running)
        if ctx.triggered_id == "data-cancel":
            return None, True, True, ""

        question: dict[str, Any] = {
            "task": "diagnose", "target": target, "batch_size": batch, "seconds": SECONDS,
        }  # fmt: skip
        question |= dict.fromkeys(flags or [], True)
        if ctx.triggered_id == "dataset":
            if dataset not in NAMED:
                return no_update, no_update, no_update, ""
            return jobs.start(question | {"dataset": dataset}), False, False, ""

        try:
            content = base64.b64decode((contents or "").partition(",")[2], validate=True)
        except binascii.Error:
            return no_update, True, True, "the file did not arrive whole: drop it again"

        if not content:
            return no_update, True, True, "the file is empty: choose one with rows"

        return jobs.start(question, content), False, False, ""


def _connect_results(app: Dash, jobs: Jobs) -> None:
    @app.callback(
        Output("data-progress", "children"),
        Output("data-result", "data"),
        Output("data-refusal", "children", allow_duplicate=True),
        Output("data-clock", "disabled", allow_duplicate=True),
        Output("data-cancel", "hidden", allow_duplicate=True),
        Input("data-clock", "n_intervals"),
        State("data-job", "data"),
        prevent_initial_call=True,
    )
    def look(_: int, name: str | None) -> Any:
        job = jobs.get(name)
        if job is None:
            return "cancelled", no_update, no_update, True, True
        if job.refusal is not None:
            return "", None, job.refusal, True, True
        if job.result is None:
            return job.progress, no_update, no_update, False, False

        return "", job.result, "", True, True

    @app.callback(
        Output("data-words", "children"),
        Output("data-plane", "figure"),
        Output("data-curves", "figure"),
        Output("data-words", "hidden"),
        Output("data-plane-wrap", "hidden"),
        Output("data-curves-wrap", "hidden"),
        Output("data-judged", "children"),
        Input("data-result", "data"),
        Input("theme", "data"),
    )
    def show(result: dict[str, Any] | None, theme: str) -> Any:
        if result is None:
            return [], no_update, no_update, True, True, True, ""

        look = THEMES.get(theme, THEMES["light"])
        record = result["record"]
        return (
            [html.P(record["verdict"], className="verdict"), _methods(record)],
            data_plane_figure(result, look),
            curves_figure(result, look),
            False,
            False,
            False,
            "",
        )


def _methods(record: dict[str, Any]) -> html.Div:
    """One row for each method judged, the recommended one marked."""
    start = record["data"]["start_excess"]
    rows = []
    for method in record["methods"]:
        best = method["key"] == record["recommended"]
        cells = [
            html.Td(method["name"] + (" (recommended)" if best else ""), className="name"),
            html.Td(f"{method['alpha']:.4g}", className="number"),
            html.Td(f"{method['beta']:.4g}", className="number"),
            html.Td(_schedule(method), className="scope"),
            html.Td(_rate(method), className="number"),
            html.Td(method["outcome"], className=_TONES.get(method["outcome"], "unsure")),
            html.Td(_left(method, start), className="number"),
        ]
        rows.append(html.Tr(cells, className="best" if best else ""))

    head = html.Tr([html.Th(word, className=kind) for word, kind in _COLUMNS])
    return html.Div(html.Table([html.Thead(head), html.Tbody(rows)]), className="scroll")


def _schedule(method: dict[str, Any]) -> str:
    averaged = ", last half averaged" if method["averaged"] else ""
    return f"{method['schedule']}{averaged}"


def _rate(method: dict[str, Any]) -> str:
    rate = method["mean_square"]["rate"]
    return "" if rate is None else f"{rate:.4f}"


def _left(method: dict[str, Any], start: float) -> str:
    """Share of the starting excess that the runs left: of the average where one is taken."""
    after = method["excess_after"] if method["averaged"] else None
    left = method["measured"]["excess"][-1] if after is None else after["value"]
    return "" if left is None or not start else f"{left / start:.3g}"


def _connect_judging(app: Dash, jobs: Jobs) -> None:
    @app.callback(
        Output("data-asked", "data"),
        Output("data-judged", "children", allow_duplicate=True),
        Output("judge-clock", "disabled"),
        Output("data-plane", "figure", allow_duplicate=True),
        Input("data-plane", "clickData"),
        Input("judge-point", "n_clicks"),
        State("judge-step", "value"),
        State("judge-beta", "value"),
        State("data-result", "data"),
        State("data-job", "data"),
        State("data-asked", "data"),
        prevent_initial_call=True,
    )
    def ask(
        click: Any,
        _: int,
        step: float | None,
        beta: float | None,
        result: dict[str, Any] | None,
        name: str | None,
        asked: int,
    ) -> Any:
        nothing = (no_update,) * 4
        if result is None:
            return nothing
        if ctx.triggered_id == "data-plane":
            if not click:
                return nothing
            step = float(click["points"][0]["x"])
            beta = float(click["points"][0]["y"])
        if step is None or beta is None or step <= 0.0 or not -1.0 <= beta <= 1.0:
            words = "step size must be positive and momentum from -1 to 1: type both"
            return no_update, words, no_update, no_update

        alpha = step / result["record"]["curvature"]["L"]
        number = asked + 1
        jobs.ask(name or "", number, {"alpha": alpha, "beta": beta})
        place = Patch()
        place["data"][-1]["x"] = [step]
        place["data"][-1]["y"] = [beta]
        return number, f"judging step {alpha:.4g}, momentum {beta:.4g} ...", False, place

    @app.callback(
        Output("data-judged", "children", allow_duplicate=True),
        Output("judge-clock", "disabled", allow_duplicate=True),
        Input("judge-clock", "n_intervals"),
        State("data-job", "data"),
        State("data-asked", "data"),
        prevent_initial_call=True,
    )
    def hear(_: int, name: str | None, asked: int) -> Any:
        job = jobs.get(name)
        answer = None if job is None else job.answers.get(asked)
        if answer is None:
            return no_update, job is None

        return answer.get("verdict") or answer.get("refusal"), True
