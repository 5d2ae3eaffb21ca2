"""The device of a sweep: the processor or a GPU.

CUDA is imported only on request.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec

from ravine.arguments import Refusal, known_name
from ravine.engine.kernels.table import kernel_for
from ravine.engine.spec import Spec

DEVICES = ("cpu", "cuda", "auto")

_INSTALL = "pip install 'ravine[cuda]'"


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
