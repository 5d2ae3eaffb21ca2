"""The recursion of a method in plain NumPy, on many points at once.

Step k takes the gradient g at y = x + gamma v and moves

    x⁺ = x + beta v - alpha g,    v⁺ = x⁺ - x,

with v the velocity. x, v and y are arrays of one shape; alpha, beta and gamma broadcast to it, so
that one axis may be seeds and another methods. The compiled kernels take the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import LinearMethod

Gradient: TypeAlias = Callable[[int, FloatArray], FloatArray]
"""The gradient of step k at the points y."""
Restarts: TypeAlias = Callable[[int, FloatArray, FloatArray, FloatArray], npt.ArrayLike]
"""A mask of restarts after step k, given x, x⁺ and g; broadcasts to their shape."""


@dataclass(eq=False)
class State:
    """The state of all runs after k steps.

    Every step makes new arrays, so callers may store them. Callers may also change entries before
    the next step, to reset diverged runs or to rescale all of them.

    Attributes
    ----------
    k
        Steps taken.
    x, v
        Points and velocities.
    y
        The point of the next gradient.
    gradient
        The gradient of the step that led here; None at the start.
    restarted
        Whether that step set the velocity to zero.
    """

    k: int
    x: FloatArray
    v: FloatArray
    y: FloatArray
    gradient: FloatArray | None = None
    restarted: npt.ArrayLike = False


def iterate(
    gradient: Gradient,
    x: FloatArray,
    v: FloatArray | None = None,
    *,
    steps: int,
    alpha: float | FloatArray,
    betas: FloatArray,
    gammas: FloatArray,
    factors: FloatArray | None = None,
    restarts: Restarts | None = None,
) -> Iterator[State]:
    """Yield the states after 0, 1, ..., ``steps`` steps.

    Parameters
    ----------
    gradient
        Called once per step.
    x, v
        Initial points and velocities. Default: at rest.
    steps
        Number of steps.
    alpha
        Step size.
    betas, gammas
        Momentum of each step, shape (steps, ...), and look-ahead before each step and after the
        last, shape (steps + 1, ...). See ``held`` for constants.
    factors
        Factor on the step size in each step, shape (steps, ...). As in PyTorch, the velocity is a
        sum of gradients times the current step size, so it shrinks with the step size.
    restarts
        When to set the velocity to zero. Default: never.

    Examples
    --------
    >>> betas = held(0.0, 3)
    >>> runs = iterate(lambda k, y: 1.0 * y, np.ones(1), steps=2, alpha=0.5,
    ...                betas=betas, gammas=betas)
    >>> [float(state.x[0]) for state in runs]
    [1.0, 0.5, 0.25]
    """
    v = np.zeros_like(x) if v is None else v
    state = State(0, x, v, x + gammas[0] * v)
    yield state

    for k in range(steps):
        g = gradient(k, state.y)
        step = alpha if factors is None else alpha * factors[k]
        carried = betas[k] * state.v
        ahead = state.x + carried
        ahead -= step * g
        v = ahead - state.x
        if factors is not None and k > 0:
            carried *= factors[k] / factors[k - 1] - 1.0
            v += carried

        again = False if restarts is None else restarts(k, state.x, ahead, g)
        if np.any(again):
            v = np.where(again, 0.0, v)

        y = gammas[k + 1] * v
        y += ahead
        state = State(k + 1, ahead, v, y, g, again)
        yield state


def iterate_linear(
    gradient: Gradient, x: FloatArray, method: LinearMethod, *, steps: int
) -> Iterator[State]:
    """The same for a linear method of any memory, from rest; x and y are its gradient points.

    Examples
    --------
    >>> late = LinearMethod.multi_step([1], [0, 0.5])  # gradients that are one step old
    >>> [float(s.y[0]) for s in iterate_linear(lambda k, y: y, np.ones(1), late, steps=3)]
    [1.0, 1.0, 0.5, 0.0]
    """
    A, B, C = method.state
    memory = method.at_rest(x)
    state = State(0, x, np.zeros_like(x), x)
    yield state

    for k in range(steps):
        g = gradient(k, state.y)
        memory = A @ memory + B[:, None] * g
        y = C @ memory
        state = State(k + 1, y, y - state.y, y, g)
        yield state


def held(value: npt.ArrayLike, steps: int) -> FloatArray:
    """Repeat a value for each step without copies: shape (steps, ...)."""
    one = np.asarray(value, dtype=np.float64)
    return np.broadcast_to(one, (steps, *one.shape))
