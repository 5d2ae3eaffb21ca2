"""Tiles of a sweep over a finite sum of quadratics, on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.cuda.finite_sum_kernel import FiniteSumLayout, finite_sum_kernel
from ravine.engine.cuda.measures import batches, cleared, summarised
from ravine.engine.cuda.source import SIMULATED, cuda
from ravine.engine.draws.index_sampling import order_size
from ravine.engine.kernels.finite_sum import new_tile, sup_samples
from ravine.engine.kernels.finite_sum_kernel import FiniteSumPlan
from ravine.engine.kernels.finite_sum_lanes import FiniteSumTerms, StepRules
from ravine.engine.measures import FIELDS
from ravine.engine.restart import NEVER

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

MOST_COORDINATES = 512
"""A thread keeps six numbers a coordinate: more would not fit beside those of the others."""
_THREADS = 2 if SIMULATED else 128
_ORDERS = 1 << 31  # bytes of orders in a launch, at most


def lacking(spec: Spec) -> str | None:
    """Name what the CPU's kernel can do and this one cannot, or return None."""
    d = spec.problem.dimension
    batch = spec.batch
    if d > MOST_COORDINATES:
        return f"a finite sum of {d} coordinates, more than {MOST_COORDINATES}"
    if batch > MOST_COORDINATES:
        return f"batch={batch}, more than {MOST_COORDINATES}"

    return None


def layout_for(terms: FiniteSumTerms, rules: StepRules, plan: FiniteSumPlan) -> FiniteSumLayout:
    """Gather what is known of a sum and its rules when a kernel is compiled."""
    return FiniteSumLayout(
        d=plan.start.size,
        batch=rules.batch,
        sampling=rules.sampling,
        restart=rules.restart,
        extras=int(rules.sigma > 0.0 or rules.restart != NEVER),
        with_noise=rules.sigma > 0.0,
        shared=bool(terms.shared),
        with_slopes=terms.slopes.size > 0,
        single=bool(plan.start.dtype == np.float32),
        with_sup=plan.basis.size > 0,
    )


def entries_of(rule: int, n: int, batch: int) -> int:
    """Entries of the order of a trajectory, at least one."""
    return max(1, order_size(rule, n, batch))


def launches(count: int, bins: int, entries: int) -> list[tuple[int, int]]:
    """Cut trajectories into launches whose bins and orders fit the room meant for them."""
    return list(batches(count, max(bins, entries * 4 * (1 << 30) // (8 * _ORDERS))))


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a finite sum; see ``kernels.table``."""
    terms, rules, plan, lanes = new_tile(spec, first, last)
    count = (last - first) * spec.repeats
    layout = layout_for(terms, rules, plan)
    entries = entries_of(rules.sampling, terms.curvatures.shape[1], rules.batch)
    out = np.empty((count, len(FIELDS)))
    for start, stop in launches(count, plan.edges.size - 1, entries):
        some = slice(start, stop)
        own = lanes.own[:, some]
        limit = lanes.limit[some]
        identity = lanes.identity[some]
        out[some] = _run(terms, rules, plan, layout, own, limit, identity)

    shaped = out.reshape(last - first, spec.repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}


def _run(
    terms: FiniteSumTerms,
    rules: StepRules,
    plan: FiniteSumPlan,
    layout: FiniteSumLayout,
    own: npt.NDArray[np.floating[Any]],
    limit: FloatArray,
    identity: npt.NDArray[np.uint64],
) -> FloatArray:
    """Run trajectories in one launch; return their measures, (trajectories, fields)."""
    n = len(limit)
    steps = int(plan.edges[-1])
    size = terms.curvatures.shape[1]
    results = (
        cleared(((plan.edges.size - 1) * n,), np.float64),
        cleared((n,), np.float64),
        cleared((n,), np.int32),
        cleared((n,), np.float64),
    )

    kind = plan.start.dtype
    momentum = [rules.scale, rules.shift, rules.look_scale, rules.look_shift]
    finite_sum_kernel(layout)[-(-n // _THREADS), _THREADS](
        cuda.to_device(terms.curvatures),
        cuda.to_device(terms.slopes if layout.with_slopes else terms.curvatures[:1]),
        cuda.to_device(terms.mean),
        cuda.to_device(terms.same),
        cuda.to_device(terms.odd),
        rules.sigma,
        rules.period,
        cuda.to_device(np.stack(momentum).astype(kind)),
        cuda.to_device(plan.start),
        plan.seed,
        cuda.to_device(plan.edges),
        plan.noisy,
        plan.tiny,
        cuda.to_device(plan.basis if plan.basis.size else np.zeros((1, 1))),
        cuda.to_device(np.ascontiguousarray(own)),
        cuda.to_device(np.ascontiguousarray(limit)),
        cuda.to_device(np.ascontiguousarray(identity)),
        cuda.device_array((n, entries_of(rules.sampling, size, rules.batch)), np.uint32),
        *results,
    )

    bins, latest, when, sup = results
    start_square = float((plan.start.astype(np.float64) ** 2).sum())
    samples = sup_samples(steps) if layout.with_sup else 0

    return summarised(
        bins, plan.edges, start_square, latest, when, plan.noisy, plan.tiny, sup, samples
    )
