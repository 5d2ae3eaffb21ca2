"""Linear models on data, on the GPU: which kernel runs them, as on the processor."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ravine.arguments import FloatArray
from ravine.engine.kernels.linear_model import kernel_module

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec


def _module(spec: Spec) -> ModuleType | None:
    from ravine.engine.cuda import finite_sum, linear_model_tile

    twins = {"finite_sum": finite_sum, "linear_model_kernel": linear_model_tile}
    return twins.get(kernel_module(spec).__name__.rpartition(".")[2])


def lacking(spec: Spec) -> str | None:
    """Name what the CPU's kernels can do and these cannot, or return None."""
    module = _module(spec)
    if module is None:
        return f"a linear model of {spec.problem.dimension} weights, run one by one"
    found: str | None = module.lacking(spec)
    return found


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a linear model."""
    module = _module(spec)
    assert module is not None
    found: dict[str, FloatArray] = module.run_tile(spec, first, last)
    return found
