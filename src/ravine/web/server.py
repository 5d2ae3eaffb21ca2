"""The page's server: what it serves, to whom, and what it refuses."""

from __future__ import annotations

import atexit
import threading
from pathlib import Path

from dash import Dash
from flask import Flask, Response, abort, request

from ravine.web.answers import connect_answers, told
from ravine.web.callbacks import connect
from ravine.web.claims_room import connect_claims
from ravine.web.data_room import connect_data
from ravine.web.jobs import Jobs
from ravine.web.layout import page
from ravine.web.run_picture import warm_up

UPLOAD_BYTES = 64 << 20
"""Largest request body: a table of some 40 MB, in the base64 that a browser sends."""

_HERE = Path(__file__).parent


def make_app(*, host: str, port: int, warm: bool = True) -> Dash:
    """The page as a Dash app that answers requests for this host and port alone."""
    server = Flask("ravine")
    server.config["MAX_CONTENT_LENGTH"] = UPLOAD_BYTES
    app = Dash(
        "ravine",
        server=server,
        title="ravine: step size and momentum",
        assets_folder=str(_HERE / "assets"),
        serve_locally=True,
        update_title="",
        suppress_callback_exceptions=True,
    )

    app.layout = page
    jobs = Jobs()
    atexit.register(jobs.close)
    connect(app)
    connect_answers(server)
    connect_claims(app, jobs)
    connect_data(app, jobs)
    names = _allowed_names(host, port)
    policy = _policy(app)

    @server.before_request
    def refuse() -> None:
        """Refuse bodies too large, and names not ours: a foreign page may let them point here."""
        if names is not None and request.host not in names:
            abort(403)
        if (request.content_length or 0) > UPLOAD_BYTES:
            abort(413)

    @server.after_request
    def protect(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response

    if warm:
        threading.Thread(target=_prepare, daemon=True).start()

    return app


def _prepare() -> None:
    """Load what pictures need, and keep the first of them, before a browser asks for it."""
    told({"search": "", "fine": True})
    warm_up()


def _allowed_names(host: str, port: int) -> frozenset[str] | None:
    """Host headers that a request may carry; None where the user opened it to a network."""
    local = ("127.0.0.1", "localhost", "[::1]")
    if host not in ("127.0.0.1", "localhost", "::1"):
        return None

    return frozenset({f"{name}:{port}" for name in local})


def _policy(app: Dash) -> str:
    """Scripts from this server alone, but for the two lines that start Dash; nothing from afar."""
    scripts = " ".join(["'self'", *(f"'{digest}'" for digest in _inline_digests(app))])
    rules = {
        "default-src": "'none'",
        "script-src": scripts,
        "style-src": "'self' 'unsafe-inline'",  # Plotly writes style attributes
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'self' http://127.0.0.1:* http://localhost:*",  # a notebook's frame
    }

    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _inline_digests(app: Dash) -> list[str]:
    return [digest.strip("'") for digest in app.csp_hashes()]
