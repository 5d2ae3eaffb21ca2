"""Linear models on data: which kernel runs them.

- Squared loss: a finite sum of quadratics, exactly, for whole gradients and while the Hessians of
  its batches are small; else the rows of each batch, with the kernel of the logistic losses.
- Logistic losses: the row by row kernel, while weights and classes fit in the cache.
- All else run by run.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ravine.arguments import FloatArray

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

_MOST_FEATURES = 32
_MOST_WEIGHTS, _MOST_CLASSES = 400, 16


def kernel_module(spec: Spec) -> ModuleType:
    """The module whose kernel runs the problem of ``spec``."""
    from ravine.engine.kernels import finite_sum, linear_model_kernel, stepwise

    problem, d = spec.problem, spec.problem.dimension
    if problem.loss.name == "squared":
        small = d <= _MOST_FEATURES or spec.sampling is None
        return finite_sum if small else linear_model_kernel
    whole = spec.sampling is None or problem.terms == 1
    if problem.loss.outputs > _MOST_CLASSES or (whole and d > _MOST_WEIGHTS):
        return stepwise
    return linear_model_kernel


def check(spec: Spec) -> None:
    """Refuse what the kernel for this loss and sampling cannot do."""
    kernel_module(spec).check(spec)


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a linear model."""
    found: dict[str, FloatArray] = kernel_module(spec).run_tile(spec, first, last)
    return found
