"""What the catalogue knows of a figure: how it is computed, drawn, and put into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
        apply.
    draw
        Data to a picture.
    findings
        Data to sentences.
    quick
        Keyword arguments that make it fast.
    mapped
        Whether it takes a resolution.
    seeded
        Whether it takes a seed.
    swept
        Whether a device can be chosen for it.
    """

    name: str
    title: str
    caption: str
    compute: Callable[..., xr.Dataset]
    draw: Callable[[xr.Dataset], Figure]
    findings: Callable[[xr.Dataset], list[str]]
    quick: Mapping[str, Any] = field(default_factory=dict)
    mapped: bool = False
    seeded: bool = True
    swept: bool = False

    def arguments(self, *, resolution: int, quick: bool, seed: int, device: str) -> dict[str, Any]:
        """The keyword arguments of ``compute``."""
        chosen: dict[str, Any] = {}
        if quick:
            chosen |= self.quick

        if self.mapped:
            chosen["resolution"] = min(resolution, QUICK_RESOLUTION) if quick else resolution
        if self.seeded:
            chosen["seed"] = seed
        if self.swept:
            chosen["device"] = device

        return chosen


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
