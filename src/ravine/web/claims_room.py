"""The paper's claims: each with its figure and its verdict, measured here and now on request."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import Judgement
from ravine.figures.catalogue import FIGURES
from ravine.web.jobs import Jobs

_TONES = {
    Judgement.HOLDS.value: "good",
    Judgement.CORRECTED.value: "unsure",
    Judgement.FAILS.value: "bad",
}
_POLL = 400  # milliseconds between two looks at a job


def claims_room() -> list[Any]:
    """The room as it is before anything was measured."""
    figures = [
        html.Button(entry.title, id={"figure": name}, className="quiet")
        for name, entry in FIGURES.items()
    ]
    return [
        html.Div(
            className="column full",
            children=[
                html.H2("Every statement of the paper, measured"),
                html.P(
                    [
                        "Press a figure to run it live at low resolution: its picture, what it "
                        "shows, and the claims it decides. The whole reproduction is ",
                        html.Code("ravine reproduce"),
                        ".",
                    ],
                    className="hint",
                ),
                html.Div(
                    className="figures",
                    children=[html.Button("Measure all that need no figure", id="judge"), *figures],
                ),
                html.Div(
                    className="row",
                    children=[
                        html.Span(id="claims-progress", className="hint", role="status"),
                        html.Button("cancel", id="claims-cancel", className="quiet", hidden=True),
                    ],
                ),
                dcc.Store(id="claims-job"),
                dcc.Store(id="claims-known", data={}),
                dcc.Interval(id="claims-clock", interval=_POLL, disabled=True),
                html.Div(id="live-figure", className="live"),
                html.Div(id="claims-table", children=claims_table({})),
            ],
        )
    ]


def claims_table(known: dict[str, Any]) -> html.Table:
    """All claims, with what is known of them so far."""
    head = [html.Th(word) for word in ("where", "statement", "measured", "verdict")]
    rows = []
    for claim in CLAIMS:
        judged = known.get(claim.id, {})
        verdict = judged.get("verdict", "not measured yet")
        needs = ", ".join(FIGURES[name].title for name in claim.needs)
        seen = judged.get("measured") or (f"needs {needs}" if needs else "")
        rows.append(
            html.Tr(
                [
                    html.Td(claim.place),
                    html.Td(claim.statement),
                    html.Td([seen, html.Br(), html.Small(judged.get("exact", ""))]),
                    html.Td(verdict, className=_TONES.get(verdict, "scope")),
                ]
            )
        )

    return html.Table([html.Thead(html.Tr(head)), html.Tbody(rows)], className="claims")


def connect_claims(app: Dash, jobs: Jobs) -> None:
    """Register the callbacks of the room."""

    @app.callback(
        Output("claims-job", "data"),
        Output("claims-clock", "disabled"),
        Output("claims-cancel", "hidden"),
        Input("judge", "n_clicks"),
        Input({"figure": ALL}, "n_clicks"),
        Input("claims-cancel", "n_clicks"),
        State("claims-job", "data"),
        prevent_initial_call=True,
    )
    def begin(_: Any, __: Any, ___: Any, running: str | None) -> Any:
        pressed = ctx.triggered_id
        if not any(item["value"] for item in ctx.triggered):
            return no_update, no_update, no_update

        jobs.cancel(running)
        if pressed == "claims-cancel":
            return None, True, True
        if pressed == "judge":
            return jobs.start({"task": "claims"}), False, False

        name = pressed["figure"]
        if name not in FIGURES:
            return no_update, no_update, no_update

        return jobs.start({"task": "figure", "figure": name}), False, False

    @app.callback(
        Output("claims-progress", "children"),
        Output("claims-known", "data"),
        Output("live-figure", "children"),
        Output("claims-table", "children"),
        Output("claims-clock", "disabled", allow_duplicate=True),
        Output("claims-cancel", "hidden", allow_duplicate=True),
        Input("claims-clock", "n_intervals"),
        State("claims-job", "data"),
        State("claims-known", "data"),
        prevent_initial_call=True,
    )
    def look(_: int, name: str | None, known: dict[str, Any]) -> Any:
        job = jobs.get(name)
        if job is None:
            return "cancelled", no_update, no_update, no_update, True, True
        if job.refusal is not None:
            return job.refusal, no_update, no_update, no_update, True, True

        result = job.result or {}
        judged = [*job.parts, *result.get("claims", [])]
        news = any(one["id"] not in known for one in judged)
        known = known | {one["id"]: one for one in judged}
        if not job.finished:
            table = claims_table(known) if news else no_update
            return job.progress, known, no_update, table, False, False

        picture = _live(result) if "picture" in result else no_update
        return "done", known, picture, claims_table(known), True, True


def _live(result: dict[str, Any]) -> list[Any]:
    entry = FIGURES[result["figure"]]
    return [
        html.H2(entry.title),
        html.Img(
            src=f"data:image/png;base64,{result['picture']}",
            alt=entry.caption,
            className="picture-live",
        ),
        html.Ul([html.Li(line) for line in result["words"]]),
    ]
