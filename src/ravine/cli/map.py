"""``ravine map``, ``sweep``, ``plot`` and ``explore``: the plane of step size and momentum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ravine.arguments import Refusal, known_name
from ravine.cli.options import one_of
from ravine.cli.output import PICTURES, Answer, Whole, check_out, table, wrote
from ravine.digits import counted, percent
from ravine.figures.style import save_picture
from ravine.files import written_whole
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.rungs import RUNGS

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
    from ravine.figures.parameter_map import QUANTITIES, draw_parameter_map, parameter_map

    check_out(out, (*PICTURES, ".nc", ".csv"))
    known_name("quantity", quantity, QUANTITIES)
    batches = Batches(one_of("L-max", L_max, "L-max-ratio", L_max_ratio), **samples)
    data = parameter_map(
        Q, resolution=resolution, alpha_range=alpha_range, beta_range=beta_range, batches=batches
    )
    if out.suffix.lower() in PICTURES:
        save_picture(draw_parameter_map(data, quantity), out)
    else:
        with written_whole(out) as part:
            if out.suffix.lower() == ".nc":
                data.to_netcdf(part, engine="scipy")
            else:
                data.to_dataframe().to_csv(part)

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


def sweep_command(
    spec: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
    status: Path | None = None,
    **machine: Any,
) -> Answer:
    """Run a method on every point of a plane of parameters, and write a store that can be resumed.

    A stopped run continues with --resume, and gives exactly the same result. Open the store with
    xarray.open_zarr, or draw it with ravine plot.

    For example:

    - `ravine sweep spec.toml --out sweep.zarr`

    - `ravine sweep spec.toml --out sweep.zarr --resume`

    - `ravine sweep --status sweep.zarr`

    Arguments
    ---------
    spec : SPEC
        TOML file whose keys are the arguments of sweep.

    Machine
    -------
    device : WORD
        Where to run: cpu, cuda or auto.
    cluster : ADDRESS
        Address of a Dask scheduler, tcp://...
    threads : N
        Threads of this machine, or of each worker.

    Output
    ------
    out : STORE
        Zarr store to write.
    resume
        Continue an existing store.
    status : STORE
        Show how much of a store is done.
    json
    """
    if status is not None:
        return _status(status)
    if spec is None:
        raise Refusal("spec", "given", "none", "e.g. ravine sweep spec.toml --out sweep.zarr")

    from ravine.engine.measures import Outcome
    from ravine.engine.spec_file import read_spec_file
    from ravine.engine.storage.header import is_new
    from ravine.engine.storage.store import store_status

    wanted = read_spec_file(spec)
    place = out if out is not None else wanted.arguments.get("store")
    if place is None:
        raise Refusal("out", "given", "none", "add --out sweep.zarr")

    store = Path(place)
    before = 0
    if not is_new(store):
        before = store_status(store).done
        if not resume:
            shown = f"{store}, with {counted(before, 'finished tile')}"
            remedy = "add --resume to continue it, or give another path"
            raise Refusal("out", "new", shown, remedy)

    data = wanted.sweep(store=store, **machine)
    shares = {
        kind.name.lower().replace("_", " "): float((data["outcome"] == kind).mean())
        for kind in Outcome
        if "outcome" in data
    }
    rows = [(name, percent(share)) for name, share in shares.items()]
    pixels = " x ".join(str(n) for n in data.sizes.values())
    return Answer(
        {"out": store, "sizes": dict(data.sizes), "resumed": before, "outcomes": shares},
        *wrote(store),
        f"{pixels} pixels of {data.attrs['problem']}\n",
        *([table(("outcome", "pixels"), rows)] if rows else []),
        then=(f"ravine plot {store}", "a picture of it with the theory"),
    )


def _status(store: Path) -> Answer:
    from ravine.engine.storage.store import store_status

    state = store_status(store)
    data = {
        "store": store,
        "tiles": state.total,
        "finished": state.done,
        "damaged": len(state.damages),
        "complete": state.is_complete,
        "made_with": state.made_with,
    }

    end = "complete" if state.is_complete else "continue with --resume"
    damaged = f", {len(state.damages)} damaged ({state.damages[0]})" if state.damages else ""
    share = state.done / state.total
    names = ("problem", "steps", "repeats", "seed", "dtype", "ravine")
    rows = [(name, str(state.made_with.get(name, "unknown"))) for name in names]
    then = (f"ravine plot {store}", "a picture of the finished part") if state.done else None
    return Answer(
        data,
        Whole(store),
        f"{state.done} of {counted(state.total, 'tile')} ({percent(share)}){damaged}; {end}\n",
        table(("made with", ""), rows, words=[""]),
        then=then,
    )


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


def _opened(store: Path) -> Any:
    """Open a sweep, a NetCDF file or a store; pixels that are not computed yet are missing."""
    import xarray as xr

    if store.suffix.lower() != ".nc":
        from ravine.engine.storage.store import open_store

        data, there = open_store(store)
        return data if there.all() else data.where(xr.DataArray(there, dims=tuple(data.sizes)))

    if not store.is_file():
        raise Refusal("store", "a file", store, "there is no such file")

    try:
        data = xr.load_dataset(store, engine="scipy")
    except PermissionError:
        raise
    except Exception:  # SciPy's reader raises many kinds of errors for a damaged file
        remedy = "it is not a NetCDF file (version 3), or it is damaged; write it again"
        raise Refusal("store", "a NetCDF file of a sweep", store, remedy) from None

    missing = [name for name in _NEEDED if name not in {*data.attrs, *data.coords}]
    if missing:
        remedy = "save the result of sweep with to_netcdf"
        raise Refusal("store", "a NetCDF file of a sweep", f"{store} without {missing[0]}", remedy)

    return data


def explore_command(port: int = 8057, host: str = "127.0.0.1", no_browser: bool = False) -> Answer:
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
    return Answer({})
