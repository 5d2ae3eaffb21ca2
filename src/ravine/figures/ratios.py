"""Figures with one panel per condition number: their data, and their values as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr


def over_ratios(rows: Sequence[xr.Dataset], Q: npt.ArrayLike, **attributes: Any) -> xr.Dataset:
    """Join data sets, one per condition number."""
    together = xr.concat(rows, dim="Q", combine_attrs="drop_conflicts")
    return together.assign_coords(Q=np.asarray(Q)).assign_attrs(attributes)


def at_each_ratio(data: xr.Dataset, values: npt.ArrayLike, form: str = ".2%") -> str:
    """Describe one value per condition number.

    Examples
    --------
    >>> at_each_ratio(xr.Dataset(coords={"Q": [2.0, 8.0]}), [0.5, 0.25])
    '50.00% at Q = 2, 25.00% at Q = 8'
    """
    pairs = zip(data["Q"].values, np.asarray(values), strict=True)
    return ", ".join(f"{value:{form}} at Q = {Q:.3g}" for Q, value in pairs)
