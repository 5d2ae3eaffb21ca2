"""``ravine diagnose``: from data to a verdict and to parameters that work."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ravine.cli.options import Alpha, Beta, Gamma, Json, one_of, print_json
from ravine.problems.losses import LOSSES
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from rich.console import Console

    from ravine.diagnosis import Diagnosis

_WIDTH = 80


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
    batch_size: Annotated[int, typer.Option("--batch-size", help="Rows in a batch.")] = 32,
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
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Length of the runs; left out: by the data.")
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
    table = read_table(
        data, target=target, drop=drop or (), weights=weights, missing=missing.value,
        levels=levels, sep="\t" if sep == "\\t" else sep, encoding=encoding, decimal=decimal,
        max_rows=max_rows, max_columns=max_columns, max_classes=max_classes, max_bytes=max_bytes,
    )  # fmt: skip
    found = diagnose(
        table.X, table.y, loss=loss, l2=l2, batch_size=batch_size,
        sampling=sampling, alpha=step, beta=inertia, gamma=gamma, shuffle=0 if shuffle else None,
        standardise=standardise, intercept=intercept, epochs=epochs, seed=seed,
        columns=table.columns, name=table.name, findings=table.findings, try_remedies=remedies,
    )  # fmt: skip
    if out is not None:
        from ravine.report.diagnosis_page import write_diagnosis

        write_diagnosis(found, out)
    if json:
        print_json(found.to_dict())
        return
    _show(found)
    if out is not None:
        typer.echo(f"\nwrote {out}")


def _show(found: Diagnosis) -> None:
    from rich.console import Console

    from ravine.diagnosis.verdict import verdict

    terminal = Console(highlight=False)
    screen = Console(highlight=False, width=min(_WIDTH, terminal.width))
    for sentence in verdict(found):
        screen.print(sentence, markup=False)
        screen.print()
    _show_data(found, screen)
    _show_methods(found, screen)
    if found.findings:
        screen.print("\n[bold]About the data[/]")
        for finding in found.findings:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            screen.print(f"- {finding.message}{remedy}", markup=False)


def _show_data(found: Diagnosis, screen: Console) -> None:
    survey, problem = found.survey, found.survey.problem
    c = survey.curvature
    held = "" if survey.quadratic else " at the minimiser"
    screen.print(
        f"{found.name}: {problem.X.shape[0]} rows, {problem.features} columns, "
        f"{problem.terms} batches of {int(problem.batch_sizes.max())}, "
        f"{problem.loss.name} loss, l2 = {problem.l2:.3g}",
        markup=False,
    )
    screen.print(
        f"whole objective{held}: mu = {c.mu:.3g}, L = {c.L:.3g}, Q = {c.Q:.3g}; "
        f"batches: L from {survey.local[:, 1].min():.3g} to {survey.local[:, 1].max():.3g}, "
        f"mean ‖gradient‖ at the minimiser {survey.sigma:.3g}\n",
        markup=False,
    )


def _show_methods(found: Diagnosis, screen: Console) -> None:
    from rich.table import Table

    from ravine.diagnosis.verdict import digits, share_of_start

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), collapse_padding=True)
    table.add_column("method", no_wrap=True)
    for name in ("lr", "momentum", "rate a step", "outcome", "predicted", "measured"):
        table.add_column(name, justify="left" if name == "outcome" else "right", no_wrap=True)
    colours = {"converges": "green", "erratic": "yellow", "diverges": "red", "undecided": "yellow"}
    for i, p in enumerate(found.predictions):
        m, last = p.candidate.method, found.runs.squares[-1, :, i].mean()
        predicted = (
            "-" if p.error_after is None else _short(share_of_start(found, p.error_after.value))
        )
        measured = _short(share_of_start(found, float(last))) if math.isfinite(last) else "diverged"
        colour = colours[p.outcome.value]
        table.add_row(
            p.candidate.name, f"{float(m.alpha):.3g}", f"{float(m.beta):.4g}", digits(p.rate),
            f"[{colour}]{p.outcome.value}[/]", predicted, measured,
        )  # fmt: skip
    screen.print(table)
    screen.print(
        f"Errors are root-mean-square distances to the minimiser after {found.epochs} epochs, as "
        "a share of the start's."
    )


def _short(share: float) -> str:
    if not math.isfinite(share):
        return "-"
    if share > 999.0:
        return f"{share:.0e} x"
    return f"{share:.3g} x" if share > 10.0 else f"{100 * share:.3g} %"
