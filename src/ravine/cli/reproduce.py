"""``ravine reproduce``: every figure and every claim of the paper, run and judged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ravine.cli.options import Json, print_json


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
    json: Json = False,
) -> None:
    """Reproduce the paper: every figure, every claim, with a verdict computed from the data.

    Writes for each figure its data (NetCDF) and its picture (PNG and SVG), then `report.html`,
    which needs no other file, `claims.json` and `manifest.json`. Figures that are there already,
    made with the same settings, are not run again.

    The figures are figure-1, figure-2, figure-3, least-squares, logistic, nested-regions,
    turning-quadratics, noise-floors, restart and negative-momentum.

    For example:

    - `ravine reproduce`

    - `ravine reproduce figure-2 restart --out restart/`

    - `ravine reproduce --quick --out look/`
    """
    from ravine.reproduction.page import reproduction_page
    from ravine.reproduction.run import carry_out, plan

    wish = plan(
        figures or (), out=out, resolution=resolution, quick=quick, fresh=fresh, seed=seed,
        device=device,
    )  # fmt: skip
    _say(wish.sentence)
    try:
        done = carry_out(wish, _say)
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
                "claims": {judged.claim.id: judged.verdict.value for judged in done.judged},
            }
        )
        return
    counts = ", ".join(f"{verdict} {count}" for verdict, count in done.counts.items())
    typer.echo(
        f"{len(done.data)} figures and {len(done.judged)} claims in {done.total_seconds:.0f} s"
    )
    typer.echo(f"claims: {counts}")
    typer.echo(f"read {out / 'report.html'}")


def _say(line: str) -> None:
    print(f"ravine: {line}", file=sys.stderr, flush=True)
