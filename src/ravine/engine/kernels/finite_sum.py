"""Finite sums of quadratics in bulk: tiles of a sweep, and ensembles of trajectories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, WrongType, one_number, real, whole
from ravine.engine.draws.index_sampling import LANES, check_batch, rule_number
from ravine.engine.draws.random import key_of_seed
from ravine.engine.kernels.compiled import announced_compilation
from ravine.engine.kernels.finite_sum_kernel import (
    CHUNK,
    FiniteSumPlan,
    FiniteSumRecord,
    FiniteSumTrajectories,
    driver_for,
)
from ravine.engine.kernels.finite_sum_lanes import FiniteSumTerms, StepRules, new_block
from ravine.engine.kernels.threads import on_all_threads, padded
from ravine.engine.measures import (
    FIELDS,
    bin_edges,
    divergence_limit,
    fields_of,
    summarise,
    vanished,
)
from ravine.engine.restart import Restart, restart_rule
from ravine.engine.schedule import Schedule, momenta
from ravine.methods import Method
from ravine.problems import Problem, Quadratic, QuadraticSum
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from ravine.engine.spec import Spec


def sum_terms(
    problem: Problem, sampling: Sampling | None, dtype: npt.DTypeLike = np.float64
) -> tuple[FiniteSumTerms, FloatArray]:
    """Lay out the terms of a problem, and give the basis (d, d) of their coordinates.

    Without a sampling the whole objective is the only term.
    """
    d = problem.dimension
    if sampling is None:
        hessians = problem.hessian()[None]
        slopes = np.zeros((1, d))
    else:
        hessians = problem.batch_hessians()
        slopes = problem.batch_gradients()

    shared = None
    if isinstance(problem, QuadraticSum) and sampling is not None:
        shared = problem.shared_eigenvectors
    elif len(hessians) == 1:
        values, vectors = np.linalg.eigh(hessians[0])
        shared = vectors, values[None, :]

    if shared is not None:
        basis = shared[0]
        rows = shared[1].T
        slopes = slopes @ basis
    else:
        basis = np.eye(d)
        rows = hessians.reshape(len(hessians), d * d).T

    curvatures = np.ascontiguousarray(rows, dtype=dtype)
    columns = np.ascontiguousarray(slopes.T, dtype=dtype)
    same, odd = _structure(curvatures)
    terms = FiniteSumTerms(
        curvatures=curvatures,
        slopes=columns if slopes.any() else columns[:0],
        mean=curvatures.mean(axis=1),
        same=same,
        odd=odd,
        shared=shared is not None,
    )

    return terms, np.ascontiguousarray(basis, dtype=np.float64)


def _structure(
    rows: npt.NDArray[np.floating[Any]],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Which rows are constant, and the one entry that differs from the others in a row, or -1."""
    n = rows.shape[1]
    same = (rows == rows[:, :1]).all(axis=1)
    odd = np.full(len(rows), -1, np.int64)
    if n > 2:
        middle = np.sort(rows, axis=1)[:, n // 2]
        differs = rows != middle[:, None]
        alone = differs.sum(axis=1) == 1
        odd[alone] = differs[alone].argmax(axis=1)

    return same, odd


def sum_rules(
    terms: int,
    steps: int,
    *,
    sampling: Sampling | None,
    batch: int,
    restart: Restart | str | int | None,
    schedule: Schedule | None,
    nesterov: bool,
    sigma: float,
    dtype: npt.DTypeLike = np.float64,
) -> StepRules:
    """Gather what happens in a step."""
    kind, period = restart_rule(restart)
    momentum = momenta(schedule, steps)
    # Nesterov's method looks ahead with its momentum, others with a gamma that does not change.
    look = momentum if nesterov else momenta(None, steps)

    return StepRules(
        sampling=rule_number(sampling),
        batch=check_batch(sampling, terms, batch),
        restart=kind,
        period=period,
        sigma=float(sigma),
        steady=momentum.steady,
        scale=momentum.scale.astype(dtype),
        shift=momentum.shift.astype(dtype),
        look_scale=look.scale.astype(dtype),
        look_shift=look.shift.astype(dtype),
    )


def new_sum(spec: Spec) -> tuple[FiniteSumTerms, StepRules, FiniteSumPlan, float]:
    """Lay out what all trajectories of a sweep have in common.

    The last is the size of what noise and the terms' own gradients push a run with, per alpha.
    """
    dtype = np.dtype(spec.dtype)
    terms, basis = sum_terms(spec.problem, spec.sampling, dtype)
    rules = sum_rules(
        terms.curvatures.shape[1],
        spec.steps,
        sampling=spec.sampling,
        batch=spec.batch,
        restart=spec.restart,
        schedule=spec.schedule,
        nesterov=spec.gammas is None,
        sigma=float(np.sqrt(spec.sigma2)),
        dtype=dtype,
    )

    start = (basis.T @ (spec.start - spec.problem.minimiser)).astype(dtype)
    plan = FiniteSumPlan(
        start=start,
        seed=np.uint64(spec.seed),
        edges=bin_edges(spec.steps),
        noisy=spec.sigma2 > 0.0 or len(terms.slopes) > 0,
        tiny=vanished(dtype),
        basis=basis if "floor_sup" in spec.measures else np.empty((0, 0)),
    )

    force = float(np.sqrt(spec.sigma2 * start.size + (terms.slopes**2).sum(axis=0).mean()))
    return terms, rules, plan, force


def new_tile(
    spec: Spec, first: int, last: int
) -> tuple[FiniteSumTerms, StepRules, FiniteSumPlan, FiniteSumTrajectories]:
    """Lay out the pixels first..last-1 of a sweep, each repeat a trajectory, for a kernel."""
    terms, rules, plan, force = new_sum(spec)
    alpha, beta, gamma = spec.parameters(np.repeat(np.arange(first, last), spec.repeats))
    lanes = _trajectories(alpha, beta, gamma, identities(spec, first, last), plan.start, force)
    return terms, rules, plan, lanes


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a finite sum; see ``kernels.table``."""
    terms, rules, plan, lanes = new_tile(spec, first, last)
    drive = driver_for(terms, rules, recording=True)
    out = np.empty((len(lanes.limit), len(FIELDS)))
    kind = plan.start.dtype
    start_square = float((plan.start.astype(np.float64) ** 2).sum())
    visits = plan.edges[-1:].copy()
    nowhere = np.empty((0, 0, 0))

    def run(first: int, last: int) -> None:
        state = new_block(plan.start.size, terms.curvatures.shape[1], rules, kind)
        kept = FiniteSumRecord(
            errors=np.empty(CHUNK * LANES, kind),
            bins=np.empty((len(plan.edges) - 1, LANES)),
            latest=np.empty(LANES),
            diverged_at=np.empty(LANES, np.int64),
            ones=np.ones(LANES),
            sup=np.empty(LANES),
        )

        for block in range(first, last):
            for each in (kept.bins, kept.latest, kept.diverged_at, kept.sup):
                each.fill(0)
            drive(terms, rules, plan, lanes, state, kept, visits, nowhere, block, block + 1)
            summarise(
                kept.bins, plan.edges, start_square, kept.latest, kept.diverged_at, plan.noisy,
                plan.tiny, out[block * LANES : (block + 1) * LANES],
                sup=kept.sup if len(plan.basis) else None, samples=sup_samples(spec.steps),
            )  # fmt: skip

    on_all_threads(run, len(out) // LANES)
    return fields_of(out[: (last - first) * spec.repeats], spec.repeats)


def identities(spec: Spec, first: int, last: int) -> npt.NDArray[np.uint64]:
    """Identities of the streams of the pixels first..last-1, repeat by repeat.

    Where noise is shared all pixels have those of pixel 0: the same terms, and the same noise.
    """
    pixels = np.repeat(np.arange(first, last, dtype=np.uint64), spec.repeats)
    repeat = np.arange(len(pixels), dtype=np.uint64) % np.uint64(spec.repeats)
    return (pixels * np.uint64(spec.noise != "shared")) | (repeat << np.uint64(32))


def sup_samples(steps: int) -> int:
    """How often the sup-norm is taken: after each chunk of the second half."""
    ends = np.minimum(np.arange(CHUNK, steps + CHUNK, CHUNK), steps)
    return int((2 * ends > steps).sum())


def _trajectories(
    alpha: FloatArray,
    beta: FloatArray,
    gamma: FloatArray,
    identity: npt.NDArray[np.uint64],
    start: npt.NDArray[np.floating[Any]],
    force: float,
) -> FiniteSumTrajectories:
    """Pad to whole blocks; a lane has diverged beyond ``DIVERGENCE`` times its scale."""
    fill = padded(len(alpha), LANES)
    scale = float(np.linalg.norm(start.astype(np.float64))) + alpha * force
    limit = divergence_limit(scale)
    own = np.stack([alpha, beta, gamma])[:, fill].astype(start.dtype)
    return FiniteSumTrajectories(np.ascontiguousarray(own), limit[fill], identity[fill])


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Errors of many trajectories of one method, at some of their steps.

    Attributes
    ----------
    steps
        After how many steps the errors were taken, shape (visits,).
    errors
        y - x*, in the coordinates of the problem, shape (visits, trajectories, d).
    made_by
        What made it.
    """

    steps: npt.NDArray[np.int64]
    errors: FloatArray
    made_by: dict[str, Any] = field(repr=False)

    @property
    def norms(self) -> FloatArray:
        """‖y - x*‖, shape (visits, trajectories)."""
        return np.asarray(np.linalg.norm(self.errors, axis=-1))


def ensemble(
    problem: QuadraticSum | Quadratic,
    method: Method,
    visits: npt.ArrayLike,
    *,
    trajectories: int,
    sampling: Sampling | str | None,
    batch: int = 1,
    restart: Restart | str | int | None = None,
    schedule: Schedule | None = None,
    sigma2: float = 0.0,
    seed: int = 0,
    start: npt.ArrayLike | None = None,
) -> Ensemble:
    """Run many trajectories of one method on a sum of quadratics; keep y - x* after some steps.

    Trajectory t draws what ``run(..., trajectory=t)`` with the same seed draws.

    Parameters
    ----------
    problem
        A quadratic, or a finite sum of them.
    method
        One method: alpha, beta and gamma are single numbers.
    visits
        Numbers of steps, increasing, after which the errors are kept; the last ends the run.
    trajectories
        How many, at least 1.
    sampling, batch, restart, schedule, sigma2, seed, start
        As in ``ravine.engine.run.run``.

    Examples
    --------
    >>> from ravine import nesterov
    >>> from ravine.problems import counterexample
    >>> problem = counterexample(mu=0.05, L=100, n=50)
    >>> many = ensemble(problem, nesterov(problem.curvature), [0, 50, 100],
    ...                 trajectories=1000, sampling="cyclic")
    >>> many.errors.shape
    (3, 1000, 3)
    """
    if not isinstance(problem, QuadraticSum | Quadratic):
        shown = type(problem).__name__
        raise WrongType("problem", "made of quadratics", shown, "use run or sweep")

    given = real("visits", visits, "nonnegative", remedy="give numbers of steps, e.g. [0, 100]")
    at = np.atleast_1d(np.asarray(given)).astype(np.int64)
    if at.ndim != 1 or (at != np.atleast_1d(given)).any() or (np.diff(at) <= 0).any():
        raise Refusal("visits", "increasing whole numbers", f"{at.tolist()}", "sort them")

    count = whole("trajectories", trajectories, 1, remedy="give a number, e.g. 1000")
    rule = None if sampling is None else Sampling.parse(sampling)
    variance = one_number("sigma2", sigma2, "nonnegative", remedy="give a variance, e.g. 1")
    origin = key_of_seed(seed)
    alpha, beta, gamma = (
        one_number(name, getattr(method, name), remedy="give one method, not a plane of them")
        for name in ("alpha", "beta", "gamma")
    )
    terms, basis = sum_terms(problem, rule)
    rules = sum_rules(
        terms.curvatures.shape[1],
        max(1, int(at[-1])),
        sampling=rule,
        batch=batch,
        restart=restart,
        schedule=schedule,
        nesterov=method.is_nesterov,
        sigma=float(np.sqrt(variance)),
    )

    x0 = problem.start if start is None else np.asarray(real("start", start, remedy="give x_0"))
    away = basis.T @ (x0 - problem.minimiser)
    plan = FiniteSumPlan(
        start=away,
        seed=np.uint64(origin),
        edges=bin_edges(1),
        noisy=False,
        tiny=0.0,
        basis=np.empty((0, 0)),
    )

    ones = np.ones(count)
    names = np.arange(count, dtype=np.uint64)
    lanes = _trajectories(alpha * ones, beta * ones, gamma * ones, names, away, 0.0)
    out = np.empty((len(at), problem.dimension, len(lanes.limit)))
    drive = driver_for(terms, rules, recording=False)

    def go(first: int, last: int) -> None:
        state = new_block(len(away), terms.curvatures.shape[1], rules, away.dtype)
        none = np.empty(0)
        kept = FiniteSumRecord(
            errors=np.empty(CHUNK * LANES),
            bins=np.empty((0, 0)),
            latest=none,
            diverged_at=np.empty(0, np.int64),
            ones=none,
            sup=none,
        )

        drive(terms, rules, plan, lanes, state, kept, at, out, first, last)

    with announced_compilation():
        on_all_threads(go, len(lanes.limit) // LANES)

    errors = np.einsum("ij,vjt->vti", basis, out[:, :, :count], optimize=True)
    made_by = {
        "problem": problem.name,
        **problem.parameters,
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "sampling": "full gradient" if rule is None else rule.value,
        "batch": batch,
        "restart": str(restart),
        "sigma2": variance,
        "seed": origin,
    }

    return Ensemble(at, errors, made_by)
