"""The ``ravine`` command: one file a subcommand."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, NoReturn

import typer

from ravine.arguments import Refusal
from ravine.cli.batch import batch_command
from ravine.cli.convert import convert_command
from ravine.cli.diagnose import diagnose_command
from ravine.cli.explore import explore_command
from ravine.cli.map import map_command
from ravine.cli.plot import plot_command
from ravine.cli.rate import rate_command
from ravine.cli.recommend import recommend_command
from ravine.cli.reproduce import reproduce
from ravine.cli.sweep import sweep_command

app = typer.Typer(
    name="ravine",
    help="Will Nesterov's method converge here, how fast, to what error, and which step size and "
    "momentum are certain to work?",
    add_completion=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
_NO_READER = 141
"""Exit code of a program whose pipe was closed, as shells have it."""
_LINE = 600
"""Characters of a refusal at most: an option of five thousand is not repeated in full."""
COMMANDS: dict[str, Callable[..., None]] = {
    "rate": rate_command,
    "recommend": recommend_command,
    "batch": batch_command,
    "map": map_command,
    "diagnose": diagnose_command,
    "explore": explore_command,
    "reproduce": reproduce,
    "sweep": sweep_command,
    "plot": plot_command,
    "convert": convert_command,
}
for name, command in COMMANDS.items():
    app.command(name)(command)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from ravine import __version__

        typer.echo(f"ravine {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input prints one line to stderr and exits with 2.

    Interrupted it exits with 130, and with 141 where nobody reads what it prints, as in a shell.
    """
    wished = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        # A letter that the terminal does not know is shown as a question mark.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

    try:
        command: Any = typer.main.get_command(app)
        _refuse_swallowed(command.commands, wished)
        code = command(wished or ["--help"], prog_name="ravine", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except typer.TyperException as error:
        _end(error.format_message(), 2)
    except BrokenPipeError:
        _end(None, _NO_READER)
    except SystemExit as stop:
        # rich has met the closed pipe before: it stops with 1, as nothing else here does.
        _end(None, _NO_READER if stop.code == 1 else stop.code)
    except MemoryError as error:
        _end(f"there is not enough memory: {error or 'ask for less'}", 2)
    except (ValueError, TypeError, ImportError, OSError, ArithmeticError, RecursionError) as error:
        _end(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _end("interrupted", 130)

    sys.exit(code if isinstance(code, int) else 0)


def _refuse_swallowed(commands: dict[str, Any], words: list[str]) -> None:
    """Refuse an option that would take the next option for its value: a file called --json."""
    chosen = commands.get(words[0]) if words else None
    if chosen is None:
        return

    options = {name: one for one in chosen.params for name in (*one.opts, *one.secondary_opts)}
    for word, following in pairwise(words[1:]):
        one = options.get(word)
        if one is not None and not getattr(one, "is_flag", True) and following in options:
            raise Refusal(word, "followed by a value", following, f"give one, as in {word} VALUE")


def _end(message: str | None, code: int | str | None) -> NoReturn:
    """Say one line on stderr and stop; what could not be printed is dropped."""
    if message is not None:
        line = " ".join(message.split())
        if len(line) > _LINE:
            line = line[: _LINE - 3] + "..."
        with suppress(OSError, ValueError, AttributeError):  # there may be no stderr either
            print(f"ravine: {line}", file=sys.stderr, flush=True)

    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        # Python flushes once more as it ends, and would tell of it in several lines.
        _drop_stdout()

    sys.exit(code)


def _drop_stdout() -> None:
    """Let what is still to be printed go nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
