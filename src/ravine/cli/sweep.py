"""``ravine sweep``: run a specification file into a store that can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ravine.arguments import Refusal
from ravine.cli.output import Answer, Whole, table, wrote
from ravine.digits import counted, percent

if TYPE_CHECKING:
    import xarray as xr

    from ravine.engine.storage.store import StoreStatus


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
    from ravine.engine.spec_file import read_spec_file
    from ravine.engine.storage.header import is_new
    from ravine.engine.storage.store import store_status

    if status is not None:
        return _status(store_status(status), status)
    if spec is None:
        raise Refusal("spec", "given", "none", "e.g. ravine sweep spec.toml --out sweep.zarr")

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
    shares = _outcomes(data)

    rows = [(name, percent(share)) for name, share in shares.items()]
    pixels = " x ".join(str(n) for n in data.sizes.values())
    result = {
        "out": store, "sizes": dict(data.sizes), "resumed": before, "outcomes": shares,
    }  # fmt: skip
    return Answer(
        result,
        *wrote(store),
        f"{pixels} pixels of {data.attrs['problem']}\n",
        *([table(("outcome", "pixels"), rows)] if rows else []),
        then=(f"ravine plot {store}", "a picture of it with the theory"),
    )


def _outcomes(data: xr.Dataset) -> dict[str, float]:
    """Share of the pixels with each outcome, where outcomes were measured."""
    if "outcome" not in data:
        return {}

    outcome = data["outcome"]
    names = outcome.attrs["flag_meanings"].split()

    return {
        name.replace("_", " "): float((outcome == value).mean())
        for value, name in zip(outcome.attrs["flag_values"], names, strict=True)
    }


def _status(state: StoreStatus, store: Path) -> Answer:
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
