"""What the catalogue knows of a figure: how it is computed, drawn, and put into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr
    from matplotlib.figure import Figure

QUICK_RESOLUTION = 24
"""Pixels along an axis of a quick map: enough for the shares that the claims are judged by."""


@dataclass(frozen=True, kw_only=True)
class FigureEntry:
    """A figure of the reproduction.

    Attributes
    ----------
    name
        What the command line and the files call it.
    title, caption
        For people.
    compute
        Keyword arguments to data; ``resolution``, ``seed`` and ``device`` among them where they
        apply, or any.
    draw
        Data to a picture.
    findings
        Data to sentences.
    quick
        Keyword arguments that make it fast.
    """

    name: str
    title: str
    caption: str
    compute: Callable[..., xr.Dataset]
    draw: Callable[[xr.Dataset], Figure]
    findings: Callable[[xr.Dataset], list[str]]
    quick: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self, *, resolution: int, quick: bool, seed: int, device: str) -> dict[str, Any]:
        """The keyword arguments of ``compute``: those of these that it takes."""
        pixels = min(resolution, QUICK_RESOLUTION) if quick else resolution
        asked = {"resolution": pixels, "seed": seed, "device": device}
        known = signature(self.compute).parameters
        everything = any(one.kind is one.VAR_KEYWORD for one in known.values())
        taken = {name: value for name, value in asked.items() if everything or name in known}
        return {**(self.quick if quick else {}), **taken}


def over_ratios(rows: Sequence[xr.Dataset], Q: npt.ArrayLike, **attributes: Any) -> xr.Dataset:
    """One data set of several, each for a condition number."""
    import xarray as xr

    together = xr.concat(rows, dim="Q", combine_attrs="drop_conflicts")
    return together.assign_coords(Q=np.asarray(Q)).assign_attrs(attributes)


def at_each_ratio(data: xr.Dataset, values: npt.ArrayLike, form: str = ".2%") -> str:
    """Put one value for each condition number into words.

    Examples
    --------
    >>> import xarray as xr
    >>> at_each_ratio(xr.Dataset(coords={"Q": [2.0, 8.0]}), [0.5, 0.25])
    '50.00% at Q = 2, 25.00% at Q = 8'
    """
    pairs = zip(data["Q"].values, np.asarray(values), strict=True)
    return ", ".join(f"{value:{form}} at Q = {Q:.3g}" for Q, value in pairs)
