"""The reproduction of the paper: which figures, what is there already, data, pictures, verdicts."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ravine.arguments import Refusal, whole
from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import Claim, Evidence, Judged, Verdict, judge, judgeable
from ravine.figures.catalogue import FIGURES
from ravine.figures.style import DPI

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

DEVICES = ("auto", "cpu", "cuda")
MANIFEST = "manifest.json"
_PACKAGES = ("ravine", "numpy", "scipy", "numba", "xarray", "matplotlib", "scikit-learn")
_MARK = "reproduction"  # attribute of a data file that says what it was made with


@dataclass(frozen=True)
class Plan:
    """What a reproduction will do.

    Attributes
    ----------
    arguments
        For each figure, by name, the keyword arguments it is computed with.
    ready
        Figures whose data are there, complete and made with the same arguments.
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
    def sentence(self) -> str:
        """One line: what will be done, and how long it took last time."""
        todo = [name for name in self.arguments if name not in self.ready]
        pixels = f"{self.resolution} x {self.resolution} pixels"
        size = "quick settings" if self.quick else pixels
        there = f", {len(self.ready)} of them there already" if self.ready else ""
        times = self.last.get("figures", {})
        known = [times[name]["seconds"] for name in todo if name in times]
        if not todo:
            took = f"{self.last.get('claims_seconds', 0.0):.0f} s for the claims"
        elif len(known) == len(todo):
            took = f"{sum(known) + self.last.get('claims_seconds', 0.0):.0f} s"
        else:
            took = ""
        claims = sum(set(claim.needs) <= set(self.arguments) for claim in CLAIMS)
        last = f"it took {took} last time" if took else "not run here before"
        return (
            f"{len(self.arguments)} figures at {size}{there}, and {claims} claims, "
            f"into {self.out}{os.sep}: {last}"
        )


@dataclass
class Reproduction:
    """What a reproduction left behind."""

    plan: Plan
    data: dict[str, xr.Dataset] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    judged: list[Judged] = field(default_factory=list)
    left_out: list[Claim] = field(default_factory=list)
    claims_seconds: float = 0.0
    total_seconds: float = 0.0

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims with each verdict."""
        return {v.value: sum(j.verdict is v for j in self.judged) for v in Verdict}


def plan(
    figures: Sequence[str] = (),
    *,
    out: str | os.PathLike[str],
    resolution: int = 100,
    quick: bool = False,
    fresh: bool = False,
    seed: int = 0,
    device: str = "auto",
) -> Plan:
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
    """
    names = list(dict.fromkeys(figures)) or list(FIGURES)
    for name in names:
        if name not in FIGURES:
            rule = f"one of {', '.join(FIGURES)}"
            raise Refusal("figure", rule, repr(name), "pick some of these names")
    if device not in DEVICES:
        rule = f"one of {', '.join(DEVICES)}"
        raise Refusal("device", rule, repr(device), "pick one of these names")
    pixels = whole("resolution", resolution, 8, remedy="give pixels along an axis, e.g. 100")
    origin = whole("seed", seed, 0, remedy="give a seed, e.g. 0")
    folder = Path(out)
    arguments = {
        name: FIGURES[name].arguments(resolution=pixels, quick=quick, seed=origin, device=device)
        for name in names
    }
    ready = () if fresh else tuple(n for n in names if _is_ready(folder, n, arguments[n]))
    return Plan(
        folder, pixels, quick, origin, device, arguments, ready, _read_json(folder / MANIFEST)
    )


def carry_out(plan: Plan, say: Callable[[str], None] = lambda line: None) -> Reproduction:
    """Run what is not there yet, judge the claims, and write data, pictures and claims.

    Every file is written beside its name and then moved there, so that whatever stops the run
    leaves whole files only; the next run goes on from them.
    """
    import xarray as xr

    began = time.monotonic()
    plan.out.mkdir(parents=True, exist_ok=True)
    done = Reproduction(plan)
    for i, name in enumerate(plan.arguments, start=1):
        head = f"[{i}/{len(plan.arguments)}] {name}"
        path = plan.out / f"{name}.nc"
        if name in plan.ready:
            done.data[name] = xr.load_dataset(path, engine="scipy")
            done.seconds[name] = float(done.data[name].attrs["seconds"])
            drawn = _draw_missing(plan.out, name, done.data[name])
            say(f"{head}: there already" + (", drawn again" if drawn else ""))
            continue
        say(f"{head}: {FIGURES[name].title}")
        since = time.monotonic()
        data = FIGURES[name].compute(**plan.arguments[name])
        done.seconds[name] = time.monotonic() - since
        data.attrs |= {_MARK: _mark(name, plan.arguments[name]), "seconds": done.seconds[name]}
        for kind in ("png", "svg"):
            (plan.out / f"{name}.{kind}").unlink(missing_ok=True)
        with _beside(path) as part:
            data.to_netcdf(part, engine="scipy")
        done.data[name] = data
        _draw_missing(plan.out, name, data)
    _judge(done, say)
    done.total_seconds = time.monotonic() - began
    write_json(plan.out / "claims.json", [judged.as_json() for judged in done.judged])
    write_json(plan.out / MANIFEST, _manifest(done))
    return done


def _judge(done: Reproduction, say: Callable[[str], None]) -> None:
    since = time.monotonic()
    evidence = Evidence(done.data)
    chosen = judgeable(CLAIMS, evidence)
    say(f"judging {len(chosen)} claims")
    done.judged = [judge(claim, evidence) for claim in chosen]
    done.left_out = [claim for claim in CLAIMS if claim not in chosen]
    done.claims_seconds = time.monotonic() - since


def _draw_missing(out: Path, name: str, data: xr.Dataset) -> bool:
    missing = [kind for kind in ("png", "svg") if not (out / f"{name}.{kind}").exists()]
    if missing:
        figure = FIGURES[name].draw(data)
        # The layout is worked out once, not for every file.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for kind in missing:
            with _beside(out / f"{name}.{kind}") as part:
                save_picture(figure, part, kind)
    return bool(missing)


def save_picture(figure: Figure, path: Path, kind: str) -> None:
    """Save a picture without the date, so that the same data give the same file."""
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(path, format=kind, dpi=DPI, metadata=metadata)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give a name beside ``path`` to write to; move it there when all went well."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    with _beside(path) as part:
        part.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _mark(name: str, arguments: dict[str, Any]) -> str:
    """What a data file must say of itself to be used again."""
    return json.dumps({"figure": name, "ravine": version("ravine"), **arguments}, sort_keys=True)


def _is_ready(out: Path, name: str, arguments: dict[str, Any]) -> bool:
    path = out / f"{name}.nc"
    if not path.exists():
        return False
    import xarray as xr

    try:
        with xr.open_dataset(path, engine="scipy") as data:
            return bool(data.attrs.get(_MARK) == _mark(name, arguments))
    except Exception:
        return False


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _manifest(done: Reproduction) -> dict[str, Any]:
    """What made the files, and how long it took: read again by the next run."""
    before = done.plan.last.get("figures", {})
    figures = {
        name: {
            "seconds": round(done.seconds[name], 2),
            "arguments": done.plan.arguments[name],
            "files": [f"{name}.{kind}" for kind in ("nc", "png", "svg")],
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
