"""``ravine map``, ``plot`` and ``explore``: the plane of step size and momentum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ravine.arguments import Refusal, known_name
from ravine.cli import options
from ravine.cli.options import OUTPUT, PROBLEM, option
from ravine.cli.output import print_json, say, suggest, table, wrote
from ravine.cli.pictures import PICTURES, check_out, save_picture
from ravine.figures.parameter_map import QUANTITIES, draw_parameter_map, parameter_map
from ravine.files import written_whole
from ravine.theory.ladder.batches import Batches
from ravine.theory.ladder.rungs import RUNGS

if TYPE_CHECKING:
    import xarray as xr

_SHOWN = "Picture"
_NEEDED = ("mu", "L", "problem", "steps")
"""Attributes of a sweep that its picture shows or draws with."""


def map_command(
    Q: Annotated[float, option(PROBLEM, "--Q", "Condition number, at least 1.", "N")],
    out: Annotated[
        Path,
        option(OUTPUT, "--out", ".png, .svg, .pdf, .nc or .csv. Default: map.png.", "FILE"),
    ] = Path("map.png"),
    quantity: Annotated[
        str, option(_SHOWN, "--quantity", f"{', '.join(QUANTITIES)}. Default: regions.", "WORD")
    ] = "regions",
    resolution: Annotated[
        int, option(_SHOWN, "--resolution", "Pixels along each axis. Default: 400.", "N")
    ] = 400,
    alpha_range: Annotated[
        tuple[float, float],
        option(_SHOWN, "--alpha-range", "Ends of alpha L. Default: 0 2.5.", "N N"),
    ] = (0.0, 2.5),
    beta_range: Annotated[
        tuple[float, float], option(_SHOWN, "--beta-range", "Ends of beta. Default: -1 1.", "N N")
    ] = (-1.0, 1.0),
    L_max: options.LargestTerm = None,
    batch_size: options.BatchSize = None,
    mu_min: options.LeastTerm = None,
    json: options.Json = False,
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
    size = 1.0 if batch_size is None else batch_size
    batches = Batches(L_max=L_max, batch_size=size, mu_min=mu_min)
    data = parameter_map(
        Q, resolution=resolution, alpha_range=alpha_range, beta_range=beta_range, batches=batches
    )
    _write(data, out, quantity)
    shares = {rung.key: float((data[rung.key] < 1.0).mean()) for rung in RUNGS}
    if json:
        print_json({"Q": Q, "out": str(out), "resolution": resolution, "share_below_1": shares})
        return

    wrote(out)
    say(f"{resolution} x {resolution} pixels, Q = {Q:g}\n")
    rows = [(rung.title, f"{shares[rung.key]:.1%}", rung.holds_for) for rung in RUNGS]
    table(("rung", "converges on", "with"), rows, words=["with"])
    suggest(f"ravine recommend --Q {Q:g}", "settings with a guarantee")


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


def plot_command(
    store: Annotated[Path, typer.Argument(help="Store of a sweep, or a NetCDF file of one.")],
    measure: Annotated[
        str | None, option(_SHOWN, "--measure", "Variable to show. Default: the first.", "WORD")
    ] = None,
    out: Annotated[
        Path, option(OUTPUT, "--out", "File: .png, .svg or .pdf. Default: sweep.png.", "FILE")
    ] = Path("sweep.png"),
    json: options.Json = False,
) -> None:
    """Draw what a sweep measured in colour, with the regions that theory guarantees as lines.

    Inside a line that rung guarantees convergence. Of an unfinished store the finished part is
    drawn.

    For example:

    - `ravine plot sweep.zarr`

    - `ravine plot sweep.zarr --out rate.png`

    - `ravine plot sweep.zarr --measure outcome --out outcome.svg`
    """
    from ravine.figures.sweep_map import draw_sweep_map, shown_measure

    check_out(out)
    data = _opened(store)
    shown = shown_measure(data, measure)
    save_picture(draw_sweep_map(data, measure), out)
    there = float(shown.notnull().mean())
    if json:
        print_json({"store": str(store), "measure": shown.name, "out": str(out), "share": there})
    else:
        wrote(out)
        say(f"{shown.name} of {data.attrs['problem']}, {there:.1%} of the pixels")
        suggest(f"ravine map --Q {data.attrs['L'] / data.attrs['mu']:g}", "the theory alone")


def _opened(store: Path) -> xr.Dataset:
    """Open a sweep; pixels that are not computed yet are missing."""
    import xarray as xr

    if store.suffix.lower() == ".nc":
        return _netcdf(store)

    from ravine.engine.storage.store import open_store

    data, there = open_store(store)
    return data if there.all() else data.where(xr.DataArray(there, dims=tuple(data.sizes)))


def _netcdf(file: Path) -> xr.Dataset:
    """Read a sweep from a NetCDF file, whole."""
    import xarray as xr

    if not file.is_file():
        raise Refusal("store", "a file", file, "there is none")

    try:
        data = xr.load_dataset(file, engine="scipy")
    except PermissionError:
        raise
    except Exception:  # a damaged file ends SciPy's reader in a dozen ways
        remedy = "it is no NetCDF file (version 3), or damaged; write it again"
        raise Refusal("store", "a NetCDF file of a sweep", file, remedy) from None

    missing = [name for name in _NEEDED if name not in data.attrs]
    if missing or not {"alpha", "beta"} <= set(data.coords):
        lacks = f"attribute {missing[0]}" if missing else "coordinates alpha and beta"
        remedy = "write what sweep returned with to_netcdf"
        raise Refusal("store", "a NetCDF file of a sweep", f"{file} without {lacks}", remedy)

    return data


def explore_command(
    port: Annotated[
        int, option(None, "--port", "First port to try; the next free one is used.", "N")
    ] = 8057,
    host: Annotated[
        str, option(None, "--host", "Address to listen on; the page has no password.", "TEXT")
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, option(None, "--no-browser", "Do not open the page in a browser.")
    ] = False,
) -> None:
    """Open a local page: move step size and momentum, and see what converges.

    For example:

    - `ravine explore`

    - `ravine explore --no-browser`

    - `ravine explore --port 9000 --no-browser`
    """
    from ravine.web import explore

    explore(host=host, port=port, browser=not no_browser, inline=False)
