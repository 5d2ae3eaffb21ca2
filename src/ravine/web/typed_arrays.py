"""Arrays as Plotly reads them fastest: base64 of their bytes, with type and shape."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

_CODES = {"float32": "f4", "float64": "f8", "uint8": "u1", "int32": "i4"}


def typed(values: npt.ArrayLike, kind: str = "float32") -> dict[str, Any]:
    """Return the typed-array form of ``values``; single precision is finer than any screen.

    Examples
    --------
    >>> typed([1.0, 2.0])
    {'dtype': 'f4', 'bdata': 'AACAPwAAAEA='}
    """
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(values, dtype=kind)

    packed: dict[str, Any] = {
        "dtype": _CODES[kind],
        "bdata": base64.b64encode(array.tobytes()).decode("ascii"),
    }
    if array.ndim > 1:
        packed["shape"] = ", ".join(str(side) for side in array.shape)

    return packed
