"""``ravine map``: an (alpha, beta) map of any rung, or of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ravine.arguments import Refusal
from ravine.cli.extras import needs_matplotlib
from ravine.cli.options import BatchSize, Json, LargestTerm, LeastTerm, print_json
from ravine.figures.parameter_map import QUANTITIES, draw_parameter_map, parameter_map
from ravine.files import written_whole
from ravine.theory.ladder.batches import Batches
from ravine.theory.ladder.rungs import RUNGS

if TYPE_CHECKING:
    import xarray as xr

_PICTURES = (".png", ".svg", ".pdf")
_TABLES = (".nc", ".csv")


def map_command(
    Q: Annotated[float, typer.Option("--Q", help="Condition number L/mu, at least 1.")],
    out: Annotated[
        Path, typer.Option("--out", help="File to write: .png, .svg, .pdf, .nc or .csv.")
    ] = Path("map.png"),
    quantity: Annotated[
        str, typer.Option("--quantity", help=f"What a picture shows: {', '.join(QUANTITIES)}.")
    ] = "regions",
    resolution: Annotated[int, typer.Option("--resolution", help="Pixels along each axis.")] = 400,
    alpha_range: Annotated[
        tuple[float, float], typer.Option("--alpha-range", help="Smallest and largest alpha L.")
    ] = (0.0, 2.5),
    beta_range: Annotated[
        tuple[float, float], typer.Option("--beta-range", help="Smallest and largest beta.")
    ] = (-1.0, 1.0),
    L_max: LargestTerm = None,
    batch_size: BatchSize = None,
    mu_min: LeastTerm = None,
    json: Json = False,
) -> None:
    """Map the (alpha, beta) plane of Nesterov's method for a condition number.

    A picture shows the nested regions in which each rung guarantees convergence, or one rung or
    the noise floor in colour. A .nc (NetCDF) or .csv file holds all of them. The map is in units of
    L = 1: --L-max and --mu-min are shares of L.

    For example:

    - `ravine map --Q 32 --out regions.png`

    - `ravine map --Q 32 --quantity worst-case-rate --out rate.svg`

    - `ravine map --Q 8 --resolution 1000 --out map.nc`
    """
    ending = out.suffix.lower()
    if ending not in _PICTURES + _TABLES:
        names = ", ".join(_PICTURES + _TABLES)
        raise ValueError(f"out must be a file ending in {names}, got {out}: change its ending")
    if quantity not in QUANTITIES:
        rule = f"one of {', '.join(QUANTITIES)}"
        raise Refusal("quantity", rule, quantity, "pick one of these names")
    if ending in _PICTURES:
        needs_matplotlib("a picture")

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

    out.parent.mkdir(parents=True, exist_ok=True)
    _write(data, out, quantity)
    shares = {rung.key: float((data[rung.key] < 1.0).mean()) for rung in RUNGS}
    if json:
        print_json({"Q": Q, "out": str(out), "resolution": resolution, "share_below_1": shares})
    else:
        typer.echo(f"wrote {out}: {resolution} x {resolution} pixels, Q = {Q:g}")
        typer.echo(
            f"of this plane {shares['spectral_radius']:.1%} converges for additive noise, "
            f"{shares['iid_rate']:.1%} for random batches in mean square, "
            f"{shares['worst_case_rate']:.1%} for every finite sum in any order"
        )


def _write(data: xr.Dataset, out: Path, quantity: str) -> None:
    """Write the map: an interrupted run leaves no half-written file."""
    with written_whole(out) as part:
        if out.suffix.lower() == ".nc":
            data.to_netcdf(part, engine="scipy")
        elif out.suffix.lower() == ".csv":
            data.to_dataframe().to_csv(part)
        else:
            draw_parameter_map(data, quantity).savefig(part, dpi=200)
