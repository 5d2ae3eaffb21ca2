"""``python -m ravine`` and the ``ravine`` command, which can be interrupted at any time."""

from __future__ import annotations

import os
import sys

_INTERRUPTED = 130
"""Exit code after an interrupt, as in a shell."""


def main() -> None:
    """Run the command line; Ctrl-C prints one line even while modules are being imported."""
    try:
        from ravine.cli import main as run

        run()
    except KeyboardInterrupt:
        print("ravine: interrupted", file=sys.stderr, flush=True)
    except SystemExit as stop:
        if stop.code != _INTERRUPTED:
            raise
    else:
        return

    # At once, without waiting for running threads. Python would kill itself with the signal if the
    # interrupt arrived in code compiled from a string, such as the methods of a dataclass.
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
