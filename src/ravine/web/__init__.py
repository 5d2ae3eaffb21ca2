"""A local page to explore methods: every number comes from the library itself.

Needs ``ravine[web]``. Python computes; the scripts in ``assets`` send inputs and draw answers.
"""

import errno
import socket
import sys
import threading
import webbrowser
from typing import Any

from ravine.arguments import Refusal, needed, overflow_allowed, whole

for _name in ("flask", "waitress", "contourpy"):
    needed(_name, "the page", "web")

__all__ = ["explore"]

HOST = "127.0.0.1"
PORT = 8057
_TRIES = 50  # ports that are tried before giving up
_LAST = 65535
_THREADS = 8  # of the server, so that a slow picture does not delay the next request


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
    from ravine.web.server import make_app

    listener = _listen(host, port)
    chosen = listener.getsockname()[1]
    address = f"http://{'127.0.0.1' if host in (HOST, 'localhost') else host}:{chosen}/"
    app = make_app(host=host, port=chosen)
    if _in_notebook() if inline is None else inline:
        from IPython.display import IFrame

        threading.Thread(target=_serve, args=(app, listener), daemon=True).start()
        return IFrame(address, width="100%", height=900)

    if host not in (HOST, "localhost", "::1"):
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
    from waitress import create_server

    server = create_server(app, sockets=[listener], threads=_THREADS, ident=None)

    try:
        server.run()
    finally:
        server.close()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"
