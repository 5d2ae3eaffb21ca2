"""Tiles of a sweep over a linear model, on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.cuda.finite_sum import entries_of, launches
from ravine.engine.cuda.linear_model_kernel import LinearModelLayout, linear_model_kernel
from ravine.engine.cuda.measures import cleared, summarised
from ravine.engine.cuda.source import SIMULATED, cuda
from ravine.engine.kernels.finite_sum import identities
from ravine.engine.kernels.linear_model_gradient import LinearModelData
from ravine.engine.kernels.linear_model_kernel import LinearModelPlan, new_data, new_plan, new_rows
from ravine.engine.measures import FIELDS

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

MOST_WEIGHTS = 512
"""Weights of which a thread can keep iterates, gradients and streams."""
_THREADS = 2 if SIMULATED else 128


def lacking(spec: Spec) -> str | None:
    """Name what the CPU's kernel can do and this one cannot, or return None."""
    d = spec.problem.dimension
    batch = spec.batch
    if spec.dtype != "float64":
        return f"dtype={spec.dtype!r} for linear models"
    if d > MOST_WEIGHTS:
        return f"a linear model of {d} weights, more than {MOST_WEIGHTS}"
    if batch > MOST_WEIGHTS:
        return f"batch={batch}, more than {MOST_WEIGHTS}"

    return None


def layout_for(
    data: LinearModelData, plan: LinearModelPlan, batch: int, sampled: bool
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
    )


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a linear model; see ``kernels.table``."""
    sampled = spec.sampled
    batch = spec.batch if sampled else 1
    data = new_data(spec.problem, spec.start, sampled)
    plan = new_plan(spec, sampled)
    rows, start_square = new_rows(spec, data, plan, sampled, first, last)
    layout = layout_for(data, plan, batch, sampled)
    identity = identities(spec, first, last)
    entries = entries_of(plan.sampling, data.edges.size - 1, batch) if sampled else 1
    out = np.empty((rows.shape[1], len(FIELDS)))
    for start, stop in launches(rows.shape[1], plan.edges.size - 1, entries):
        some = slice(start, stop)
        out[some] = _run(data, plan, layout, entries, rows[:, some], identity[some], start_square)

    shaped = out.reshape(last - first, spec.repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}


def _run(
    data: LinearModelData,
    plan: LinearModelPlan,
    layout: LinearModelLayout,
    entries: int,
    rows: FloatArray,
    identity: npt.NDArray[np.uint64],
    start_square: float,
) -> FloatArray:
    """Run trajectories in one launch; return their measures, (trajectories, fields)."""
    n = len(identity)
    steps = int(plan.edges[-1])
    results = (
        cleared(((plan.edges.size - 1) * n,), np.float64),
        cleared((n,), np.float64),
        cleared((n,), np.int32),
        cleared((n,), np.float64),
    )

    linear_model_kernel(layout)[-(-n // _THREADS), _THREADS](
        cuda.to_device(data.X),
        cuda.to_device(data.wide),
        cuda.to_device(data.target),
        cuda.to_device(data.weights),
        data.l2,
        cuda.to_device(data.minimiser),
        cuda.to_device(data.start),
        cuda.to_device(data.edges.astype(np.int64)),
        plan.seed,
        plan.period,
        plan.noisy,
        plan.sigma,
        plan.tiny,
        cuda.to_device(plan.edges),
        cuda.to_device(plan.momentum),
        cuda.to_device(np.ascontiguousarray(rows)),
        cuda.to_device(np.ascontiguousarray(identity)),
        cuda.device_array((n, entries), np.uint32),
        *results,
    )

    bins, latest, when, sup = results
    samples = steps - steps // 2 if plan.with_sup else 0

    return summarised(
        bins, plan.edges, start_square, latest, when, plan.noisy, plan.tiny, sup, samples
    )
