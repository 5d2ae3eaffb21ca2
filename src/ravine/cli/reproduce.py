"""``ravine reproduce``: every figure and every claim of the paper, run and judged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ravine.cli.options import OUTPUT, Json, option
from ravine.cli.output import print_json, say, suggest, table, wrote
from ravine.cli.pictures import needs_matplotlib

_SIZE = "Run"


def reproduce_command(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FIGURE]...", help="Figures to make. Default: all."),
    ] = None,
    resolution: Annotated[
        int, option(_SIZE, "--resolution", "Pixels along each axis of a map. Default: 100.", "N")
    ] = 100,
    quick: Annotated[
        bool, option(_SIZE, "--quick", "Few pixels and runs: seconds instead of minutes.")
    ] = False,
    device: Annotated[
        str, option(_SIZE, "--device", "Where sweeps run: auto, cpu or cuda.", "WORD")
    ] = "auto",
    fresh: Annotated[bool, option(_SIZE, "--fresh", "Run again what is already there.")] = False,
    seed: Annotated[int, option(_SIZE, "--seed", "Seed of random draws. Default: 0.", "N")] = 0,
    out: Annotated[
        Path, option(OUTPUT, "--out", "Directory to write. Default: reproduction.", "FOLDER")
    ] = Path("reproduction"),
    names: Annotated[bool, option(OUTPUT, "--list", "List the figures and exit.")] = False,
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
    from ravine.reproduction.run import carry_out, counted, plan_reproduction

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
        suggest("ravine reproduce figure-2 --quick", "one of them in seconds")
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
    say()
    wrote(out / "report.html")
    suggest("ravine explore", "the same planes with sliders")


def _progress(line: str) -> None:
    print(f"ravine: {line}", file=sys.stderr, flush=True)
