"""A diagnosis as plain numbers and words, for JSON and for data frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.diagnosis.estimate import Estimate
from ravine.diagnosis.measurement import Runs
from ravine.diagnosis.prediction import Prediction
from ravine.diagnosis.recipe import Recipe
from ravine.theory.finite_sums.growth import Growth

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis

_LONGEST_MINIMISER = 1000
"""Coordinates up to which the minimiser is written out."""


def record(result: Diagnosis) -> dict[str, Any]:
    """The documented keys of ``ravine diagnose --json``; errors are E‖y - x*‖², squared."""
    from ravine import __version__

    best = result.recommendation
    quick = result.quick

    return {
        "verdict": result.verdict,
        "answer": _plain(result.answer.to_dict()),
        "data": _data(result),
        "findings": [
            {"kind": f.kind, "message": f.message, "remedy": f.remedy, "columns": list(f.columns)}
            for f in result.findings
        ],
        **_curvatures(result),
        "disagreement": _disagreement(result),
        "methods": [
            {**_prediction(p), "measured": _measured(result.runs, i)}
            for i, p in enumerate(result.predictions)
        ],
        "recommended": None if best is None else best.candidate.key,
        "quick": None if quick is None else quick.candidate.key,
        "advice": None if best is None else {
            **_recipe(best.candidate.recipe),
            "excess_share": best.loss / result.survey.start_excess,
            "epochs": result.epochs,
        },
        "scaling": _scaling(result),
        "remedies": [
            {"kind": r.kind, "action": r.action, "rate": r.rate, "outcome": r.outcome.value,
             "works": r.works}
            for r in result.remedies
        ],
        "remedies_computed": result.remedies_computed,
        "left_out": list(result.left_out),
        "batches_are": result.survey.cut.batches.value,
        "sampling": result.sampling.value, "epochs": result.epochs, "steps": result.steps,
        "seed": result.seed, "seconds": result.seconds, "ravine_version": __version__,
    }  # fmt: skip


def _data(result: Diagnosis) -> dict[str, Any]:
    survey = result.survey
    return {
        "name": result.name, "rows": survey.cut.rows, "features": survey.model.features,
        "dimension": survey.model.dimension, "loss": survey.model.loss.name,
        "l2": survey.model.l2, "batch_size": survey.cut.batch_size,
        "batches": survey.cut.steps_per_epoch, "start_excess": survey.start_excess,
        "start_square": survey.start_square, "minimum": survey.minimum.value,
        "flat_directions": survey.minimum.flat,
    }  # fmt: skip


def _curvatures(result: Diagnosis) -> dict[str, Any]:
    survey = result.survey
    certified = survey.certified_curvature
    point = survey.minimiser

    return {
        "curvature": {
            "mu": float(survey.curvature.mu), "L": float(survey.curvature.L),
            "Q": float(survey.curvature.Q), "holds": "everywhere" if survey.quadratic else "at x*",
        },
        "all_batches": None if certified is None else {
            "mu": float(certified.mu), "L": float(certified.L), "Q": float(certified.Q),
            "holds": "everywhere",
        },
        "batches": {
            "mu": survey.local[:, 0].tolist(), "L": survey.local[:, 1].tolist(),
            "gradient_at_minimiser": survey.gradient_sizes.tolist(),
        },
        "minimiser": point.tolist() if len(point) <= _LONGEST_MINIMISER else None,
        "interpolates": survey.interpolates,
        "sigma": survey.sigma,
        "exact": survey.exact,
    }  # fmt: skip


def _disagreement(result: Diagnosis) -> dict[str, Any]:
    why = result.disagreement
    return {
        "spread": why.spread, "batches": list(why.batches), "shares": list(why.shares),
        "curvature_over_average": list(why.ratios), "rows": list(why.rows),
        "row_shares": list(why.row_shares),
        "direction": [{"column": name, "weight": weight} for name, weight in why.columns],
    }  # fmt: skip


def _scaling(result: Diagnosis) -> dict[str, Any] | None:
    scaled = result.scaling
    if scaled is None:
        return None

    return {
        "Q": scaled.Q, "excess_share": scaled.share_after,
        "excess_share_before": scaled.share_before, "gain": scaled.gain,
        **_recipe(scaled.recipe),
    }  # fmt: skip


def _recipe(recipe: Recipe) -> dict[str, Any]:
    method = recipe.method
    return {
        "alpha": float(method.alpha), "beta": float(method.beta), "gamma": float(method.gamma),
        "schedule": recipe.schedule.words, "constant_share": recipe.schedule.constant_share,
        "averaged": recipe.averaged,
    }  # fmt: skip


def _prediction(p: Prediction) -> dict[str, Any]:
    proof = p.candidate.certificate
    excess = p.floor_excess
    return {
        "key": p.candidate.key, "name": p.candidate.name, "reason": p.candidate.reason,
        **_recipe(p.candidate.recipe),
        "outcome": p.outcome.value, "spectral_radius": p.spectral_radius,
        "mean_square": _growth(p.mean_square), "almost_sure": _growth(p.almost_sure),
        "worst_case_rate": p.worst_case,
        "critical_batch_size": p.critical_batch,
        "certificate": None if proof is None else {
            "rate": proof.rate, "P": proof.P.tolist(), "transient_gain": proof.transient_gain,
            "noise_gain": proof.noise_gain,
        },
        "floor": _estimate(p.floor), "excess_objective": None if excess is None else excess.value,
        "excess_floor": _estimate(excess),
        "error_after": _estimate(p.error_after), "excess_after": _estimate(p.excess_after),
        "steps_to_1_percent": p.to_near if math.isfinite(p.to_near) else None,
        "held_out_loss": p.held_out,
    }  # fmt: skip


def _growth(g: Growth) -> dict[str, Any]:
    """Rates per step of the distance: of a mean square, the roots."""
    power = 0.5 if g.sense.power == 2 else 1.0
    return {
        "rate": g.value**power, "low": g.low**power, "high": g.high**power, "exact": g.exact,
        "sampling": g.sampling.value,
    }  # fmt: skip


def _estimate(e: Estimate | None) -> dict[str, Any] | None:
    if e is None:
        return None

    return {"value": e.value, "low": e.low, "high": e.high, "exact": e.exact, "basis": e.basis}


def _measured(runs: Runs, i: int) -> dict[str, Any]:
    kept = runs.watched
    return {
        "steps": runs.steps.tolist(),
        "error": _finite(runs.squares[:, :, i].mean(axis=1)),
        "loss_steps": runs.steps[kept].tolist(),
        "excess": _finite(runs.excess[kept][:, :, i].mean(axis=1)),
        "diverged": int((runs.diverged_at[:, i] >= 0).sum()),
        "runs": int(runs.diverged_at.shape[0]),
    }  # fmt: skip


def _finite(values: Any) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in np.atleast_1d(values)]


def _plain(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None

    return value
