"""The page's server: its routes, who may use it, and what it refuses."""

from __future__ import annotations

import atexit
import io
import threading
from typing import Any

from flask import Flask, Response, abort, render_template, request

from ravine.web.answers import answer, page
from ravine.web.jobs import TASKS, Jobs
from ravine.web.picture import as_json
from ravine.web.plane_picture import draw_plane_figure, plane_csv
from ravine.web.view import parse

UPLOAD_BYTES = 64 << 20
"""Maximum size in bytes of a table dropped on the page."""
SECONDS = 30.0
"""Seconds for a diagnosis, because the user is waiting."""
FILES = {"csv": "text/csv", "svg": "image/svg+xml", "pdf": "application/pdf"}
"""Formats in which the plane can be downloaded."""

_LOCAL = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    # Nothing from other servers, and no other scripts; a notebook may show the page in a frame.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self' http://127.0.0.1:* http://localhost:*",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def make_app(*, host: str, port: int, warm: bool = True) -> Flask:
    """The page as a Flask app that answers only requests for this host and port."""
    app = Flask(__name__, static_folder="assets", template_folder="assets")
    app.config["MAX_CONTENT_LENGTH"] = UPLOAD_BYTES
    # Another site's name may resolve to this machine, so only requests for these names are
    # answered.
    names = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    @app.before_request
    def refuse() -> None:
        if host in _LOCAL and request.host not in names:
            abort(403)

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response

    @app.get("/")
    def first() -> str:
        return render_template("index.html", **page())

    @app.post("/answer")
    def reply() -> Response:
        return _json(answer(_wanted()))

    @app.get("/ravine-plane.<form>")
    def plane(form: str) -> Response:
        """The plane as a file to download."""
        view = parse(request.args.to_dict())
        if form not in FILES:
            abort(404)
        if form == "csv":
            return Response(plane_csv(view), mimetype=FILES[form])

        buffer = io.BytesIO()
        draw_plane_figure(view).savefig(buffer, format=form)
        return Response(buffer.getvalue(), mimetype=FILES[form])

    @app.get("/claims")
    def claims() -> Response:
        # Imported here: the claims import all figures, which nothing else on the page needs.
        from ravine.web.claims import claim_list

        return _json(claim_list())

    _connect_jobs(app)
    if warm:
        threading.Thread(target=_prepare, daemon=True).start()

    return app


def _prepare() -> None:
    """Import what pictures need, and cache the first one, before a browser requests it."""
    answer({"calm": 1})
    answer({"settings": {"colour": "floor"}})
    for variance in (0.0, 1.0):
        answer({"settings": {"example": "noise", "sigma2": variance, "K": 2}})
    for rule in ("iid", "cyclic", "reshuffle"):
        answer({"settings": {"example": "inconsistent", "sampling": rule, "n": 3, "K": 2}})


def _json(value: Any) -> Response:
    fresh = {"Cache-Control": "no-store"}
    return Response(as_json(value), mimetype="application/json", headers=fresh)


def _wanted() -> dict[str, Any]:
    """The JSON object of the request."""
    wanted = request.get_json(silent=True)
    if not isinstance(wanted, dict):
        abort(400)
    return wanted


def _connect_jobs(app: Flask) -> None:
    jobs = Jobs()
    atexit.register(jobs.close)

    @app.post("/jobs")
    def start() -> Response:
        """Start a job; a table to diagnose is the body of the request."""
        content = request.get_data()
        options = request.args.to_dict() | {"seconds": SECONDS}
        if options.get("task") not in TASKS:
            abort(400)
        return _json({"job": jobs.start(options, content)})

    @app.get("/jobs/<name>")
    def look(name: str) -> Response:
        job = jobs.get(name)
        return _json({"gone": True} if job is None else job.state)

    @app.post("/jobs/<name>")
    def ask(name: str) -> Response:
        """Send a job a further request, and wait for the answer."""
        job = jobs.get(name)
        wanted = _wanted()
        return _json({"answer": "" if job is None else job.ask(wanted)})

    @app.delete("/jobs/<name>")
    def cancel(name: str) -> Response:
        jobs.cancel(name)
        return _json({})
