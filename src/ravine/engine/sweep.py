"""Run a method at every pixel of a parameter plane, and measure the results.

``sweep`` checks its arguments once and collects them in a ``Spec``, divides the plane into tiles,
runs them here or on a cluster, and assembles the dataset in memory or in a store.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import xarray as xr

from ravine.arguments import overflow_allowed, refuse_too_large, whole
from ravine.engine.dataset import Assembly
from ravine.engine.device import choose_device, kernel_for
from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.kernels.compiled import announced_compilation
from ravine.engine.restart import Restart
from ravine.engine.schedule import Schedule
from ravine.engine.spec import MakeMethod, Spec, checked_spec
from ravine.engine.tiles import Part, Tile, cut_plane, run_tiles
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from distributed import Client

    from ravine.engine.storage.store import TileStore

_QUIET = 1.0  # seconds before a bar appears; short work needs none


@overflow_allowed
def sweep(
    problem: Any,
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    *,
    gammas: npt.ArrayLike | None = None,
    method: MakeMethod | None = None,
    pairs: bool = False,
    steps: int,
    repeats: int = 1,
    sampling: Sampling | str | None = None,
    batch: int = 1,
    restart: Restart | str | int | None = None,
    schedule: Schedule | None = None,
    sigma2: float | None = None,
    total_variance: float | None = None,
    noise: str = "independent",
    measure: Sequence[str] = ("rate", "floor", "outcome", "diverged_at", "final_error"),
    seed: int = 0,
    start: npt.ArrayLike | None = None,
    dtype: str = "float64",
    threads: int | None = None,
    tile: int | None = None,
    store: str | PathLike[str] | None = None,
    cluster: str | Client | None = None,
    device: str = "cpu",
) -> xr.Dataset:
    """Run a method at every (alpha, beta) and measure rate, noise floor and outcome.

    The error after k steps is ‖y_{k+1} - x*‖, with the start y_1 = x_0: y is the sequence at which
    gradients are evaluated.

    Parameters
    ----------
    problem
        The problem to minimise, from ``ravine.problems``.
    alphas, betas
        Step sizes, zero or more, and momenta: the two axes of the plane.
    gammas
        Look-ahead, broadcast to the plane; ``None`` means beta, Nesterov's method.
    method
        Any other linear method: a function of alpha and beta that returns a ``LinearMethod``, e.g.
        ``lambda alpha, beta: LinearMethod.quasi_hyperbolic(alpha, beta, nu=0.7)``. Its pixels run
        in Python, as in ``ravine.run``, about a thousand times slower than the compiled family.
    pairs
        Whether ``alphas`` and ``betas`` are lists of equal length (pairs) instead of axes.
    steps
        Gradient steps of each run, at least 1.
    repeats
        Runs per pixel, with independent random draws. Two or more give standard errors.
    sampling
        The order of the terms; only for finite sums.
    batch, restart, schedule
        As in ``ravine.run``: terms per mini-batch, when to reset momentum, momentum over the run.
        Not for a single quadratic.
    sigma2, total_variance
        Variance of additive Gaussian noise on the gradient: of each coordinate, or of all d
        together (sigma2 = total_variance / d). At most one of them; neither means no noise.
    noise
        "independent": each pixel has its own draws. "shared": all pixels have the same noise and,
        for a finite sum, visit the same terms.
    measure
        Any of rate, floor, floor_sup, outcome, diverged_at, final_error.
    seed
        0 to 2¹²⁸-1; from 2⁶⁴ on it is hashed to 64 bits. The draws depend only on (seed, pixel,
        repeat, step, coordinate).
    start
        x_0 as a vector; or a number that multiplies the distance of the problem's start from x*.
    dtype
        "float64", or "float32" for speed; normals are drawn in single precision in both.
    threads, tile
        Number of threads, and pixels per tile. Neither changes a bit of the result.
    store
        A Zarr store for finished tiles. If a run is killed, the same call continues it, with the
        same result bit for bit. The result is read from the store when it is used. Needs
        ``ravine[store]``.
    cluster
        Address of a Dask scheduler, e.g. "tcp://host:8786", or a ``distributed.Client``: its
        workers run the tiles. Needs ``ravine[cluster]``.
    device
        "cpu"; "cuda", an NVIDIA GPU, which needs ``ravine[cuda]``; or "auto", the GPU if there is
        one. The draws are the same, and the results agree to rounding. The result names the device.

    Returns
    -------
    xarray.Dataset
        Dimensions (alpha, beta), or (pair,). Each variable has a description, and the attributes
        record the arguments. ``ravine.engine.measures`` defines the measures.

    Examples
    --------
    >>> from ravine.problems import worst_case_quadratic
    >>> problem = worst_case_quadratic(Q=16, d=20)
    >>> best = 1 / float(problem.curvature.L)
    >>> plane = sweep(problem, [best, 2.5 * best], [0.0, 0.6], steps=400, threads=1)
    >>> plane.outcome.values.tolist()
    [[0, 0], [3, 3]]
    """
    spec = checked_spec(
        problem,
        alphas,
        betas,
        gammas=gammas,
        method=method,
        pairs=pairs,
        steps=steps,
        repeats=repeats,
        sampling=sampling,
        batch=batch,
        restart=restart,
        schedule=schedule,
        sigma2=sigma2,
        total_variance=total_variance,
        noise=noise,
        measures=measure,
        seed=seed,
        start=start,
        dtype=dtype,
    )

    kernel_for(spec).check(spec)
    spec = replace(spec, device=choose_device(device, spec))
    if tile is not None:
        whole("tile", tile, 1, remedy="give the pixels in a tile, e.g. tile=4096")
    if threads is not None:
        whole("threads", threads, 1, remedy="give a number of threads, or omit it")

    with _new_result(spec, tile, store) as result:
        todo = result.missing()
        done = result.total - len(todo)
        with (
            progress(result.total, done, resumable=store is not None) as advance,
            closing(_finished(spec, todo, threads, cluster)) as finished,
        ):
            for where, part in finished:
                result.keep(where, part)
                advance()

        return result.dataset()


def _new_result(
    spec: Spec, tile: int | None, store: str | PathLike[str] | None
) -> AbstractContextManager[Assembly | TileStore]:
    """The place for finished tiles: memory, or a store that may already have some."""
    tiles = cut_plane(spec, tile)
    if store is not None:
        from ravine.engine.storage.store import tile_store

        return tile_store(store, spec, tiles[0][1])

    # Every measure of a pixel with its standard error, once in parts and once joined.
    size = 32 * (len(spec.measures) + 1) * spec.pixels
    remedy = "take fewer, or keep them in a store"
    refuse_too_large("alphas", size, f"{spec.pixels} pixels", remedy)
    return nullcontext(Assembly(spec, tiles))


def _finished(
    spec: Spec, todo: list[Tile], threads: int | None, cluster: str | Client | None
) -> Generator[tuple[Tile, Part], None, None]:
    """Run tiles here or on a cluster; yield them when they are finished, in any order."""
    if cluster is not None:
        from ravine.engine.cluster import run_on_cluster

        yield from run_on_cluster(cluster, spec, todo, threads)
        return

    with announced_compilation(), one_blas_thread():
        yield from run_tiles(spec, todo, threads)


@contextmanager
def progress(total: int, done: int = 0, *, resumable: bool = False) -> Iterator[Callable[[], None]]:
    """Yield a function that counts one more tile, with a bar on standard error after a second.

    After an interrupt, it prints the progress in one line.
    """
    since = time.monotonic()
    bar: Any = None

    def advance() -> None:
        nonlocal bar, done
        done += 1
        late = time.monotonic() - since > _QUIET and done < total
        if bar is None and late and sys.stderr.isatty():
            bar = _new_bar(total)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)

    try:
        yield advance
    except KeyboardInterrupt:
        remedy = ": run it again with the same store to continue" if resumable else ""
        if bar is not None:
            bar.stop()
        print(f"stopped after {done} of {total} tiles{remedy}", file=sys.stderr, flush=True)
        raise
    finally:
        if bar is not None:
            bar.stop()


def _new_bar(total: int) -> Any:
    """Start a bar with one task."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("sweep", BarColumn(), MofNCompleteColumn(), "tiles", TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("sweep", total=total)
    bar.start()
    return bar
