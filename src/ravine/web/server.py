"""The page's server: its start, its routes, who may use it, and what it refuses."""

from __future__ import annotations

import atexit
import errno
import io
import socket
import sys
import threading
import webbrowser
from typing import Any

from flask import Flask, Response, abort, render_template, request
from waitress import create_server

from ravine.arguments import Refusal, overflow_allowed, whole
from ravine.web.answers import answer, page
from ravine.web.jobs import TASKS, Jobs
from ravine.web.picture import as_json
from ravine.web.plane_picture import draw_plane_figure, plane_csv
from ravine.web.view import parse

HOST = "127.0.0.1"
PORT = 8057
UPLOAD_BYTES = 64 << 20
"""Maximum size in bytes of a table dropped on the page."""
SECONDS = 30.0
"""Seconds for a diagnosis, because the user is waiting."""
FILES = {"csv": "text/csv", "svg": "image/svg+xml", "pdf": "application/pdf"}
"""Formats in which the plane can be downloaded."""

_TRIES = 50  # ports that are tried before giving up
_LAST = 65535
_THREADS = 8  # of the server, so that a slow picture does not delay the next request
_LOCAL = (HOST, "localhost", "::1")
_HEADERS = {
    # Nothing from other servers, and no other scripts; a notebook may show the page in a frame.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self' http://127.0.0.1:* http://localhost:*",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@overflow_allowed
def explore(
    *, host: str = HOST, port: int = PORT, browser: bool = True, inline: bool | None = None
) -> Any:
    """Open the interactive page: move step size and momentum, and see what converges.

    Parameters
    ----------
    host
        Address to listen on. Any but this machine's own prints a warning: the page has no password.
    port
        The first port to try; if it is busy, the next one is tried.
    browser
        Whether to open the page in a browser.
    inline
        Show it as a frame in a notebook and return. Default: in notebooks only.
    """
    listener = _listen(host, port)
    chosen = listener.getsockname()[1]
    address = f"http://{'127.0.0.1' if host in (HOST, 'localhost') else host}:{chosen}/"
    app = make_app(host=host, port=chosen)
    if _in_notebook() if inline is None else inline:
        from IPython.display import IFrame

        threading.Thread(target=_serve, args=(app, listener), daemon=True).start()
        return IFrame(address, width="100%", height=900)

    if host not in _LOCAL:
        print(
            f"ravine: listening on {host}: anyone who can reach this machine can use the page",
            file=sys.stderr,
        )

    print(f"ravine: the page is at {address} (press Ctrl-C to stop)", file=sys.stderr, flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()

    _serve(app, listener)
    return None


def _listen(host: str, first: int) -> socket.socket:
    """A listening socket on the first free port."""
    whole("port", first, 0, remedy="give a port, e.g. 8057", maximum=_LAST)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(first, min(first + _TRIES, _LAST + 1)):
        try:
            # It listens at once, so that a browser that connects early waits for the first answer.
            return socket.create_server((host, port), family=family)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                rule = "an address of this machine"
                raise Refusal("host", rule, repr(host), "omit it for 127.0.0.1") from None

    raise Refusal("port", f"free, or one of the next {_TRIES}", first, "give another --port")


def _serve(app: Any, listener: socket.socket) -> None:
    """Answer until interrupted."""
    server = create_server(app, sockets=[listener], threads=_THREADS, ident=None)
    try:
        server.run()
    finally:
        server.close()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"


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
