"""The kernels of the engine, the sweeps that each runs, and their device: processor or GPU.

A kernel runs the trajectories of a tile. It is a function ``run_tile(spec, first, last)`` that
returns, for every name in ``measures.FIELDS``, an array of shape (last - first, repeats):

- pixel p has the parameters ``spec.parameters(p)``; its repeat r draws from the streams of the
  identity ``p | r << 32`` (``0 | r << 32`` with shared noise), whatever its place in a tile;
- ``floor_square`` is the mean of ‖y - x*‖² over the second half, ``outcome`` an ``Outcome``,
  ``diverged_at`` a step or -1; fields that were not measured are NaN.

The GPU's half of a kernel is a module of ``ravine.engine.cuda`` with a ``new_launcher(spec,
queue)``, see ``ravine.engine.cuda.pipeline``, and a function ``lacking(spec)`` that names what only
the processor's half can do, or returns None. CUDA is imported only on request.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from ravine.arguments import FloatArray, Refusal, known_name
from ravine.engine import run
from ravine.engine.kernels import finite_sum, quadratic_kernel
from ravine.engine.kernels.linear_model_gradient import LOSSES
from ravine.engine.spec import Spec
from ravine.problems import LinearModel, Quadratic

DEVICES = ("cpu", "cuda", "auto")

_INSTALL = "pip install 'ravine[cuda]'"
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
    run
        Runs a tile on the processor.
    check
        Refuses a specification with options that it does not support.
    gpu_module
        The module of its GPU half; None if it has none.
    """

    run: Callable[[Spec, int, int], dict[str, FloatArray]]
    check: Callable[[Spec], None] = _check_nothing
    gpu_module: str | None = None

    def new_launcher(self, spec: Spec, queue: Any) -> Any:
        """Return the launcher for the tiles of ``spec`` on a GPU, with shared data in ``queue``."""
        assert self.gpu_module is not None  # ``choose_device`` has checked it
        return import_module(self.gpu_module).new_launcher(spec, queue)

    def lacking(self, spec: Spec) -> str | None:
        """Name the part of ``spec`` that cannot run on a GPU, or return None."""
        if self.gpu_module is None:
            return f"{type(spec.problem).__name__}, which runs step by step in Python"

        return cast("str | None", import_module(self.gpu_module).lacking(spec))


QUADRATIC = Kernel(
    quadratic_kernel.run_tile, quadratic_kernel.check, "ravine.engine.cuda.quadratic"
)
FINITE_SUM = Kernel(finite_sum.run_tile, gpu_module="ravine.engine.cuda.finite_sum")
STEPWISE = Kernel(run.run_tile, run.check_tile)


def kernel_for(spec: Spec) -> Kernel:
    """Return the kernel that runs ``spec``. Compiled kernels support one family of methods."""
    if spec.methods is None and isinstance(spec.problem, Quadratic):
        return QUADRATIC

    return FINITE_SUM if spec.methods is None and _is_compiled_sum(spec) else STEPWISE


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


class DeviceError(Refusal):
    """The requested device is not available; the message says how to get it."""


def missing_cuda() -> str | None:
    """Return the reason why no GPU can be used, or None if one can.

    Numba's simulator (NUMBA_ENABLE_CUDASIM=1) counts as a GPU.
    """
    if find_spec("numba_cuda") is None and os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "1":
        return "the package numba-cuda is not installed"

    try:
        source = import_module("ravine.engine.cuda.source")
        there = source.SIMULATED or source.cuda.is_available()
    except (ImportError, AttributeError) as error:
        # NumPy 2.5 removed names that numba-cuda imports.
        return f"numba-cuda cannot be imported ({error})"

    return None if there else "no NVIDIA GPU with a working driver was found"


def choose_device(device: str, spec: Spec) -> str:
    """Return "cpu" or "cuda" for a requested device.

    "cuda" is an error if there is no GPU, or if its kernels cannot run ``spec``; "auto" uses the
    GPU if both are available.
    """
    known_name("device", device, DEVICES)
    if device == "cpu":
        return "cpu"

    why = missing_cuda()
    if why is not None and device == "auto":
        return "cpu"

    if why is not None:
        shown = f"'cuda', but {why}"
        remedy = f"install it with {_INSTALL} on a machine with an NVIDIA GPU, or use device='cpu'"
        raise DeviceError("device", "one that is there", shown, remedy)

    lack = kernel_for(spec).lacking(spec)
    if lack is None:
        return "cuda"
    if device == "auto":
        return "cpu"

    rule = "'cpu' for what has no GPU kernel"
    raise DeviceError("device", rule, f"'cuda' for {lack}", "use device='cpu'")


def device_name(device: str) -> str:
    """Return the name of the device for a result: "cpu", or "cuda" with the name of the GPU."""
    if device == "cpu":
        return "cpu"

    return f"cuda ({import_module('ravine.engine.cuda.source').gpu_name()})"
