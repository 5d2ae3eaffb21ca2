"""The dataset of a sweep: its variables with descriptions, and its attributes."""

from __future__ import annotations

import json
import platform
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ravine.arguments import FloatArray
from ravine.engine.device import device_name
from ravine.engine.measures import Outcome
from ravine.engine.repeats import EARLIEST, LARGEST, VARIABLES, variable_names
from ravine.engine.schedule import Schedule
from ravine.engine.spec import Spec

_LONG_NAMES = {
    "rate": ("fitted linear rate of ||y - x*||", "per step"),
    "rate_se": ("standard error of the rate", "per step"),
    "rate_start": ("first step of the window in which the rate was fitted", "step"),
    "rate_stop": ("last step of the window in which the rate was fitted", "step"),
    "floor": ("noise floor: root mean square of ||y - x*|| over the second half", "||x||"),
    "floor_se": ("standard error of the noise floor", "||x||"),
    "floor_sup": ("noise floor: mean of max_i |y_i - x*_i| over the second half", "||x||"),
    "floor_sup_se": ("standard error of the noise floor in sup-norm", "||x||"),
    "outcome": ("outcome, the least favourable of the repeats", "1"),
    "diverged_share": ("share of the repeats that diverged", "1"),
    "diverged_at": ("first step at which a repeat had diverged, -1 if none did", "step"),
    "final_error": ("||y - x*|| after the last step, mean of the repeats", "||x||"),
    "final_error_se": ("standard error of the final error", "||x||"),
}


def variable_dtype(name: str) -> np.dtype[Any]:
    """Type of a variable of the dataset: steps and outcomes are whole numbers."""
    if VARIABLES[name][1] not in (EARLIEST, LARGEST):
        return np.dtype(np.float64)

    return np.dtype(np.int8 if name == "outcome" else np.int64)


class Assembly:
    """The dataset of a sweep in memory, filled with the variables of tiles as they arrive."""

    def __init__(self, spec: Spec, tiles: list[tuple[int, int]]) -> None:
        self._spec = spec
        self._tiles = tiles
        self.total = len(tiles)
        names = variable_names(spec.measures, spec.repeats)
        self._values = {name: np.empty(spec.pixels, variable_dtype(name)) for name in names}
        self._begun = 0  # pixels whose memory has been touched

    def missing(self) -> list[tuple[int, int]]:
        """Tiles to compute: all."""
        return self._tiles

    def keep(self, tile: tuple[int, int], part: dict[str, FloatArray]) -> None:
        """Store the variables of the pixels of a tile."""
        first, last = tile
        for name, values in part.items():
            self._values[name][first:last] = values

        # The system allocates a page of memory when it is first written. Do that now for the next
        # tile, while a GPU computes it, and not when the tile is ready.
        ahead = slice(max(self._begun, last), 2 * last - first)
        self._begun = max(self._begun, ahead.stop)
        for array in self._values.values():
            array[ahead] = 0

    def dataset(self) -> xr.Dataset:
        """Return the dataset of the sweep after all tiles have arrived."""
        shape = self._spec.shape
        values = {name: array.reshape(shape) for name, array in self._values.items()}
        return new_dataset(self._spec, values)


def new_dataset(spec: Spec, values: dict[str, npt.NDArray[Any]]) -> xr.Dataset:
    """Make the dataset of a sweep from its variables, each in the shape of the plane."""
    dims = ("pair",) if spec.pairs else ("alpha", "beta")
    data: dict[str, Any] = {}
    for name, array in values.items():
        long_name, units = _LONG_NAMES[name]
        data[name] = (dims, array, {"long_name": long_name, "units": units})

    if "outcome" in data:
        data["outcome"][2]["flag_values"] = [int(o) for o in Outcome]
        data["outcome"][2]["flag_meanings"] = " ".join(o.name.lower() for o in Outcome)
        data["outcome"][2]["sentences"] = "; ".join(o.sentence for o in Outcome)

    coords: dict[str, Any] = {
        "alpha": (dims[:1], spec.alphas, {"long_name": "step size", "units": "1 / curvature"}),
        "beta": (dims[-1:], spec.betas, {"long_name": "momentum", "units": "1"}),
    }
    if spec.gammas is not None:
        plane = np.broadcast_to(spec.gammas, spec.shape).copy()
        coords["gamma"] = (dims, plane, {"long_name": "look-ahead", "units": "1"})

    return xr.Dataset(data, coords, _made_by(spec))


def _made_by(spec: Spec) -> dict[str, Any]:
    """The arguments and versions of a sweep, as attributes that any file format keeps."""
    return {
        "title": f"sweep of {spec.problem.name}",
        "problem": spec.problem.name,
        "problem_parameters": json.dumps(spec.problem.parameters, default=str),
        "mu": float(spec.problem.curvature.mu),
        "L": float(spec.problem.curvature.L),
        "dimension": int(spec.problem.dimension),
        "method": _method(spec),
        "steps": spec.steps,
        "repeats": spec.repeats,
        "sampling": "none" if spec.sampling is None else spec.sampling.value,
        "sigma2": spec.sigma2,
        "noise": spec.noise if spec.sigma2 > 0.0 else "none",
        "measures": " ".join(spec.measures),
        "batch": spec.batch,
        "restart": str(spec.restart).lower(),
        "schedule": _shown(spec.schedule),
        "seed": str(spec.seed),  # as text, because not every format has unsigned 64-bit integers
        "start_distance": float(np.linalg.norm(spec.start - spec.problem.minimiser)),
        "dtype": spec.dtype,
        "device": device_name(spec.device),
        "machine": platform.machine(),
        "versions": _versions(),
    }


def _method(spec: Spec) -> str:
    if spec.methods is not None:
        return "linear methods, made from alpha and beta"

    return "nesterov" if spec.gammas is None else "family (alpha, beta, gamma)"


def _shown(schedule: Schedule | None) -> str:
    """A schedule as text, which any file format keeps."""
    if isinstance(schedule, np.ndarray):
        return json.dumps(schedule.tolist())

    return str(schedule).lower() if schedule is None else str(schedule)


@cache
def _versions() -> str:
    return json.dumps({name: version(name) for name in ("ravine", "numpy", "numba", "xarray")})
