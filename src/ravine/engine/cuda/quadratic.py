"""Tiles of a sweep over a quadratic, on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ravine.engine.cuda.group import STEPS, QuadraticLayout
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
from ravine.engine.cuda.quadratic_kernel import draw_shared, quadratic_kernel
from ravine.engine.cuda.shared_noise_kernel import shared_noise_kernel
from ravine.engine.cuda.source import SIMULATED
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.kernels.quadratic_kernel import NO_NOISE, SHARED, new_plan, noise_mode
from ravine.engine.measures import FIELDS
from ravine.engine.spec import Spec

_MOST = 13  # coordinates of a thread whose state fits into its registers
_TOGETHER = 26  # coordinates of a thread in all trajectories of its group, where noise is shared
_WIDEST = 32  # threads of a group
_THREADS = 128  # of a block
MOST_COORDINATES = 1024
"""Maximum number of coordinates; more would take minutes to compile."""
# With these register limits, more threads fit side by side than the compiler would choose.
_REGISTERS = 168  # with noise, in single precision
_NOISE = 1 << 28  # maximum bytes of shared noise that is stored for all repeats


def lacking(spec: Spec) -> str | None:
    """Name what the CPU's kernel can do and this one cannot, or return None."""
    d = spec.problem.dimension
    if d > MOST_COORDINATES:
        return f"a quadratic of {d} coordinates, more than {MOST_COORDINATES}"

    return None


def layout_for(spec: Spec, mode: int) -> QuadraticLayout:
    """Choose how trajectories are divided among threads."""
    d = spec.problem.dimension
    single = spec.dtype == "float32"
    with_sup = "floor_sup" in spec.measures
    lanes = 8
    while lanes < _WIDEST and d > lanes * _MOST:
        lanes *= 2

    coordinates = -(-d // lanes)
    trajectories = 1
    # The sup-norm is computed for one trajectory at a time.
    several = mode == SHARED and not with_sup
    while several and trajectories < 4 and 2 * trajectories * coordinates <= _TOGETHER:
        trajectories *= 2

    return QuadraticLayout(
        threads=lanes if SIMULATED else _THREADS,
        lanes=lanes,
        coordinates=coordinates,
        trajectories=trajectories,
        single=single,
        # In single precision coefficients are rounded as on the CPU, to agree with it.
        nesterov=mode == SHARED and spec.gammas is None and not single,
        with_sup=with_sup,
        registers=_REGISTERS if mode != NO_NOISE and single else None,
    )


class QuadraticLauncher:
    """Runs the tiles of one sweep; what they have in common is put on the device once."""

    def __init__(self, spec: Spec, queue: WorkQueue) -> None:
        mode = noise_mode(spec)
        plan = new_plan(spec, mode)
        setting = plan.setting
        self.repeats_outside = mode == SHARED
        self._spec = spec
        self._mode = mode
        self._layout = layout_for(spec, mode)
        self._bins = setting.edges.size - 1
        self._setting = setting._replace(edges=queue.put("edges", setting.edges))
        self._axes = put_axes(queue, spec)
        vectors = plan.eigenvectors if self._layout.with_sup else np.zeros((1, 1))
        self._problem = (
            queue.put("eigenvalues", plan.eigenvalues),
            queue.put("start", plan.start),
            queue.put("vectors", vectors.T),
        )
        self._bin_of = queue.put("bin_of", bins_of_steps(setting.edges))
        self._levels = queue.put("levels", bin_levels(spec.steps, STEPS))
        self._constants = self._own_constants(float(np.linalg.norm(plan.start.astype(np.float64))))
        self._noise = self._drawn_noise(queue) if mode == SHARED else []

    def launch(self, queue: WorkQueue, first: int, last: int) -> Any:
        """Queue the pixels first..last-1; return the fields, (trajectories, fields), to come."""
        repeats = self._spec.repeats
        pixels = last - first
        fields = queue.buffer("fields", (pixels * repeats, len(FIELDS)), np.float64)
        # Noise is shared among the trajectories of one repeat, so a launch contains only these.
        inside = 1 if self._mode == SHARED else repeats
        for repeat in range(repeats // inside):
            for start, stop in batches(pixels, self._bins * inside):
                at = (repeat * pixels + start) * inside
                some = fields
                if stop - start < pixels or inside < repeats:
                    some = fields[at : at + (stop - start) * inside]
                run, runs = self.prepared(queue, first + start, first + stop, repeat)
                run()
                summarise(queue, runs, self._setting, some)

        return fields

    def prepared(
        self, queue: WorkQueue, first: int, last: int, repeat: int
    ) -> tuple[Callable[[], None], Runs]:
        """Queue the setup of pixels with all repeats or one; return the launch and its runs."""
        inside = 1 if self._mode == SHARED else self._spec.repeats
        n = (last - first) * inside
        # A run without noise may end before its last bin.
        runs = new_runs(queue, n, self._bins, cleared=self._mode == NO_NOISE)
        own = queue.buffer("own", (ROWS, n), np.float64)
        identity = queue.buffer("identity", (n,), np.uint64)
        fill_rows[-(-n // _THREADS), _THREADS, queue.stream](
            *self._axes, self._spec.pairs, first, inside, repeat, *self._constants, own, identity,
            runs.latest, runs.sup,
        )  # fmt: skip
        layout = self._layout
        steps = np.int32(self._spec.steps)
        kernel: Any
        arguments: tuple[Any, ...]
        if self._mode == SHARED:
            kernel = shared_noise_kernel(layout)
            noise = self._noise[repeat] if self._noise else self._draw(queue, "noise", repeat)
            arguments = (steps, self._setting.edges, self._bin_of, own, noise)
        else:
            kernel = quadratic_kernel(layout, self._mode)
            seed = np.uint64(self._spec.seed)
            tiny = self._setting.tiny
            arguments = (seed, steps, tiny, self._levels, self._bin_of, own, identity)

        blocks = -(-n // (layout.threads // layout.lanes * layout.trajectories))

        def launch() -> None:
            with queue.long() as stream:
                kernel[blocks, layout.threads, stream](*self._problem, *arguments, *runs)

        return launch, runs

    def _own_constants(self, distance: float) -> tuple[Any, ...]:
        """The constants with which ``fill_rows`` computes the rows of all trajectories."""
        spec = self._spec
        single = self._layout.single
        # As in ``new_trajectories``, which gives the reasons.
        least = 1e-8 if single else 1e-17
        still = (1e-12 if single else 1e-20) * distance if distance > 0.0 else 1e-100
        sigma = float(np.sqrt(spec.sigma2))
        root = float(np.sqrt(spec.problem.dimension))
        return self._mode, distance, sigma, root, float(np.finfo(spec.dtype).max), least, still

    def _noise_size(self) -> int:
        """Count of noise numbers of one repeat, in whole chunks of eight steps."""
        width = self._layout.lanes * self._layout.coordinates
        return -(-self._spec.steps // STEPS) * width * STEPS

    def _drawn_noise(self, queue: WorkQueue) -> list[Any]:
        """Draw the shared noise of all repeats, or none if that would take too much memory."""
        repeats = self._spec.repeats
        if self._noise_size() * np.dtype(self._spec.dtype).itemsize * repeats > _NOISE:
            return []

        return [self._draw(queue, f"noise {repeat}", repeat) for repeat in range(repeats)]

    def _draw(self, queue: WorkQueue, name: str, repeat: int) -> Any:
        """Queue the shared noise of a repeat."""
        noise = queue.buffer(name, (self._noise_size(),), self._spec.dtype)
        clear(noise, queue.stream)
        width = self._layout.lanes * self._layout.coordinates
        seed = np.uint64(self._spec.seed)
        identity = np.uint64(repeat) << np.uint64(32)
        d = self._spec.problem.dimension
        draw_shared[-(-d // 32), 32, queue.stream](seed, identity, d, width, noise)
        return noise


new_launcher = QuadraticLauncher
