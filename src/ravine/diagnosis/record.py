"""A diagnosis as plain numbers and words, for JSON."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.diagnosis.candidates import Recipe
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.ladder.certificate import Certificate

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis


def record(result: Diagnosis) -> dict[str, Any]:
    """The documented keys of ``ravine diagnose --json``; errors are E‖y - x*‖², squared."""
    from ravine import __version__

    best, quick, scaled = result.recommendation, result.quick, result.scaling
    survey, batching, why = result.survey, result.survey.batching, result.disagreement
    bounds, point = survey.certified_curvature, survey.minimiser
    held = "everywhere" if survey.quadratic else "at x*"
    share = {} if best is None else {"excess_share": result.share(best.loss)}

    everything = {
        **_named(result, "verdict", "answer", "findings", "remedies_computed", "left_out"),
        **_named(result, "epochs", "steps", "seed", "seconds"),
        **_named(survey, "interpolates", "sigma", "exact"),
        "data": {
            **_named(result, "name"),
            **_named(result.setup, "loss", "l2"),
            **_named(survey.model, "features", "dimension"),
            **_named(batching, "rows", "batch_size", batches="steps_per_epoch"),
            **_named(survey, "start_excess", "start_square"),
            **_named(survey.minimum, minimum="value", flat_directions="flat"),
        },
        "curvature": {**_named(survey.curvature, "mu", "L", "Q"), "holds": held},
        "all_batches": bounds and {**_named(bounds, "mu", "L", "Q"), "holds": "everywhere"},
        "batches": {
            "mu": survey.local[:, 0],
            "L": survey.local[:, 1],
            "gradient_at_minimiser": survey.gradient_sizes,
        },
        "minimiser": point if len(point) <= 1000 else None,
        "disagreement": {
            **_named(why, "size", "batches", "shares", "rows", "row_shares"),
            "curvature_over_average": why.ratios,
            "direction": [{"column": name, "weight": weight} for name, weight in why.columns],
        },
        "methods": [_method(result, i) for i in range(len(result.predictions))],
        "recommended": best and best.candidate.key,
        "quick": quick and quick.candidate.key,
        "advice": best and {**plain(best.candidate.recipe), **share, "epochs": result.epochs},
        "scaling": scaled
        and {
            **_named(scaled, "Q", "gain", excess_share="share_after"),
            **_named(scaled, excess_share_before="share_before"),
            **plain(scaled.recipe),
        },
        "remedies": [{**plain(r), "works": r.works} for r in result.remedies],
        "batches_are": "fixed" if batching.fixed else "new",
        "sampling": batching.sampling,
        "ravine_version": __version__,
    }
    return {key: plain(value) for key, value in everything.items()}


def plain(value: Any) -> Any:
    """The same of dicts, lists, texts and finite numbers; None for a number that JSON lacks.

    A record is the dict of its fields. A few are known by other names, and rates of a mean square
    are those of the distance: the roots.
    """
    match value:
        case Enum():
            return value.value
        case Recipe(method=method, schedule=schedule):
            parameters = {name: float(getattr(method, name)) for name in ("alpha", "beta", "gamma")}
            shape = _named(schedule, "constant_share", schedule="words")
            return {**parameters, **shape, "averaged": value.averaged}
        case Growth():
            power = 0.5 if value.sense.power == 2 else 1.0
            ends = {"rate": value.value, "low": value.low, "high": value.high}
            rest = _named(value, "exact", "sampling")
            return plain({**{key: end**power for key, end in ends.items()}, **rest})
        case Certificate():
            return plain(_named(value, "rate", "P", "transient_gain", "noise_gain"))
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case float():
            return value if math.isfinite(value) else None

    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}

    return value


def _named(thing: Any, *names: str, **others: str) -> dict[str, Any]:
    """Some attributes of a thing by their names, or by other names: ``key="attribute"``."""
    keys = {name: name for name in names} | others
    return {key: getattr(thing, name) for key, name in keys.items()}


def _method(result: Diagnosis, i: int) -> dict[str, Any]:
    """Predictions for a method, and the results of its runs."""
    p, runs = result.predictions[i], result.runs
    known = {f.name: getattr(p, f.name) for f in fields(p) if f.name not in ("candidate", "curve")}
    kept = runs.watched

    return {
        **_named(p.candidate, "key", "name", "reason", "certificate"),
        **plain(p.candidate.recipe),
        **known,
        "measured": {
            "steps": runs.steps,
            "error": runs.squares[:, :, i].mean(axis=1),
            "loss_steps": runs.steps[kept],
            "excess": runs.excess[kept][:, :, i].mean(axis=1),
            "diverged": int((runs.diverged_at[0, :, i] >= 0).sum()),
            "runs": runs.seeds,
        },
    }
