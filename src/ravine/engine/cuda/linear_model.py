"""Tiles of a sweep over a linear model, on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.engine.cuda.finite_sum import entries_of, launches
from ravine.engine.cuda.linear_model_kernel import LinearModelLayout, linear_model_kernel
from ravine.engine.cuda.measures import new_runs, summarise
from ravine.engine.cuda.row_slopes import LOSSES
from ravine.engine.cuda.source import SIMULATED
from ravine.engine.cuda.whole_gradient_kernel import WholeGradientLayout, whole_gradient_kernel
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.kernels.finite_sum import identities
from ravine.engine.kernels.linear_model_gradient import LinearModelData
from ravine.engine.kernels.linear_model_kernel import LinearModelPlan, new_data, new_plan, new_rows
from ravine.engine.measures import FIELDS
from ravine.engine.restart import NEVER

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

MOST_WEIGHTS = 512
"""Weights of which a thread can keep iterates, gradients and streams."""
_THREADS = 2 if SIMULATED else 128
_WHOLE_THREADS = 2 if SIMULATED else 64
_MOST_IN_REGISTERS = {True: 100, False: 64}
"""Weights whose values and gradient fit the 255 registers of a thread, by whether single."""


def lacking(spec: Spec) -> str | None:
    """Name what the CPU's kernel can do and this one cannot, or return None."""
    d = spec.problem.dimension
    batch = spec.batch
    if d > MOST_WEIGHTS:
        return f"a linear model of {d} weights, more than {MOST_WEIGHTS}"
    if batch > MOST_WEIGHTS:
        return f"batch={batch}, more than {MOST_WEIGHTS}"
    if spec.problem.loss.kernel_code not in LOSSES:
        return f"the loss {type(spec.problem.loss).__name__}"

    return None


def fits_registers(
    data: LinearModelData, plan: LinearModelPlan, *, sampled: bool, single: bool
) -> bool:
    """Whether a thread can run a trajectory in its registers."""
    return not sampled and plan.restart == NEVER and data.start.size <= _MOST_IN_REGISTERS[single]


def whole_layout_for(
    data: LinearModelData, plan: LinearModelPlan, *, single: bool
) -> WholeGradientLayout:
    """Gather what is known of a model when the kernel for whole gradients is compiled."""
    return WholeGradientLayout(
        features=data.X.shape[1],
        wide=data.wide.shape[1],
        outputs=data.outputs,
        loss=data.loss,
        noisy=plan.sigma > 0.0,
        with_sup=plan.with_sup,
        single=single,
        # More threads then fit beside each other, for a few numbers that leave the registers.
        registers=168 if single else None,
    )


def layout_for(
    data: LinearModelData, plan: LinearModelPlan, batch: int, sampled: bool, single: bool
) -> LinearModelLayout:
    """Gather what is known of a model and its rules when a kernel is compiled."""
    return LinearModelLayout(
        features=data.X.shape[1],
        wide=data.wide.shape[1],
        outputs=data.outputs,
        loss=data.loss,
        sampled=int(sampled),
        batch=batch,
        sampling=plan.sampling,
        restart=plan.restart,
        noisy=int(plan.sigma > 0.0),
        with_sup=plan.with_sup,
        single=single,
    )


class LinearModelLauncher:
    """Runs the tiles of one sweep over a linear model."""

    repeats_outside = False

    def __init__(self, spec: Spec, queue: WorkQueue) -> None:
        sampled = spec.sampled
        batch = spec.batch if sampled else 1
        data = new_data(spec.problem, spec.start, sampled)
        plan = new_plan(spec, sampled)
        self._spec = spec
        self._data = data
        self._plan = plan
        self._entries = entries_of(plan.sampling, data.edges.size - 1, batch) if sampled else 1
        self._edges = queue.put("edges", plan.edges)
        single = spec.dtype == "float32"
        self._whole = fits_registers(data, plan, sampled=sampled, single=single)
        if self._whole:
            self._kernel = whole_gradient_kernel(whole_layout_for(data, plan, single=single))
            self._arguments = _whole_arguments(queue, data, plan, self._edges, np.dtype(spec.dtype))
        else:
            self._kernel = linear_model_kernel(layout_for(data, plan, batch, sampled, single))
            self._arguments = _arguments(queue, data, plan, self._edges)

    def launch(self, queue: WorkQueue, first: int, last: int) -> Any:
        """Queue the pixels first..last-1; return the fields, (trajectories, fields), to come."""
        spec, plan = self._spec, self._plan
        rows, start_square = new_rows(spec, self._data, plan, spec.sampled, first, last)
        identity = identities(spec, first, last)
        count = rows.shape[1]
        bins = plan.edges.size - 1
        threads = _WHOLE_THREADS if self._whole else _THREADS
        samples = spec.steps - spec.steps // 2 if plan.with_sup else 0
        fields = queue.room("fields", (count, len(FIELDS)), np.float64)

        for start, stop in launches(count, bins, self._entries):
            n = stop - start
            runs = new_runs(queue, n, bins, cleared=True)
            own = queue.put("own", np.ascontiguousarray(rows[:, start:stop]))
            streams = queue.put("identity", np.ascontiguousarray(identity[start:stop]))
            orders: tuple[Any, ...] = ()
            if not self._whole:
                orders = (queue.room("orders", (n, self._entries), np.uint32),)

            with queue.long() as stream:
                self._kernel[-(-n // threads), threads, stream](
                    *self._arguments, own, streams, *orders, *runs
                )
            summarise(
                queue, runs, self._edges, start_square, plan.noisy, plan.tiny, samples,
                fields[start:stop],
            )  # fmt: skip

        return fields


def _arguments(
    queue: WorkQueue, data: LinearModelData, plan: LinearModelPlan, edges: Any
) -> tuple[Any, ...]:
    """What all trajectories have in common, for ``linear_model_kernel``."""
    return (
        queue.put("X", data.X),
        queue.put("wide", data.wide),
        queue.put("target", data.target),
        queue.put("weights", data.weights),
        data.l2,
        queue.put("minimiser", data.minimiser),
        queue.put("start", data.start),
        queue.put("rows", data.edges.astype(np.int64)),
        plan.seed,
        plan.period,
        plan.noisy,
        plan.sigma,
        plan.tiny,
        edges,
        queue.put("momentum", plan.momentum),
    )


def _whole_arguments(
    queue: WorkQueue,
    data: LinearModelData,
    plan: LinearModelPlan,
    edges: Any,
    dtype: np.dtype[Any],
) -> tuple[Any, ...]:
    """What all trajectories have in common, for ``whole_gradient_kernel``, in its precision."""
    return (
        queue.put("wide", data.wide.ravel().astype(dtype)),
        queue.put("target", data.target.astype(dtype)),
        queue.put("weights", data.weights.astype(dtype)),
        dtype.type(data.l2),
        queue.put("minimiser", data.minimiser.astype(dtype)),
        queue.put("start", data.start.astype(dtype)),
        plan.seed,
        dtype.type(plan.sigma),
        edges,
        queue.put("momentum", plan.momentum),
    )


new_launcher = LinearModelLauncher
