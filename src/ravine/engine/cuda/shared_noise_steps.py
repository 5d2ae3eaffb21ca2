"""Four steps of several quadratics that share their noise: the inner part of its GPU kernel.

A thread holds some coordinates of a few trajectories. One piece of noise, read once, serves all of
these: what limits such a kernel is the noise that has to be read for an update, not arithmetic.

Nesterov's method takes its step from where it looks: with h = alpha lambda and gamma = beta,
x⁺ = (1 - h) y + noise and y = x + gamma (x - x₋). In units in which y = (1 + gamma)(x - g x₋),
g = gamma / (1 + gamma), that is two fused operations with one coefficient q = (1 - h)(1 + gamma),

    x⁺ = q y + noise,    y⁺ = x⁺ - g x,

and the recorded y comes for free. Other look-aheads need ``modal_step``, with two coefficients.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ravine.engine.cuda.over_tuples import carried, mapped
from ravine.engine.cuda.source import device_function, on_device, piece_of
from ravine.engine.kernels.step import modal_coefficients, modal_step

STEPS = 4
"""Steps of a coordinate in a row: as many as 16 bytes of noise in single precision serve."""

gpu_step = on_device(modal_step)
gpu_coefficients = on_device(modal_coefficients)


@device_function
def four_of_single(noise: Any, place: Any, row: Any) -> Any:
    """Return the noise of four steps in single precision, one piece."""
    return piece_of(noise, place)


@device_function
def four_of_double(noise: Any, place: Any, row: Any) -> Any:
    """Return the noise of four steps in double precision, two pieces that are ``row`` apart."""
    return piece_of(noise, place) + piece_of(noise, place + row)


@device_function
def nesterov_step(state: Any, z: Any, so_far: Any, at: Any, g: Any) -> Any:
    """Take a step of Nesterov's method with noise z; add the square of y to a sum."""
    x, y, q = state
    ahead = q * y + z
    y = ahead - g * x
    return (ahead, y, q), so_far + y * y


@device_function
def family_step(state: Any, z: Any, so_far: Any, at: Any, g: Any) -> Any:
    """Take a step with any look-ahead and noise z; add the square of y to a sum."""
    x, x_prev, c1, c2 = state
    ahead = gpu_step(x, x_prev, c1, c2, z)
    y = ahead - g * x
    return (ahead, x, c1, c2), so_far + y * y


nesterov_four, family_four = carried(STEPS, nesterov_step), carried(STEPS, family_step)
"""Functions that take four steps from a state, with four numbers of noise and four sums."""


@cache
def each_trajectory(count: int, four: Any) -> Any:
    """Make a function that takes four steps of ``count`` trajectories with the same noise."""

    @device_function
    def last(states: Any, sums: Any, gs: Any, z: Any) -> Any:
        state, square = four(states[0], z, sums[0], 0, gs[0])
        return (state,), (square,)

    if count == 1:
        return last

    others = each_trajectory(count - 1, four)

    @device_function
    def some(states: Any, sums: Any, gs: Any, z: Any) -> Any:
        state, square = four(states[0], z, sums[0], 0, gs[0])
        more_states, more_squares = others(states[1:], sums[1:], gs[1:], z)
        return (state, *more_states), (square, *more_squares)

    return some


@cache
def each_coordinate(count: int, stride: int, together: Any, read: Any) -> Any:
    """Make a function of ``count`` coordinates, whose noise is ``stride`` apart in a row."""

    @device_function
    def one(sums: Any, state: Any, same: Any, at: Any, common: Any) -> Any:
        gs, noise, place, row = common
        state, sums = together(state, sums, gs, read(noise, place + stride * at, row))
        return sums, state

    return carried(count, one)


@cache
def new_state(real: Any, nesterov: bool) -> Any:
    """Make a function that puts a coordinate of a trajectory at its start."""

    @device_function
    def one(eigenvalue: Any, start: Any, given: Any) -> Any:
        alpha, beta, gamma, g, ahead, per_unit = given
        h = alpha * eigenvalue
        x = real(start * per_unit)
        if nesterov:
            return x, real(x - real(g) * x), real((1.0 - h) * ahead)

        c1, c2 = gpu_coefficients(h, beta, gamma)
        return x, x, real(c1), real(c2)

    return one


@cache
def new_states(coordinates: int, trajectories: int, lanes: int, real: Any, nesterov: bool) -> Any:
    """Make a function that puts the coordinates i, i + lanes, ... of trajectories at their start.

    Coordinates beyond the dimension start at zero and feel no noise: they stay there.
    """
    one = new_state(real, nesterov)

    @device_function
    def of_trajectory(given: Any, same: Any, at: Any, common: Any) -> Any:
        return one(common[0], common[1], given)

    together = mapped(trajectories, of_trajectory)

    @device_function
    def here(entry: Any, same: Any, at: Any, common: Any) -> Any:
        eigenvalues, start, i, given = common
        i += lanes * at
        inside = i < start.size
        place = start[i] if inside else real(0.0)
        eigenvalue = eigenvalues[i] if inside else real(0.0)
        return together(given, given, 0, (eigenvalue, place))

    each = mapped(coordinates, here)
    numbers = tuple(range(coordinates))

    @device_function
    def states(eigenvalues: Any, start: Any, i: int, given: Any) -> Any:
        return each(numbers, numbers, 0, (eigenvalues, start, i, given))

    return states
