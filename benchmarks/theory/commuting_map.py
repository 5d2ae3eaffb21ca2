"""Time of a 256 x 256 map of the commuting bracket over (alpha, beta) at Q = 32."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.ladder.commuting import commuting_rate

TOLERANCE = 1e-3


def measure(side: int = 256, Q: float = 32.0) -> dict[str, float]:
    """Seconds for the map, cold and warm, and the share of pixels that reached the tolerance."""
    curvature = Curvature(1.0, Q)
    alpha = np.linspace(0.0, 2.5 / Q, side + 1)[1:]
    method = Method(alpha[:, None], np.linspace(-1.0, 1.0, side)[None, :])
    start = perf_counter()
    commuting_rate(curvature, Method(alpha[:128], 0.5), tolerance=TOLERANCE)
    loaded = perf_counter()
    widths = np.asarray(commuting_rate(curvature, method, tolerance=TOLERANCE).relative_width)
    end = perf_counter()
    return {
        "seconds to compile or load": loaded - start,
        "seconds for the map": end - loaded,
        "share of pixels within 1e-3": float(np.mean(widths <= TOLERANCE * (1.0 + 1e-9))),
        "share of pixels within 1e-9": float(np.mean(widths <= 1e-9)),
        "widest relative bracket": float(widths.max()),
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:30s} {value:.6g}")
