"""Compiled GPU kernels on disk, so that the next process need not compile them again.

A file contains one kernel for arguments of certain types, including machine code. Its name is a
digest of everything that it depends on: the sources of the engine, the name of the kernel, the
types, the versions of Numba and numba-cuda, and the architecture of the GPU. A file that cannot be
loaded is ignored and replaced.

Numba's own cache does not work here: it distinguishes kernels by the pickled bytes of their
closures, and the functions inside are pickled differently in each process.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache

from ravine.engine.sources import COMPILED, digest
from ravine.files import written_whole

_SOURCES = (*COMPILED, "engine/cuda", "engine/repeats.py")


def kernel_folder() -> Path:
    """Return the folder of kernels: in ``NUMBA_CACHE_DIR`` if set, else in the user's cache.

    Examples
    --------
    >>> kernel_folder().name
    'gpu_kernels'
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / "gpu_kernels"

    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "ravine" / "gpu_kernels"


@cache
def _made_with() -> bytes:
    """Versions that all kernels of this process depend on."""
    versions = [version(name) for name in ("numba", "numba-cuda", "llvmlite", "numpy")]
    return digest(_SOURCES) + repr((versions, sys.version_info[:2])).encode()


class KernelCache(NullCache):  # type: ignore[misc]
    """The cache of one kernel, with the interface of Numba's dispatcher."""

    def __init__(self, name: str) -> None:
        self._name = name

    def path_for(self, signature: Any, architecture: Any) -> Path:
        """Return the file of the kernel for a signature on an architecture."""
        what = repr((self._name, str(signature), architecture)).encode()
        return kernel_folder() / f"{hashlib.sha256(_made_with() + what).hexdigest()[:40]}.kernel"

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the kernel for a signature, or None if it must be compiled."""
        path = self.path_for(signature, context.codegen().magic_tuple())
        try:
            kernel: Any = import_module("numba.cuda.dispatcher")._Kernel
            return kernel._rebuild(**pickle.loads(path.read_bytes()))
        except Exception:  # missing or damaged file: compile
            return None

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Store a compiled kernel, if the folder can be written to."""
        serialize: Any = import_module("numba.cuda.serialize")
        path = self.path_for(signature, kernel.codegen.magic_tuple())
        try:
            with written_whole(path) as part:
                part.write_bytes(serialize.dumps(kernel._reduce_states()))
        except OSError:
            return
