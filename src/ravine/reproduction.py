"""Reproduce the paper: plan figures and claims, compute and judge them, and write their page."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import xarray as xr

from ravine.arguments import known_name, refuse_too_large, seed_number, whole
from ravine.claims import CLAIMS
from ravine.claims.claim import Claim, JudgedClaim, Judgement, judge
from ravine.digits import counted
from ravine.engine.device import DEVICES
from ravine.figures.catalogue import FIGURES
from ravine.figures.style import save_picture
from ravine.files import written_whole
from ravine.markup import Cell
from ravine.report import Page

PICTURES = ("png", "svg")
"""Kinds of files in which a figure is drawn."""

MANIFEST = "manifest.json"
"""Record of the settings and times of a reproduction."""

_MARK = "reproduction"
"""Attribute of a data file that says what it was made with."""

_PACKAGES = ("ravine", "numpy", "scipy", "numba", "xarray", "matplotlib", "scikit-learn")


@dataclass(kw_only=True)
class Reproduction:
    """The figures and claims of a reproduction, and those that are done.

    Attributes
    ----------
    out
        Directory for all files.
    resolution, quick, seed, device
        As given.
    arguments
        For each figure, by name, the keyword arguments it is computed with.
    ready
        Figures whose data are there, complete and made with the same arguments.
    last
        The manifest of the previous run in ``out``; empty if there was none.
    data
        The data of each finished figure, by name.
    judged
        Claims with their judgements.
    claims_seconds, total_seconds
        Seconds for the claims, and for everything.
    """

    out: Path
    resolution: int
    quick: bool
    seed: int
    device: str
    arguments: dict[str, dict[str, Any]]
    ready: tuple[str, ...]
    last: dict[str, Any]
    data: dict[str, xr.Dataset] = field(default_factory=dict)
    judged: list[JudgedClaim] = field(default_factory=list)
    claims_seconds: float = 0.0
    total_seconds: float = 0.0

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds that the data of each finished figure took."""
        return {name: float(data.attrs["seconds"]) for name, data in self.data.items()}

    @property
    def left_out(self) -> list[Claim]:
        """Claims whose figures were not requested."""
        return [claim for claim in CLAIMS if not set(claim.needs) <= set(self.arguments)]

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims with each judgement, by the value of the judgement."""
        judgements = [judged.judgement for judged in self.judged]
        return {kind.value: judgements.count(kind) for kind in Judgement}

    @property
    def sentence(self) -> str:
        """Describe in one line what will be done, and how long it took last time."""
        pixels = f"{self.resolution} x {self.resolution} pixels"
        there = f", {len(self.ready)} of them done already" if self.ready else ""
        claims = len(CLAIMS) - len(self.left_out)
        return (
            f"{counted(len(self.arguments), 'figure')} at "
            f"{'quick settings' if self.quick else pixels}{there}, "
            f"and {counted(claims, 'claim')}, into {self.out}{os.sep}: {self._duration()}"
        )

    def _duration(self) -> str:
        """How long the remaining work took last time, if all of it was done here before."""
        before = self.last.get("figures", {})
        todo = [name for name in self.arguments if name not in self.ready]
        if not set(todo) <= set(before):
            return "not run here before"

        claims = self.last.get("claims_seconds", 0.0)
        figures = sum(before[name]["seconds"] for name in todo)
        return f"it took {figures + claims:.0f} s{'' if todo else ' for the claims'} last time"


def plan_reproduction(
    figures: Sequence[str] = (),
    *,
    out: str | os.PathLike[str],
    resolution: int = 100,
    quick: bool = False,
    fresh: bool = False,
    seed: int = 0,
    device: str = "auto",
) -> Reproduction:
    """Plan a reproduction.

    Parameters
    ----------
    figures
        Names from ``ravine.figures.catalogue.FIGURES``; all of them if none is given.
    out
        Directory for all files.
    resolution
        Pixels along each axis of a map, at least 8.
    quick
        Few pixels and trajectories, for a first look and for tests.
    fresh
        Repeat figures that are done already.
    seed
        Seed of every random draw.
    device
        "auto", "cpu" or "cuda".

    Returns
    -------
    Reproduction
        Nothing is run or written yet.
    """
    names = list(dict.fromkeys(figures)) or list(FIGURES)
    for name in names:
        known_name("figure", name, FIGURES)
    known_name("device", device, DEVICES)

    # With fewer than eight pixels, a map shows no regions.
    pixels = whole("resolution", resolution, 8, remedy="give pixels along an axis, e.g. 100")
    if not quick:
        # A figure has up to four planes with a dozen numbers per pixel, and its picture one more.
        refuse_too_large("resolution", 500 * pixels**2, pixels, "give fewer pixels")

    folder = Path(out)
    asked: dict[str, Any] = {
        "resolution": pixels, "quick": quick, "seed": seed_number("seed", seed), "device": device,
    }  # fmt: skip
    arguments = {name: FIGURES[name].arguments(**asked) for name in names}
    ready = [name for name in names if not fresh and _is_ready(folder, name, arguments[name])]
    last: dict[str, Any] = {}
    # A damaged manifest counts as none.
    with suppress(OSError, TypeError, ValueError):
        last = dict(**json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    return Reproduction(out=folder, arguments=arguments, ready=tuple(ready), last=last, **asked)


def mark_of(name: str, arguments: dict[str, Any]) -> str:
    """Attributes that a data file must have to be reused."""
    return json.dumps({"figure": name, "ravine": version("ravine"), **arguments}, sort_keys=True)


def _is_ready(folder: Path, name: str, arguments: dict[str, Any]) -> bool:
    """Whether the data of a figure exist, are complete and were computed with these arguments."""
    # Whatever error a missing or damaged file causes, the figure is computed again.
    try:
        with xr.open_dataset(folder / f"{name}.nc", engine="scipy") as data:
            return bool(data.attrs.get(_MARK) == mark_of(name, arguments))
    except Exception:
        return False


def carry_out(work: Reproduction, say: Callable[[str], None] = lambda line: None) -> Reproduction:
    """Compute the missing figures, judge the claims, and write data, pictures and claims.

    Every file is written under a temporary name and then renamed, so that an interrupted run leaves
    only complete files, and the next run continues from them.

    Parameters
    ----------
    work
        The plan.
    say
        Called with one line when each step begins.

    Returns
    -------
    Reproduction
        The plan, with its results.
    """
    began = time.monotonic()
    for place, name in enumerate(work.arguments, start=1):
        head = f"[{place}/{len(work.arguments)}] {name}"
        if name not in work.ready:
            say(f"{head}: {FIGURES[name].title}")
            _make(work, name)
        drawn = _load(work, name)
        if name in work.ready:
            say(f"{head}: done already" + (", drawn again" if drawn else ""))

    judging = time.monotonic()
    chosen = [claim for claim in CLAIMS if claim not in work.left_out]
    say(f"judging {len(chosen)} claims")
    work.judged = [judge(claim, work.data) for claim in chosen]
    work.claims_seconds = time.monotonic() - judging
    work.total_seconds = time.monotonic() - began

    write_json(work.out / "claims.json", [judged.as_json() for judged in work.judged])
    write_json(work.out / MANIFEST, _manifest(work))
    return work


def _make(work: Reproduction, name: str) -> None:
    """Compute and write the data of a figure."""
    arguments = work.arguments[name]
    began = time.monotonic()
    data = FIGURES[name].compute(**arguments)
    data.attrs |= {_MARK: mark_of(name, arguments), "seconds": time.monotonic() - began}

    # Delete pictures of old data first: if the run is interrupted here, the next one draws them.
    for kind in PICTURES:
        (work.out / f"{name}.{kind}").unlink(missing_ok=True)

    with written_whole(work.out / f"{name}.nc") as part:
        data.to_netcdf(part, engine="scipy")


def _load(work: Reproduction, name: str) -> bool:
    """Read the data of a figure from its file; draw missing pictures, and say whether any were."""
    data = work.data[name] = xr.load_dataset(work.out / f"{name}.nc", engine="scipy")
    missing = [kind for kind in PICTURES if not (work.out / f"{name}.{kind}").exists()]
    if missing:
        # The layout is computed once, not for every file.
        figure = FIGURES[name].draw(data)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for kind in missing:
            save_picture(figure, work.out / f"{name}.{kind}")

    return bool(missing)


def write_json(path: Path, value: Any) -> None:
    """Write JSON completely or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _manifest(work: Reproduction) -> dict[str, Any]:
    """The settings and times of this run, for the next one."""
    figures = {
        name: {
            "seconds": round(work.seconds[name], 2),
            "arguments": work.arguments[name],
            "files": [f"{name}.{kind}" for kind in ("nc", *PICTURES)],
        }
        for name in work.data
    }
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(work.total_seconds, 2),
        "claims_seconds": round(work.claims_seconds, 2),
        "verdicts": work.counts,
        "seed": work.seed,
        "device": work.device,
        "processors": os.cpu_count(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "figures": {**work.last.get("figures", {}), **figures},
    }


def reproduction_page(done: Reproduction) -> Page:
    """Write the page of a reproduction from its data, judgements and pictures."""
    page = Page(
        "Nesterov's method in stochastic settings: a reproduction",
        subtitle="Every figure and every claim of Assran and Rabbat, On the Convergence of "
        "Nesterov's Accelerated Gradient Method in Stochastic Settings (ICML 2020), run and judged",
        footer=f"Made by ravine {versions()['ravine']}. This page needs no other file.",
    )

    counts = done.counts
    page.lead(
        [
            f"Of {len(done.judged)} claims, {counts[Judgement.HOLDS]} hold, "
            f"{counts[Judgement.CORRECTED]} hold with a correction, {counts[Judgement.FAILS]} do "
            "not hold.",
            "Each verdict is computed from measurements of this run. Statements are paraphrased; "
            "theorems, lemmas and equations have the numbers of the paper.",
        ]
    )

    if done.left_out:
        needed = sorted({name for claim in done.left_out for name in claim.needs} - set(done.data))
        page.paragraph(
            f"{len(done.left_out)} more claims need figures that were not requested: "
            f"{', '.join(needed)}."
        )

    page.heading("What does not hold, or needs a correction")
    _claims(page, [one for one in done.judged if one.judgement is not Judgement.HOLDS])

    for name, data in done.data.items():
        figure = FIGURES[name]
        page.heading(figure.title)
        page.picture(done.out / f"{name}.png", figure.caption, formulas=True)
        page.bullets(figure.findings(data), formulas=True)

    page.heading("What holds")
    _claims(page, [one for one in done.judged if one.judgement is Judgement.HOLDS])

    page.heading("How it was made")
    size = "quick settings" if done.quick else f"{done.resolution} pixels along each axis"
    page.paragraph(
        f"Maps: {size}. Seed {done.seed}. Device: {done.device}. Everything follows from "
        "the seed: the same command gives the same numbers."
    )

    rows: list[list[Cell | str]] = []
    for name in done.data:
        arguments = done.arguments[name]
        words = ", ".join(f"{key} = {value}" for key, value in arguments.items()) or "none"
        seconds = Cell(f"{done.seconds[name]:.1f}", number=True)
        rows.append([name, seconds, words, f"{name}.nc"])

    rows.append(["claims", Cell(f"{done.claims_seconds:.1f}", number=True), "", "claims.json"])
    page.table(["Figure", Cell("Seconds", number=True), "Arguments", "Data"], rows)
    page.table(["Package", "Version"], [[name, number] for name, number in versions().items()])
    return page


def _claims(page: Page, judged: Sequence[JudgedClaim]) -> None:
    """A table of claims."""
    page.table(
        ["Where", "Claim", "Measured", "Exact, or what is right", "Verdict"],
        [one.cells for one in judged],
    )
