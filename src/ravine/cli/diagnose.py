"""``ravine diagnose``: from data to a verdict and to parameters that work."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ravine.cli.options import Alpha, Beta, Gamma, Json, one_of
from ravine.cli.output import print_json
from ravine.cli.pictures import needs_matplotlib
from ravine.problems.losses import LOSSES
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from rich.console import Console

    from ravine.diagnosis import Diagnosis
    from ravine.diagnosis.time_budget import Tell

_WIDTH = 80
"""Columns of text: what a terminal has at least."""
_COLOURS = {
    "converges": "green", "useless": "yellow", "erratic": "yellow", "diverges": "red",
    "undecided": "yellow",
}  # fmt: skip


class Missing(StrEnum):
    """What becomes of missing values."""

    DROP_ROWS = "drop-rows"
    FILL = "fill"
    REFUSE = "refuse"


def diagnose_command(
    data: Annotated[
        str, typer.Argument(help="A table in any usual format (docs/tables.md), or e.g. diabetes.")
    ],
    target: Annotated[
        str | None, typer.Option("--target", help="Target column; left out: chosen, and said.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="A column to leave out; may be repeated.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option("--weights", help="The column with the weight of each row.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option("--loss", help=f"{', '.join(LOSSES)}; left out: chosen by the target."),
    ] = None,
    l2: Annotated[
        float | None, typer.Option("--l2", help="Weight of the regulariser l2/2 ‖w‖².")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", help="Rows in a batch; left out: 32.")
    ] = None,
    batches: Annotated[
        str | None,
        typer.Option(
            "--batches", help="recut: anew every epoch; fixed: once; left out: by the order."
        ),
    ] = None,
    sampling: Annotated[
        Sampling, typer.Option("--sampling", help="Order of the batches.")
    ] = Sampling.RESHUFFLE,
    alpha: Alpha = None,
    beta: Beta = None,
    gamma: Gamma = None,
    lr: Annotated[float | None, typer.Option("--lr", help="The same as --alpha.")] = None,
    momentum: Annotated[
        float | None, typer.Option("--momentum", help="The same as --beta.")
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle/--in-order", help="Shuffle rows before cutting batches.")
    ] = True,
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Scale columns to mean 0 and variance 1.")
    ] = False,
    intercept: Annotated[
        bool, typer.Option("--intercept", help="Append a column of ones.")
    ] = False,
    missing: Annotated[
        Missing, typer.Option("--missing", help="What becomes of rows with missing values.")
    ] = Missing.DROP_ROWS,
    levels: Annotated[
        int, typer.Option("--levels", help="Levels of a text column that are kept apart.")
    ] = 20,
    sep: Annotated[
        str | None, typer.Option("--sep", help="Separator of a text file; left out: guessed.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of a text file; left out: guessed.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option("--decimal", help="Decimal mark, point or comma; guessed.")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option("--max-rows", help="Refuse more rows; left out: 5e7.")
    ] = None,
    max_columns: Annotated[
        int | None, typer.Option("--max-columns", help="Refuse more columns; left out: 1e5.")
    ] = None,
    max_classes: Annotated[
        int | None, typer.Option("--max-classes", help="Refuse more classes; left out: 100.")
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option("--max-bytes", help="Refuse larger data; left out: 4 GiB.")
    ] = None,
    validation: Annotated[
        float | None, typer.Option("--validation", help="Share of the rows to hold out, e.g. 0.2.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Length of the runs; left out: 30.")
    ] = None,
    time: Annotated[
        float | None,
        typer.Option("--time", help="Seconds that it may take beyond reading; left out: 60."),
    ] = None,
    remedies: Annotated[
        bool, typer.Option("--remedies/--no-remedies", help="Try what would change the verdict.")
    ] = True,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the runs and estimates.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a self-contained HTML report here.")
    ] = None,
    json: Json = False,
) -> None:
    """Say whether momentum will converge on your data, why not, and what will.

    Without --alpha the usual Nesterov parameters are judged.

    For example:

    - `ravine diagnose diabetes`

    - `ravine diagnose train.csv --target price --batch-size 64 --lr 0.01 --momentum 0.9`

    - `ravine diagnose breast_cancer --standardise --l2 0.01 --sampling iid --out report.html`
    """
    from ravine.diagnosis import diagnose
    from ravine.tables import read_table

    step = one_of("--alpha", alpha, "--lr", lr)
    inertia = one_of("--beta", beta, "--momentum", momentum)
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"out must be a file ending in .html, got {out}: change its ending")
    if out is not None:
        needs_matplotlib("the report")

    table = read_table(
        data, target=target, drop=drop or (), weights=weights, missing=missing.value,
        levels=levels, sep="\t" if sep == "\\t" else sep, encoding=encoding, decimal=decimal,
        max_rows=max_rows, max_columns=max_columns, max_classes=max_classes, max_bytes=max_bytes,
    )  # fmt: skip

    budget: dict[str, Any] = {} if time is None else {"time": time}

    with _stages() as tell:
        result = diagnose(
            table, loss=loss, l2=l2, batch_size=batch_size, batches=batches, sampling=sampling,
            alpha=step, beta=inertia, gamma=gamma, shuffle=0 if shuffle else None,
            standardise=standardise, intercept=intercept, validation=validation, epochs=epochs,
            seed=seed, try_remedies=remedies, tell=tell, **budget,
        )  # fmt: skip

    if out is not None:
        result.to_html(out)
    if json:
        print_json(result.to_dict())
        return

    _show(result)
    if out is not None:
        typer.echo(f"\nwrote {out}")


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
    from rich.console import Console

    from ravine.diagnosis.verdict import verdict

    terminal = Console(highlight=False)
    screen = Console(highlight=False, width=min(_WIDTH, terminal.width))
    for sentence in verdict(result):
        screen.print(sentence, markup=False)
        screen.print()

    _show_data(result, screen)
    _show_methods(result, screen)
    if result.findings:
        screen.print("\n[bold]About the data[/]")
        for finding in result.findings:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            screen.print(f"- {finding.message}{remedy}", markup=False)


def _show_data(result: Diagnosis, screen: Console) -> None:
    survey = result.survey
    c = survey.curvature
    where = "" if survey.quadratic else " at the minimiser"
    screen.print(
        f"{result.name}: {survey.cut.rows} rows, {survey.model.features} columns, "
        f"{survey.cut.steps_per_epoch} batches of {survey.cut.batch_size} an epoch, "
        f"{survey.model.loss.name} loss, l2 = {survey.model.l2:.3g}",
        markup=False,
    )

    screen.print(
        f"whole objective{where}: mu = {c.mu:.3g}, L = {c.L:.3g}, Q = {c.Q:.3g}; "
        f"batches: L from {survey.local[:, 1].min():.3g} to {survey.local[:, 1].max():.3g}, "
        f"mean ‖gradient‖ at the minimiser {survey.sigma:.3g}\n",
        markup=False,
    )


def _show_methods(result: Diagnosis, screen: Console) -> None:
    from rich.table import Table

    from ravine.diagnosis.recipe import momentum_digits
    from ravine.diagnosis.verdict import digits, loss_share, share_of_start

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    table.add_column("method", no_wrap=True)
    aside = result.subject.held_out is not None
    names = ["lr", "momentum", "rate", "outcome", "loss", "distance", "to 1 %"]
    if aside:
        names.append("held out")

    for name in names:
        table.add_column(name, justify="left" if name == "outcome" else "right", no_wrap=True)

    best = result.recommendation
    for p in result.predictions:
        recipe = p.candidate.recipe
        after = p.error_after
        distance = "-" if after is None else _short(share_of_start(result, after.value))
        cells = [
            f"{p.candidate.name}{' *' if p is best else ''}",
            f"{float(recipe.method.alpha):.3g}",
            momentum_digits(float(recipe.method.beta)),
            digits(p.rate),
            f"[{_COLOURS[p.fate.value]}]{p.fate.value}[/]",
            _short(loss_share(result, p.loss)),
            distance,
            f"{p.to_near:.0f}" if math.isfinite(p.to_near) else "-",
        ]
        if p.held_out is not None:
            cells.append(f"{p.held_out:.4g}")
        table.add_row(*cells)

    screen.print(table)
    runs = result.runs.diverged_at.shape[0]
    aside_words = " Held out: mean loss of the rows set aside." if aside else ""
    screen.print(
        "Rate: growth of the root-mean-square distance a step, at the first step size. "
        f"Loss: excess over the minimum after {result.epochs} epochs, as a share of the start's, "
        f"mean of {runs} runs; distance: root-mean-square, likewise. To 1 %: steps to 1 % of the "
        f"excess loss. * least loss.{aside_words}"
    )


def _short(share: float) -> str:
    if not math.isfinite(share):
        return "diverged"
    if share > 999.0:
        return f"{share:.0e} x"

    return f"{share:.2g} x" if share > 1.0 else f"{100 * share:.2g} %"
