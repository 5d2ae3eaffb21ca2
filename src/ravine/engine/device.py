"""Where a sweep runs: on the processor, or on a GPU.

``CUDA_KERNELS`` is the table of kernels for the GPU, as ``ravine.engine.sweep.KERNELS`` is that for
the processor. Nothing here imports CUDA before it is asked for.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ravine.arguments import Refusal

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

DEVICES = ("cpu", "cuda", "auto")
CUDA_KERNELS: dict[str, str] = {
    "Quadratic": "ravine.engine.cuda.quadratic:run_tile",
    "QuadraticSum": "ravine.engine.cuda.finite_sum:run_tile",
    "LinearModel": "ravine.engine.cuda.linear_model:run_tile",
}
"""Kernel by class name of the problem, or of a class it inherits from; imported when needed.

Beside the kernel its module has a function ``lacking(spec)`` that names what the CPU's kernel can
do and this one cannot, or returns None.
"""

_INSTALL = "pip install 'ravine[cuda]'"


class DeviceError(Refusal):
    """A device was asked for that is not there; the message says how to get it."""


def missing_cuda() -> str | None:
    """Say why no GPU can be used, or return None where one can.

    Numba's simulator (NUMBA_ENABLE_CUDASIM=1) counts as a GPU.
    """
    if find_spec("numba_cuda") is None and os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "1":
        return "the package numba-cuda is not installed"
    try:
        return str(import_module("ravine.engine.cuda.source").why_unavailable() or "") or None
    except (ImportError, AttributeError) as error:
        # NumPy 2.5 took away names that numba-cuda imports.
        return f"numba-cuda cannot be imported ({error})"


def choose_device(device: str, problem: Any, spec: Spec | None = None) -> str:
    """Return "cpu" or "cuda" for a device that was asked for.

    "cuda" is an error where there is no GPU to use, no kernel for the problem, or none that can do
    all that ``spec`` asks for; "auto" takes the GPU where all are there.

    Examples
    --------
    >>> choose_device("cpu", None)
    'cpu'
    """
    if device not in DEVICES:
        rule = f"one of {', '.join(DEVICES)}"
        raise Refusal("device", rule, repr(device), "pick one of these names")
    if device == "cpu":
        return "cpu"
    kernels = [CUDA_KERNELS.get(kind.__name__, "") for kind in type(problem).__mro__]
    kernel = next(filter(None, kernels), None)
    why = missing_cuda()
    if device == "auto" and (kernel is None or why is not None):
        return "cpu"
    if why is not None:
        found = f"'cuda', but {why}"
        remedy = f"install it with {_INSTALL} on a machine with an NVIDIA GPU, or use device='cpu'"
        raise DeviceError("device", "one that is there", found, remedy)
    if kernel is None:
        found = f"'cuda' for {type(problem).__name__}"
        rule = f"'cpu' except for {', '.join(CUDA_KERNELS)}"
        raise DeviceError("device", rule, found, "use device='cpu'")
    lack = None if spec is None else import_module(kernel.partition(":")[0]).lacking(spec)
    if lack is None:
        return "cuda"
    if device == "auto":
        return "cpu"
    rule = "'cpu' for what the GPU's kernels do not have"
    raise DeviceError("device", rule, f"'cuda' for {lack}", "use device='cpu'")


def device_name(device: str) -> str:
    """Return what to write into a result: "cpu", or "cuda" with the name of the GPU."""
    if device == "cpu":
        return "cpu"
    return f"cuda ({import_module('ravine.engine.cuda.source').gpu_name()})"
