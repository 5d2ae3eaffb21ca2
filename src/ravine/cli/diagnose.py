"""``ravine diagnose``: from a table to a setting that works."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ravine.cli.options import METHOD, OUTPUT, Json, one_of, option
from ravine.cli.output import print_json
from ravine.cli.pictures import needs_matplotlib
from ravine.problems.losses import LOSSES
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from rich.console import Console

    from ravine.diagnosis import Diagnosis
    from ravine.diagnosis.answer import MethodTable
    from ravine.diagnosis.work import Tell

_WIDTH = 80
"""Columns of text: what a terminal has at least."""
_ORDERS = f"Order of the batches: {', '.join(Sampling)}. Default: reshuffle."
_COLOURS = {"good": "green", "unsure": "yellow", "bad": "red"}
_DATA = "Data"
_BUDGET = "Budget"
"""The groups of options in the help text."""


class Missing(StrEnum):
    """What becomes of missing values."""

    DROP_ROWS = "drop-rows"
    FILL = "fill"
    REFUSE = "refuse"


class Framework(StrEnum):
    """What the training loop is written in."""

    TORCH = "torch"
    SKLEARN = "sklearn"
    NUMPY = "numpy"


def diagnose_command(
    data: Annotated[
        str, typer.Argument(help="A file (CSV, Parquet, NPZ, LIBSVM ...) or e.g. diabetes.")
    ],
    target: Annotated[
        str | None,
        option(_DATA, "--target", "Column to predict. Default: inferred.", "TEXT"),
    ] = None,
    drop: Annotated[
        list[str] | None, option(_DATA, "--drop", "Column to ignore. Can be repeated.", "TEXT")
    ] = None,
    weights: Annotated[
        str | None, option(_DATA, "--weights", "Column with the weight of each row.", "TEXT")
    ] = None,
    raw: Annotated[
        bool, option(_DATA, "--raw", "Do not standardise, do not add an intercept.")
    ] = False,
    no_standardise: Annotated[
        bool, option(_DATA, "--no-standardise", "Do not scale the columns.")
    ] = False,
    no_intercept: Annotated[
        bool, option(_DATA, "--no-intercept", "Do not add a column of ones.")
    ] = False,
    missing: Annotated[
        Missing,
        option(_DATA, "--missing", "drop-rows, fill or refuse. Default: drop-rows.", "WORD"),
    ] = Missing.DROP_ROWS,
    validation: Annotated[
        float | None, option(_DATA, "--validation", "Share of rows to hold out, e.g. 0.2.", "N")
    ] = None,
    levels: Annotated[
        int, option(_DATA, "--levels", "Levels kept of a text column. Default: 20.", "N")
    ] = 20,
    sep: Annotated[
        str | None, option(_DATA, "--sep", "Separator of a text file. Default: detected.", "TEXT")
    ] = None,
    encoding: Annotated[
        str | None,
        option(_DATA, "--encoding", "Encoding of a text file. Default: detected.", "TEXT"),
    ] = None,
    decimal: Annotated[
        str | None, option(_DATA, "--decimal", "Decimal mark, . or ,. Default: detected.", "TEXT")
    ] = None,
    max_rows: Annotated[
        int | None, option(_DATA, "--max-rows", "Refuse more rows. Default: 5e7.", "N")
    ] = None,
    max_columns: Annotated[
        int | None, option(_DATA, "--max-columns", "Refuse more columns. Default: 1e5.", "N")
    ] = None,
    max_classes: Annotated[
        int | None, option(_DATA, "--max-classes", "Refuse more classes. Default: 100.", "N")
    ] = None,
    max_bytes: Annotated[
        int | None, option(_DATA, "--max-bytes", "Refuse larger data. Default: 4 GiB.", "N")
    ] = None,
    loss: Annotated[
        str | None, option(METHOD, "--loss", f"{', '.join(LOSSES)}. Default: by target.", "TEXT")
    ] = None,
    l2: Annotated[float | None, option(METHOD, "--l2", "Weight of l2/2 ‖w‖².", "N")] = None,
    batch_size: Annotated[
        int | None, option(METHOD, "--batch-size", "Rows in a batch. Default: 32.", "N")
    ] = None,
    batches: Annotated[
        str | None, option(METHOD, "--batches", "new every epoch, or fixed. Default: new.", "TEXT")
    ] = None,
    sampling: Annotated[
        Sampling, option(METHOD, "--sampling", _ORDERS, "WORD")
    ] = Sampling.RESHUFFLE,
    lr: Annotated[
        float | None, option(METHOD, "--lr", "Learning rate to judge. Default: textbook.", "N")
    ] = None,
    momentum: Annotated[
        float | None, option(METHOD, "--momentum", "Momentum to judge.", "N")
    ] = None,
    alpha: Annotated[float | None, option(METHOD, "--alpha", "The same as --lr.", "N")] = None,
    beta: Annotated[float | None, option(METHOD, "--beta", "The same as --momentum.", "N")] = None,
    gamma: Annotated[
        float | None, option(METHOD, "--gamma", "Look-ahead. Default: as momentum.", "N")
    ] = None,
    in_order: Annotated[
        bool, option(METHOD, "--in-order", "Do not shuffle the rows first.")
    ] = False,
    epochs: Annotated[
        int | None, option(_BUDGET, "--epochs", "Length of the runs. Default: 30.", "N")
    ] = None,
    time: Annotated[
        float, option(_BUDGET, "--time", "Most seconds after reading. Default: 60.", "N")
    ] = 60.0,
    no_remedies: Annotated[
        bool, option(_BUDGET, "--no-remedies", "Do not try changes that would help.")
    ] = False,
    seed: Annotated[int, option(_BUDGET, "--seed", "Seed of the runs. Default: 0.", "N")] = 0,
    code: Annotated[
        Framework | None,
        option(OUTPUT, "--code", "Print a training loop: torch, sklearn, numpy.", "WORD"),
    ] = None,
    out: Annotated[Path | None, option(OUTPUT, "--out", "Write an HTML report.")] = None,
    json: Json = False,
) -> None:
    """Find a learning rate, momentum and schedule for a linear model on your data.

    Also says what is wrong with the textbook setting, or with --lr and --momentum.

    For example:

    - `ravine diagnose diabetes`

    - `ravine diagnose train.csv --target price --lr 0.01 --momentum 0.9`

    - `ravine diagnose train.csv --code torch > train.py`
    """
    from ravine.diagnosis import diagnose
    from ravine.tables import read_table

    step = one_of("--alpha", alpha, "--lr", lr)
    inertia = one_of("--beta", beta, "--momentum", momentum)
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"out must be a file ending in .html, got {out}: change its ending")
    if out is not None:
        needs_matplotlib("the report")

    options: dict[str, Any] = {
        "target": target, "drop": drop or (), "weights": weights, "missing": missing.value,
        "levels": levels, "sep": "\t" if sep == "\\t" else sep, "encoding": encoding,
        "decimal": decimal,
    }  # fmt: skip
    table = read_table(
        data, **options, max_rows=max_rows, max_columns=max_columns, max_classes=max_classes,
        max_bytes=max_bytes,
    )  # fmt: skip

    with _stages() as tell:
        result = diagnose(
            table, loss=loss, l2=l2, batch_size=batch_size, batches=batches, sampling=sampling,
            alpha=step, beta=inertia, gamma=gamma, shuffle=None if in_order else 0,
            standardise=not (raw or no_standardise), intercept=not (raw or no_intercept),
            validation=validation, epochs=epochs, seed=seed, try_remedies=not no_remedies,
            tell=tell, time=time,
        )  # fmt: skip

    if out is not None:
        result.to_html(out)
    if json:
        print_json(result.to_dict())
    elif code is not None:
        typer.echo(result.code(code.value, source=_source(data, options)), nl=False)
    else:
        _show(result)
        if out is not None:
            typer.echo(f"\nwrote {out}")


def _source(data: str, options: dict[str, Any]) -> str:
    """The lines that read the same table again, with the options that were given."""
    defaults = {"drop": (), "missing": Missing.DROP_ROWS.value, "levels": 20}
    given = "".join(
        f", {name}={value!r}" for name, value in options.items() if value != defaults.get(name)
    )
    weights = "\nweights = table.weights" if options["weights"] else ""
    return (
        "from ravine.tables import read_table\n\n"
        f"table = read_table({data!r}{given})\nX, y = table.X, table.y{weights}"
    )


@contextmanager
def _stages() -> Iterator[Tell | None]:
    """Show the stage that runs on stderr, where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())

    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading the columns", total=None)

        def tell(stage: str, share: float) -> None:
            bar.update(task, description=f"{stage} ({100 * share:.0f} % of the time)")

        yield tell


def _show(result: Diagnosis) -> None:
    """The answer, the table of methods, and what is worth knowing about the data."""
    from rich.console import Console

    answer = result.answer
    screen = Console(highlight=False, width=min(_WIDTH, Console().width))
    for line in answer.lines:
        typer.echo(_wrapped(line, screen.width))

    screen.print()
    _show_methods(answer.methods.short(), screen)
    screen.print()
    for line in (*answer.notes, *answer.data):
        typer.echo(_wrapped(f"- {line}", screen.width, "  "))


def _wrapped(line: str, width: int, indent: str = "") -> str:
    """A line broken between words, but not inside an equation or a percentage."""
    whole = line.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")
    return fill(whole, width, subsequent_indent=indent).replace("\u00a0", " ")


def _show_methods(methods: MethodTable, screen: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    for column in methods.columns:
        side = "right" if column.number else "left"
        table.add_column(column.title, justify=side, no_wrap=True)  # type: ignore[arg-type]

    for row in methods.rows:
        styles = [_COLOURS[row.tone] if c.key == "outcome" else "" for c in methods.columns]
        table.add_row(*(Text(text, style) for text, style in zip(row.cells, styles, strict=True)))

    screen.print(table)
    typer.echo(_wrapped(methods.caption, screen.width))
