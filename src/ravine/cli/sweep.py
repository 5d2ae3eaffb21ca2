"""``ravine sweep``: run a specification file into a store that can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ravine.arguments import Refusal
from ravine.cli.options import OUTPUT, Json, option
from ravine.cli.output import copyable, print_json, say, suggest, table, wrote

if TYPE_CHECKING:
    import xarray as xr

_MACHINE = "Machine"


def sweep_command(
    spec: Annotated[
        Path | None, typer.Argument(help="TOML file whose keys are the arguments of sweep.")
    ] = None,
    device: Annotated[
        str | None, option(_MACHINE, "--device", "Where to run: cpu, cuda or auto.", "WORD")
    ] = None,
    cluster: Annotated[
        str | None, option(_MACHINE, "--cluster", "Address of a Dask scheduler.", "tcp://...")
    ] = None,
    threads: Annotated[
        int | None, option(_MACHINE, "--threads", "Threads, here or of each worker.", "N")
    ] = None,
    out: Annotated[Path | None, option(OUTPUT, "--out", "Zarr store to write.", "STORE")] = None,
    resume: Annotated[
        bool, option(OUTPUT, "--resume", "Continue a store that exists already.")
    ] = False,
    status: Annotated[
        Path | None, option(OUTPUT, "--status", "Tell how much of a store is done.", "STORE")
    ] = None,
    json: Json = False,
) -> None:
    """Run a method on every point of a plane of parameters, into a store that can be resumed.

    A run that was killed continues with --resume and ends with the same bits. Open the store with
    xarray.open_zarr, or draw it with ravine plot.

    For example:

    - `ravine sweep spec.toml --out sweep.zarr`

    - `ravine sweep spec.toml --out sweep.zarr --resume`

    - `ravine sweep --status sweep.zarr`
    """
    if status is not None:
        _show_status(status, json)
        return
    if spec is None:
        remedy = "e.g. ravine sweep spec.toml --out sweep.zarr"
        raise Refusal("spec", "given", "none", remedy)

    _run(spec, out, resume, json, device=device, cluster=cluster, threads=threads)


def _run(spec: Path, out: Path | None, resume: bool, json: bool, **others: Any) -> None:
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
            shown = f"{store}, where {before} tiles are finished"
            remedy = "add --resume to continue it, or give another path"
            raise Refusal("out", "new", shown, remedy)

    given = {name: value for name, value in others.items() if value is not None}
    data = wanted.sweep(store=store, **given)
    shares = _outcomes(data)
    if json:
        print_json(
            {"out": str(store), "sizes": dict(data.sizes), "resumed": before, "outcomes": shares}
        )
        return

    pixels = " x ".join(str(n) for n in data.sizes.values())
    wrote(store)
    say(f"{pixels} pixels of {data.attrs['problem']}\n")
    if shares:
        table(("outcome", "pixels"), [(name, f"{share:.1%}") for name, share in shares.items()])
    suggest(f"ravine plot {store}", "a picture of it beside the theory")


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


def _show_status(store: Path, json: bool) -> None:
    from ravine.engine.storage.store import store_status

    state = store_status(store)
    if json:
        print_json(
            {
                "store": str(store),
                "tiles": state.total,
                "finished": state.done,
                "damaged": len(state.damages),
                "complete": state.is_complete,
                "made_with": state.made_with,
            }
        )
        return

    end = "complete" if state.is_complete else "continue with --resume"
    damaged = f", {len(state.damages)} damaged ({state.damages[0]})" if state.damages else ""
    share = state.done / state.total
    copyable(str(store), style=None)
    say(f"{state.done} of {state.total} tiles ({share:.0%}){damaged}; {end}\n")
    names = ("problem", "steps", "repeats", "seed", "dtype", "ravine")
    rows = [(name, str(state.made_with.get(name, "unknown"))) for name in names]
    table(("made with", ""), rows, words=[""])
    if state.done:
        suggest(f"ravine plot {store}", "a picture of what is done")
