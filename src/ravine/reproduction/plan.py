"""What a reproduction is to make, and what of it is there already."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ravine.arguments import Refusal, refuse_too_large, seed_number, whole
from ravine.claims.catalogue import CLAIMS
from ravine.figures.catalogue import FIGURES

DEVICES = ("auto", "cpu", "cuda")

MANIFEST = "manifest.json"
"""What made the files of a reproduction, and how long it took."""

MARK = "reproduction"
"""Attribute of a data file that says what it was made with."""


@dataclass(frozen=True, kw_only=True)
class ReproductionPlan:
    """What a reproduction will do.

    Attributes
    ----------
    out
        Directory for all files.
    resolution, quick, seed, device
        As asked for.
    arguments
        For each figure, by name, the keyword arguments it is computed with.
    ready
        Figures whose data are there, complete and made with the same arguments.
    last
        What the manifest in ``out`` says of the run before; empty if there was none.
    """

    out: Path
    resolution: int
    quick: bool
    seed: int
    device: str
    arguments: dict[str, dict[str, Any]]
    ready: tuple[str, ...]
    last: dict[str, Any]

    @property
    def size(self) -> str:
        """How large the figures are, in words."""
        if self.quick:
            return "quick settings"

        return f"{self.resolution} x {self.resolution} pixels"

    @property
    def sentence(self) -> str:
        """One line: what will be done, and how long it took last time."""
        there = f", {len(self.ready)} of them there already" if self.ready else ""
        claims = sum(set(claim.needs) <= set(self.arguments) for claim in CLAIMS)
        return (
            f"{counted(len(self.arguments), 'figure')} at {self.size}{there}, "
            f"and {counted(claims, 'claim')}, "
            f"into {self.out}{os.sep}: {self._duration()}"
        )

    def _duration(self) -> str:
        """How long what is left to do took last time, if all of it was done here before."""
        claims = self.last.get("claims_seconds", 0.0)
        todo = [name for name in self.arguments if name not in self.ready]
        if not todo:
            return f"it took {claims:.0f} s for the claims last time"

        before = self.last.get("figures", {})
        if not set(todo) <= set(before):
            return "not run here before"

        figures = sum(before[name]["seconds"] for name in todo)
        return f"it took {figures + claims:.0f} s last time"


def plan_reproduction(
    figures: Sequence[str] = (),
    *,
    out: str | os.PathLike[str],
    resolution: int = 100,
    quick: bool = False,
    fresh: bool = False,
    seed: int = 0,
    device: str = "auto",
) -> ReproductionPlan:
    """Decide what to run.

    Parameters
    ----------
    figures
        Names from ``ravine.figures.catalogue.FIGURES``; all of them if none is given.
    out
        Directory for all files.
    resolution
        Pixels along each axis of a map, at least 8.
    quick
        Few pixels and trajectories: for a first look, and for tests.
    fresh
        Run again what is there already.
    seed
        Of every random draw.
    device
        "auto", "cpu" or "cuda".

    Returns
    -------
    ReproductionPlan
        Nothing is written yet.
    """
    names = list(dict.fromkeys(figures)) or list(FIGURES)
    for name in names:
        if name not in FIGURES:
            rule = f"one of {', '.join(FIGURES)}"
            raise Refusal("figure", rule, repr(name), "pick some of these names")

    if device not in DEVICES:
        rule = f"one of {', '.join(DEVICES)}"
        raise Refusal("device", rule, repr(device), "pick one of these names")

    # With fewer pixels than eight a map has no region to speak of.
    pixels = whole("resolution", resolution, 8, remedy="give pixels along an axis, e.g. 100")
    if not quick:
        # A figure has up to four planes of a dozen numbers a pixel, and the picture another.
        refuse_too_large("resolution", 500 * pixels**2, pixels, "give fewer pixels")
    origin = seed_number("seed", seed)

    folder = Path(out)
    arguments = {
        name: FIGURES[name].arguments(resolution=pixels, quick=quick, seed=origin, device=device)
        for name in names
    }
    ready = [name for name in names if _is_ready(folder, name, arguments[name])]

    return ReproductionPlan(
        out=folder,
        resolution=pixels,
        quick=quick,
        seed=origin,
        device=device,
        arguments=arguments,
        ready=() if fresh else tuple(ready),
        last=_read_manifest(folder),
    )


def counted(number: int, thing: str) -> str:
    """A number of things in words.

    Examples
    --------
    >>> counted(1, "claim"), counted(2, "claim")
    ('1 claim', '2 claims')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def mark_of(name: str, arguments: dict[str, Any]) -> str:
    """What a data file must say of itself to be used again."""
    return json.dumps({"figure": name, "ravine": version("ravine"), **arguments}, sort_keys=True)


def _is_ready(folder: Path, name: str, arguments: dict[str, Any]) -> bool:
    """Whether the data of a figure are there, whole, and made with these arguments."""
    path = folder / f"{name}.nc"
    if not path.exists():
        return False

    import xarray as xr

    # Whatever a damaged file makes the reader raise, it is to be made again.
    try:
        with xr.open_dataset(path, engine="scipy") as data:
            return bool(data.attrs.get(MARK) == mark_of(name, arguments))
    except Exception:
        return False


def _read_manifest(folder: Path) -> dict[str, Any]:
    """What the run before left; empty if there was none, or if it cannot be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}

    return manifest if isinstance(manifest, dict) else {}
