"""The ``ravine`` command: one file a subcommand."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

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
    """Run the command line; bad input prints one line to stderr and exits with 2."""
    wished = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(wished or ["--help"], prog_name="ravine", standalone_mode=False)
    except typer.TyperException as error:
        _refuse(error.format_message())
    except (ValueError, TypeError, ImportError, OSError) as error:
        _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)

    sys.exit(code if isinstance(code, int) else 0)


def _refuse(message: str) -> None:
    line = " ".join(message.split())
    print(f"ravine: {line}", file=sys.stderr)
    sys.exit(2)
