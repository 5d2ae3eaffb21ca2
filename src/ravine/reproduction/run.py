"""Carrying out a reproduction: data, pictures, judgements, and a manifest of what made them."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import Claim, JudgedClaim, Judgement, judge
from ravine.figures.catalogue import FIGURES
from ravine.figures.style import DPI
from ravine.files import written_whole
from ravine.reproduction.plan import MANIFEST, MARK, ReproductionPlan, mark_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

PICTURES = ("png", "svg")
"""Kinds of files in which a figure is drawn."""

_PACKAGES = ("ravine", "numpy", "scipy", "numba", "xarray", "matplotlib", "scikit-learn")


@dataclass
class Reproduction:
    """What a reproduction left behind.

    Attributes
    ----------
    plan
        What was to be done.
    data, seconds
        For each figure, by name, its data and how long they took to compute.
    judged, left_out
        Claims with their judgements, and those whose figures were not asked for.
    claims_seconds, total_seconds
        How long the claims took, and all of it.
    """

    plan: ReproductionPlan
    data: dict[str, xr.Dataset] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    judged: list[JudgedClaim] = field(default_factory=list)
    left_out: list[Claim] = field(default_factory=list)
    claims_seconds: float = 0.0
    total_seconds: float = 0.0

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims with each judgement, by its words."""
        judgements = [judged.judgement for judged in self.judged]
        return {kind.value: judgements.count(kind) for kind in Judgement}


def carry_out(
    plan: ReproductionPlan, say: Callable[[str], None] = lambda line: None
) -> Reproduction:
    """Run what is not there yet, judge the claims, and write data, pictures and claims.

    Every file is written beside its name and then moved there, so that whatever stops the run
    leaves whole files only; the next run goes on from them.

    Parameters
    ----------
    plan
        What to do.
    say
        Takes a line on each step as it begins.
    """
    began = time.monotonic()
    plan.out.mkdir(parents=True, exist_ok=True)

    done = Reproduction(plan)
    for place, name in enumerate(plan.arguments, start=1):
        head = f"[{place}/{len(plan.arguments)}] {name}"
        if name in plan.ready:
            _load(done, name, head, say)
        else:
            say(f"{head}: {FIGURES[name].title}")
            _make(done, name)

    _judge(done, say)
    done.total_seconds = time.monotonic() - began

    write_json(plan.out / "claims.json", [judged.as_json() for judged in done.judged])
    write_json(plan.out / MANIFEST, _manifest(done))
    return done


def _load(done: Reproduction, name: str, head: str, say: Callable[[str], None]) -> None:
    """Take the data of a figure from its file; draw what pictures are missing."""
    import xarray as xr

    out = done.plan.out
    data = xr.load_dataset(out / f"{name}.nc", engine="scipy")
    done.data[name] = data
    done.seconds[name] = float(data.attrs["seconds"])

    drawn = _draw_missing(out, name, data)
    say(f"{head}: there already" + (", drawn again" if drawn else ""))


def _make(done: Reproduction, name: str) -> None:
    """Compute the data of a figure, write and draw them."""
    out = done.plan.out
    arguments = done.plan.arguments[name]

    began = time.monotonic()
    data = FIGURES[name].compute(**arguments)
    seconds = time.monotonic() - began
    data.attrs |= {MARK: mark_of(name, arguments), "seconds": seconds}

    # Pictures of other data go first: should the run end here, they are drawn again.
    for kind in PICTURES:
        (out / f"{name}.{kind}").unlink(missing_ok=True)

    with written_whole(out / f"{name}.nc") as part:
        data.to_netcdf(part, engine="scipy")

    _draw_missing(out, name, data)

    done.data[name] = data
    done.seconds[name] = seconds


def _judge(done: Reproduction, say: Callable[[str], None]) -> None:
    """Judge every claim whose figures are at hand."""
    began = time.monotonic()
    chosen = [claim for claim in CLAIMS if set(claim.needs) <= set(done.data)]
    say(f"judging {len(chosen)} claims")

    done.judged = [judge(claim, done.data) for claim in chosen]
    done.left_out = [claim for claim in CLAIMS if claim not in chosen]
    done.claims_seconds = time.monotonic() - began


def _draw_missing(out: Path, name: str, data: xr.Dataset) -> bool:
    """Draw the pictures of a figure that are not there; say whether any was."""
    missing = [kind for kind in PICTURES if not (out / f"{name}.{kind}").exists()]
    if not missing:
        return False

    # The layout is worked out once, not for every file.
    figure = FIGURES[name].draw(data)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")

    for kind in missing:
        with written_whole(out / f"{name}.{kind}") as part:
            save_picture(figure, part, kind)

    return True


def save_picture(figure: Figure, path: Path, kind: str) -> None:
    """Save a picture so that the same data give the same file: no date, and ids that stay."""
    import matplotlib as mpl

    metadata = {"Date": None} if kind == "svg" else {"Software": None}

    with mpl.rc_context({"svg.hashsalt": "ravine"}):
        figure.savefig(path, format=kind, dpi=DPI, metadata=metadata)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on."""
    packages = {name: version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **packages}


def _manifest(done: Reproduction) -> dict[str, Any]:
    """What made the files, and how long it took: read again by the next run."""
    before = done.plan.last.get("figures", {})
    figures = {
        name: {
            "seconds": round(done.seconds[name], 2),
            "arguments": done.plan.arguments[name],
            "files": [f"{name}.{kind}" for kind in ("nc", *PICTURES)],
        }
        for name in done.data
    }

    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(done.total_seconds, 2),
        "claims_seconds": round(done.claims_seconds, 2),
        "verdicts": done.counts,
        "seed": done.plan.seed,
        "device": done.plan.device,
        "processors": os.cpu_count(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "figures": {**before, **figures},
    }
