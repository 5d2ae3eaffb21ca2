"""The output of every command: sentences, tables, numbers, JSON, pictures, the next command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ravine.arguments import Refusal, needed
from ravine.curvature import Curvature
from ravine.digits import rate_digits
from ravine.methods import LinearMethod, Method

PICTURES = (".png", ".svg", ".pdf")
_WIDEST = 100
"""Maximum line width; longer lines are hard to read."""
UNBROKEN: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
"""Wraps paragraphs; paths and commands are not broken."""


_console = partial(Console, highlight=False, markup=False, emoji=False)
"""A console that prints text as it is."""


class Whole(str):
    """Text that is not wrapped, so that a path or code can be copied."""


Part: TypeAlias = str | Text | Table


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    words: Sequence[str] = (),
    gap: int = 2,
) -> Table:
    """A table whose cells are wrapped, never truncated.

    Parameters
    ----------
    head, rows
        The title of each column, and the cells.
    words
        Titles of the columns of text, aligned left like the names in the first column. Other
        columns hold numbers, aligned right.
    gap
        Spaces between columns.
    """
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for place, title in enumerate(head):
        # Names, not batch sizes.
        names = place == 0 and not all(str(row[0])[:1].isdigit() for row in rows)
        left = names or title in words
        made.add_column(title, justify="left" if left else "right", overflow="fold")

    for row in rows:
        made.add_row(*row)

    return made


class Answer:
    """The answer of a command: ``data`` with ``--json``, otherwise ``parts`` one below the other.

    A part is a paragraph, which is wrapped (a ``Text`` has a style), a table, or a ``Whole`` line.
    ``then`` is the next command to try, and what it answers.
    """

    def __init__(
        self, data: dict[str, Any], *parts: Part, then: tuple[str, str] | None = None
    ) -> None:
        self.data = data
        self.parts = parts
        self.then = then

    def show(self) -> None:
        """Print every part, then the next command."""
        for part in self.parts:
            if isinstance(part, Table):
                _console(width=width()).print(part)
            elif isinstance(part, Text):
                say(part.plain, style=str(part.style))
            elif isinstance(part, Whole):
                copyable(part, style=None)
            else:
                say(part)

        if self.then is not None:
            command, what = self.then
            say(f"\nNext, for {what}:")
            copyable(f"  {command}")


def width() -> int:
    """Width of the terminal, at most 100 columns."""
    return max(1, min(_WIDEST, Console().width))


def say(text: str = "", *, style: str | None = None) -> None:
    """Print paragraphs, wrapped at the width of the terminal; words and equations stay whole."""
    whole = text.replace(" = ", "\u00a0=\u00a0").replace(" < ", "\u00a0<\u00a0")
    whole = whole.replace(" %", "\u00a0%")
    wrapped = [
        # Indent the entries of a list below their dashes.
        fill(line, width(), subsequent_indent="  " if line.startswith("- ") else "", **UNBROKEN)
        for line in whole.split("\n")
    ]
    copyable("\n".join(wrapped).replace("\u00a0", " "), style=style)


def copyable(text: str, *, style: str | None = "bold") -> None:
    """Print code or a command without breaking long lines, so that it can be copied."""
    _console().print(text, style=style, soft_wrap=True)


def wrote(path: Path | None) -> list[Whole]:
    """The line that names the file written, if any."""
    return [] if path is None else [Whole(f"Wrote {path}")]


def stable(rate: float, text: str = "") -> Text:
    """A cell with a rate per step: green below 1, red otherwise."""
    return Text(text or rate_digits(rate), style="green" if rate < 1.0 else "red")


def parameters(method: Method | LinearMethod) -> str:
    """Format parameters with six digits: with fewer, a safe step may not be safe."""
    if isinstance(method, LinearMethod):
        above, below = (
            ", ".join(f"{v:.6g}" for v in side) for side in (method.numerator, method.denominator)
        )
        return f"G = [{above}] / [{below}] in powers of z"

    look_ahead = "" if method.is_nesterov else f", gamma = {method.gamma:.6g}"
    return f"alpha = {method.alpha:.6g}, beta = {method.beta:.6g}{look_ahead}"


def print_json(data: dict[str, Any]) -> None:
    """Print a result as JSON; infinite numbers become null."""
    typer.echo(json.dumps(as_json(data), indent=2, allow_nan=False))


def as_json(value: Any) -> Any:
    """A value with the types of JSON; methods and curvatures have the same keys everywhere."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float):
        return float(value) if abs(value) < float("inf") else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Curvature):
        return {"mu": float(value.mu), "L": float(value.L), "Q": float(value.Q)}
    if isinstance(value, Method):
        return {name: float(getattr(value, name)) for name in ("alpha", "beta", "gamma")}
    if isinstance(value, LinearMethod):
        return {"numerator": value.numerator.tolist(), "denominator": value.denominator.tolist()}

    return value


def check_out(out: Path | None, endings: tuple[str, ...] = PICTURES) -> None:
    """Refuse a file without one of the ``endings``, and pictures if matplotlib is missing."""
    if out is None:
        return
    if out.suffix.lower() not in endings:
        raise Refusal("out", f"a file ending in {', '.join(endings)}", out, "change its ending")
    if out.suffix.lower() in PICTURES:
        needed("matplotlib", "a picture", "plot")
