"""The slopes of a row's loss in its scores, in registers: inner part of the whole-gradient kernel.

A score a class. ``slopes_for`` turns scores into weight (p - target), where p is what is to meet
the target: the softmax of the scores, or the logistic function of one score. Whole gradients of
the squared loss are those of a quadratic, which ``finite_sum_kernel`` runs.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ravine.engine.cuda.over_tuples import folded, mapped
from ravine.engine.cuda.source import device_function, on_device, piece_of
from ravine.engine.kernels.linear_model_gradient import exponential
from ravine.problems.losses import LOGISTIC, MULTINOMIAL

gpu_exponential = on_device(exponential)


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
    """Make a function of scores, weight, targets and the place of the row's first target."""
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
