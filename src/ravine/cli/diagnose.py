"""``ravine diagnose``: from a table to a setting that works."""

from __future__ import annotations

import shlex
import sys
from inspect import signature
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ravine.arguments import known_name, needed
from ravine.cli.options import one_of, spelled
from ravine.cli.output import Answer, Whole, check_out, table, wrote

_COLOURS = {"good": "green", "unsure": "yellow", "bad": "red"}
_FLAGS = ("no_standardise", "no_intercept", "in_order", "no_remedies")


def diagnose_command(
    data: str,
    drop: list[str] | None = None,
    code: str | None = None,
    out: Path | None = None,
    **options: Any,
) -> Answer:
    """Find a learning rate, momentum and schedule for a linear model on your data.

    Also shows what is wrong with the textbook setting, or with --lr and --momentum.

    For example:

    - `ravine diagnose diabetes`

    - `ravine diagnose train.csv --target price --lr 0.01 --momentum 0.9`

    - `ravine diagnose train.csv --code torch > train.py`

    Arguments
    ---------
    data : DATA
        A file (CSV, Parquet, NPZ, LIBSVM ...) or an example such as diabetes.

    Data
    ----
    target : TEXT
        Column to predict. Default: inferred from the data; the output names it.
    drop : TEXT
        Column to ignore. Can be repeated.
    weights : TEXT
        Column with the weight of each row.
    raw
        Do not standardise, do not add an intercept.
    no_standardise
        Do not scale the columns.
    no_intercept
        Do not add a column of ones.
    missing : WORD
        Missing values: drop-rows, fill or refuse. Default: drop-rows.
    validation : NUMBER
        Share of rows to hold out, e.g. 0.2.
    levels : N
        Levels to keep of a text column. Default: 20.
    sep : TEXT
        Separator of a text file. Default: detected.
    encoding : TEXT
        Encoding of a text file. Default: detected.
    decimal : TEXT
        Decimal mark, . or ,. Default: detected.
    max_rows : N
        Maximum number of rows. Default: 5e7.
    max_columns : N
        Maximum number of columns. Default: 1e5.
    max_classes : N
        Maximum number of classes. Default: 100.
    max_bytes : N
        Maximum size of the data. Default: 4 GiB.

    Method
    ------
    loss : TEXT
        squared, logistic, multinomial, poisson or huber. Default: from the target.
    l2 : NUMBER
        Weight of l2/2 ‖w‖².
    batch_size : N
        Rows per batch. Default: 32.
    batches : WORD
        Batches: new (reshuffled every epoch) or fixed. Default: new.
    sampling : WORD
        Order of the batches: iid, iid-no-repeat, cyclic, reshuffle or
        reshuffle-no-repeat. Default: reshuffle.
    lr : NUMBER
        Your learning rate, to judge. Default: textbook.
    momentum : NUMBER
        Your momentum, to judge.
    alpha : NUMBER
        The same as --lr.
    beta : NUMBER
        The same as --momentum.
    gamma : NUMBER
        Look-ahead. Default: the same as momentum.
    in_order
        Do not shuffle the rows first.

    Budget
    ------
    epochs : N
        Epochs per run. Default: 30.
    time : NUMBER
        Work budget, in seconds on a typical core. Default: 60.
    no_remedies
        Do not search for changes that would help.
    seed : N
        Seed of the runs. Default: 0.

    Output
    ------
    code : WORD
        Print a training loop: torch, sklearn or numpy.
    out : FILE
        Write an HTML report.
    json
    """
    from ravine.diagnosis import diagnose
    from ravine.diagnosis.code import FRAMEWORKS, training_scripts
    from ravine.tables import read_table

    if code is not None:
        known_name("code", code, FRAMEWORKS)
    check_out(out, (".html", ".htm"))
    if out is not None:
        needed("matplotlib", "the report", "plot")

    words = shlex.quote(data) + spelled(drop=drop, **options)
    alpha, lr, beta, momentum = (
        options.pop(name, None) for name in ("alpha", "lr", "beta", "momentum")
    )
    raw = options.pop("raw", False)
    flags = {name: options.pop(name, False) for name in _FLAGS}
    # The options of read_table, including its limits; all others are those of diagnose.
    known = [*signature(read_table).parameters, *(name for name in options if "max_" in name)]
    reading = {name: options.pop(name) for name in known if name in options}
    if drop:
        reading["drop"] = drop
    if reading.get("sep") == "\\t":
        reading["sep"] = "\t"

    read = read_table(data, **reading)
    # The current stage is shown on stderr, if that is a terminal.
    screen = Console(stderr=True, force_terminal=sys.stderr.isatty())
    with screen.status("reading the columns") as line:
        result = diagnose(
            read,
            alpha=one_of("--alpha", alpha, "--lr", lr),
            beta=one_of("--beta", beta, "--momentum", momentum),
            shuffle=None if flags["in_order"] else 0,
            standardise=not (raw or flags["no_standardise"]),
            intercept=not (raw or flags["no_intercept"]),
            try_remedies=not flags["no_remedies"],
            tell=lambda stage, share: line.update(f"{stage} ({100 * share:.0f} % of the time)"),
            **options,
        )

    if out is not None:
        result.to_html(out)
    if code is not None:
        script = result.code(code, source=_source(data, reading))
        return Answer(result.to_dict(), Whole(script.rstrip("\n")))

    answer = result.answer
    head, cells = answer.methods.cells()
    rows = [[Text(cell.text, _COLOURS.get(cell.tone, "")) for cell in row] for row in cells]
    titles = [cell.text for cell in head]
    framework = next(iter(training_scripts(result)), None)
    then = f"ravine diagnose {words} --code {framework}", "a training loop with this setting"
    return Answer(
        result.to_dict(),
        *answer.lines,
        "",
        table(titles, rows, [cell.text for cell in head if not cell.number], gap=1),
        f"{answer.methods.caption}\n",
        *(f"- {line}" for line in (*answer.notes, *answer.data)),
        *(["", *wrote(out)] if out is not None else []),
        then=then if framework else None,
    )


def _source(data: str, reading: dict[str, Any]) -> str:
    """Code that reads the same table with the same options."""
    given = "".join(f", {name}={value!r}" for name, value in reading.items())
    weights = "\nweights = table.weights" if "weights" in reading else ""
    return (
        "from ravine.tables import read_table\n\n"
        f"table = read_table({data!r}{given})\nX, y = table.X, table.y{weights}"
    )
