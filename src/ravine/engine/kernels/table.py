"""The kernels of the engine, and the sweeps that each runs, on the processor and on a GPU.

A kernel runs the trajectories of a tile. It is a function ``run_tile(spec, first, last)`` that
returns, for every name in ``measures.FIELDS``, an array of shape (last - first, repeats):

- pixel p has the parameters ``spec.parameters(p)``; its repeat r draws from the streams of the
  identity ``p | r << 32`` (``0 | r << 32`` with shared noise), whatever its place in a tile;
- ``floor_square`` is the mean of ‖y - x*‖² over the second half, ``outcome`` an ``Outcome``,
  ``diverged_at`` a step or -1; fields that were not measured are NaN.

The GPU's half of a kernel is a module of ``ravine.engine.cuda`` with a ``new_launcher(spec,
queue)``, see ``ravine.engine.cuda.pipeline``, and a function ``lacking(spec)`` that names what only
the processor's half can do, or returns None. It is imported when a GPU is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from ravine.arguments import FloatArray
from ravine.engine.kernels import finite_sum, quadratic_kernel, stepwise
from ravine.engine.kernels.linear_model_gradient import LOSSES
from ravine.engine.spec import Spec
from ravine.problems import LinearModel, Quadratic

Fields = dict[str, FloatArray]
RunFields = Callable[[Spec, int, int], Fields]

_MOST_WEIGHTS = 400
"""Maximum number of weights for compiled whole gradients, whose loops are unrolled."""
_MOST_CLASSES = 16
"""Maximum number of classes for which the scores of a block's lanes stay in the L1 cache."""


def _check_nothing(spec: Spec) -> None:
    """Check for kernels that support every specification."""


@dataclass(frozen=True)
class Kernel:
    """One way to run the trajectories of a tile.

    Attributes
    ----------
    matches
        Whether it runs a specification; the first matching entry of ``KERNELS`` is used.
    run
        Runs a tile on the processor.
    gpu_module
        The module of its GPU half; None if it has none.
    check
        Refuses a specification with options that it does not support.
    """

    matches: Callable[[Spec], bool]
    run: RunFields
    gpu_module: str | None = None
    check: Callable[[Spec], None] = _check_nothing

    def new_launcher(self, spec: Spec, queue: Any) -> Any:
        """Return the launcher for the tiles of ``spec`` on a GPU, with shared data in ``queue``."""
        assert self.gpu_module is not None  # ``choose_device`` has checked it
        return import_module(self.gpu_module).new_launcher(spec, queue)

    def lacking(self, spec: Spec) -> str | None:
        """Name the part of ``spec`` that cannot run on a GPU, or return None."""
        if self.gpu_module is None:
            return f"{type(spec.problem).__name__}, which runs step by step in Python"

        return cast("str | None", import_module(self.gpu_module).lacking(spec))


def _is_compiled_sum(spec: Spec) -> bool:
    """Quadratics, or a linear model with a compiled loss and weights that fit into the cache."""
    problem = spec.problem
    if finite_sum.is_quadratic_sum(spec):
        return True
    if not isinstance(problem, LinearModel) or problem.loss.kernel_code not in LOSSES:
        return False
    if problem.loss.quadratic:
        return True

    few = spec.sampled or problem.dimension <= _MOST_WEIGHTS
    return few and problem.loss.outputs <= _MOST_CLASSES


KERNELS = (
    Kernel(
        matches=lambda spec: isinstance(spec.problem, Quadratic),
        run=quadratic_kernel.run_tile,
        gpu_module="ravine.engine.cuda.quadratic",
        check=quadratic_kernel.check,
    ),
    Kernel(
        matches=_is_compiled_sum,
        run=finite_sum.run_tile,
        gpu_module="ravine.engine.cuda.finite_sum",
    ),
    Kernel(matches=lambda spec: True, run=stepwise.run_tile, check=stepwise.check),
)
"""All kernels; the first that matches a specification runs it."""


def kernel_for(spec: Spec) -> Kernel:
    """Return the kernel that runs ``spec``. Compiled kernels support one family of methods."""
    if spec.methods is not None:
        return KERNELS[-1]

    return next(kernel for kernel in KERNELS if kernel.matches(spec))
