"""``ravine sweep``: run a specification file, keep the result in a store, go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ravine.arguments import Refusal
from ravine.cli.options import Json
from ravine.cli.output import print_json

if TYPE_CHECKING:
    import xarray as xr


def sweep_command(
    spec: Annotated[
        Path | None, typer.Argument(help="TOML file whose keys are the arguments of sweep.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Zarr store to write.")] = None,
    device: Annotated[
        str | None, typer.Option("--device", help="Where to run: cpu, cuda or auto.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Address of a Dask scheduler, tcp://...")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads, here or of each worker.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a store that is there already.")
    ] = False,
    status: Annotated[
        Path | None, typer.Option("--status", help="Say how far this store is, and stop.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a method over a plane of parameters, as a file says, into a store that can be resumed.

    Killed at any moment, the run goes on where it stopped with --resume, and ends with the same
    bits. Open the store with xarray.open_zarr, or draw it with ravine plot.

    For example:

    - `ravine sweep spec.toml --out sweep.zarr`

    - `ravine sweep spec.toml --out sweep.zarr --resume`

    - `ravine sweep spec.toml --out sweep.zarr --cluster tcp://head:8786`

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
            remedy = "add --resume to go on with it, or give another path"
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
    typer.echo(f"wrote {store}: {pixels} pixels of {data.attrs['problem']}")
    if shares:
        typer.echo(", ".join(f"{share:.1%} {name}" for name, share in shares.items()))


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

    end = "complete" if state.is_complete else "go on with --resume"
    damaged = f", {len(state.damages)} damaged ({state.damages[0]})" if state.damages else ""
    share = state.done / state.total
    typer.echo(f"{store}: {state.done} of {state.total} tiles ({share:.0%}){damaged}; {end}")

    for name in ("problem", "steps", "repeats", "seed", "dtype", "ravine"):
        typer.echo(f"  {name}: {state.made_with.get(name, 'unknown')}")
