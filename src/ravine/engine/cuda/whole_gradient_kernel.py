"""GPU kernel for whole gradients of linear models with few weights, all in registers.

A thread runs a trajectory. Its weights and their gradient stay in registers, and all threads of a
block read the same row of the data at the same time from the L1 cache. ``finite_sum_kernel`` is for
mini-batches, restarts and more weights, and for the squared loss, whose whole gradients are those
of a quadratic.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ravine.engine.cuda.over_tuples import folded, mapped
from ravine.engine.cuda.source import cuda, device_function, kernel_function, on_device, piece_of
from ravine.engine.draws.random import NOISE, advance, cosine, output, radius, sine, stream
from ravine.engine.kernels.linear_model_gradient import exponential
from ravine.engine.kernels.step import descend, look_ahead
from ravine.problems.losses import LOGISTIC, MULTINOMIAL

gpu_stream, gpu_output, gpu_advance = (on_device(f) for f in (stream, output, advance))
gpu_radius, gpu_sine, gpu_cosine = (on_device(f) for f in (radius, sine, cosine))
gpu_descend, gpu_look_ahead = on_device(descend), on_device(look_ahead)
gpu_exponential = on_device(exponential)


class WholeGradientLayout(NamedTuple):
    """Properties of a model that are fixed when a kernel is compiled."""

    features: int
    wide: int  # entries of a row of data, in whole pieces
    outputs: int
    loss: int
    noisy: bool  # whether there is additive noise
    with_sup: bool
    single: bool  # whether state and arithmetic are in single precision
    registers: int | None  # of a thread, maximum

    @property
    def real(self) -> Any:
        """Type of the state."""
        return np.float32 if self.single else np.float64


@device_function
def single_exponential(x: Any) -> Any:
    """Return exp(x) in single precision."""
    return np.float32(math.exp(np.float32(x)))


@device_function
def larger(so_far: Any, z: Any, same: Any, at: Any, common: Any) -> Any:
    """Return the larger of two scores."""
    return max(so_far, z)


@device_function
def added(so_far: Any, e: Any, same: Any, at: Any, common: Any) -> Any:
    """Return a sum."""
    return so_far + e


@device_function
def slope(p: Any, same: Any, at: Any, common: Any) -> Any:
    """Return weight (share p - target) of class ``at``."""
    share, weight, target, first = common
    return weight * (share * p - target[first + at])


@cache
def slopes_for(loss: int, outputs: int, real: Any) -> Any:
    """Make a function of scores, weight, targets and the index of the row's first target."""
    one = real(1.0)
    zero = real(0.0)
    exp = single_exponential if real is np.float32 else gpu_exponential
    each_slope = mapped(outputs, slope)

    if loss == MULTINOMIAL:

        @device_function
        def relative(z: Any, same: Any, at: Any, top: Any) -> Any:
            return exp(z - top)

        top_of = folded(outputs, larger)
        each_relative = mapped(outputs, relative)
        sum_of = folded(outputs, added)

        @device_function
        def softmax(z: Any, weight: Any, target: Any, first: Any) -> Any:
            e = each_relative(z, z, 0, top_of(z[0], z, z, 0, 0))
            share = one / sum_of(zero, e, e, 0, 0)
            return each_slope(e, e, 0, (share, weight, target, first))

        return softmax

    if loss != LOGISTIC:
        raise ValueError(f"no slopes on the GPU for the loss with kernel_code {loss}")

    @device_function
    def logistic(z: Any, weight: Any, target: Any, first: Any) -> Any:
        e = exp(-abs(z[0]))
        p = ((one if z[0] >= zero else e) / (one + e),)
        return each_slope(p, p, 0, (one, weight, target, first))

    return logistic


@cache
def row_reader(features: int, piece: int) -> Any:
    """Make a function that reads the features of a row, ``piece`` numbers at a time."""

    @device_function
    def last(rows: Any, place: Any) -> Any:
        return piece_of(rows, place)[:features]

    if features <= piece:
        return last

    others = row_reader(features - piece, piece)

    @device_function
    def some(rows: Any, place: Any) -> Any:
        return piece_of(rows, place) + others(rows, place + piece)

    return some


@device_function
def product(so_far: Any, weight: Any, at: Any, x: Any) -> Any:
    """Add the contribution of a feature to the score of a class."""
    return so_far + x * weight


@device_function
def even_noise(slope: Any, same: Any, at: Any, common: Any) -> Any:
    """Draw the normals of two steps of a weight; add the first, and keep the second."""
    words, spare, sigma = common
    s0, s1 = words[4 * at], words[4 * at + 1]
    s2, s3 = words[4 * at + 2], words[4 * at + 3]
    r = gpu_radius(gpu_output(s0, s3))
    s0, s1, s2, s3 = gpu_advance(s0, s1, s2, s3)
    angle = gpu_output(s0, s3)
    spare[at] = r * gpu_sine(angle)
    s0, s1, s2, s3 = gpu_advance(s0, s1, s2, s3)
    words[4 * at], words[4 * at + 1] = s0, s1
    words[4 * at + 2], words[4 * at + 3] = s2, s3
    return slope + sigma * (r * gpu_cosine(angle))


@device_function
def odd_noise(slope: Any, same: Any, at: Any, common: Any) -> Any:
    """Add the stored normal."""
    return slope + common[2] * common[1][at]


@device_function
def moved(place: Any, slope: Any, at: Any, common: Any) -> Any:
    """Descend: from (x, x₋) to (x⁺, x)."""
    alpha, beta = common
    x, before = place
    return gpu_descend(x, before, alpha, beta, slope), x


@device_function
def looked(place: Any, same: Any, at: Any, gamma: Any) -> Any:
    """Look ahead."""
    return gpu_look_ahead(place[0], place[1], gamma)


@device_function
def shrunk(y: Any, same: Any, at: Any, l2: Any) -> Any:
    """Return the gradient of the penalty."""
    return l2 * y


@device_function
def add_square(so_far: Any, y: Any, same: Any, at: Any, minimiser: Any) -> Any:
    """Add the squared error of a weight."""
    error = y - minimiser[at]
    return so_far + error * error


@device_function
def add_largest(so_far: Any, y: Any, same: Any, at: Any, minimiser: Any) -> Any:
    """Return the larger of two errors."""
    return max(so_far, abs(y - minimiser[at]))


@cache
def by_feature(features: int, outputs: int, one: Any) -> Any:
    """Make ``mapped`` over weights by feature, each a tuple of classes."""
    classes = mapped(outputs, one)

    @device_function
    def of_feature(first: Any, second: Any, at: Any, common: Any) -> Any:
        return classes(first, second, outputs * at, common)

    return mapped(features, of_feature)


@cache
def folded_by_feature(features: int, outputs: int, one: Any) -> Any:
    """Make ``folded`` over weights by feature."""
    classes = folded(outputs, one)

    @device_function
    def of_feature(so_far: Any, first: Any, second: Any, at: Any, common: Any) -> Any:
        return classes(so_far, first, second, outputs * at, common)

    return folded(features, of_feature)


@cache
def whole_gradient(layout: WholeGradientLayout) -> Any:
    """Make a function that returns the gradient at y, feature by feature."""
    features = layout.features
    outputs = layout.outputs
    real = layout.real
    wide = layout.wide
    zeros = (real(0.0),) * outputs
    read = row_reader(features, 4 if layout.single else 2)
    slopes = slopes_for(layout.loss, outputs, real)
    penalty = by_feature(features, outputs, shrunk)
    each_product = mapped(outputs, product)

    @device_function
    def collected(g: Any, x: Any, at: Any, s: Any) -> Any:
        return each_product(g, s, 0, x)

    @device_function
    def scored(z: Any, w: Any, x: Any, at: Any, common: Any) -> Any:
        return each_product(z, w, 0, x)

    collect = mapped(features, collected)
    score = folded(features, scored)

    @device_function
    def gradient(y: Any, rows: Any, target: Any, weights: Any, l2: Any) -> Any:
        g = penalty(y, y, 0, l2)
        for r in range(weights.size):
            x = read(rows, np.int64(r * wide))
            s = slopes(score(zeros, y, x, 0, 0), weights[r], target, r * outputs)
            g = collect(g, x, 0, s)

        return g

    return gradient


@cache
def whole_gradient_kernel(layout: WholeGradientLayout) -> Any:
    """Make the kernel of a layout."""
    features, _, outputs, _, noisy, with_sup, _, registers = layout
    real = layout.real
    d = features * outputs
    streams = 4 * d if noisy else 4
    spare_size = d if noisy else 1
    numbers = ((0,) * outputs,) * features
    zero = real(0.0)

    @device_function
    def placed(number: Any, same: Any, at: Any, start: Any) -> Any:
        return start[at], start[at]

    begin = by_feature(features, outputs, placed)
    gradient = whole_gradient(layout)
    even = by_feature(features, outputs, even_noise)
    odd = by_feature(features, outputs, odd_noise)
    move = by_feature(features, outputs, moved)
    look = by_feature(features, outputs, looked)
    square_of = folded_by_feature(features, outputs, add_square)
    largest_of = folded_by_feature(features, outputs, add_largest)

    @kernel_function(("whole_gradient", layout), registers)
    def kernel(
        rows: Any, target: Any, weights: Any, l2: Any, minimiser: Any, start: Any, seed: Any,
        sigma: Any, edges: Any, momentum: Any, own: Any, limit: Any, identity: Any, bins: Any,
        latest: Any, when: Any, sup: Any,
    ) -> None:  # fmt: skip
        at = cuda.grid(1)
        n = identity.size
        if at >= n:
            return

        words = cuda.local.array(streams, np.uint32)
        spare = cuda.local.array(spare_size, np.float32)
        if noisy:
            for j in range(d):
                s0, s1, s2, s3 = gpu_stream(seed, identity[at], np.uint32(j), NOISE)
                words[4 * j], words[4 * j + 1] = s0, s1
                words[4 * j + 2], words[4 * j + 3] = s2, s3

        alpha = real(own[0, at])
        bound = limit[at]
        places = begin(numbers, numbers, 0, start)
        y = look(places, places, 0, zero)
        steps = edges[edges.size - 1]
        last = 0.0
        in_bin = 0.0
        largest = 0.0
        b = 0
        diverged = 0
        edge = edges[1]
        for k in range(steps):
            g = gradient(y, rows, target, weights, l2)
            if noisy:
                if k % 2 == 0:
                    g = even(g, g, 0, (words, spare, sigma))
                else:
                    g = odd(g, g, 0, (words, spare, sigma))

            beta = real(momentum[0, k] * own[1, at] + momentum[1, k])
            places = move(places, g, 0, (alpha, beta))
            gamma = real(momentum[2, k + 1] * own[2, at] + momentum[3, k + 1])
            y = look(places, places, 0, gamma)
            if k + 1 > edge:
                bins[b * n + at] = in_bin
                in_bin = 0.0
                b += 1
                edge = edges[b + 1]

            last = float(square_of(zero, y, y, 0, minimiser))
            in_bin += last
            if with_sup and 2 * (k + 1) > steps:
                largest += float(largest_of(zero, y, y, 0, minimiser))
            # Written so that a NaN counts as diverged too.
            if not (last <= bound):
                diverged = k + 1
                break

        bins[b * n + at] = in_bin
        latest[at] = last
        when[at] = diverged
        sup[at] = largest

    return kernel
