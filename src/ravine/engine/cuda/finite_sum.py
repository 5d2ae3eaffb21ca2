"""Tiles of a sweep over a finite sum of quadratics, on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.cuda.finite_sum_kernel import FiniteSumLayout, finite_sum_kernel
from ravine.engine.cuda.measures import batches, new_runs, summarise
from ravine.engine.cuda.source import SIMULATED, cuda
from ravine.engine.cuda.work_queue import WorkQueue
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


class FiniteSumLauncher:
    """Runs the tiles of one sweep over a finite sum."""

    repeats_outside = False

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._common: _Common | None = None

    def launch(self, queue: WorkQueue, first: int, last: int) -> Any:
        """Queue the pixels first..last-1; return the fields, (trajectories, fields), to come."""
        terms, rules, plan, lanes = new_tile(self._spec, first, last)
        if self._common is None:
            self._common = _Common(terms, rules, plan)

        count = (last - first) * self._spec.repeats
        entries = self._common.entries
        fields = queue.room("fields", (count, len(FIELDS)), np.float64)
        for start, stop in launches(count, plan.edges.size - 1, entries):
            some = slice(start, stop)
            own = np.ascontiguousarray(lanes.own[:, some])
            limit = np.ascontiguousarray(lanes.limit[some])
            identity = np.ascontiguousarray(lanes.identity[some])
            self._run(queue, self._common, own, limit, identity, fields[some])

        return fields

    def _run(
        self,
        queue: WorkQueue,
        common: _Common,
        own: npt.NDArray[np.floating[Any]],
        limit: FloatArray,
        identity: npt.NDArray[np.uint64],
        out: Any,
    ) -> None:
        """Queue trajectories in one launch, and their measures."""
        n = len(limit)
        runs = new_runs(queue, n, common.bins, cleared=True)
        kernel = finite_sum_kernel(common.layout)
        kernel[-(-n // _THREADS), _THREADS, queue.stream](
            *common.arguments,
            cuda.to_device(own, stream=queue.stream),
            cuda.to_device(limit, stream=queue.stream),
            cuda.to_device(identity, stream=queue.stream),
            queue.room("orders", (n, common.entries), np.uint32),
            *runs,
        )
        summarise(
            queue, runs, common.edges, common.start_square, common.noisy, common.tiny,
            common.samples, out,
        )  # fmt: skip


class _Common:
    """What all trajectories of a sweep have in common, on the device."""

    def __init__(self, terms: FiniteSumTerms, rules: StepRules, plan: FiniteSumPlan) -> None:
        self.layout = layout_for(terms, rules, plan)
        self.entries = entries_of(rules.sampling, terms.curvatures.shape[1], rules.batch)
        self.edges = cuda.to_device(plan.edges)
        self.bins = plan.edges.size - 1
        self.start_square = float((plan.start.astype(np.float64) ** 2).sum())
        self.noisy = plan.noisy
        self.tiny = plan.tiny
        self.samples = sup_samples(int(plan.edges[-1])) if self.layout.with_sup else 0
        momentum = [rules.scale, rules.shift, rules.look_scale, rules.look_shift]
        slopes = terms.slopes if self.layout.with_slopes else terms.curvatures[:1]
        self.arguments = (
            cuda.to_device(terms.curvatures),
            cuda.to_device(slopes),
            cuda.to_device(terms.mean),
            cuda.to_device(terms.same),
            cuda.to_device(terms.odd),
            rules.sigma,
            rules.period,
            cuda.to_device(np.stack(momentum).astype(plan.start.dtype)),
            cuda.to_device(plan.start),
            plan.seed,
            self.edges,
            plan.noisy,
            plan.tiny,
            cuda.to_device(plan.basis if plan.basis.size else np.zeros((1, 1))),
        )


new_launcher = FiniteSumLauncher
