"""``ravine explore``: the page to see and touch it."""

from __future__ import annotations

from typing import Annotated

from ravine.cli.options import option


def explore_command(
    port: Annotated[
        int, option(None, "--port", "First port to try; the next free one is used.", "N")
    ] = 8057,
    host: Annotated[
        str, option(None, "--host", "Address to listen on; the page has no password.", "TEXT")
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, option(None, "--no-browser", "Do not open the page in a browser.")
    ] = False,
) -> None:
    """Open a local page: move step size and momentum, and see what converges.

    For example:

    - `ravine explore`

    - `ravine explore --no-browser`

    - `ravine explore --port 9000 --no-browser`
    """
    from ravine.web import explore

    explore(host=host, port=port, browser=not no_browser, inline=False)
