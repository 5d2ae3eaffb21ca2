"""Where a sweep runs: on the processor, or on a GPU.

``CUDA_KERNELS`` is the table of kernels for the GPU, as ``ravine.engine.sweep.KERNELS`` is that for
the processor. Nothing here imports CUDA before it is asked for.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ravine.arguments import complaint

DEVICES = ("cpu", "cuda", "auto")
CUDA_KERNELS: dict[str, str] = {
    "Quadratic": "ravine.engine.cuda_quadratic:run_tile",
}
"""Kernel by class name of the problem, or of a class it inherits from; imported when needed."""

_INSTALL = "pip install 'ravine[cuda]'"


class DeviceError(ValueError):
    """A device was asked for that is not there; the message says how to get it."""


def missing_cuda() -> str | None:
    """Say why no GPU can be used, or return None where one can.

    Numba's simulator (NUMBA_ENABLE_CUDASIM=1) counts as a GPU.
    """
    if find_spec("numba_cuda") is None and os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "1":
        return "the package numba-cuda is not installed"
    try:
        return str(import_module("ravine.engine.cuda_source").why_unavailable() or "") or None
    except (ImportError, AttributeError) as error:
        # NumPy 2.5 took away names that numba-cuda imports.
        return f"numba-cuda cannot be imported ({error})"


def choose_device(device: str, problem: Any) -> str:
    """Return "cpu" or "cuda" for a device that was asked for.

    "cuda" is an error where there is no GPU to use, or no kernel for the problem; "auto" takes the
    GPU where both are there.

    Examples
    --------
    >>> choose_device("cpu", None)
    'cpu'
    """
    if device not in DEVICES:
        rule = f"one of {', '.join(DEVICES)}"
        raise ValueError(complaint("device", rule, repr(device), "pick one of these names"))
    if device == "cpu":
        return "cpu"
    known = any(kind.__name__ in CUDA_KERNELS for kind in type(problem).__mro__)
    if device == "auto":
        return "cuda" if known and missing_cuda() is None else "cpu"
    why = missing_cuda()
    if why is not None:
        found = f"'cuda', but {why}"
        remedy = f"install it with {_INSTALL} on a machine with an NVIDIA GPU, or use device='cpu'"
        raise DeviceError(complaint("device", "one that is there", found, remedy))
    if not known:
        found = f"'cuda' for {type(problem).__name__}"
        rule = f"'cpu' except for {', '.join(CUDA_KERNELS)}"
        raise DeviceError(complaint("device", rule, found, "use device='cpu'"))
    return "cuda"


def device_name(device: str) -> str:
    """Return what to write into a result: "cpu", or "cuda" with the name of the GPU."""
    if device == "cpu":
        return "cpu"
    return f"cuda ({import_module('ravine.engine.cuda_source').gpu_name()})"
