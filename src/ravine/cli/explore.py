"""``ravine explore``: the page to see and touch it."""

from __future__ import annotations

from typing import Annotated

import typer


def explore_command(
    port: Annotated[
        int, typer.Option(help="First port to try; a busy one leads to the next.")
    ] = 8057,
    host: Annotated[
        str, typer.Option(help="Address to listen on; the page has no password.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open a local page: move step size and momentum, and see what converges.

    For example:

    - `ravine explore`

    - `ravine explore --port 9000 --no-browser`
    """
    from ravine.web import explore

    explore(host=host, port=port, browser=browser, inline=False)
