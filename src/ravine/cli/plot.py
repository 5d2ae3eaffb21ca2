"""``ravine plot``: draw a sweep, with what theory guarantees on top."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ravine.arguments import Refusal
from ravine.cli.options import Json
from ravine.cli.output import print_json
from ravine.cli.pictures import needs_matplotlib
from ravine.figures.sweep_map import draw_sweep_map, sweep_map
from ravine.files import written_whole

if TYPE_CHECKING:
    import xarray as xr

_PICTURES = (".png", ".svg", ".pdf")
_NEEDED = ("mu", "L", "problem", "steps")  # attributes that the picture shows or draws with
_DPI = 200  # dots an inch, for print


def plot_command(
    store: Annotated[Path, typer.Argument(help="Store of a sweep, or a NetCDF file of one.")],
    measure: Annotated[
        str | None, typer.Option("--measure", help="Variable to show; left out: the first.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="File to write: .png, .svg or .pdf.")] = Path(
        "sweep.png"
    ),
    json: Json = False,
) -> None:
    """Draw a measure of a sweep in colour, with the contours of the ladder's rungs on top.

    Inside a contour that rung guarantees convergence. A store that is not finished is drawn as
    far as it is.

    For example:

    - `ravine plot sweep.zarr --out rate.png`

    - `ravine plot sweep.zarr --measure outcome --out outcome.svg`
    """
    if out.suffix.lower() not in _PICTURES:
        rule = f"a file ending in {', '.join(_PICTURES)}"
        raise Refusal("out", rule, out, "change its ending")
    needs_matplotlib("a picture")

    data = sweep_map(_opened(store), measure)
    out.parent.mkdir(parents=True, exist_ok=True)

    with written_whole(out) as part:
        draw_sweep_map(data).savefig(part, dpi=_DPI)

    there = float(data["measured"].notnull().mean())
    name = data.attrs["measure"]
    if json:
        print_json({"store": str(store), "measure": name, "out": str(out), "share": there})
    else:
        typer.echo(f"wrote {out}: {name} of {data.attrs['problem']}, {there:.1%} of the pixels")


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
