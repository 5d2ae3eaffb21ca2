"""The figures of the reproduction by name: how each is computed, drawn and described."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import xarray as xr

from ravine.figures.style import Figure
from ravine.theory.ladder.rungs import RUNGS

QUICK_RESOLUTION = 24
"""Pixels along an axis of a quick map: enough for the shares that decide the claims."""


@dataclass(frozen=True, kw_only=True)
class FigureEntry:
    """A figure of the reproduction.

    Attributes
    ----------
    title, caption
        Text for readers.
    compute
        Computes data from keyword arguments, including ``resolution``, ``seed`` and ``device``
        where they apply.
    draw
        Draws a picture of the data.
    findings
        Describes the data in sentences.
    quick
        Keyword arguments for a quick result.
    """

    title: str
    caption: str
    compute: Callable[..., xr.Dataset]
    draw: Callable[[xr.Dataset], Figure]
    findings: Callable[[xr.Dataset], list[str]]
    quick: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self, *, resolution: int, quick: bool, seed: int, device: str) -> dict[str, Any]:
        """Those of the given keyword arguments that ``compute`` accepts."""
        pixels = min(resolution, QUICK_RESOLUTION) if quick else resolution
        asked = {"resolution": pixels, "seed": seed, "device": device}
        known = signature(self.compute).parameters
        everything = any(one.kind is one.VAR_KEYWORD for one in known.values())
        taken = {name: value for name, value in asked.items() if everything or name in known}
        return {**(self.quick if quick else {}), **taken}


def _entry(
    module: str, compute: str, draw: str, caption: str, findings: str = "findings", **others: Any
) -> FigureEntry:
    """The entry of a figure from its table in ``catalogue.toml``."""
    functions = import_module(f"ravine.figures.{module}")
    return FigureEntry(
        compute=getattr(functions, compute),
        draw=getattr(functions, draw),
        findings=getattr(functions, findings),
        caption=caption.format(regions="; ".join(rung.region for rung in RUNGS)),
        **others,
    )


_TEXT = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
FIGURES = {name: _entry(**table) for name, table in tomllib.loads(_TEXT).items()}
"""Figures in the order of the paper, then the new ones."""
