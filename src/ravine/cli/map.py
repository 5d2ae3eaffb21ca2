"""``ravine map``, ``plot`` and ``explore``: the plane of step size and momentum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ravine.arguments import Refusal, known_name
from ravine.cli.options import one_of
from ravine.cli.output import PICTURES, Answer, check_out, table, wrote
from ravine.digits import percent
from ravine.figures.parameter_map import QUANTITIES, draw_parameter_map, parameter_map
from ravine.figures.style import save_picture
from ravine.files import written_whole
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.rungs import RUNGS

if TYPE_CHECKING:
    import xarray as xr

_NEEDED = ("mu", "L", "problem", "steps", "alpha", "beta")
"""Attributes and coordinates of a sweep that its picture needs."""


def map_command(
    Q: float,
    out: Path = Path("map.png"),
    quantity: str = "regions",
    resolution: int = 400,
    alpha_range: tuple[float, float] = (0.0, 2.5),
    beta_range: tuple[float, float] = (-1.0, 1.0),
    L_max: float | None = None,
    L_max_ratio: float | None = None,
    **samples: float,
) -> Answer:
    """Map where Nesterov's method converges, for every step size and momentum.

    A picture shows one region per rung, a rate guaranteed for a kind of sampling, or one quantity
    in colour. A .nc (NetCDF) or .csv file holds all quantities. The map is in units of L = 1:
    give --L-max and --mu-min as multiples of L.

    For example:

    - `ravine map --Q 32 --out regions.png`

    - `ravine map --Q 32 --quantity worst-case-rate --out rate.svg`

    - `ravine map --Q 8 --resolution 1000 --out map.nc`

    Problem
    -------
    Q : NUMBER
        Condition number, at least 1.
    L_max, L_max_ratio, batch_size, mu_min

    Picture
    -------
    quantity : WORD
        regions, spectral-radius, iid-rate, commuting-rate, worst-case-rate, contraction or
        noise-floor. Default: regions.
    resolution : N
        Pixels along each axis. Default: 400.
    alpha_range : FROM TO
        Range of alpha L. Default: 0 2.5.
    beta_range : FROM TO
        Range of beta. Default: -1 1.

    Output
    ------
    out : FILE
        File to write: .png, .svg, .pdf, .nc or .csv. Default: map.png.
    json
    """
    check_out(out, (*PICTURES, ".nc", ".csv"))
    known_name("quantity", quantity, QUANTITIES)
    batches = Batches(one_of("L-max", L_max, "L-max-ratio", L_max_ratio), **samples)
    data = parameter_map(
        Q, resolution=resolution, alpha_range=alpha_range, beta_range=beta_range, batches=batches
    )
    _write(data, out, quantity)
    shares = {rung.key: float((data[rung.key] < 1.0).mean()) for rung in RUNGS}

    rows = [(rung.title, percent(shares[rung.key]), rung.holds_for) for rung in RUNGS]
    result = {"Q": Q, "out": out, "resolution": resolution, "share_below_1": shares}
    return Answer(
        result,
        *wrote(out),
        f"{resolution} x {resolution} pixels, Q = {Q:g}\n",
        table(("rung", "converges on", "with"), rows, words=["with"]),
        then=(f"ravine recommend --Q {Q:g}", "settings with a guarantee"),
    )


def _write(data: xr.Dataset, out: Path, quantity: str) -> None:
    """Write the map as a picture or as a table."""
    if out.suffix.lower() in PICTURES:
        save_picture(draw_parameter_map(data, quantity), out)
        return

    with written_whole(out) as part:
        if out.suffix.lower() == ".nc":
            data.to_netcdf(part, engine="scipy")
        else:
            data.to_dataframe().to_csv(part)


def plot_command(store: Path, measure: str | None = None, out: Path = Path("sweep.png")) -> Answer:
    """Draw the results of a sweep in colour, and the regions that theory guarantees as lines.

    Inside a line, that rung guarantees convergence. If a store is unfinished, the finished part is
    drawn.

    For example:

    - `ravine plot sweep.zarr`

    - `ravine plot sweep.zarr --out rate.png`

    - `ravine plot sweep.zarr --measure outcome --out outcome.svg`

    Arguments
    ---------
    store : STORE
        Store of a sweep, or a NetCDF file of one.

    Picture
    -------
    measure : WORD
        Variable to show. Default: the first.

    Output
    ------
    out : FILE
        Picture to write: .png, .svg or .pdf. Default: sweep.png.
    json
    """
    from ravine.figures.parameter_map import draw_sweep_map, shown_measure

    check_out(out)
    data = _opened(store)
    shown = shown_measure(data, measure)
    save_picture(draw_sweep_map(data, measure), out)
    there = float(shown.notnull().mean())

    words = f"{shown.name} of {data.attrs['problem']}, {percent(there)} of the pixels"
    then = f"ravine map --Q {data.attrs['L'] / data.attrs['mu']:g}", "the theory alone"
    result = {"store": store, "measure": shown.name, "out": out, "share": there}
    return Answer(result, *wrote(out), words, then=then)


def _opened(store: Path) -> xr.Dataset:
    """Open a sweep; pixels that are not computed yet are missing."""
    import xarray as xr

    if store.suffix.lower() == ".nc":
        return _netcdf(store)

    from ravine.engine.storage.store import open_store

    data, there = open_store(store)
    return data if there.all() else data.where(xr.DataArray(there, dims=tuple(data.sizes)))


def _netcdf(file: Path) -> xr.Dataset:
    """Read a whole sweep from a NetCDF file."""
    import xarray as xr

    if not file.is_file():
        raise Refusal("store", "a file", file, "there is no such file")

    try:
        data = xr.load_dataset(file, engine="scipy")
    except PermissionError:
        raise
    except Exception:  # SciPy's reader raises many kinds of errors for a damaged file
        remedy = "it is not a NetCDF file (version 3), or it is damaged; write it again"
        raise Refusal("store", "a NetCDF file of a sweep", file, remedy) from None

    missing = [name for name in _NEEDED if name not in {*data.attrs, *data.coords}]
    if missing:
        remedy = "save the result of sweep with to_netcdf"
        raise Refusal("store", "a NetCDF file of a sweep", f"{file} without {missing[0]}", remedy)

    return data


def explore_command(port: int = 8057, host: str = "127.0.0.1", no_browser: bool = False) -> None:
    """Open a local page: move step size and momentum, and see what converges.

    For example:

    - `ravine explore`

    - `ravine explore --no-browser`

    - `ravine explore --port 9000 --no-browser`

    Server
    ------
    port : N
        First port to try; the next free one is used. Default: 8057.
    host : TEXT
        Address to listen on; the page has no password. Default: 127.0.0.1.
    no_browser
        Do not open the page in a browser.
    """
    from ravine.web import explore

    explore(host=host, port=port, browser=not no_browser, inline=False)
