"""How every command prints: sentences, tables, numbers, JSON and the next command to try."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, SupportsFloat

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ravine.cli import COMMANDS
from ravine.methods import Method

_WIDEST = 100
"""Columns of text at most; longer lines are hard to read."""


def width() -> int:
    """Columns of the terminal, at most 100."""
    return max(1, min(_WIDEST, Console().width))


def say(text: str = "", *, style: str | None = None, indent: str = "") -> None:
    """Print paragraphs, wrapped at the width of the terminal; no word is broken.

    ``indent`` precedes the lines of a paragraph after its first, as in a list.
    """
    wrapped = [
        fill(
            line, width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        for line in text.split("\n")
    ]
    copyable("\n".join(wrapped), style=style)


def copyable(text: str, *, style: str | None = "bold") -> None:
    """Print code or a command as it is: a long line is not broken, so that it can be copied."""
    Console(highlight=False).print(text, style=style, markup=False, emoji=False, soft_wrap=True)


def wrote(path: Path | None) -> None:
    """Say which file was written, if any, in a line that is never broken."""
    if path is not None:
        copyable(f"Wrote {path}", style=None)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    words: Sequence[str] = (),
) -> None:
    """Print a table whose cells wrap rather than being cut off.

    Parameters
    ----------
    head
        The title of each column.
    rows
        Cells as they are to be shown.
    words
        Titles of the columns that hold text, aligned left like names in the first column; the
        others hold numbers, aligned right.
    """
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, title in enumerate(head):
        # Names, not batch sizes.
        names = place == 0 and not all(str(row[0])[:1].isdigit() for row in rows)
        left = names or title in words
        grid.add_column(title, justify="left" if left else "right", overflow="fold")

    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))

    Console(highlight=False, width=width()).print(grid)


def coloured(text: str, good: bool) -> Text:
    """A cell in green or in red."""
    return Text(text, style="green" if good else "red")


def digits(value: SupportsFloat) -> str:
    """A number to three significant digits; exact values are in ``--json``.

    Examples
    --------
    >>> digits(0.0123456), digits(12345.0), digits(2.0), digits(1e-12)
    ('0.0123', '12300', '2', '1e-12')
    """
    number = float(value)
    if 1e3 <= abs(number) < 1e6:
        return f"{float(f'{number:.3g}'):.0f}"

    return f"{number:.3g}"


def rate_digits(rate: SupportsFloat) -> str:
    """A rate per step, with as many digits as tell it from 1.

    Examples
    --------
    >>> rate_digits(0.9), rate_digits(0.99996), rate_digits(1.0046), rate_digits(1.27279)
    ('0.900', '0.99996', '1.005', '1.27')
    """
    value = float(rate)
    if not 0.1 <= value < 10.0:
        return digits(value)

    places = next((n for n in range(3, 9) if value == 1.0 or round(value, n) != 1.0), 9)
    is_close = value < 1.0 or f"{value:.3g}" == "1" != f"{value:g}"
    return f"{value:.{places}f}" if is_close else f"{value:.3g}"


def settings(method: Method) -> str:
    """The parameters of a method to six digits: rounded further, a safe step may not be safe."""
    look_ahead = "" if method.is_nesterov else f", gamma = {method.gamma:.6g}"
    return f"alpha = {method.alpha:.6g}, beta = {method.beta:.6g}{look_ahead}"


def suggest(command: str, what: str) -> None:
    """End an answer with the next command to try, and with what it gives."""
    say(f"\nNext, for {what}:")
    copyable(f"  {command}")


def print_json(data: dict[str, Any]) -> None:
    """Print a result as JSON; infinite numbers become null."""
    typer.echo(json.dumps(_finite(data), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None

    return value


def print_overview() -> None:
    """Print what ``ravine`` alone shows: the questions that it answers, and with which command."""
    say("ravine tells whether SGD with momentum converges, how fast, and which settings are safe.")
    for question in dict.fromkeys(one.question for one in COMMANDS.values()):
        say(f"\n{question}", style="bold")
        for name, one in COMMANDS.items():
            if one.question == question:
                say(f"  {name:10} {one.answer}")

    say("\nStart with one of these:", style="bold")
    copyable("  ravine rate --mu 0.05 --L 100", style=None)
    copyable("  ravine diagnose diabetes", style=None)
    say("\nravine COMMAND --help shows examples and options. ravine --version shows the version.")
