"""One run of a method, with everything that can be looked at afterwards.

Plain NumPy on any problem, term by term: the reference that the kernels are compared with. It draws
the same indices, and for quadratics the same noise, as a kernel does for the same seed and
trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Refusal,
    one_number,
    overflow_allowed,
    real,
    refuse_too_large,
    whole,
)
from ravine.engine.draws.index_sampling import sampled_indices
from ravine.engine.draws.normals import normal_pair
from ravine.engine.draws.random import NOISE, advance, key_of_seed, output, stream
from ravine.engine.kernels.compiled import compiled
from ravine.engine.measures import (
    FIELDS,
    Outcome,
    bin_edges,
    divergence_limit,
    summarise,
    vanished,
)
from ravine.engine.recursion import State, iterate, iterate_linear
from ravine.engine.restart import EVERY, NEVER, ON_GRADIENT, ON_SAMPLED, Restart, restart_rule
from ravine.engine.schedule import Schedule, momenta
from ravine.linear_method import LinearMethod
from ravine.markup import card
from ravine.methods import Method
from ravine.problems import Problem, Quadratic, QuadraticSum
from ravine.sampling import Sampling
from ravine.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Value):
    """What happened in one run, step by step.

    With K the steps taken: row k of the arrays of K + 1 rows belongs to the state after k steps,
    row k of those of K rows to step k itself. A run that overflows ends there; a run that only
    diverges goes on.

    Attributes
    ----------
    y
        Where the next gradient is taken, y_{k+1}, shape (K + 1, d); y_1 = x_0.
    minimiser
        x*, shape (d,).
    objective
        f(y), the whole objective, shape (K + 1,).
    minimum
        f*.
    velocity
        x_k - x_{k-1}, shape (K + 1, d), after a restart zero.
    indices
        Terms drawn, shape (K, batch); -1 fills up shorter batches. One column of zeros for full
        gradients.
    gradient
        The stochastic gradient of each step, shape (K, d).
    momentum
        beta of each step, shape (K,).
    restarted
        Whether the momentum was set to zero after the step, shape (K,).
    outcome
        How it ended; see ``Outcome``.
    diverged_at
        The step after which the error was certain to have diverged, or -1.
    rate
        The fitted factor per step of the error, NaN where no decay or growth could be fitted.
    measures
        What a sweep would have measured, by name; see ``ravine.engine.measures``.
    made_by
        What made it.
    """

    y: FloatArray
    minimiser: FloatArray
    objective: FloatArray
    minimum: float
    velocity: FloatArray
    indices: npt.NDArray[np.int64]
    gradient: FloatArray
    momentum: FloatArray
    restarted: npt.NDArray[np.bool_]
    outcome: Outcome
    diverged_at: int
    rate: float
    measures: dict[str, float]
    made_by: dict[str, Any] = field(repr=False)

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.gradient)

    @property
    def y_errors(self) -> FloatArray:
        """Errors y - x* in each coordinate, shape (K + 1, d)."""
        return self.y - self.minimiser

    @property
    def errors(self) -> FloatArray:
        """‖y - x*‖, shape (K + 1,)."""
        return np.asarray(np.linalg.norm(self.y_errors, axis=1))

    @property
    def opposed(self) -> npt.NDArray[np.bool_]:
        """Where momentum carries a coordinate up the gradient of the step, shape (K, d).

        Velocity and gradient have the same sign: the step's descent and its momentum, the sum of
        past descents, point in opposite directions.
        """
        return np.asarray(self.velocity[:-1] * self.gradient > 0.0)

    def _repr_html_(self) -> str:
        """How it ended, for notebooks."""
        errors = self.errors
        rows = [
            ("steps", f"{self.steps}", ""),
            ("outcome", self.outcome.name.lower(), self.outcome.sentence),
            ("‖y - x*‖ at the start", f"{errors[0]:.6g}", ""),
            ("‖y - x*‖ at the end", f"{errors[-1]:.6g}", ""),
            ("f(y) - f* at the end", f"{self.objective[-1] - self.minimum:.6g}", ""),
            ("fitted rate per step", f"{self.rate:.6g}", ""),
        ]
        if self.diverged_at >= 0:
            rows.insert(2, ("diverged after step", f"{self.diverged_at}", ""))

        return card("One run", rows)


@overflow_allowed
def run(
    problem: Problem,
    method: Method | LinearMethod,
    steps: int,
    *,
    sampling: Sampling | str | None,
    batch: int = 1,
    restart: Restart | str | int | None = None,
    schedule: Schedule | None = None,
    sigma2: float = 0.0,
    seed: int = 0,
    trajectory: int = 0,
    start: npt.ArrayLike | None = None,
) -> Trace:
    """Run a method once on any problem.

    Parameters
    ----------
    problem
        From ``ravine.problems``.
    method
        One method: alpha, beta and gamma are single numbers. Or a ``LinearMethod`` of any memory,
        without restart and schedule.
    steps
        Gradient steps, at least 1.
    sampling
        How the terms are visited; None takes the gradient of the whole objective.
    batch
        Terms drawn in a step, without replacement; the gradient is their mean.
    restart
        When the momentum is set to zero: "gradient" (the step went against its gradient),
        "sampled" (it raised the function it sampled), "full" (it raised the whole objective), a
        number of steps between two restarts, or None.
    schedule
        Momentum over the run: a number, a table, a function of the step, or a
        ``ravine.engine.schedule.Tail``; the method's own if None.
    sigma2
        Variance of additive Gaussian noise on each coordinate of the gradient.
    seed, trajectory
        Name the random streams. The kernels draw the same for the same two.
    start
        x_0; the problem's own start unless given.

    Examples
    --------
    >>> from ravine import nesterov
    >>> from ravine.problems import counterexample
    >>> problem = counterexample(mu=0.05, L=100, n=50)
    >>> trace = run(problem, nesterov(problem.curvature), 2000, sampling="cyclic")
    >>> trace.outcome.name, trace.errors.shape
    ('DIVERGED', (2001,))
    """
    count = whole("steps", steps, 1, remedy="give a number of steps, e.g. 1000")
    parameters = _parameters(method, restart, schedule)
    alpha, beta, gamma = parameters.values()
    variance = one_number("sigma2", sigma2, "nonnegative", remedy="give a variance, e.g. 1")
    rule = None if sampling is None else Sampling.parse(sampling)
    kind, period = restart_rule(restart)
    # Points, velocities and gradients of each step, as lists and then as arrays.
    needed = 64 * count * (problem.dimension + 4)
    refuse_too_large("steps", needed, count, "take fewer steps, or sweep, which keeps none of them")
    key = key_of_seed(seed)
    betas = momenta(schedule, count).of(beta)
    gammas = betas if gamma == beta else np.full(count + 1, gamma)
    indices = np.zeros((count, 1), np.int64)
    if rule is not None:
        indices = sampled_indices(
            problem.terms, count, sampling=rule, seed=key, trajectory=trajectory, batch=batch
        )

    noise = _noise(problem, rule, count, variance, key, trajectory)
    steps_of = _Steps(problem, indices, noise, sampled=rule is not None, kind=kind, period=period)
    first = _start(problem, start)
    if isinstance(method, LinearMethod):
        states = iterate_linear(steps_of.gradient, first, method, steps=count)
    else:
        states = iterate(
            steps_of.gradient,
            first,
            steps=count,
            alpha=alpha,
            betas=betas,
            gammas=gammas,
            restarts=None if kind == NEVER else steps_of.restarts,
        )

    made_by = {
        "problem": problem.name,
        **problem.parameters,
        **parameters,
        "steps": count,
        "sampling": "full gradient" if rule is None else rule.value,
        "batch": batch,
        "restart": str(restart),
        "schedule": "none" if schedule is None else str(schedule),
        "sigma2": variance,
        "seed": seed,
        "trajectory": trajectory,
    }

    noisy = variance > 0.0 or (rule is not None and not problem.interpolates)
    force = alpha * np.sqrt(variance * problem.dimension)
    with np.errstate(over="ignore", invalid="ignore"):
        return _trace(problem, states, indices, betas, noisy, force, made_by)


def _parameters(
    method: Method | LinearMethod, restart: object, schedule: Schedule | None
) -> dict[str, float]:
    """Step size, momentum and look-ahead; of a linear method its gain at rest stands for alpha."""
    if isinstance(method, LinearMethod):
        for name, value in (("restart", restart), ("schedule", schedule)):
            if value is not None:
                remedy = "it has no velocity of its own to set"
                raise Refusal(name, "left out with a LinearMethod", repr(value), remedy)
        return {"alpha": float(method.numerator.sum()), "beta": 0.0, "gamma": 0.0}

    remedy = "give one method, not a plane of them"
    names = ("alpha", "beta", "gamma")
    return {name: one_number(name, getattr(method, name), remedy=remedy) for name in names}


@dataclass(frozen=True, eq=False)
class _Steps:
    """What each step of a run draws: terms and noise."""

    problem: Problem
    indices: npt.NDArray[np.int64]
    noise: FloatArray
    sampled: bool
    kind: int
    period: int

    def _drawn(self, k: int) -> list[int]:
        """The terms of step k; -1 fills up shorter batches."""
        return [int(i) for i in self.indices[k] if i >= 0]

    def gradient(self, k: int, y: FloatArray) -> FloatArray:
        """The mean gradient of the drawn terms, and the noise."""
        if not self.sampled:
            return np.asarray(self.problem.gradient(y) + self.noise[k])

        parts = [self.problem.batch_gradient(i, y) for i in self._drawn(k)]
        mean = parts[0] if len(parts) == 1 else np.mean(parts, axis=0)
        return np.asarray(mean + self.noise[k])

    def restarts(self, k: int, x: FloatArray, ahead: FloatArray, g: FloatArray) -> bool:
        """Whether the momentum is set to zero after step k, which went from x to ``ahead``."""
        if self.kind == EVERY:
            return (k + 1) % self.period == 0
        if not np.isfinite(ahead).all():
            return False
        if self.kind == ON_GRADIENT:
            return bool(g @ (ahead - x) > 0.0)
        if self.kind == ON_SAMPLED and self.sampled:
            rise = [
                self.problem.batch_objective(i, ahead) - self.problem.batch_objective(i, x)
                for i in self._drawn(k)
            ]
            return bool(np.mean(rise) > 0.0)

        return bool(self.problem.objective(ahead) > self.problem.objective(x))


def _trace(
    problem: Problem,
    states: Iterator[State],
    indices: npt.NDArray[np.int64],
    betas: FloatArray,
    noisy: bool,
    force: float,
    made_by: dict[str, Any],
) -> Trace:
    """Run until the end, or until the numbers overflow, and judge how it ended."""
    kept: list[State] = []
    objectives: list[float] = []
    for state in states:
        finite = np.isfinite(state.x).all() and np.isfinite(state.y).all()
        value = problem.objective(state.y) if finite else np.inf
        if state.k > 0 and not np.isfinite(value):
            break
        kept.append(state)
        objectives.append(value)

    taken = len(kept) - 1
    best = problem.minimiser
    y = np.array([state.y for state in kept])
    squares = np.full(made_by["steps"] + 1, np.inf)
    squares[: taken + 1] = ((y - best) ** 2).sum(axis=1)
    measures = _judge(squares, noisy, force, float(best @ best))
    if measures["outcome"] != Outcome.DIVERGED:
        late = np.abs(y[len(y) // 2 + 1 :] - best).max(axis=1)
        measures["floor_sup"] = float(late.mean()) if late.size else float("nan")

    gradients = [state.gradient for state in kept[1:]]
    return Trace(
        y=y,
        minimiser=best,
        objective=np.array(objectives),
        minimum=problem.minimum,
        velocity=np.array([state.v for state in kept]),
        indices=indices[:taken],
        gradient=np.array(gradients, dtype=np.float64).reshape(taken, problem.dimension),
        momentum=betas[:taken],
        restarted=np.array([state.restarted for state in kept[1:]], dtype=bool),
        outcome=Outcome(int(measures["outcome"])),
        diverged_at=int(measures["diverged_at"]),
        rate=measures["rate"],
        measures=measures,
        made_by=made_by,
    )


def _judge(squares: FloatArray, noisy: bool, force: float, best_square: float) -> dict[str, float]:
    """What a sweep measures, from the squared errors after 0, 1, ... steps."""
    # The run moves x, not x - x*: errors below the rounding of x* do not fall any further.
    tiny = max(vanished(float), 1e-24 * best_square)
    steps = len(squares) - 1
    edges = bin_edges(steps)
    limit = divergence_limit(np.sqrt(squares[0]) + force)
    beyond = np.flatnonzero(~(squares[1:] <= limit))
    when = int(beyond[0]) + 1 if beyond.size else 0
    sums = np.add.reduceat(squares[1:], edges[:-1])
    out = np.full((1, len(FIELDS)), np.nan)

    with np.errstate(invalid="ignore"):
        summarise(
            sums[:, None],
            edges,
            squares[0],
            squares[-1:],
            np.array([when]),
            noisy,
            tiny,
            out,
        )

    return {name: float(value) for name, value in zip(FIELDS, out[0], strict=True)}


def _start(problem: Problem, start: npt.ArrayLike | None) -> FloatArray:
    if start is None:
        return problem.start

    x0 = np.asarray(real("start", start, remedy="give x_0"))
    if x0.shape != (problem.dimension,):
        rule = f"a vector of {problem.dimension} coordinates"
        shown = f"shape {x0.shape}"
        raise Refusal("start", rule, shown, "give one number for each dimension")

    return x0


@compiled
def _normals(seed: np.uint64, identity: np.uint64, out: FloatArray) -> None:
    for j in range(out.shape[1]):
        s0, s1, s2, s3 = stream(seed, identity, np.uint32(j), NOISE)
        for k in range(0, out.shape[0], 2):
            first = output(s0, s3)
            s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            even, odd = normal_pair(first, output(s0, s3))
            s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            out[k, j] = even
            if k + 1 < out.shape[0]:
                out[k + 1, j] = odd


def _noise(
    problem: Problem, rule: Sampling | None, steps: int, sigma2: float, seed: int, trajectory: int
) -> FloatArray:
    """Additive noise of each step, in the basis in which a kernel would draw it."""
    out = np.zeros((steps, problem.dimension))
    if sigma2 == 0.0:
        return out

    _normals(np.uint64(seed), np.uint64(trajectory), out)
    if isinstance(problem, Quadratic):
        out = out @ problem.eigenvectors.T
    elif isinstance(problem, QuadraticSum) and rule is not None and problem.shared_eigenvectors:
        out = out @ problem.shared_eigenvectors[0].T

    return np.asarray(np.sqrt(sigma2) * out)
