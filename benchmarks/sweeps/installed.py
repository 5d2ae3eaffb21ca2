"""The other libraries that are installed; the missing ones by name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

MISSING: list[str] = []

jax: Any = None
torch: Any = None
optax: ModuleType | None = None
try:
    from benchmarks.sweeps import jax_peers

    jax = jax_peers
    try:
        import optax as _optax

        optax = _optax
    except ImportError:
        MISSING.append("optax")
except ImportError:
    MISSING += ["jax", "optax"]
try:
    from benchmarks.sweeps import torch_peers

    torch = torch_peers
except ImportError:
    MISSING.append("torch")
