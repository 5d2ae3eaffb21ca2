"""A diagnosis as plain numbers and words, for JSON."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.curvature import Curvature
from ravine.diagnosis.prediction import Prediction
from ravine.diagnosis.recipe import Recipe
from ravine.diagnosis.runs import Runs
from ravine.theory.finite_sums.growth import Growth

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis

_LONGEST_MINIMISER = 1000
"""Coordinates up to which the minimiser is written out."""


def record(result: Diagnosis) -> dict[str, Any]:
    """The documented keys of ``ravine diagnose --json``; errors are E‖y - x*‖², squared."""
    from ravine import __version__

    best, quick, scaled = result.recommendation, result.quick, result.scaling
    survey, batching, why = result.survey, result.survey.batching, result.disagreement
    point = survey.minimiser
    everything = {
        "verdict": result.verdict,
        "answer": result.answer,
        "data": {
            "name": result.name, "rows": batching.rows, "features": survey.model.features,
            "dimension": survey.model.dimension, "loss": result.setup.loss, "l2": result.setup.l2,
            "batch_size": batching.batch_size, "batches": batching.steps_per_epoch,
            "start_excess": survey.start_excess, "start_square": survey.start_square,
            "minimum": survey.minimum.value, "flat_directions": survey.minimum.flat,
        },
        "findings": result.findings,
        "curvature": _curvature(survey.curvature, "everywhere" if survey.quadratic else "at x*"),
        "all_batches": _curvature(survey.certified_curvature, "everywhere"),
        "batches": {
            "mu": survey.local[:, 0], "L": survey.local[:, 1],
            "gradient_at_minimiser": survey.gradient_sizes,
        },
        "minimiser": point if len(point) <= _LONGEST_MINIMISER else None,
        "interpolates": survey.interpolates, "sigma": survey.sigma, "exact": survey.exact,
        "disagreement": {
            "size": why.size, "batches": why.batches, "shares": why.shares,
            "curvature_over_average": why.ratios, "rows": why.rows, "row_shares": why.row_shares,
            "direction": [{"column": name, "weight": weight} for name, weight in why.columns],
        },
        "methods": [
            {**_prediction(p), "measured": _measured(result.runs, i)}
            for i, p in enumerate(result.predictions)
        ],
        "recommended": None if best is None else best.candidate.key,
        "quick": None if quick is None else quick.candidate.key,
        "advice": None if best is None else {
            **_recipe(best.candidate.recipe), "excess_share": result.share(best.loss),
            "epochs": result.epochs,
        },
        "scaling": None if scaled is None else {
            "Q": scaled.Q, "excess_share": scaled.share_after,
            "excess_share_before": scaled.share_before, "gain": scaled.gain,
            **_recipe(scaled.recipe),
        },
        "remedies": [{**plain(r), "works": r.works} for r in result.remedies],
        "remedies_computed": result.remedies_computed, "left_out": result.left_out,
        "batches_are": "fixed" if batching.fixed else "new", "sampling": batching.sampling,
        "epochs": result.epochs, "steps": result.steps, "seed": result.seed,
        "seconds": result.seconds, "ravine_version": __version__,
    }  # fmt: skip
    return {key: plain(value) for key, value in everything.items()}


def plain(value: Any) -> Any:
    """The same of dicts, lists, texts and finite numbers; None for a number that JSON lacks."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None

    return value


def _curvature(c: Curvature | None, holds: str) -> dict[str, Any] | None:
    if c is None:
        return None

    return {"mu": float(c.mu), "L": float(c.L), "Q": float(c.Q), "holds": holds}


def _recipe(recipe: Recipe) -> dict[str, Any]:
    method = recipe.method
    return {
        "alpha": float(method.alpha), "beta": float(method.beta), "gamma": float(method.gamma),
        "schedule": recipe.schedule.words, "constant_share": recipe.schedule.constant_share,
        "averaged": recipe.averaged,
    }  # fmt: skip


def _prediction(p: Prediction) -> dict[str, Any]:
    proof = p.candidate.certificate
    return {
        "key": p.candidate.key, "name": p.candidate.name, "reason": p.candidate.reason,
        **_recipe(p.candidate.recipe),
        "outcome": p.outcome, "spectral_radius": p.spectral_radius,
        "mean_square": _growth(p.mean_square), "almost_sure": _growth(p.almost_sure),
        "worst_case_rate": p.worst_case, "critical_batch_size": p.critical_batch,
        "certificate": None if proof is None else {
            "rate": proof.rate, "P": proof.P, "transient_gain": proof.transient_gain,
            "noise_gain": proof.noise_gain,
        },
        "floor": p.floor, "excess_floor": p.floor_excess,
        "error_after": p.error_after, "excess_after": p.excess_after,
        "steps_to_1_percent": p.to_near, "held_out_loss": p.held_out,
    }  # fmt: skip


def _growth(g: Growth) -> dict[str, Any]:
    """Rates per step of the distance: of a mean square, the roots."""
    power = 0.5 if g.sense.power == 2 else 1.0
    return {
        "rate": g.value**power, "low": g.low**power, "high": g.high**power, "exact": g.exact,
        "sampling": g.sampling,
    }  # fmt: skip


def _measured(runs: Runs, i: int) -> dict[str, Any]:
    kept = runs.watched
    return {
        "steps": runs.steps, "error": runs.squares[:, :, i].mean(axis=1),
        "loss_steps": runs.steps[kept], "excess": runs.excess[kept][:, :, i].mean(axis=1),
        "diverged": int((runs.diverged_at[0, :, i] >= 0).sum()), "runs": runs.seeds,
    }  # fmt: skip
