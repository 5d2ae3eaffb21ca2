"""Groups of 8, 16 or 32 neighbouring threads that run a trajectory together.

Threads of a group exchange numbers through registers. Numba's simulator cannot do that; there they
use memory, with all threads of the block in step.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ravine.engine.cuda.source import SIMULATED, cuda, device_function

STEPS = 8
"""Steps between two checks of the errors, one for each of eight threads."""

FAR = np.int32(2**31 - 1)
"""A step that no run reaches."""


class QuadraticLayout(NamedTuple):
    """How trajectories are divided among threads; known at compile time."""

    threads: int  # of a block
    lanes: int  # threads of a group: 8, 16 or 32
    coordinates: int  # of a thread
    trajectories: int  # of a group
    single: bool  # whether the state is in single precision
    nesterov: bool  # whether noise is shared and the look-ahead is the momentum
    with_sup: bool  # whether the sup-norm is wanted
    registers: int | None  # of a thread, maximum

    @property
    def real(self) -> Any:
        """Type of the state."""
        return np.float32 if self.single else np.float64


_ALL = 0xFFFFFFFF
_BLOCK = 1024  # maximum threads of a block

if SIMULATED:

    @device_function
    def exchange(value: Any, distance: int) -> Any:
        """Return the value of the thread whose number differs in the bit ``distance``."""
        shared = cuda.shared.array(_BLOCK, np.float64)
        shared[cuda.threadIdx.x] = value
        cuda.syncthreads()
        other = type(value)(shared[cuda.threadIdx.x ^ distance])
        cuda.syncthreads()
        return other

    @device_function
    def everyone(condition: bool) -> bool:
        """Whether a condition holds for all threads that run in step."""
        return bool(cuda.syncthreads_and(condition))


else:

    @device_function
    def exchange(value: Any, distance: int) -> Any:
        """Return the value of the thread whose number differs in the bit ``distance``."""
        return cuda.shfl_xor_sync(_ALL, value, distance)

    @device_function
    def everyone(condition: bool) -> bool:
        """Whether a condition holds for all threads that run in step."""
        return bool(cuda.all_sync(_ALL, condition))


@device_function
def merge(low: Any, high: Any, upper: bool, distance: int) -> Any:
    """Add up two rows of partial sums over two threads; each keeps one of the rows."""
    return (high if upper else low) + exchange(low if upper else high, distance)


@cache
def sum_over(nearest: int, lanes: int) -> Any:
    """Make a function that adds up a number over threads ``nearest``, 2 ``nearest``, ... apart."""

    @device_function
    def over_group(total: Any) -> Any:
        distance = nearest
        while distance < lanes:
            total += exchange(total, distance)
            distance *= 2

        return total

    return over_group


@cache
def sum_steps(pairs: int, lanes: int) -> Any:
    """Make a function that adds up 2 ``pairs`` (2, 4 or 8) partial sums over a group.

    Thread ``lane`` receives the sum ``lane % (2 * pairs)``.
    """
    over_group = sum_over(2 * pairs, lanes)
    if pairs == 1:

        @device_function
        def two(parts: Any, lane: Any) -> Any:
            return over_group(merge(parts[0], parts[1], lane & 1 != 0, 1))

        return two

    @device_function
    def one_of_four(a: Any, b: Any, c: Any, d: Any, lane: Any) -> Any:
        upper = lane & 2 != 0
        return merge(merge(a, c, upper, 2), merge(b, d, upper, 2), lane & 1 != 0, 1)

    if pairs == 2:

        @device_function
        def four(parts: Any, lane: Any) -> Any:
            return over_group(one_of_four(parts[0], parts[1], parts[2], parts[3], lane))

        return four

    @device_function
    def eight(parts: Any, lane: Any) -> Any:
        upper = lane & 4 != 0
        a = merge(parts[0], parts[4], upper, 4)
        b = merge(parts[1], parts[5], upper, 4)
        c = merge(parts[2], parts[6], upper, 4)
        d = merge(parts[3], parts[7], upper, 4)
        return over_group(one_of_four(a, b, c, d, lane))

    return eight


@cache
def earliest_of(threads: int) -> Any:
    """Make a function that returns the smallest step of 4 or 8 threads that is not 0, or 0."""

    @device_function
    def earliest(step: Any) -> Any:
        step = step if step > 0 else FAR
        if threads > 4:
            step = min(step, exchange(step, 4))
        step = min(step, exchange(step, 2))
        step = min(step, exchange(step, 1))
        return step if step < FAR else np.int32(0)

    return earliest


@device_function
def record_steps(
    square: Any, lane: Any, k: Any, steps: Any, at: Any, size: Any, factor: float, bound: Any,
    zero: Any, levels: Any, bin_of: Any, bins: Any, before: Any,
) -> Any:  # fmt: skip
    """Add the squared error of step ``k + 1 + lane``, one per thread of a group, to its bin.

    Bins have 1, 2, 4 or at least 8 steps (``levels`` 0 to 3), start at multiples of their width,
    and are rows of ``size`` trajectories. ``before`` is the result of the last call: the first step
    of this thread beyond the bound, or 0; its bin, and the sum so far. Only the store is
    conditional, so the compiler can interleave this with the next steps.
    """
    diverged, last_bin, so_far = before
    step = np.int32(k + np.int32(1) + (lane & np.int32(7)))
    live = (step > 0) & (step <= steps)
    total = square if live else zero
    # Written so that a NaN counts as beyond the bound too.
    beyond = not (total <= bound)
    level = levels[max(k, 0) // STEPS]
    other = exchange(total, 1)
    total += other if level > 0 else zero
    other = exchange(total, 2)
    total += other if level > 1 else zero
    other = exchange(total, 4)
    total += other if level > 2 else zero
    bin = bin_of[max(min(step, steps), np.int32(0))]
    so_far = factor * total + (so_far if bin == last_bin else 0.0)
    begins = lane & ((1 << level) - 1) == 0
    if live & (lane < 8) & begins & (at < size):
        bins[np.int64(bin) * size + at] = so_far

    return step if beyond and diverged == 0 else diverged, bin, so_far


if SIMULATED:

    @device_function
    def in_step() -> None:
        """Wait for the other threads of the group."""
        cuda.syncthreads()

else:

    @device_function
    def in_step() -> None:
        """Wait for the other threads of the group."""
        cuda.syncwarp()


@device_function
def largest_entry(vectors: Any, y: Any, lane: int, lanes: int) -> Any:
    """Return the sup-norm of V y over a group; ``vectors`` is the transpose of V."""
    largest = 0.0
    for r in range(lane, y.size, lanes):
        entry = 0.0
        for i in range(y.size):
            entry += vectors[i, r] * y[i]
        largest = max(largest, abs(entry))

    distance = 1
    while distance < lanes:
        largest = max(largest, exchange(largest, distance))
        distance *= 2

    return largest
