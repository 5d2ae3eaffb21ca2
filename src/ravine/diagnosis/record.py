"""A diagnosis as plain numbers and words, for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ravine.diagnosis.measurement import Runs
from ravine.diagnosis.prediction import Estimate, Prediction
from ravine.theory.finite_sums.growth import Growth

if TYPE_CHECKING:
    from ravine.diagnosis.diagnosis import Diagnosis


def record(found: Diagnosis) -> dict[str, Any]:
    """The documented keys of ``ravine diagnose --json``; errors are E‖y - x*‖², squared."""
    from ravine import __version__

    survey, problem, why = found.survey, found.survey.problem, found.disagreement
    certified = survey.certified_curvature
    best = found.recommendation
    return {
        "verdict": found.verdict,
        "data": {
            "name": found.name, "rows": int(problem.X.shape[0]), "features": problem.features,
            "dimension": problem.dimension, "loss": problem.loss.name, "l2": problem.l2,
            "batch_size": int(problem.batch_sizes.max()), "batches": problem.terms,
        },
        "findings": [
            {"kind": f.kind, "message": f.message, "remedy": f.remedy, "columns": list(f.columns)}
            for f in found.findings
        ],
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
        "minimiser": problem.minimiser.tolist() if problem.dimension <= 1000 else None,
        "interpolates": survey.interpolates,
        "sigma": survey.sigma,
        "exact": survey.exact,
        "disagreement": {
            "spread": why.spread, "batches": list(why.batches), "shares": list(why.shares),
            "curvature_over_average": list(why.ratios), "rows": list(why.rows),
            "row_shares": list(why.row_shares),
            "direction": [{"column": name, "weight": weight} for name, weight in why.columns],
        },
        "methods": [
            {**_prediction(p), "measured": _measured(found.runs, i)}
            for i, p in enumerate(found.predictions)
        ],
        "recommended": None if best is None else best.candidate.key,
        "remedies": [
            {"kind": r.kind, "action": r.action, "rate": r.rate, "outcome": r.outcome.value,
             "works": r.works}
            for r in found.remedies
        ],
        "remedies_computed": found.remedies_computed,
        "sampling": found.sampling.value, "epochs": found.epochs, "steps": found.steps,
        "seed": found.seed, "ravine_version": __version__,
    }  # fmt: skip


def _prediction(p: Prediction) -> dict[str, Any]:
    m, proof = p.candidate.method, p.candidate.certificate
    return {
        "key": p.candidate.key, "name": p.candidate.name, "reason": p.candidate.reason,
        "alpha": float(m.alpha), "beta": float(m.beta), "gamma": float(m.gamma),
        "outcome": p.outcome.value, "spectral_radius": p.spectral_radius,
        "mean_square": _growth(p.mean_square), "almost_sure": _growth(p.almost_sure),
        "worst_case_rate": p.worst_case,
        "certificate": None if proof is None else {
            "rate": proof.rate, "P": proof.P.tolist(), "transient_gain": proof.transient_gain,
            "noise_gain": proof.noise_gain,
        },
        "floor": _estimate(p.floor), "excess_objective": p.excess,
        "error_after": _estimate(p.error_after),
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
    return {"value": e.value, "low": e.low, "high": e.high, "exact": e.exact}


def _measured(runs: Runs, i: int) -> dict[str, Any]:
    errors = runs.squares[:, :, i].mean(axis=1)
    return {
        "steps": runs.steps.tolist(),
        "error": [float(e) if math.isfinite(e) else None for e in errors],
        "diverged": int((runs.diverged_at[:, i] >= 0).sum()),
        "runs": int(runs.diverged_at.shape[0]),
    }
