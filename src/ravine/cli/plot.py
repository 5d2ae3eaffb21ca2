"""``ravine plot``: draw a sweep, with what theory guarantees on top."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ravine.arguments import Refusal
from ravine.cli.options import OUTPUT, Json, option
from ravine.cli.output import print_json, say, suggest
from ravine.cli.pictures import check_out, save_picture
from ravine.figures.sweep_map import draw_sweep_map, shown_measure

if TYPE_CHECKING:
    import xarray as xr

_NEEDED = ("mu", "L", "problem", "steps")  # attributes that the picture shows or draws with


def plot_command(
    store: Annotated[Path, typer.Argument(help="Store of a sweep, or a NetCDF file of one.")],
    measure: Annotated[
        str | None, option(None, "--measure", "Variable to show. Default: the first.", "WORD")
    ] = None,
    out: Annotated[
        Path, option(OUTPUT, "--out", "File: .png, .svg or .pdf. Default: sweep.png.", "FILE")
    ] = Path("sweep.png"),
    json: Json = False,
) -> None:
    """Draw what a sweep measured in colour, with the regions that theory guarantees as lines.

    Inside a line that rung guarantees convergence. Of an unfinished store the finished part is
    drawn.

    For example:

    - `ravine plot sweep.zarr`

    - `ravine plot sweep.zarr --out rate.png`

    - `ravine plot sweep.zarr --measure outcome --out outcome.svg`
    """
    check_out(out)
    data = _opened(store)
    shown = shown_measure(data, measure)
    save_picture(draw_sweep_map(data, measure), out)
    there = float(shown.notnull().mean())
    if json:
        print_json({"store": str(store), "measure": shown.name, "out": str(out), "share": there})
    else:
        say(f"Wrote {out}: {shown.name} of {data.attrs['problem']}, {there:.1%} of the pixels.")
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
