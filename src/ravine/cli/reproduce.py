"""``ravine reproduce``: every figure and every claim of the paper, computed and judged."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill
from typing import Any

from ravine.arguments import needed
from ravine.cli.output import UNBROKEN, Answer, table, width, wrote
from ravine.digits import counted


def reproduce_command(
    figures: list[str] | None = None,
    out: Path = Path("reproduction"),
    list_: bool = False,
    **run: Any,
) -> Answer:
    """Reproduce the paper: compute every figure, and judge every claim from the data.

    Writes the data (NetCDF) and the picture (PNG and SVG) of each figure, `report.html`, which
    needs no other file, `claims.json` and `manifest.json`. Figures that exist already, with the
    same settings, are not computed again.

    For example:

    - `ravine reproduce`

    - `ravine reproduce figure-2 restart --out restart/`

    - `ravine reproduce --quick --out look/`

    Arguments
    ---------
    figures : FIGURE
        Figures to make. Default: all.

    Run
    ---
    resolution : N
        Pixels along each axis of a map. Default: 100.
    quick
        Fewer pixels and runs: seconds instead of minutes.
    device : WORD
        Where sweeps run: auto, cpu or cuda. Default: auto.
    fresh
        Compute every figure again, even if it exists.
    seed : N
        Seed of random draws. Default: 0.

    Output
    ------
    out : FOLDER
        Directory to write. Default: reproduction.
    list_
        List the figures and exit.
    json
    """
    from ravine.figures.catalogue import FIGURES
    from ravine.reproduction import carry_out, plan_reproduction, reproduction_page

    plan = plan_reproduction(figures or (), out=out, **run)
    if list_:
        titles = {name: FIGURES[name].title for name in plan.arguments}
        listed = table(("figure", "shows"), list(titles.items()), words=["shows"])
        then = "ravine reproduce figure-2 --quick", "one of them in seconds"
        return Answer({"figures": titles}, listed, then=then)

    needed("matplotlib", "a reproduction", "plot")
    _progress(plan.sentence)
    report = out / "report.html"
    try:
        done = carry_out(plan, _progress)
        reproduction_page(done).write(report)
    except KeyboardInterrupt:
        _progress("stopped; finished figures are kept. To continue, run the same command")
        raise

    data = {
        "out": out,
        "report": report,
        "figures": {name: round(done.seconds[name], 2) for name in done.data},
        "seconds": round(done.total_seconds, 2),
        "verdicts": done.counts,
        "claims": {one.claim.id: one.judgement.value for one in done.judged},
    }

    made = counted(len(done.data), "figure")
    judged = counted(len(done.judged), "claim")
    counts = [(name, str(count)) for name, count in done.counts.items()]
    return Answer(
        data,
        f"{made} and {judged} in {done.total_seconds:.0f} s\n",
        table(("verdict", "claims"), counts),
        "",
        *wrote(report),
        then=("ravine explore", "the same planes with sliders"),
    )


def _progress(line: str) -> None:
    print(fill(f"ravine: {line}", width(), **UNBROKEN), file=sys.stderr, flush=True)
