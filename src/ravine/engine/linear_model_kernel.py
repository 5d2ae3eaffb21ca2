"""Linear models on data: which kernel runs them.

- Squared loss: a finite sum of quadratics, exactly, while the Hessians of its batches are small.
- Logistic losses: the softmax kernel, while the weights fit in the cache.
- All else, restarts on a logistic loss among it: run by run.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ravine.arguments import FloatArray

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

_MOST_FEATURES = 32
_MOST_WEIGHTS = 400


def _module(spec: Spec) -> ModuleType:
    from ravine.engine import finite_sum, softmax_kernel, stepwise_kernel

    problem, d = spec.problem, spec.problem.dimension
    if problem.loss.name == "squared" and d <= _MOST_FEATURES:
        return finite_sum
    small = d <= _MOST_WEIGHTS and problem.loss.outputs <= 16
    simple = not set(spec.options) & {"batch", "restart"}
    if problem.loss.name != "squared" and small and simple:
        return softmax_kernel
    return stepwise_kernel


def check(spec: Spec) -> None:
    """Refuse what the kernel for this loss and sampling cannot do."""
    _module(spec).check(spec)


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a linear model."""
    found: dict[str, FloatArray] = _module(spec).run_tile(spec, first, last)
    return found
