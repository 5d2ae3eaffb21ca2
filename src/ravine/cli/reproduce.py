"""``ravine reproduce``: every figure and every claim of the paper, run and judged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ravine.cli.extras import needs_matplotlib
from ravine.cli.options import Json, print_json

if TYPE_CHECKING:
    from ravine.reproduction.plan import ReproductionPlan


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...", help="Figures to make; all of them if none is named."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Directory for all files.")] = Path(
        "reproduction"
    ),
    resolution: Annotated[
        int, typer.Option("--resolution", help="Pixels along each axis of a map.")
    ] = 100,
    device: Annotated[
        str, typer.Option("--device", help="Where sweeps run: auto, cpu or cuda.")
    ] = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Few pixels and runs: seconds instead of minutes.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run again what is there already.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of every random draw.")] = 0,
    names: Annotated[bool, typer.Option("--list", help="Name the figures and stop.")] = False,
    json: Json = False,
) -> None:
    """Reproduce the paper: every figure, every claim, with a verdict computed from the data.

    Writes for each figure its data (NetCDF) and its picture (PNG and SVG), then `report.html`,
    which needs no other file, `claims.json` and `manifest.json`. Figures that are there already,
    made with the same settings, are not run again.

    `ravine reproduce --list` names the figures.

    For example:

    - `ravine reproduce`

    - `ravine reproduce figure-2 restart --out restart/`

    - `ravine reproduce --quick --out look/`
    """
    from ravine.reproduction.page import reproduction_page
    from ravine.reproduction.plan import counted, plan_reproduction
    from ravine.reproduction.run import carry_out

    plan = plan_reproduction(
        figures or (),
        out=out,
        resolution=resolution,
        quick=quick,
        fresh=fresh,
        seed=seed,
        device=device,
    )

    if names:
        _print_names(plan)
        return
    needs_matplotlib("a reproduction")

    _say(plan.sentence)

    try:
        done = carry_out(plan, _say)
        reproduction_page(done).write(out / "report.html")
    except KeyboardInterrupt:
        _say("stopped: finished figures are kept, run the same command to go on")
        raise

    if json:
        print_json(
            {
                "out": str(out),
                "report": str(out / "report.html"),
                "figures": {name: round(done.seconds[name], 2) for name in done.data},
                "seconds": round(done.total_seconds, 2),
                "verdicts": done.counts,
                "claims": {one.claim.id: one.judgement.value for one in done.judged},
            }
        )
        return

    counts = ", ".join(f"{judgement} {count}" for judgement, count in done.counts.items())
    made = counted(len(done.data), "figure")
    judged = counted(len(done.judged), "claim")
    typer.echo(f"{made} and {judged} in {done.total_seconds:.0f} s")
    typer.echo(f"claims: {counts}")
    typer.echo(f"read {out / 'report.html'}")


def _print_names(plan: ReproductionPlan) -> None:
    """A line for each figure: its name and its title."""
    from ravine.figures.catalogue import FIGURES

    width = max(len(name) for name in plan.arguments)
    for name in plan.arguments:
        typer.echo(f"{name:{width}}  {FIGURES[name].title}")


def _say(line: str) -> None:
    print(f"ravine: {line}", file=sys.stderr, flush=True)
