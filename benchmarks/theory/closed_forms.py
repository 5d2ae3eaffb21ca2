"""Every closed-form rung and the exact variance on a 1000 x 1000 grid, and the start-up times.

Run with ``python -m benchmarks.theory.closed_forms``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import ravine

PIXELS = 1000


def best(work: Callable[[], object], tries: int = 5) -> float:
    """Least wall-clock seconds of several tries."""
    seconds = []
    for _ in range(tries):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def measure() -> dict[str, float]:
    """Seconds of each rung on the grid, of ``import ravine`` and of ``ravine rate``."""
    curvature = ravine.Curvature(1 / 32, 1.0)
    alphas, betas = np.linspace(0.0, 2.5, PIXELS), np.linspace(-1.0, 1.0, PIXELS)
    plane = ravine.Method(alphas[:, None], betas[None, :])
    rungs = (
        ravine.spectral_radius,
        ravine.stable,
        ravine.iid_rate,
        ravine.worst_case_rate,
        ravine.contraction,
        ravine.exact_noise_coefficient,
    )
    found = {
        rung.__name__: best(lambda rung=rung: rung(curvature, plane))  # type: ignore[misc]
        for rung in rungs
    }
    found["all closed forms"] = sum(found.values())
    start = [sys.executable, "-c"]
    commands = {
        "import numpy": "import numpy",
        "import ravine": "import ravine",
        "ravine rate": "from ravine.cli import main; main(['rate', '--mu', '0.05', '--L', '100'])",
    }
    for name, code in commands.items():
        found[name] = best(
            lambda code=code: subprocess.run([*start, code], stdout=subprocess.DEVNULL, check=True)  # type: ignore[misc]
        )
    return found


def main() -> None:
    """Print a table."""
    print(f"{'closed forms, 1000 x 1000 pixels':40} seconds")
    for name, seconds in measure().items():
        print(f"{name:40} {seconds:.3f}")


if __name__ == "__main__":
    main()
