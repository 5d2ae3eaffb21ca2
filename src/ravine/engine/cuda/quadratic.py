"""Tiles of a sweep over a quadratic, on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.engine.cuda.group import STEPS
from ravine.engine.cuda.measures import (
    Runs,
    batches,
    bin_levels,
    bins_of_steps,
    clear,
    new_runs,
    summarise,
)
from ravine.engine.cuda.own_rows import ROWS, fill_rows, put_axes
from ravine.engine.cuda.quadratic_kernel import QuadraticLayout, quadratic_kernel
from ravine.engine.cuda.quadratic_steps import draw_shared
from ravine.engine.cuda.shared_noise_kernel import SharedNoiseLayout, shared_noise_kernel
from ravine.engine.cuda.source import SIMULATED
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.kernels.quadratic_driver import takes_sup_norm
from ravine.engine.kernels.quadratic_kernel import (
    INDEPENDENT,
    NO_NOISE,
    SHARED,
    new_plan,
    noise_mode,
)
from ravine.engine.kernels.quadratic_lanes import CHUNK
from ravine.engine.measures import FIELDS

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

_MOST = 13  # coordinates of a thread whose state fits its registers
_TOGETHER = 26  # coordinates of a thread in all trajectories of its group, where noise is shared
_WIDEST = 32  # threads of a group
_THREADS = 128  # of a block
MOST_COORDINATES = 1024
"""A group of 32 threads with more of them would spend minutes in the compiler."""
# With these, more threads fit beside each other than the compiler would choose.
_REGISTERS = 168  # where each trajectory draws noise of its own, in single precision
_SHARED_REGISTERS = {True: 168, False: None}  # by whether in single precision
_NOISE = 1 << 28  # bytes of shared noise that is kept for all repeats, at most


def lacking(spec: Spec) -> str | None:
    """Name what the CPU's kernel can do and this one cannot, or return None."""
    d = spec.problem.dimension
    if d > MOST_COORDINATES:
        return f"a quadratic of {d} coordinates, more than {MOST_COORDINATES}"

    return None


def group_for(d: int) -> tuple[int, int]:
    """Return how many threads run a d-dimensional quadratic, and coordinates of each."""
    lanes = 8
    while lanes < _WIDEST and d > lanes * _MOST:
        lanes *= 2

    return lanes, -(-d // lanes)


def layout_for(d: int, mode: int, *, single: bool, with_sup: bool) -> QuadraticLayout:
    """Choose how trajectories that share no noise are spread over threads."""
    lanes, coordinates = group_for(d)
    threads = lanes if SIMULATED else _THREADS
    registers = _REGISTERS if mode == INDEPENDENT and single else None
    return QuadraticLayout(threads, lanes, coordinates, single, with_sup, registers)


def shared_layout_for(d: int, *, single: bool, nesterov: bool, with_sup: bool) -> SharedNoiseLayout:
    """Choose how trajectories that share their noise are spread over threads."""
    lanes, coordinates = group_for(d)
    trajectories = 1
    # The sup-norm is taken of one trajectory at a time.
    while not with_sup and trajectories < 4 and 2 * trajectories * coordinates <= _TOGETHER:
        trajectories *= 2

    return SharedNoiseLayout(
        threads=lanes if SIMULATED else _THREADS,
        lanes=lanes,
        coordinates=coordinates,
        trajectories=trajectories,
        single=single,
        nesterov=nesterov,
        with_sup=with_sup,
        registers=_SHARED_REGISTERS[single],
    )


class QuadraticLauncher:
    """Runs the tiles of one sweep; what they have in common is put on the device once."""

    def __init__(self, spec: Spec, queue: WorkQueue) -> None:
        mode = noise_mode(spec)
        plan = new_plan(spec, mode)
        start = plan.start.astype(np.float64)
        with_sup = plan.eigenvectors.size > 0
        single = plan.start.dtype == np.float32
        d = plan.start.size

        self.repeats_outside = mode == SHARED
        self._mode = mode
        self._plan = plan
        self._repeats = spec.repeats
        self._pairs = spec.pairs
        self._distance = float(np.linalg.norm(start))
        self._start_square = plan.start_square
        self._samples = _sup_samples(plan.steps) if with_sup else 0
        self._layout: QuadraticLayout | SharedNoiseLayout
        if mode == SHARED:
            # In single precision coefficients are rounded as on the CPU, to agree with it.
            nesterov = spec.gammas is None and not single
            self._layout = shared_layout_for(d, single=single, nesterov=nesterov, with_sup=with_sup)
        else:
            self._layout = layout_for(d, mode, single=single, with_sup=with_sup)
        self._axes = put_axes(queue, spec)
        self._eigenvalues = queue.put("eigenvalues", plan.eigenvalues)
        self._start = queue.put("start", plan.start)
        vectors = plan.eigenvectors if with_sup else np.zeros((1, 1))
        self._vectors = queue.put("vectors", vectors.T)
        self._edges = queue.put("edges", plan.edges)
        self._bin_of = queue.put("bin_of", bins_of_steps(plan.edges))
        self._levels = queue.put("levels", bin_levels(plan.steps, STEPS))
        self._noise = self._drawn_noise(queue) if mode == SHARED else []

    def launch(self, queue: WorkQueue, first: int, last: int) -> Any:
        """Queue the pixels first..last-1; return the fields, (trajectories, fields), to come."""
        pixels = last - first
        n = pixels * self._repeats
        fields = queue.room("fields", (n, len(FIELDS)), np.float64)
        bins = len(self._plan.edges) - 1
        # Noise is shared among the trajectories of one repeat: there a launch holds only these.
        inside = 1 if self._mode == SHARED else self._repeats
        for repeat in range(self._repeats // inside):
            for start, stop in batches(pixels, bins * inside):
                at = (repeat * pixels + start) * inside
                some = fields
                if stop - start < pixels or inside < self._repeats:
                    some = fields[at : at + (stop - start) * inside]
                run, runs = self.prepared(queue, first + start, first + stop, repeat)
                run()
                summarise(
                    queue, runs, self._edges, self._start_square, self._mode != NO_NOISE,
                    self._plan.tiny, self._samples, some,
                )  # fmt: skip

        return fields

    def prepared(
        self, queue: WorkQueue, first: int, last: int, repeat: int
    ) -> tuple[Callable[[], None], Runs]:
        """Queue the set-up of pixels, all their repeats or one; return the launch and its runs."""
        inside = 1 if self._mode == SHARED else self._repeats
        n = (last - first) * inside
        # A run without noise may end before its last bin.
        runs = new_runs(queue, n, len(self._plan.edges) - 1, cleared=self._mode == NO_NOISE)
        own = queue.room("own", (ROWS, n), np.float64)
        identity = queue.room("identity", (n,), np.uint64)
        self._fill(queue, first, inside, repeat, own, identity, runs)
        if self._mode == SHARED:
            return self._with_shared_noise(queue, repeat, own, runs), runs

        layout = self._layout
        assert isinstance(layout, QuadraticLayout)
        kernel = quadratic_kernel(layout, self._mode)
        blocks = -(-n // (layout.threads // layout.lanes))

        def launch() -> None:
            with queue.long() as stream:
                kernel[blocks, layout.threads, stream](
                    self._eigenvalues, self._start, self._vectors, self._plan.seed,
                    np.int32(self._plan.steps), self._plan.tiny, self._levels, self._bin_of, own,
                    identity, *runs,
                )  # fmt: skip

        return launch, runs

    def _with_shared_noise(
        self, queue: WorkQueue, repeat: int, own: Any, runs: Runs
    ) -> Callable[[], None]:
        layout = self._layout
        assert isinstance(layout, SharedNoiseLayout)
        kernel = shared_noise_kernel(layout)
        n = int(own.shape[1])
        blocks = -(-n // (layout.threads // layout.lanes * layout.trajectories))
        noise = self._noise[repeat] if self._noise else self._draw(queue, "noise", repeat)

        def launch() -> None:
            with queue.long() as stream:
                kernel[blocks, layout.threads, stream](
                    self._eigenvalues, self._start, self._vectors, np.int32(self._plan.steps),
                    self._edges, self._bin_of, own, noise, *runs,
                )  # fmt: skip

        return launch

    def _fill(
        self,
        queue: WorkQueue,
        first: int,
        inside: int,
        repeat: int,
        own: Any,
        identity: Any,
        runs: Runs,
    ) -> None:
        """Queue what is each trajectory's own."""
        plan = self._plan
        single = plan.start.dtype == np.float32
        # As in ``new_trajectories``, where the reasons stand.
        least = 1e-8 if single else 1e-17
        still = (1e-12 if single else 1e-20) * self._distance if self._distance > 0.0 else 1e-100
        fill_rows[-(-int(own.shape[1]) // _THREADS), _THREADS, queue.stream](
            *self._axes, self._pairs, first, inside, repeat, self._mode, self._distance, plan.sigma,
            float(np.sqrt(plan.start.size)), float(np.finfo(plan.start.dtype).max), least, still,
            own, identity, runs.latest, runs.sup,
        )  # fmt: skip

    def _noise_size(self) -> int:
        """Numbers of noise of one repeat, in whole chunks of eight steps."""
        width = self._layout.lanes * self._layout.coordinates
        return -(-self._plan.steps // STEPS) * width * STEPS

    def _drawn_noise(self, queue: WorkQueue) -> list[Any]:
        """Draw the shared noise of all repeats, or none where that would take too much memory."""
        size = self._noise_size()
        if size * self._plan.start.itemsize * self._repeats > _NOISE:
            return []

        return [self._draw(queue, f"noise {repeat}", repeat) for repeat in range(self._repeats)]

    def _draw(self, queue: WorkQueue, name: str, repeat: int) -> Any:
        """Queue the drawing of the noise that the trajectories of a repeat share."""
        noise = queue.room(name, (self._noise_size(),), self._plan.start.dtype)
        clear(noise, queue.stream)
        width = self._layout.lanes * self._layout.coordinates
        identity = np.uint64(repeat) << np.uint64(32)
        d = self._plan.start.size
        draw_shared[-(-d // 32), 32, queue.stream](self._plan.seed, identity, d, width, noise)
        return noise


def _sup_samples(steps: int) -> int:
    """Return how many sup-norms are taken in a run."""
    taken: Any = takes_sup_norm
    return sum(taken.py_func(k, steps) for k in range(CHUNK, steps + 1, CHUNK))


new_launcher = QuadraticLauncher
