"""Any problem and any linear method, run by run, in plain Python.

A thousand times slower than the compiled kernels, but otherwise the same.
"""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray, Refusal
from ravine.engine.measures import FIELDS, fields_of
from ravine.engine.run import trace
from ravine.engine.spec import Spec
from ravine.linear_method import LinearMethod
from ravine.methods import Method


def check(spec: Spec) -> None:
    """Refuse options that a run does not support."""
    if spec.dtype != "float64":
        rule = "float64 for this problem or method"
        raise Refusal("dtype", rule, repr(spec.dtype), "omit it")


def _method(spec: Spec, pixel: int) -> Method | LinearMethod:
    if spec.methods is not None:
        return LinearMethod(*spec.methods[pixel])

    alpha, beta, gamma = (values[0] for values in spec.parameters(np.array([pixel])))
    return Method(alpha, beta, None if spec.gammas is None else gamma)


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep; see ``kernels.table``."""
    out = np.empty((last - first, spec.repeats, len(FIELDS)))
    for p in range(last - first):
        method = _method(spec, first + p)
        for r in range(spec.repeats):
            trajectory = (0 if spec.noise == "shared" else first + p) | (r << 32)
            measures = trace(spec, method, trajectory).measures
            out[p, r] = [measures[name] for name in FIELDS]

    return fields_of(out, spec.repeats)
