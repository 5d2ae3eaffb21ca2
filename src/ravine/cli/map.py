"""``ravine map``: every rate on the plane of step size and momentum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ravine.arguments import known_name
from ravine.cli.options import (
    OUTPUT,
    PROBLEM,
    BatchSize,
    Json,
    LargestTerm,
    LeastTerm,
    option,
)
from ravine.cli.output import print_json, say, suggest, table
from ravine.cli.pictures import PICTURES, check_out, save_picture
from ravine.figures.parameter_map import QUANTITIES, draw_parameter_map, parameter_map
from ravine.files import written_whole
from ravine.theory.ladder.batches import Batches
from ravine.theory.ladder.rungs import RUNGS

if TYPE_CHECKING:
    import xarray as xr

_SHOWN = "Picture"


def map_command(
    Q: Annotated[
        float, typer.Option("--Q", help="Condition number, at least 1.", rich_help_panel=PROBLEM)
    ],
    out: Annotated[
        Path, option(OUTPUT, "--out", "File: .png, .svg, .pdf, .nc, .csv. Default: map.png.")
    ] = Path("map.png"),
    quantity: Annotated[
        str, option(_SHOWN, "--quantity", f"{', '.join(QUANTITIES)}. Default: regions.", "WORD")
    ] = "regions",
    resolution: Annotated[
        int, option(_SHOWN, "--resolution", "Pixels along each axis. Default: 400.", "N")
    ] = 400,
    alpha_range: Annotated[
        tuple[float, float], option(_SHOWN, "--alpha-range", "Ends of alpha L. Default: 0 2.5.")
    ] = (0.0, 2.5),
    beta_range: Annotated[
        tuple[float, float], option(_SHOWN, "--beta-range", "Ends of beta. Default: -1 1.")
    ] = (-1.0, 1.0),
    L_max: LargestTerm = None,
    batch_size: BatchSize = None,
    mu_min: LeastTerm = None,
    json: Json = False,
) -> None:
    """Map where Nesterov's method converges, for every step size and momentum.

    A picture shows the nested regions in which each rung guarantees convergence, or one quantity
    in colour. A .nc (NetCDF) or .csv file holds all quantities. The map is in units of L = 1:
    give --L-max and --mu-min as multiples of L.

    For example:

    - `ravine map --Q 32 --out regions.png`

    - `ravine map --Q 32 --quantity worst-case-rate --out rate.svg`

    - `ravine map --Q 8 --resolution 1000 --out map.nc`
    """
    check_out(out, (*PICTURES, ".nc", ".csv"))
    known_name("quantity", quantity, QUANTITIES)
    batches = Batches(
        L_max=L_max, batch_size=1.0 if batch_size is None else batch_size, mu_min=mu_min
    )
    data = parameter_map(
        Q,
        resolution=resolution,
        alpha_range=alpha_range,
        beta_range=beta_range,
        batches=batches,
    )

    _write(data, out, quantity)
    shares = {rung.key: float((data[rung.key] < 1.0).mean()) for rung in RUNGS}
    if json:
        print_json({"Q": Q, "out": str(out), "resolution": resolution, "share_below_1": shares})
    else:
        _show(shares, Q, resolution, out)


def _write(data: xr.Dataset, out: Path, quantity: str) -> None:
    """Write the map as a picture or as a table."""
    if out.suffix.lower() in PICTURES:
        save_picture(draw_parameter_map(data, quantity), out)
        return

    out.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(out) as part:
        if out.suffix.lower() == ".nc":
            data.to_netcdf(part, engine="scipy")
        else:
            data.to_dataframe().to_csv(part)


def _show(shares: dict[str, float], Q: float, resolution: int, out: Path) -> None:
    say(f"Wrote {out}: {resolution} x {resolution} pixels, Q = {Q:g}.\n")
    rows = [(rung.title, f"{shares[rung.key]:.1%}", rung.holds_for) for rung in RUNGS]
    table(("rung", "converges on", "with"), rows, words=["with"])
    suggest(f"ravine recommend --Q {Q:g}", "settings with a guarantee")
