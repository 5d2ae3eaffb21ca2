"""The page's server: what it serves, to whom, and what it refuses."""

from __future__ import annotations

import atexit
import io
import json
import threading
from pathlib import Path
from typing import Any

from flask import Flask, Response, abort, request

from ravine.web.answers import COLOURS, answer
from ravine.web.claims import claim_list
from ravine.web.explore_pictures import plane_csv, plane_picture, run_picture, warm_up
from ravine.web.jobs import Jobs
from ravine.web.picture import draw_picture
from ravine.web.tasks import OPTIONS, TASKS
from ravine.web.view import from_query

UPLOAD_BYTES = 64 << 20
"""Largest table that may be dropped on the page."""

_LOCAL = ("127.0.0.1", "localhost", "::1")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self' http://127.0.0.1:* http://localhost:*"  # a notebook's frame
)
"""Nothing from afar, and no script but those of this server."""


def make_app(*, host: str, port: int, warm: bool = True) -> Flask:
    """The page as a Flask app that answers requests for this host and port alone."""
    assets = Path(__file__).parent / "assets"
    app = Flask("ravine", static_folder=str(assets), static_url_path="/assets")
    app.config["MAX_CONTENT_LENGTH"] = UPLOAD_BYTES
    # A foreign page may let its name point here: only our own names are answered.
    names = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    @app.before_request
    def refuse() -> None:
        if host in _LOCAL and request.host not in names:
            abort(403)
        if (request.content_length or 0) > UPLOAD_BYTES:
            abort(413)

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = _POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response

    @app.get("/")
    def index() -> Response:
        return app.send_static_file("index.html")

    _connect_explore(app)
    jobs = Jobs()
    atexit.register(jobs.close)
    _connect_jobs(app, jobs)
    if warm:
        threading.Thread(target=_prepare, daemon=True).start()

    return app


def _prepare() -> None:
    """Load what pictures need, and keep the first of them, before a browser asks for it."""
    answer({"search": "", "fine": True})
    warm_up()


def _json(value: Any) -> Response:
    words = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return Response(words, mimetype="application/json", headers={"Cache-Control": "no-store"})


def _connect_explore(app: Flask) -> None:
    @app.post("/answer")
    def told() -> Response:
        wanted = request.get_json(silent=True)
        if not isinstance(wanted, dict):
            abort(400)
        return _json(answer(wanted))

    @app.get("/picture/<what>.<form>")
    def picture(what: str, form: str) -> Response:
        """The plane or the run as a file to take away."""
        view = from_query(request.query_string.decode("ascii", "replace"))
        head = {"Content-Disposition": f"attachment; filename=ravine-{what}.{form}"}
        if (what, form) == ("plane", "csv"):
            return Response(plane_csv(view), mimetype="text/csv", headers=head)
        if what not in ("plane", "run") or form not in ("svg", "png", "pdf"):
            abort(404)

        drawn = plane_picture(view, fine=True) if what == "plane" else run_picture(view)
        buffer = io.BytesIO()
        draw_picture(drawn, COLOURS).savefig(buffer, format=form, dpi=160)
        kind = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}[form]
        return Response(buffer.getvalue(), mimetype=kind, headers=head)

    @app.get("/claims")
    def claims() -> Response:
        return _json(claim_list())


def _connect_jobs(app: Flask, jobs: Jobs) -> None:
    @app.post("/jobs")
    def start() -> Response:
        """Begin long work; a table to diagnose is the body of the request."""
        options = {name: request.args.get(name, "") for name in OPTIONS}
        if options["task"] not in TASKS:
            abort(400)
        return _json({"job": jobs.start(options, request.get_data())})

    @app.get("/jobs/<name>")
    def look(name: str) -> Response:
        job = jobs.get(name)
        return _json({"gone": True} if job is None else job.as_json())

    @app.post("/jobs/<name>")
    def ask(name: str) -> Response:
        wanted = request.get_json(silent=True)
        number = jobs.ask(name, wanted if isinstance(wanted, dict) else {})
        return _json({"number": number})

    @app.delete("/jobs/<name>")
    def cancel(name: str) -> Response:
        jobs.cancel(name)
        return _json({})
