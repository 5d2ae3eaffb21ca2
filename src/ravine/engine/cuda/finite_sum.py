"""Tiles of a sweep over a finite sum, of quadratics or of a linear model, on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.engine.cuda.finite_sum_kernel import FiniteSumLayout, finite_sum_kernel
from ravine.engine.cuda.measures import batches, new_runs, summarise
from ravine.engine.cuda.own_rows import fill_sum_rows, put_axes
from ravine.engine.cuda.source import SIMULATED
from ravine.engine.cuda.whole_gradient_kernel import WholeGradientLayout, whole_gradient_kernel
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.draws.index_sampling import order_size
from ravine.engine.kernels.finite_sum import Sum, is_quadratic_sum, new_sum
from ravine.engine.kernels.finite_sum_kernel import APART, QUADRATIC, WHOLE, kind_of
from ravine.engine.kernels.linear_model_gradient import LinearModelData
from ravine.engine.measures import FIELDS
from ravine.engine.restart import NEVER
from ravine.engine.spec import Spec

MOST_COORDINATES = 512
"""Maximum number of coordinates; a thread stores six numbers for each, and all threads must fit."""
_THREADS = 2 if SIMULATED else 128
_WHOLE_THREADS = 2 if SIMULATED else 64
_MOST_IN_REGISTERS = {"float32": 100, "float64": 64}
"""Maximum number of weights whose values and gradients fit into the 255 registers of a thread."""
_ORDERS = 1 << 31  # maximum bytes of orders in a launch


def lacking(spec: Spec) -> str | None:
    """Name what only the CPU's kernel can do for this sweep, or return None."""
    d = spec.problem.dimension
    if d > MOST_COORDINATES:
        is_sum = is_quadratic_sum(spec)
        what = f"finite sum of {d} coordinates" if is_sum else f"linear model of {d} weights"
        return f"a {what}, more than {MOST_COORDINATES}"
    if spec.batch > MOST_COORDINATES:
        return f"batch={spec.batch}, more than {MOST_COORDINATES}"

    return None


def layout_for(spec: Spec, given: Sum) -> FiniteSumLayout:
    """Collect the properties of a sum and its rules that are fixed when a kernel is compiled."""
    terms, rules = given.terms, given.rules
    kind, extras = kind_of(terms, rules)
    if isinstance(terms, LinearModelData):
        known = {"features": terms.X.shape[1], "outputs": terms.outputs, "loss": terms.loss}
    else:
        known = {"shared": bool(terms.shared), "with_slopes": terms.slopes.size > 0}

    return FiniteSumLayout(
        kind=QUADRATIC if kind == APART else kind,
        extras=extras,
        d=given.plan.start.size,
        batch=rules.batch,
        sampling=rules.sampling,
        restart=rules.restart,
        with_noise=rules.sigma > 0.0,
        chunk=given.plan.chunk,
        single=spec.dtype == "float32",
        with_sup=given.plan.setting.samples > 0,
        sizes=given.sizes,
        **known,
    )


def whole_layout_for(spec: Spec, given: Sum) -> WholeGradientLayout | None:
    """The same for whole gradients in registers; None if they cannot be used."""
    data, rules = given.terms, given.rules
    fits = given.plan.start.size <= _MOST_IN_REGISTERS[spec.dtype]
    if kind_of(data, rules)[0] != WHOLE or rules.restart != NEVER or not fits:
        return None

    single = spec.dtype == "float32"
    return WholeGradientLayout(
        features=data.X.shape[1],
        wide=data.wide.shape[1],
        outputs=data.outputs,
        loss=data.loss,
        noisy=rules.sigma > 0.0,
        with_sup=given.plan.setting.samples > 0,
        single=single,
        # More threads then fit side by side, at the cost of a few numbers outside the registers.
        registers=168 if single else None,
    )


class FiniteSumLauncher:
    """Runs the tiles of one sweep; shared data are copied to the device once."""

    repeats_outside = False

    def __init__(self, spec: Spec, queue: WorkQueue) -> None:
        given = new_sum(spec)
        rules = given.rules
        self._spec = spec
        self._given = given
        self._axes = put_axes(queue, spec)
        self._setting = given.plan.setting._replace(
            edges=queue.put("edges", given.plan.setting.edges)
        )
        # The order of a trajectory has at least one entry.
        self._entries = max(1, order_size(rules.sampling, rules.terms, rules.batch))
        whole = whole_layout_for(spec, given)
        self._whole = whole is not None
        if whole is not None:
            self._kernel = whole_gradient_kernel(whole)
            self._arguments = self._whole_arguments(queue)
        else:
            self._kernel = finite_sum_kernel(layout_for(spec, given))
            self._arguments = self._all_arguments(queue)

    def launch(self, queue: WorkQueue, first: int, last: int) -> Any:
        """Queue the pixels first..last-1; return the future fields, (trajectories, fields)."""
        repeats = self._spec.repeats
        count = (last - first) * repeats
        bins = self._given.plan.setting.edges.size - 1
        fields = queue.buffer("fields", (count, len(FIELDS)), np.float64)
        # Bins and orders of a launch must fit into the buffers.
        for start, stop in batches(
            count, max(bins, self._entries * 4 * (1 << 30) // (8 * _ORDERS))
        ):
            some = fields if stop - start == count else fields[start:stop]
            self._run(queue, first * repeats + start, some)

        return fields

    def _run(self, queue: WorkQueue, first: int, out: Any) -> None:
        """Queue the trajectories from number ``first`` on in one launch, and their measures."""
        given, spec = self._given, self._spec
        n = int(out.shape[0])
        runs = new_runs(queue, n, given.plan.setting.edges.size - 1, cleared=True)
        own = queue.buffer("own of sums", (3, n), given.rules.momentum.dtype)
        limit = queue.buffer("limit", (n,), np.float64)
        identity = queue.buffer("identity", (n,), np.uint64)
        fill_sum_rows[-(-n // _THREADS), _THREADS, queue.stream](
            *self._axes, spec.pairs, first, spec.repeats, spec.noise != "shared",
            float(np.sqrt(given.plan.setting.start_square)), given.force, own, limit, identity,
        )  # fmt: skip
        orders: tuple[Any, ...] = ()
        if not self._whole:
            orders = (queue.buffer("orders", (n, self._entries), np.uint32),)

        threads = _WHOLE_THREADS if self._whole else _THREADS
        with queue.long() as stream:
            self._kernel[-(-n // threads), threads, stream](
                *self._arguments, own, limit, identity, *orders, *runs
            )
        summarise(queue, runs, self._setting, out)

    def _all_arguments(self, queue: WorkQueue) -> tuple[Any, ...]:
        """Values shared by all trajectories: the terms, the rules, the plan."""
        terms, rules, plan = self._given[:3]
        parts: tuple[Any, ...]
        if isinstance(terms, LinearModelData):
            data = (terms.X, terms.wide, terms.target, terms.weights)
            parts = (*data, terms.l2, terms.minimiser, terms.edges)
        else:
            slopes = terms.slopes if terms.slopes.size else terms.curvatures[:1]
            parts = (terms.curvatures, slopes, terms.mean, terms.same, terms.lone, terms.minimiser)

        return (
            tuple(
                part if np.isscalar(part) else queue.put(f"terms {place}", part)
                for place, part in enumerate(parts)
            ),
            rules.terms,
            rules.sigma,
            rules.period,
            queue.put("momentum", rules.momentum),
            queue.put("start", plan.start),
            plan.seed,
            self._setting.edges,
            plan.rest,
            queue.put("basis", plan.basis),
        )

    def _whole_arguments(self, queue: WorkQueue) -> tuple[Any, ...]:
        """The same for ``whole_gradient_kernel``, in its precision."""
        data, rules, plan = self._given[:3]
        dtype = np.dtype(self._spec.dtype)
        return (
            queue.put("wide", data.wide.ravel().astype(dtype)),
            queue.put("target", data.target.astype(dtype)),
            queue.put("weights", data.weights.astype(dtype)),
            dtype.type(data.l2),
            queue.put("minimiser", data.minimiser.astype(dtype)),
            queue.put("start", plan.start.astype(dtype)),
            plan.seed,
            dtype.type(rules.sigma),
            self._setting.edges,
            queue.put("momentum", rules.momentum),
        )


new_launcher = FiniteSumLauncher
