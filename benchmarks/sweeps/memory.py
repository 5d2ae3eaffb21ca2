"""Memory that a sweep of a million pixels needs beyond its result, with a store and without.

Each case runs in a process of its own; its peak is compared with its size after a sweep of a few
pixels, when everything is imported and compiled. The result counts its variables in full, also
where a store keeps them on disk.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from time import perf_counter

import numpy as np

SIDE = 1000


def case(kept: str) -> None:
    from ravine.engine.sweep import sweep
    from ravine.problems import worst_case_quadratic

    problem = worst_case_quadratic(32, 10)
    axes = np.linspace(0.0, 2.5 / 32.0, SIDE), np.linspace(-0.5, 1.0, SIDE)
    given = {"steps": 50, "repeats": 2, "sigma2": 1e-4}
    with tempfile.TemporaryDirectory() as folder:
        small = f"{folder}/small.zarr" if kept == "store" else None
        large = f"{folder}/large.zarr" if kept == "store" else None
        sweep(problem, axes[0][:2], axes[1][:2], **given, store=small)
        before = peak()
        start = perf_counter()
        data = sweep(problem, *axes, **given, store=large)
        seconds = perf_counter() - start
        result = data.nbytes if large is None else 0
        beyond = peak() - before - result
    print(f"{kept:8s} {seconds:7.1f} {before / 2**20:10.0f} {data.nbytes / 2**20:10.0f} "
          f"{beyond / 2**20:10.0f}")  # fmt: skip


def peak() -> int:
    """Largest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    if len(sys.argv) == 2:
        case(sys.argv[1])
    else:
        print(f"{'case':8s} {'seconds':>7s} {'empty MiB':>10s} {'result MiB':>10s} "
              f"{'beyond MiB':>10s}")  # fmt: skip
        for kept in ("memory", "store"):
            subprocess.run([sys.executable, __file__, kept], check=True)
