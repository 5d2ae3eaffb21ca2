"""``python -m ravine``, and the ``ravine`` command: it can be interrupted from the start."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_INTERRUPTED = 130
"""Exit code of a program that was interrupted, as shells have it."""


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded is one line, too."""
    try:
        from ravine.cli import main as run

        run()
    except KeyboardInterrupt:
        print("ravine: interrupted", file=sys.stderr, flush=True)
        _leave()
    except SystemExit as stop:
        if stop.code != _INTERRUPTED:
            raise
        _leave()


def _leave() -> NoReturn:
    """End at once: threads that still compute are not waited for, and no signal changes the code.

    Python ends itself with the signal where the interrupt met code that was made from a string, as
    that of every dataclass is.
    """
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
