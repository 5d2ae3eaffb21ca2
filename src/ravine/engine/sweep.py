"""Run a method at every pixel of a parameter plane, and measure what came out.

``sweep`` checks its arguments once, gathers them in a ``Spec``, cuts the plane into tiles, runs
them and assembles the dataset. A tile is a pure function of (spec, first pixel, last pixel): tiles
may run in any order, anywhere, and the numbers stay the same bit for bit.

A kernel runs the trajectories of a tile. It is a function ``kernel(spec, first, last)`` that
returns, for every name in ``measures.FIELDS``, an array of shape (last - first, repeats):

- pixel p has the parameters ``spec.parameters(p)``; its repeat r draws from the streams of the
  identity ``p | r << 32`` (``0 | r << 32`` where noise is shared), never from its place in a tile;
- ``floor_square`` is the mean of ‖y - x*‖² over the second half, ``outcome`` an ``Outcome``,
  ``diverged_at`` a step or -1; what was not measured is NaN.

``kernel_for`` picks the kernel by the type of the problem, from the table ``KERNELS``. Beside the
kernel its module may have a function ``check(spec)`` that refuses what the kernel cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import xarray as xr

from ravine.arguments import FloatArray, Refusal, WrongType, broadcast, one_number, real, whole
from ravine.engine.dataset import MEASURES, assemble, reduce_repeats
from ravine.engine.device import CUDA_KERNELS, choose_device
from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.kernels.compiled import announced_compilation
from ravine.engine.progress import Part, Progress, Tile, run_here
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from distributed import Client

Kernel = Callable[["Spec", int, int], dict[str, FloatArray]]

KERNELS: dict[str, str] = {
    "Quadratic": "ravine.engine.kernels.quadratic_kernel:run_tile",
    "QuadraticSum": "ravine.engine.kernels.finite_sum:run_tile",
    "LinearModel": "ravine.engine.kernels.linear_model:run_tile",
    "Problem": "ravine.engine.kernels.stepwise:run_tile",
}
"""Kernel by class name of the problem, or of a class it inherits from; imported when needed."""

_GPU_TRAJECTORIES = 1 << 18  # in a tile
_WORK = 2e9  # coordinate updates in a tile, about: a second or less on two cores


@dataclass(frozen=True, eq=False)
class Spec:
    """Everything that the numbers of a sweep depend on. Plain data: it can be pickled.

    ``alphas`` and ``betas`` are the axes of a plane, or with ``pairs`` two lists of equal length.
    ``gammas`` is None for Nesterov's method, else it broadcasts to ``shape``.
    """

    problem: Any
    alphas: FloatArray
    betas: FloatArray
    gammas: FloatArray | None
    pairs: bool
    steps: int
    repeats: int
    sampling: Sampling | None
    sigma2: float
    noise: str
    measures: tuple[str, ...]
    seed: int
    start: FloatArray
    dtype: str
    options: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the plane, (alphas, betas), or (pairs,)."""
        return (len(self.alphas),) if self.pairs else (len(self.alphas), len(self.betas))

    @property
    def pixels(self) -> int:
        """Number of pixels, counted in C order."""
        return int(np.prod(self.shape))

    def parameters(self, pixel: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Alpha, beta and gamma of each pixel."""
        i, j = (pixel, pixel) if self.pairs else np.divmod(pixel, len(self.betas))
        beta = self.betas[j]
        if self.gammas is None:
            return self.alphas[i], beta, beta.copy()
        whole_plane = np.broadcast_to(self.gammas, self.shape)
        return self.alphas[i], beta, whole_plane[i] if self.pairs else whole_plane[i, j]


def kernel_for(spec: Spec) -> Kernel:
    """Return the kernel that runs the problem of ``spec``."""
    table = KERNELS if spec.device == "cpu" else CUDA_KERNELS
    module, name = _kernel_name(spec.problem, table).split(":")
    return cast("Kernel", getattr(import_module(module), name))


def _kernel_name(problem: Any, table: dict[str, str]) -> str:
    for kind in type(problem).__mro__:
        if kind.__name__ in table:
            return table[kind.__name__]
    found, rule = type(problem).__name__, f"one of {', '.join(table)}"
    raise WrongType("problem", rule, found, "see ravine.problems")


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1; return each variable of the dataset, shape (last - first,)."""
    return reduce_repeats(kernel_for(spec)(spec, first, last), spec.measures, spec.repeats)


def tiles(spec: Spec, tile: int | None) -> list[Tile]:
    """Cut the pixels into tiles of ``tile``, or of about half a second each."""
    if tile is None:
        cost = spec.steps * spec.repeats * spec.problem.dimension
        tile = int(np.clip(_WORK / cost, 256, 4096))
        if spec.device != "cpu":
            # A GPU runs tens of thousands of trajectories at a time.
            tile = max(256, _GPU_TRAJECTORIES // spec.repeats)
    ends = [*range(tile, spec.pixels, tile), spec.pixels]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def sweep(
    problem: Any,
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    *,
    gammas: npt.ArrayLike | None = None,
    pairs: bool = False,
    steps: int,
    repeats: int = 1,
    sampling: Sampling | str | None = None,
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
    **options: Any,
) -> xr.Dataset:
    """Run a method at every (alpha, beta) and measure rate, noise floor and outcome.

    The error after k steps is ‖y_{k+1} - x*‖, with y_1 = x_0 the start: the sequence at which
    gradients are taken.

    Parameters
    ----------
    problem
        What to minimise, from ``ravine.problems``.
    alphas, betas
        Step sizes, zero or more, and momenta: the two axes of the plane.
    gammas
        Look-ahead, broadcast to the plane; ``None`` means beta, Nesterov's method.
    pairs
        Take ``alphas`` and ``betas`` as a list of pairs of equal length, not as axes.
    steps
        Gradient steps of each run, at least 1.
    repeats
        Runs of each pixel, with their own random draws. Two or more give standard errors.
    sampling
        How the terms of a finite sum are visited; only for finite sums.
    sigma2, total_variance
        Variance of additive Gaussian noise on the gradient: of each coordinate, or of all d
        together (sigma2 = total_variance / d). At most one of them; neither means no noise.
    noise
        "independent": each pixel has its own draws. "shared": all pixels feel the same noise and,
        of a finite sum, visit the same terms.
    measure
        Any of rate, floor, floor_sup, outcome, diverged_at, final_error.
    seed
        0 to 2⁶⁴-1. The draws depend on (seed, pixel, repeat, step, coordinate) and nothing else.
    start
        x_0, a vector; or a number: the problem's start, that many times as far from x*.
    dtype
        "float64", or "float32" for speed; normals are drawn in single precision in both.
    threads, tile
        Threads to run on and pixels in a tile. Neither changes a bit of the result.
    store
        Where to keep finished tiles, a Zarr store. A run that was killed goes on where it stopped
        when it is called again; the result is the same, bit for bit, and is read from the store
        as it is used. Needs ``ravine[store]``.
    cluster
        Address of a Dask scheduler, e.g. "tcp://host:8786", or a ``distributed.Client``: its
        workers run the tiles. Needs ``ravine[cluster]``.
    device
        "cpu"; "cuda", an NVIDIA GPU, which needs ``ravine[cuda]``; or "auto", the GPU if there is
        one. The draws are the same, the results agree to rounding. The result says which it was.
    options
        ``batch``, ``restart`` and ``schedule`` as in ``ravine.run``: terms of a mini-batch, when
        the momentum is set to zero, momentum over the run. Not for a single quadratic.

    Returns
    -------
    xarray.Dataset
        Dimensions (alpha, beta), or (pair,). Each variable says what it is, and the attributes say
        what made it. See ``ravine.engine.measures`` for how measures are taken.

    Examples
    --------
    >>> from ravine.problems import worst_case_quadratic
    >>> problem = worst_case_quadratic(Q=16, d=20)
    >>> best = 1 / float(problem.curvature.L)
    >>> found = sweep(problem, [best, 2.5 * best], [0.0, 0.6], steps=400, threads=1)
    >>> found.outcome.values.tolist()
    [[0, 0], [3, 3]]
    """
    spec = _checked(
        problem, alphas, betas, gammas, pairs, steps, repeats, sampling, sigma2, total_variance,
        noise, measure, seed, start, dtype, options,
    )  # fmt: skip
    spec = replace(spec, device=choose_device(device, problem, spec))
    if tile is not None:
        whole("tile", tile, 1, remedy="give the pixels in a tile, e.g. tile=4096")
    if threads is not None:
        whole("threads", threads, 1, remedy="give a number of threads, or leave it out")
    if store is None:
        return _in_memory(spec, tiles(spec, tile), threads, cluster)
    return _in_store(spec, store, tile, threads, cluster)


def _in_memory(
    spec: Spec, cut: list[Tile], threads: int | None, cluster: str | Client | None
) -> xr.Dataset:
    """Run all tiles and join them."""
    parts: dict[Tile, Part] = {}
    with Progress(len(cut)) as progress, closing(_finished(spec, cut, threads, cluster)) as found:
        for where, part in found:
            parts[where] = part
            progress.advance()
    return assemble(spec, [parts[where] for where in cut])


def _in_store(
    spec: Spec,
    path: str | PathLike[str],
    tile: int | None,
    threads: int | None,
    cluster: str | Client | None,
) -> xr.Dataset:
    """Run the tiles that a store does not hold yet, and put them there."""
    from ravine.engine.storage.store import TileStore

    first, last = tiles(spec, tile)[0]
    with TileStore(path, spec, last - first) as store:
        todo = store.missing()
        done = store.total - len(todo)
        with (
            Progress(store.total, done, resumable=True) as progress,
            closing(_finished(spec, todo, threads, cluster)) as found,
        ):
            for where, part in found:
                store.keep(where, part)
                progress.advance()
        return store.dataset()


def _finished(
    spec: Spec, todo: list[Tile], threads: int | None, cluster: str | Client | None
) -> Generator[tuple[Tile, Part], None, None]:
    """Run tiles, here or on a cluster; yield them as they are finished, in any order."""
    if cluster is not None:
        from ravine.engine.cluster import run_on_cluster

        yield from run_on_cluster(cluster, run_tile, spec, todo, threads)
        return
    with announced_compilation(), one_blas_thread():
        yield from run_here(run_tile, spec, todo, threads)


def _checked(
    problem: Any,
    alphas: npt.ArrayLike,
    betas: npt.ArrayLike,
    gammas: npt.ArrayLike | None,
    pairs: bool,
    steps: int,
    repeats: int,
    sampling: Sampling | str | None,
    sigma2: float | None,
    total_variance: float | None,
    noise: str,
    measure: Sequence[str],
    seed: int,
    start: npt.ArrayLike | None,
    dtype: str,
    options: dict[str, Any],
) -> Spec:
    """Check the arguments of ``sweep`` and gather them."""
    _kernel_name(problem, KERNELS)
    step = _axis("alphas", alphas, "nonnegative", "give step sizes, e.g. np.linspace(0, 2/L, 64)")
    momentum = _axis("betas", betas, "finite", "give momenta, e.g. np.linspace(-0.5, 1, 64)")
    if pairs and len(step) != len(momentum):
        found = f"{len(step)} alphas and {len(momentum)} betas"
        raise Refusal("pairs", "lists of equal length", found, "or leave pairs out")
    names = (measure,) if isinstance(measure, str) else tuple(measure)
    for name in names:
        _one_of("measure", name, tuple(MEASURES))
    seed = whole("seed", seed, 0, remedy="give a whole number, e.g. seed=0")
    if seed >= 2**64:
        raise Refusal("seed", "below 2**64", seed, "give a smaller number")
    spec = Spec(
        problem=problem,
        alphas=step,
        betas=momentum,
        gammas=None
        if gammas is None
        else np.asarray(
            real("gammas", gammas, remedy="give look-aheads, or leave them out for Nesterov's")
        ),
        pairs=bool(pairs),
        steps=whole("steps", steps, 1, remedy="give the number of steps, e.g. steps=1000"),
        repeats=whole("repeats", repeats, 1, remedy="give the runs of each pixel, e.g. repeats=8"),
        sampling=None if sampling is None else Sampling.parse(sampling),
        sigma2=_variance(problem, sigma2, total_variance),
        noise=_one_of("noise", noise, ("independent", "shared")),
        measures=names,
        seed=seed,
        start=_start(problem, start),
        dtype=_one_of("dtype", dtype, ("float64", "float32")),
        options=options,
    )
    if spec.gammas is not None:
        broadcast(gammas=spec.gammas, plane=np.empty(spec.shape))
        if np.broadcast_shapes(spec.gammas.shape, spec.shape) != spec.shape:
            found = f"shape {spec.gammas.shape}"
            rule = f"of a shape that broadcasts to {spec.shape}"
            raise Refusal("gammas", rule, found, "give one a pixel, or one number")
    if spec.pixels > 2**32:
        raise Refusal("alphas x betas", "at most 2**32 pixels", spec.pixels, "split")
    check = getattr(import_module(kernel_for(spec).__module__), "check", None)
    if check is not None:
        check(spec)
    return spec


def _axis(name: str, values: npt.ArrayLike, rule: str, remedy: str) -> FloatArray:
    axis = np.atleast_1d(np.asarray(real(name, values, rule, remedy=remedy)))
    if axis.ndim != 1:
        found = f"an array of shape {axis.shape}"
        raise Refusal(name, "a number or a list", found, "ravel it, and set pairs")
    return axis


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        rule = f"one of {', '.join(allowed)}"
        raise Refusal(name, rule, repr(value), "pick one of these names")
    return value


def _variance(problem: Any, sigma2: float | None, total_variance: float | None) -> float:
    if sigma2 is not None and total_variance is not None:
        found = f"sigma2={sigma2} and total_variance={total_variance}"
        rule = "given either a coordinate or in total"
        raise Refusal("the noise", rule, found, "leave one of them out")
    if total_variance is not None:
        remedy = "give the variance of the whole gradient's noise, e.g. total_variance=1"
        total = one_number("total_variance", total_variance, "nonnegative", remedy=remedy)
        return total / int(problem.dimension)
    if sigma2 is None:
        return 0.0
    remedy = "give the variance of each coordinate's noise, e.g. sigma2=1"
    return one_number("sigma2", sigma2, "nonnegative", remedy=remedy)


def _start(problem: Any, start: npt.ArrayLike | None) -> FloatArray:
    usual: FloatArray = np.asarray(problem.start)
    best: FloatArray = np.asarray(problem.minimiser)
    if start is None:
        return usual
    given = np.asarray(real("start", start, remedy="give x_0, or how many times as far from x*"))
    if given.ndim == 0:
        return best + float(given) * (usual - best)
    if given.shape != best.shape:
        rule = f"a number or a vector of {len(best)} coordinates"
        found = f"an array of shape {given.shape}"
        raise Refusal("start", rule, found, "give one entry a coordinate")
    return given
