"""``ravine reproduce``: every figure and every claim of the paper, run and judged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ravine.cli.options import OUTPUT, Json
from ravine.cli.output import print_json, say, suggest, table
from ravine.cli.pictures import needs_matplotlib


def reproduce_command(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FIGURE]...", help="Figures to make. Default: all."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Directory for all files.", rich_help_panel=OUTPUT)
    ] = Path("reproduction"),
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
        bool, typer.Option("--fresh", help="Run again what is already there.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of every random draw.")] = 0,
    names: Annotated[
        bool, typer.Option("--list", help="List the figures and exit.", rich_help_panel=OUTPUT)
    ] = False,
    json: Json = False,
) -> None:
    """Reproduce the paper: make every figure and judge every claim from the data.

    Writes the data (NetCDF) and the picture (PNG and SVG) of each figure, `report.html`, which
    needs no other file, `claims.json` and `manifest.json`. Figures that are already there, made
    with the same settings, are not run again.

    For example:

    - `ravine reproduce`

    - `ravine reproduce figure-2 restart --out restart/`

    - `ravine reproduce --quick --out look/`
    """
    from ravine.figures.catalogue import FIGURES
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
        table(
            ("figure", "shows"),
            [(name, FIGURES[name].title) for name in plan.arguments],
            words=["shows"],
        )
        return
    needs_matplotlib("a reproduction")

    _progress(plan.sentence)

    try:
        done = carry_out(plan, _progress)
        reproduction_page(done).write(out / "report.html")
    except KeyboardInterrupt:
        _progress("stopped; finished figures are kept, and the same command continues")
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

    made = counted(len(done.data), "figure")
    judged = counted(len(done.judged), "claim")
    say(f"{made} and {judged} in {done.total_seconds:.0f} s\n")
    table(("verdict", "claims"), [(name, str(count)) for name, count in done.counts.items()])
    say(f"\nRead {out / 'report.html'}")
    suggest("ravine explore", "the same planes with sliders")


def _progress(line: str) -> None:
    print(f"ravine: {line}", file=sys.stderr, flush=True)
