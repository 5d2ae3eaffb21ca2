"""Tiles of a sweep over a finite sum of quadratics, on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.engine.cuda.finite_sum_kernel import FiniteSumLayout, finite_sum_kernel
from ravine.engine.cuda.measures import batches, new_runs, summarise
from ravine.engine.cuda.own_rows import fill_sum_rows, put_axes
from ravine.engine.cuda.source import SIMULATED
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.draws.index_sampling import order_size
from ravine.engine.kernels.finite_sum import new_sum, sup_samples
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


class FiniteSumLauncher:
    """Runs the tiles of one sweep; what they have in common is put on the device once."""

    repeats_outside = False

    def __init__(self, spec: Spec, queue: WorkQueue) -> None:
        terms, rules, plan, force = new_sum(spec)
        start = plan.start.astype(np.float64)
        self._axes = put_axes(queue, spec)
        self._pairs = spec.pairs
        self._repeats = spec.repeats
        self._own_streams = spec.noise != "shared"
        self._distance = float(np.linalg.norm(start))
        self._force = force
        self._plan = plan
        self._start_square = float((start**2).sum())
        self._edges = queue.put("edges", plan.edges)
        self._entries = entries_of(rules.sampling, terms.curvatures.shape[1], rules.batch)
        layout = layout_for(terms, rules, plan)
        self._samples = sup_samples(int(plan.edges[-1])) if layout.with_sup else 0
        self._kernel = finite_sum_kernel(layout)
        momentum = [rules.scale, rules.shift, rules.look_scale, rules.look_shift]
        slopes = terms.slopes if layout.with_slopes else terms.curvatures[:1]
        self._arguments = (
            queue.put("curvatures", terms.curvatures),
            queue.put("slopes", slopes),
            queue.put("mean", terms.mean),
            queue.put("same", terms.same),
            queue.put("odd", terms.odd),
            rules.sigma,
            rules.period,
            queue.put("momentum", np.stack(momentum).astype(plan.start.dtype)),
            queue.put("start", plan.start),
            plan.seed,
            self._edges,
            plan.noisy,
            plan.tiny,
            queue.put("basis", plan.basis if plan.basis.size else np.zeros((1, 1))),
        )

    def launch(self, queue: WorkQueue, first: int, last: int) -> Any:
        """Queue the pixels first..last-1; return the fields, (trajectories, fields), to come."""
        count = (last - first) * self._repeats
        fields = queue.room("fields", (count, len(FIELDS)), np.float64)
        for start, stop in launches(count, self._plan.edges.size - 1, self._entries):
            some = fields if stop - start == count else fields[start:stop]
            self._run(queue, first * self._repeats + start, some)

        return fields

    def _run(self, queue: WorkQueue, first: int, out: Any) -> None:
        """Queue the trajectories from the number ``first`` on in one launch, and their measures."""
        plan = self._plan
        n = int(out.shape[0])
        blocks = -(-n // _THREADS)
        runs = new_runs(queue, n, plan.edges.size - 1, cleared=True)
        own = queue.room("own of sums", (3, n), plan.start.dtype)
        limit = queue.room("limit", (n,), np.float64)
        identity = queue.room("identity", (n,), np.uint64)
        orders = queue.room("orders", (n, self._entries), np.uint32)
        fill_sum_rows[blocks, _THREADS, queue.stream](
            *self._axes, self._pairs, first, self._repeats, self._own_streams, self._distance,
            self._force, own, limit, identity,
        )  # fmt: skip
        with queue.long() as stream:
            self._kernel[blocks, _THREADS, stream](
                *self._arguments, own, limit, identity, orders, *runs
            )

        summarise(
            queue, runs, self._edges, self._start_square, plan.noisy, plan.tiny, self._samples, out
        )  # fmt: skip


new_launcher = FiniteSumLauncher
