"""Packages that a command needs and an installation may lack: said before the work begins."""

from __future__ import annotations

from importlib.util import find_spec


def needs_matplotlib(what: str) -> None:
    """Refuse at once where pictures cannot be drawn, rather than after the work is done.

    Parameters
    ----------
    what
        What would need it, as the sentence begins: "a picture", "the report".

    Raises
    ------
    ImportError
        With the line that installs it.
    """
    if find_spec("matplotlib") is None:
        raise ImportError(
            f"{what} needs matplotlib, which is not installed: pip install 'ravine[plot]'"
        )
