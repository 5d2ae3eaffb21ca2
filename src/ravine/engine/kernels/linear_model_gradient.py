"""Gradients and objectives of linear models, one pixel per lane.

The rows of the data are processed four at a time: for each class, the four scores of a lane come
from one pass over its weights, and the gradient of each weight adds four rows at once. The numbers
of features and classes are lengths of tuples, which are part of a type: constants of the compiled
code, which unrolls the loops over them, and part of the key of the cache on disk. If every lane has
drawn its own mini-batches, lanes have no rows in common and are processed one by one, with sizes
known at run time.

To compile another loss, convert scores to slopes in ``whole_gradient`` (four rows of all lanes at
once) and in ``visit_rows`` (one row of one lane), under its number ``kernel_code``, and add the
number to ``LOSSES``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.draws.random import LANES
from ravine.engine.kernels.compiled import inner
from ravine.engine.kernels.finite_sum_lanes import ROWS, TEST, FiniteSumBlock, G, Y
from ravine.engine.measures import Floats, Integers
from ravine.engine.restart import ON_SAMPLED
from ravine.problems.losses import LOGISTIC, MULTINOMIAL, SQUARED

FOUR = 4
"""Rows of the data that are processed at once."""

WIDE = 8
"""Features that a lane's own gradient processes at once, in as many sums: two vectors of four."""

LOSSES = (SQUARED, LOGISTIC, MULTINOMIAL)
"""Compiled losses, by their ``kernel_code``."""

_LOG2E = 1.4426950408889634  # 1 / ln 2
# ln 2 = high + low; high ends in 21 zero bits, so that a whole number below 2²⁰ times it is exact.
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves the nearest whole number in the low bits
_52 = np.int64(52)  # first bit of the exponent of a float64
_LOWEST = -700.0  # exp of it is 1e-304, a normal number
# Taylor's coefficients 1/k!: on |r| <= ln(2)/2 what follows r¹² / 12! is below 2e-16.
_C3, _C4, _C5, _C6, _C7 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
_C8, _C9, _C10, _C11, _C12 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600


@inner
def exponential(x: float) -> float:
    """Return exp(x) for -700 <= x <= 700, to 3e-16, without branches; below -700 exp(-700).

    With x = whole ln 2 + r, exp(x) = 2^whole exp(r): a short polynomial in r, and an integer that
    is added to the exponent of the result.
    """
    x = max(np.float64(x), _LOWEST)
    shifted = np.float64(x * _LOG2E + _ROUND)
    whole = shifted - _ROUND
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = _C9 + r * (_C10 + r * (_C11 + r * _C12))
    p = _C5 + r * (_C6 + r * (_C7 + r * (_C8 + r * p)))
    p = np.float64(1.0 + r * (1.0 + r * (0.5 + r * (_C3 + r * (_C4 + r * p)))))
    return np.int64(p.view(np.int64) + np.int64(shifted.view(np.int64) << _52)).view(np.float64)


class LinearModelData(NamedTuple):
    """The problem: zero rows pad the last four, and zero columns the last eight of ``wide``."""

    X: FloatArray  # (rows, features)
    wide: FloatArray  # (rows, features in whole eights)
    target: FloatArray  # (rows * outputs,): one-hot, or 0 and 1, or numbers
    weights: FloatArray  # (rows,) of each row's loss in the whole objective
    l2: float
    loss: int
    outputs: int
    minimiser: FloatArray  # (d,)
    edges: Integers  # first rows of the mini-batches, and the end of the last one
    features: tuple[int, ...]  # one entry per feature; empty for mini-batches
    classes: tuple[int, ...]  # one entry per class; one class is the logistic loss


def new_data(problem: Any, sampled: bool) -> LinearModelData:
    """Lay out the data of a linear model, for mini-batches or for whole gradients."""
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else np.asarray(problem.X)
    rows = -(-len(X) // FOUR) * FOUR
    columns = -(-X.shape[1] // WIDE) * WIDE
    wide = np.zeros((rows, columns))
    wide[: len(X), : X.shape[1]] = X
    weights = np.zeros(rows)
    weights[: len(X)] = np.repeat(1.0 / (problem.terms * problem.batch_sizes), problem.batch_sizes)
    outputs = problem.loss.outputs
    target = np.zeros((rows, outputs))
    target[: len(X)] = problem.loss.kernel_target()

    return LinearModelData(
        X=np.ascontiguousarray(wide[:, : X.shape[1]]),
        wide=wide,
        target=target.ravel(),
        weights=weights,
        l2=float(problem.l2),
        loss=problem.loss.kernel_code,
        outputs=outputs,
        minimiser=np.ascontiguousarray(problem.minimiser),
        edges=np.append(0, np.cumsum(problem.batch_sizes)),
        features=() if sampled else (0,) * problem.features,
        classes=() if sampled else (0,) * outputs,
    )


def scratch_sizes(data: LinearModelData) -> tuple[int, int, int]:
    """Rows of scores, numbers for one lane's weights and gradient, rows of y and its gradient."""
    wide = data.wide.shape[1]
    return FOUR * data.outputs, 2 * data.outputs * wide, 2 * data.minimiser.size


@inner
def softmax(scores: Floats, classes: tuple[int, ...]) -> None:
    """Convert the scores of four rows, class by class, to probabilities."""
    wide = len(classes) * LANES
    for r in range(FOUR):
        row = scores[r * wide :]
        for p in range(LANES):
            top = row[p]
            for c in range(1, len(classes)):
                top = max(top, row[c * LANES + p])
            for c in range(len(classes)):
                row[c * LANES + p] -= top

    for entry in range(FOUR * wide):
        scores[entry] = exponential(scores[entry])

    for r in range(FOUR):
        row = scores[r * wide :]
        for p in range(LANES):
            total = 0.0
            for c in range(len(classes)):
                total += row[c * LANES + p]
            share = 1.0 / total
            for c in range(len(classes)):
                row[c * LANES + p] *= share


@inner
def sigmoid(scores: Floats) -> None:
    """Convert the scores of four rows to the probability of the second label."""
    for entry in range(FOUR * LANES):
        z = scores[entry]
        e = exponential(-abs(z))
        scores[entry] = (1.0 if z >= 0.0 else e) / (1.0 + e)


@inner
def score(data: LinearModelData, first: int, y: Floats, scores: Floats) -> None:
    """Write x_rᵀ W of the rows r = first, ..., first + 3 to ``scores``."""
    X = data.X
    features = data.features
    classes = data.classes
    wide = len(classes) * LANES
    x0 = X[first]
    x1 = X[first + 1]
    x2 = X[first + 2]
    x3 = X[first + 3]
    for c in range(len(classes)):
        own = y[c * LANES :]
        z = scores[c * LANES :]
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
def collect(data: LinearModelData, first: int, scores: Floats, g: Floats) -> None:
    """Add the slopes of four rows, in ``scores``, to the gradient of every weight."""
    X = data.X
    wide = len(data.classes) * LANES
    for j in range(len(data.features)):
        a0 = X[first, j]
        a1 = X[first + 1, j]
        a2 = X[first + 2, j]
        a3 = X[first + 3, j]
        slope = g[j * wide :]
        for entry in range(wide):
            part = a0 * scores[entry] + a1 * scores[wide + entry]
            part += a2 * scores[2 * wide + entry] + a3 * scores[3 * wide + entry]
            slope[entry] += part


@inner
def whole_gradient(data: LinearModelData, state: FiniteSumBlock, size: int) -> None:
    """Write the gradient of the whole objective at y to its row."""
    classes = data.classes
    scores = state.scores
    all_weights = data.minimiser.size * LANES
    y = state.flat[:all_weights]
    g = state.flat[all_weights : 2 * all_weights]
    for j in range(data.minimiser.size):
        row = state.workspace[(j * ROWS + Y) * LANES : (j * ROWS + Y + 1) * LANES]
        for p in range(LANES):
            y[j * LANES + p] = row[p]
            g[j * LANES + p] = data.l2 * row[p]

    for first in range(0, data.X.shape[0], FOUR):
        score(data, first, y, scores)
        if data.loss == MULTINOMIAL:
            softmax(scores, classes)
        elif data.loss == LOGISTIC:
            sigmoid(scores)

        # The scores are now predictions of the target; the slope in a score is their difference.
        for r in range(FOUR):
            weight = data.weights[first + r]
            for c in range(len(classes)):
                hit = data.target[(first + r) * len(classes) + c]
                row = scores[(r * len(classes) + c) * LANES :]
                for p in range(LANES):
                    row[p] = weight * (row[p] - hit)

        collect(data, first, scores, g)

    for j in range(data.minimiser.size):
        row = state.workspace[(j * ROWS + G) * LANES : (j * ROWS + G + 1) * LANES]
        for p in range(LANES):
            row[p] = g[j * LANES + p]


@inner
def visit_rows(
    data: LinearModelData, first: int, last: int, own: Floats, scores: Floats, slopes: Floats
) -> float:
    """Return the sum of the losses of rows at the weights ``own`` of one lane, output by output.

    Their gradient is added to ``slopes``, with the layout of ``own``, unless it is empty.
    """
    outputs = data.outputs
    wide = data.wide.shape[1]
    loss = 0.0
    for r in range(first, last):
        row = data.wide[r]
        top = 0.0
        for c in range(outputs):
            w = own[c * wide : (c + 1) * wide]
            z0 = z1 = z2 = z3 = z4 = z5 = z6 = z7 = 0.0
            for j in range(0, wide, WIDE):
                z0 += row[j] * w[j]
                z1 += row[j + 1] * w[j + 1]
                z2 += row[j + 2] * w[j + 2]
                z3 += row[j + 3] * w[j + 3]
                z4 += row[j + 4] * w[j + 4]
                z5 += row[j + 5] * w[j + 5]
                z6 += row[j + 6] * w[j + 6]
                z7 += row[j + 7] * w[j + 7]

            z = ((z0 + z1) + (z2 + z3)) + ((z4 + z5) + (z6 + z7))
            scores[c] = z
            # The logistic loss is a softmax of (0, z).
            top = z if c == 0 and data.loss == MULTINOMIAL else max(top, z)

        # The scores become the slopes of the row's loss. This is not a separate function because a
        # call per row would cost a fifth of the time.
        hits = data.target[r * outputs : (r + 1) * outputs]
        if data.loss == SQUARED:
            scores[0] -= hits[0]
            loss += 0.5 * scores[0] * scores[0]
        else:
            # log Σ exp(z_c) - Σ hit_c z_c, where the logistic loss has a further score of zero.
            # Exponentials are relative to the largest, so that none overflows.
            total = exponential(-top) if data.loss == LOGISTIC else 0.0
            for c in range(outputs):
                loss -= hits[c] * (scores[c] - top)
                scores[c] = exponential(scores[c] - top)
                total += scores[c]

            if slopes.size == 0:
                # With a reference score of zero, only the second label counts its own score.
                loss += np.log(total) + (top * (1.0 - hits[0]) if data.loss == LOGISTIC else 0.0)
            for c in range(outputs):
                scores[c] = scores[c] / total - hits[c]

        for c in range(outputs if slopes.size > 0 else 0):
            slope = scores[c]
            g = slopes[c * wide : (c + 1) * wide]
            for j in range(wide):
                g[j] += slope * row[j]

    return loss


@inner
def take_lane(data: LinearModelData, state: FiniteSumBlock, row: int, p: int) -> float:
    """Copy the weights of lane p in a row, output by output, and return l2/2 ‖W‖²."""
    outputs = data.outputs
    wide = data.wide.shape[1]
    square = 0.0
    for j in range(data.X.shape[1]):
        for c in range(outputs):
            w = state.workspace[((j * outputs + c) * ROWS + row) * LANES + p]
            state.weights[c * wide + j] = w
            square += w * w

    return 0.5 * data.l2 * square


@inner
def drawn_gradient(data: LinearModelData, state: FiniteSumBlock, size: int) -> None:
    """Write the mean gradient of each lane's own ``size`` mini-batches at y to its row.

    The weights of a lane are copied together first: in the state they are so far apart that they
    would evict each other from the L1 cache.
    """
    outputs = data.outputs
    wide = data.wide.shape[1]
    own = state.weights[: outputs * wide]
    slopes = state.weights[outputs * wide :]
    d = data.minimiser.size
    y = state.flat[: d * LANES]
    g = state.flat[d * LANES : 2 * d * LANES]
    for j in range(d):
        row = state.workspace[(j * ROWS + Y) * LANES : (j * ROWS + Y + 1) * LANES]
        for p in range(LANES):
            y[p * d + j] = row[p]
            g[p * d + j] = data.l2 * row[p]

    for p in range(LANES):
        for j in range(data.X.shape[1]):
            for c in range(outputs):
                own[c * wide + j] = y[p * d + j * outputs + c]
        for b in range(size):
            batch = state.picks[b * LANES + p]
            first = data.edges[batch]
            last = data.edges[batch + 1]
            for entry in range(slopes.size):
                slopes[entry] = 0.0
            visit_rows(data, first, last, own, state.scores, slopes)
            share = 1.0 / ((last - first) * size)
            for j in range(data.X.shape[1]):
                for c in range(outputs):
                    g[p * d + j * outputs + c] += share * slopes[c * wide + j]

    for j in range(d):
        row = state.workspace[(j * ROWS + G) * LANES : (j * ROWS + G + 1) * LANES]
        for p in range(LANES):
            row[p] = g[p * d + j]


@inner
def objective_of(
    data: LinearModelData, state: FiniteSumBlock, row: int, size: int, p: int
) -> float:
    """Return the objective of lane p at a row: on its own mini-batches, or on all if size is 0."""
    total = take_lane(data, state, row, p)
    own = state.weights[: data.outputs * data.wide.shape[1]]
    nothing = state.weights[:0]
    count = size if size > 0 else data.edges.size - 1
    for b in range(count):
        batch = np.int64(state.picks[b * LANES + p]) if size > 0 else b
        first = data.edges[batch]
        last = data.edges[batch + 1]
        loss = visit_rows(data, first, last, own, state.scores, nothing)
        total += loss / ((last - first) * count)

    return total


@inner
def model_rise(data: LinearModelData, state: FiniteSumBlock, kind: int, size: int) -> None:
    """Set the restart criterion to the rise of the last step, on the drawn rows or on all."""
    of = size if kind == ON_SAMPLED and len(data.features) == 0 else 0
    for p in range(LANES):
        after = objective_of(data, state, 0, of, p)
        state.each[TEST * LANES + p] = after - objective_of(data, state, 1, of, p)
