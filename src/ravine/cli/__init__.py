"""The ``ravine`` command: each subcommand is imported when it is called."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from ravine.arguments import Refusal

_NO_READER = 141
"""Exit code after a closed pipe, as in a shell."""
_LINE = 600
"""Maximum characters of an error message: a very long value is not repeated in full."""
_SAFE = "Do this step size and momentum converge, and how fast?"
_CHOOSE = "Which step size, momentum and batch size should I use?"
_DATA = "What happens on my data?"
_PICTURE = "What does the whole picture look like?"


class Listed(NamedTuple):
    """A command in the overview: its module, the question it answers, and one line on it."""

    module: str
    question: str
    answer: str


COMMANDS = {
    "rate": Listed("rate", _SAFE, "rates with exact gradients, noise and batches"),
    "recommend": Listed("settings", _CHOOSE, "settings with a guarantee"),
    "batch": Listed("batch", _CHOOSE, "smallest stable, largest useful batch size"),
    "rescale": Listed("settings", _CHOOSE, "lr and momentum at a new batch size"),
    "compare": Listed("batch", _CHOOSE, "fifteen methods at a batch size"),
    "convert": Listed("settings", _CHOOSE, "PyTorch, optax, Keras, QHM, the paper"),
    "diagnose": Listed("diagnose", _DATA, "a table: what works, what fails, why"),
    "explore": Listed("map", _PICTURE, "a local page with sliders"),
    "map": Listed("map", _PICTURE, "the plane of step size and momentum"),
    "sweep": Listed("map", _PICTURE, "run a method on every point of that plane"),
    "plot": Listed("map", _PICTURE, "draw a sweep with the theory"),
    "reproduce": Listed("reproduce", _PICTURE, "the paper's figures and claims"),
}
"""Every command in the order of the overview, by the question that it answers."""


class _Command(TyperCommand):
    """A command whose help is as wide as its answers, with --help among the output options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from typer import rich_utils

        from ravine.cli.output import width

        rich_utils.MAX_WIDTH = width()
        super().format_help(ctx, formatter)

    def get_help_option(self, ctx: Any) -> Any:
        shown: Any = super().get_help_option(ctx)
        shown.rich_help_panel = "Output"
        shown.metavar = ""
        return shown


class _Commands(TyperGroup):
    """The group of all commands; it imports only the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Unknown names are compared with these; the values are loaded by get_command.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None

        if self.commands[cmd_name] is None:
            from ravine.cli.options import command_from

            module = import_module(f"ravine.cli.{COMMANDS[cmd_name].module}")
            run, text = command_from(getattr(module, f"{cmd_name}_command"))
            one = typer.Typer(add_completion=False, rich_markup_mode="markdown")
            one.command(cmd_name, cls=_Command, help=text)(run)
            made: Any = typer.main.get_command(one)
            for parameter in made.params:
                if parameter.param_type_name == "argument":  # its name says what it is
                    parameter.display_type_rich = lambda ctx: None
            self.commands[cmd_name] = made

        return self.commands[cmd_name]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from ravine.cli.output import copyable, say

        say(
            "ravine tells you whether SGD with momentum converges, how fast, and which settings "
            "are safe."
        )
        for question in dict.fromkeys(one.question for one in COMMANDS.values()):
            say(f"\n{question}", style="bold")
            for name, one in COMMANDS.items():
                if one.question == question:
                    say(f"  {name:10} {one.answer}")

        say("\nStart with one of these:", style="bold")
        copyable("  ravine rate --mu 0.05 --L 100\n  ravine diagnose diabetes", style=None)
        say("\nExamples and options: ravine COMMAND --help. Version: ravine --version.")


app = typer.Typer(
    name="ravine", cls=_Commands, rich_markup_mode="markdown", pretty_exceptions_enable=False
)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from ravine import __version__

        typer.echo(f"ravine {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input prints one line to stderr and exits with 2.

    The exit code is 130 after an interrupt and 141 after a closed pipe, as in a shell.
    """
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal cannot show become question marks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

    try:
        command: Any = typer.main.get_command(app)
        _refuse_swallowed(command, words)
        code = command(words or ["--help"], prog_name="ravine", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except typer.TyperException as error:
        _end(error.format_message(), 2)
    except BrokenPipeError:
        _end(None, _NO_READER)
    except SystemExit as stop:
        # rich turns a closed pipe into exit code 1, which nothing else here uses.
        _end(None, _NO_READER if stop.code == 1 else stop.code)
    except MemoryError as error:
        _end(f"there is not enough memory: {error or 'ask for less'}", 2)
    except (ValueError, TypeError, ImportError, OSError, ArithmeticError, RecursionError) as error:
        _end(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _end("interrupted", 130)

    sys.exit(code if isinstance(code, int) else 0)


def _refuse_swallowed(group: Any, words: list[str]) -> None:
    """Refuse an option whose value looks like another option, as in ``--out --json``."""
    chosen = group.get_command(None, words[0]) if words else None
    if chosen is None:
        return

    options = {name: one for one in chosen.params for name in (*one.opts, *one.secondary_opts)}
    for word, following in pairwise(words[1:]):
        one = options.get(word)
        if one is not None and not getattr(one, "is_flag", True) and following in options:
            raise Refusal(word, "followed by a value", following, f"give one, as in {word} VALUE")


def _end(message: str | None, code: int | str | None) -> NoReturn:
    """Print one line to stderr and exit; output that cannot be written is dropped."""
    if message is not None:
        line = " ".join(message.split())
        if len(line) > _LINE:
            line = line[: _LINE - 3] + "..."
        with suppress(OSError, ValueError, AttributeError):  # there may be no stderr either
            print(f"ravine: {line}", file=sys.stderr, flush=True)

    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        # Python flushes again at exit and would report the failure in several lines.
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    sys.exit(code)
