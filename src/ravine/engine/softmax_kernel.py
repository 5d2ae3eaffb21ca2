"""Logistic and multinomial regression with full gradients and additive noise, a pixel a lane.

The rows of the data are taken four at a time: for each class the four scores of a lane come from
one pass over its weights, and the gradient of each weight takes up four rows at once. The numbers
of features and classes are lengths of tuples, which are part of a type: constants of the compiled
code, which unrolls the loops over them, and a key of the cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, complaint
from ravine.engine.compiled import FINGERPRINT, compiled, inner
from ravine.engine.finite_sum_kernel import on_threads
from ravine.engine.measures import (
    DIVERGENCE,
    FIELDS,
    Integers,
    bin_edges,
    record,
    summarise,
    vanished,
)
from ravine.engine.normals import cosine, radius, sine
from ravine.engine.random import NOISE, advance, output, stream
from ravine.engine.schedule import momenta
from ravine.engine.step import descend, look_ahead

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

LANES = 64
"""Trajectories in a block: weights and gradients of 50 coordinates stay in the near caches."""
ROWS = 4
"""Rows of the data that are taken at once."""
_SUP = FIELDS.index("floor_sup")

_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves the nearest whole number in the low bits
_52 = np.int64(52)
_C3, _C4, _C5, _C6, _C7 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
_C8, _C9, _C10, _C11, _C12 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600


@inner
def exponential(x: float) -> float:
    """Return exp(x) for -700 <= x <= 700, to 3e-16, without branches; below -700 exp(-700)."""
    x = max(x, -700.0)
    shifted = np.float64(x * _LOG2E + _ROUND)
    whole = shifted - _ROUND
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = _C9 + r * (_C10 + r * (_C11 + r * _C12))
    p = _C5 + r * (_C6 + r * (_C7 + r * (_C8 + r * p)))
    p = np.float64(1.0 + r * (1.0 + r * (0.5 + r * (_C3 + r * (_C4 + r * p)))))
    return np.int64(p.view(np.int64) + np.int64(shifted.view(np.int64) << _52)).view(np.float64)


class Data(NamedTuple):
    """The problem: all rows count the same; zero rows fill up the last four."""

    X: FloatArray  # (rows, features)
    target: FloatArray  # (rows * max(classes, 1),): one-hot, or 0 and 1
    weights: FloatArray  # (rows,) of each row's loss
    l2: float
    minimiser: FloatArray  # (d,)
    start: FloatArray  # (d,)
    features: tuple[int, ...]  # as long as there are features
    classes: tuple[int, ...]  # as long as there are classes; one is the logistic loss


class Plan(NamedTuple):
    """What all trajectories have in common besides."""

    seed: np.uint64
    sigma: float
    edges: Integers
    scale: FloatArray  # the momentum in step k is scale[k] beta + shift[k]
    shift: FloatArray
    look_scale: FloatArray
    look_shift: FloatArray
    tiny: float


class Trajectories(NamedTuple):
    """What is each trajectory's own, in whole blocks."""

    alpha: FloatArray
    beta: FloatArray
    gamma: FloatArray
    limit: FloatArray
    identity: npt.NDArray[np.uint64]


@inner
def add_noise(
    words: npt.NDArray[np.uint32], spare: FloatArray, k: int, sigma: float, g: FloatArray
) -> None:
    """Add the normals of step k to the gradient; a pair of words serves two steps."""
    for j in range(g.shape[0] // LANES):
        state, second = words[4 * j * LANES :], spare[j * LANES :]
        slope = g[j * LANES :]
        if k % 2 == 1:
            for p in range(LANES):
                slope[p] += sigma * second[p]
            continue
        for p in range(LANES):
            s0, s1 = state[p], state[LANES + p]
            s2, s3 = state[2 * LANES + p], state[3 * LANES + p]
            r = radius(output(s0, s3))
            s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            angle = output(s0, s3)
            slope[p] += sigma * (r * cosine(angle))
            second[p] = r * sine(angle)
            s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            state[p], state[LANES + p] = s0, s1
            state[2 * LANES + p], state[3 * LANES + p] = s2, s3


@inner
def new_words(plan: Plan, identity: npt.NDArray[np.uint64], d: int) -> npt.NDArray[np.uint32]:
    """Streams of noise, four rows a coordinate."""
    words = np.empty(4 * d * LANES, np.uint32)
    for j in range(d):
        for p in range(LANES):
            s0, s1, s2, s3 = stream(plan.seed, identity[p], np.uint32(j), NOISE)
            words[4 * j * LANES + p], words[(4 * j + 1) * LANES + p] = s0, s1
            words[(4 * j + 2) * LANES + p], words[(4 * j + 3) * LANES + p] = s2, s3
    return words


@inner
def retire_certain(
    each: FloatArray,
    x: FloatArray,
    x_prev: FloatArray,
    y: FloatArray,
    best: FloatArray,
    diverged_at: Integers,
) -> int:
    """Let diverged lanes rest at the minimiser; return how many are still running."""
    running = LANES
    for p in range(LANES):
        if diverged_at[p] > 0:
            running -= 1
            for row in range(3):
                each[row * LANES + p] = 0.0
            for j in range(best.shape[0]):
                x[j * LANES + p] = x_prev[j * LANES + p] = y[j * LANES + p] = best[j]
    return running


@inner
def softmax(scores: FloatArray, classes: tuple[int, ...]) -> None:
    """Turn the scores of four rows, class by class, into probabilities."""
    wide = len(classes) * LANES
    for r in range(ROWS):
        row = scores[r * wide :]
        for p in range(LANES):
            top = row[p]
            for c in range(1, len(classes)):
                top = max(top, row[c * LANES + p])
            for c in range(len(classes)):
                row[c * LANES + p] -= top
    for entry in range(ROWS * wide):
        scores[entry] = exponential(scores[entry])
    for r in range(ROWS):
        row = scores[r * wide :]
        for p in range(LANES):
            total = 0.0
            for c in range(len(classes)):
                total += row[c * LANES + p]
            share = 1.0 / total
            for c in range(len(classes)):
                row[c * LANES + p] *= share


@inner
def sigmoid(scores: FloatArray) -> None:
    """Turn the scores of four rows into the probability of the second label."""
    for entry in range(ROWS * LANES):
        z = scores[entry]
        e = exponential(-abs(z))
        scores[entry] = (1.0 if z >= 0.0 else e) / (1.0 + e)


@inner
def score(
    X: FloatArray,
    first: int,
    y: FloatArray,
    scores: FloatArray,
    features: tuple[int, ...],
    classes: tuple[int, ...],
) -> None:
    """Put x_rᵀ W of the rows r = first, ..., first + 3 into ``scores``."""
    wide = len(classes) * LANES
    x0, x1, x2, x3 = X[first], X[first + 1], X[first + 2], X[first + 3]
    for c in range(len(classes)):
        own, z = y[c * LANES :], scores[c * LANES :]
        for p in range(LANES):
            z0 = z1 = z2 = z3 = 0.0
            for j in range(len(features)):
                w = own[j * wide + p]
                z0 += x0[j] * w
                z1 += x1[j] * w
                z2 += x2[j] * w
                z3 += x3[j] * w
            z[p] = z0
            z[wide + p] = z1
            z[2 * wide + p] = z2
            z[3 * wide + p] = z3


@inner
def collect(
    X: FloatArray,
    first: int,
    scores: FloatArray,
    g: FloatArray,
    features: tuple[int, ...],
    classes: tuple[int, ...],
) -> None:
    """Add the slopes of four rows, in ``scores``, to the gradient of every weight."""
    wide = len(classes) * LANES
    for j in range(len(features)):
        a0, a1, a2, a3 = X[first, j], X[first + 1, j], X[first + 2, j], X[first + 3, j]
        slope = g[j * wide :]
        for entry in range(wide):
            part = a0 * scores[entry] + a1 * scores[wide + entry]
            part += a2 * scores[2 * wide + entry] + a3 * scores[3 * wide + entry]
            slope[entry] += part


@inner
def gradient(data: Data, y: FloatArray, g: FloatArray, scores: FloatArray) -> None:
    """Put the gradient of the whole objective at ``y`` into ``g``."""
    features, classes = data.features, data.classes
    for entry in range(g.shape[0]):
        g[entry] = data.l2 * y[entry]
    for first in range(0, data.X.shape[0], ROWS):
        score(data.X, first, y, scores, features, classes)
        if len(classes) > 1:
            softmax(scores, classes)
        else:
            sigmoid(scores)
        for r in range(ROWS):
            weight = data.weights[first + r]
            for c in range(len(classes)):
                hit = data.target[(first + r) * len(classes) + c]
                row = scores[(r * len(classes) + c) * LANES :]
                for p in range(LANES):
                    row[p] = weight * (row[p] - hit)
        collect(data.X, first, scores, g, features, classes)


@inner
def step(
    data: Data,
    plan: Plan,
    k: int,
    each: FloatArray,
    x: FloatArray,
    x_prev: FloatArray,
    y: FloatArray,
    g: FloatArray,
    error: FloatArray,
) -> None:
    """Descend in step k, look ahead, and put ‖y - x*‖² into ``error``."""
    scale, shift = plan.scale[k], plan.shift[k]
    look_scale, look_shift = plan.look_scale[k + 1], plan.look_shift[k + 1]
    error[:] = 0.0
    for j in range(data.start.size):
        a, b, look, slope = x[j * LANES :], x_prev[j * LANES :], y[j * LANES :], g[j * LANES :]
        best = data.minimiser[j]
        for p in range(LANES):
            here = a[p]
            beta = scale * each[LANES + p] + shift
            ahead = descend(here, b[p], each[p], beta, slope[p])
            b[p] = here
            a[p] = ahead
            look[p] = look_ahead(ahead, here, look_scale * each[2 * LANES + p] + look_shift)
            error[p] += (look[p] - best) ** 2


@inner
def run_block(data: Data, plan: Plan, block: Trajectories, at: int, out: FloatArray) -> None:
    """Run the trajectories from ``at`` on; write measures into ``out`` [lanes, fields]."""
    edges, steps, d = plan.edges, plan.edges[-1], data.start.size
    x, x_prev, y = np.empty(d * LANES), np.empty(d * LANES), np.empty(d * LANES)
    g, scores = np.empty(d * LANES), np.empty(ROWS * len(data.classes) * LANES)
    for j in range(d):
        x[j * LANES : (j + 1) * LANES] = data.start[j]
    x_prev[:] = x
    y[:] = x
    each = np.empty(3 * LANES)
    each[:LANES] = block.alpha[at : at + LANES]
    each[LANES : 2 * LANES] = block.beta[at : at + LANES]
    each[2 * LANES :] = block.gamma[at : at + LANES]
    words = new_words(plan, block.identity[at : at + LANES], d if plan.sigma > 0.0 else 0)
    spare = np.empty(d * LANES)
    bin_sums = np.zeros((edges.size - 1, LANES))
    latest, diverged_at = np.zeros(LANES), np.zeros(LANES, np.int64)
    error, ones, limit = np.empty(LANES), np.ones(LANES), block.limit[at : at + LANES]
    b = 0
    for k in range(steps):
        gradient(data, y, g, scores)
        if plan.sigma > 0.0:
            add_noise(words, spare, k, plan.sigma, g)
        step(data, plan, k, each, x, x_prev, y, g, error)
        b += k + 1 > edges[b + 1]
        record(error, ones, limit, k + 1, bin_sums[b], latest, diverged_at)
        if retire_certain(each, x, x_prev, y, data.minimiser, diverged_at) == 0:
            break
    start = np.sum((data.start - data.minimiser) ** 2)
    summarise(bin_sums, edges, start, latest, diverged_at, plan.sigma > 0.0, plan.tiny, out)
    for p in range(LANES):
        out[p, _SUP] = np.nan


def _new_driver(fingerprint: int) -> Callable[..., None]:
    @compiled
    def drive(
        data: Data, plan: Plan, block: Trajectories, out: FloatArray, first: int, last: int
    ) -> None:
        for number in range(first, last if fingerprint >= 0 else first):
            at = number * LANES
            run_block(data, plan, block, at, out[at : at + LANES])

    return drive


drive = _new_driver(FINGERPRINT)
"""Run the blocks first..last-1 without holding the GIL."""


def check(spec: Spec) -> None:
    """Refuse what the kernel cannot do."""
    for name in spec.options:
        if name != "schedule":
            raise TypeError(
                complaint("an option", "schedule here", name, "leave it out, or use run")
            )
    if spec.problem.loss.name == "squared":
        found = "the squared loss"
        raise ValueError(complaint("problem", "of a logistic loss", found, "sweep its quadratics"))
    if spec.sampling is not None and spec.problem.terms > 1:
        found = f"{spec.sampling.value!r} on {spec.problem.terms} batches"
        raise ValueError(complaint("sampling", "None in a sweep of this problem", found, "use run"))
    if spec.noise == "shared" or spec.dtype != "float64":
        found = f"noise={spec.noise!r}, dtype={spec.dtype!r}"
        rule = "independent and float64 for this problem"
        raise ValueError(complaint("noise and dtype", rule, found, "leave them out"))


def new_data(problem: Any, start: FloatArray) -> Data:
    """Lay out the data of a linear model with a logistic loss."""
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else np.asarray(problem.X)
    rows = -(-len(X) // ROWS) * ROWS
    padded = np.zeros((rows, X.shape[1]))
    padded[: len(X)] = X
    weights = np.zeros(rows)
    weights[: len(X)] = np.repeat(1.0 / (problem.terms * problem.batch_sizes), problem.batch_sizes)
    classes = problem.loss.outputs
    target = np.zeros((rows, classes))
    if classes == 1:
        target[: len(X), 0] = problem.loss.sign > 0.0
    else:
        target[np.arange(len(X)), problem.loss.codes] = 1.0
    return Data(
        padded,
        target.ravel(),
        weights,
        problem.l2,
        problem.minimiser,
        start,
        (0,) * problem.features,
        (0,) * classes,
    )


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a logistic loss; see ``ravine.engine.sweep``.

    The sup-norm is not measured.
    """
    problem = spec.problem
    data = new_data(problem, spec.start)
    momentum = momenta(spec.options.get("schedule"), spec.steps)
    ones, zeros = np.ones(spec.steps + 1), np.zeros(spec.steps + 1)
    follows = spec.gammas is None
    sigma = float(np.sqrt(spec.sigma2))
    away = float(np.linalg.norm(spec.start - problem.minimiser))
    # The state is x, not x - x*: errors below the rounding of x* do not fall any further.
    tiny = max(vanished(np.float64), 1e-24 * float(problem.minimiser @ problem.minimiser))
    plan = Plan(
        np.uint64(spec.seed),
        sigma,
        bin_edges(spec.steps),
        momentum.scale,
        momentum.shift,
        momentum.scale if follows else ones,
        momentum.shift if follows else zeros,
        tiny,
    )
    pixels = np.repeat(np.arange(first, last), spec.repeats)
    repeat = np.arange(len(pixels)) % spec.repeats
    identity = pixels.astype(np.uint64) | (repeat.astype(np.uint64) << np.uint64(32))
    alpha, beta, gamma = spec.parameters(pixels)
    scale = away + alpha * sigma * np.sqrt(problem.dimension)
    limit = np.where(scale > 0.0, (DIVERGENCE * scale) ** 2, 1.0)
    fill = np.minimum(np.arange(-(-len(pixels) // LANES) * LANES), len(pixels) - 1)
    block = Trajectories(alpha[fill], beta[fill], gamma[fill], limit[fill], identity[fill])
    out = np.empty((len(fill), len(FIELDS)))
    on_threads(drive, len(fill) // LANES, data, plan, block, out)
    shaped = out[: len(pixels)].reshape(last - first, spec.repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}
