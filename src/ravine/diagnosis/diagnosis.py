"""The result of a diagnosis, and its form as plain numbers and words for JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.diagnosis.answer import Answer, make_answer
from ravine.diagnosis.candidates import Recipe
from ravine.diagnosis.causes import Disagreement, Remedy, Scaling
from ravine.diagnosis.code import training_code
from ravine.diagnosis.prediction import Prediction
from ravine.diagnosis.runs import Runs
from ravine.diagnosis.setup import Setup
from ravine.diagnosis.survey import Survey
from ravine.markup import card
from ravine.tables import Finding
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.ladder.worst_case import Certificate
from ravine.values import Value

if TYPE_CHECKING:
    import pandas as pd

_EQUAL = 0.02
"""Relative difference of two losses that is too small to prefer one recipe."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Value):
    """Properties of the data, predictions for each recipe, and measurements.

    Attributes
    ----------
    name
        Name of the data.
    survey
        The data and the options; the curvature of the objective and of the batches; the minimiser
        and the gradients there.
    findings
        Notes about the columns and rows.
    disagreement
        How the batches differ, and which batches and rows cause it.
    predictions
        One for each judged recipe; the first is the user's, or the textbook one.
    runs
        Results of running the recipes on the data, in the order of ``predictions``.
    remedies
        Options that were tried, and whether they make the first method converge.
    scaling
        The effect of standardising the columns, if their scale is the problem.
    left_out
        What was not computed, or is less accurate, because of the time budget.
    epochs, steps, seconds, time
        Epochs and steps of the runs, the seconds that the diagnosis took, and its budget.
    """

    name: str
    survey: Survey
    findings: tuple[Finding, ...]
    disagreement: Disagreement
    predictions: tuple[Prediction, ...]
    runs: Runs
    remedies: tuple[Remedy, ...]
    remedies_computed: bool
    scaling: Scaling | None
    left_out: tuple[str, ...]
    epochs: int
    steps: int
    seconds: float
    time: float

    @property
    def setup(self) -> Setup:
        """The data and the options, given or chosen."""
        return self.survey.setup

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.setup.columns

    def share(self, excess: float) -> float:
        """An excess loss f - f* as a share of that at the start."""
        return excess / self.survey.start_excess

    @property
    def subject(self) -> Prediction:
        """The method that is judged: the user's, or the textbook one."""
        return self.predictions[0]

    @property
    def recommendation(self) -> Prediction | None:
        """The recipe with the smallest final loss among those that ran and are safe.

        The judged method is kept if no other ends clearly lower.
        """
        best = best_of(self.predictions)
        subject = self.subject
        if best is not None and subject.safe and best.loss >= (1.0 - _EQUAL) * subject.loss:
            return subject

        return best

    @property
    def quick(self) -> Prediction | None:
        """The first recipe to reach 1 % of the initial loss, among those that ran and are safe.

        Among equally fast ones, one that does not average.
        """
        reached = [p for p in self.predictions if p.safe and math.isfinite(p.steps_to_1_percent)]
        order = attrgetter("steps_to_1_percent", "candidate.recipe.averaged")
        return min(reached, key=order, default=None)

    @cached_property
    def answer(self) -> Answer:
        """What to do, what is wrong, what is guaranteed, and the table of methods, as data."""
        return make_answer(self)

    @property
    def verdict(self) -> str:
        """The answer as one text."""
        return " ".join((*self.answer.lines, *self.answer.notes))

    def code(self, framework: str = "torch", *, source: str | None = None) -> str:
        """A training loop with exactly the recommended setting, as a script to copy.

        Parameters
        ----------
        framework
            ``"torch"``, ``"sklearn"`` or ``"numpy"``.
        source
            Lines that create the arrays ``X`` and ``y``. Default: a comment that describes them.

        Returns
        -------
        str
            Python code. It standardises, adds the intercept, draws the batches, and uses the
            schedule and the averaging that the answer names; the final weights are in ``W``.
        """
        return training_code(self, framework, source=source)

    def __repr__(self) -> str:
        best = self.recommendation
        advice = "nothing" if best is None else best.candidate.recipe.words

        return (
            f"<Diagnosis of {self.name}: {self.survey.batching.rows} rows, "
            f"{self.survey.model.features} columns, {self.subject.candidate.name} "
            f"{self.subject.outcome.value}; advice: {advice}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words, for JSON."""
        return _record(self)

    def to_dataframe(self) -> pd.DataFrame:
        """One row for each method: parameters, outcome, rates, errors and losses."""
        import pandas as pd

        rows = self.answer.methods.rows
        return pd.DataFrame([row.values for row in rows], index=[row.key for row in rows])

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one self-contained page; written to ``path`` if given."""
        from ravine.diagnosis.report import diagnosis_page

        page = diagnosis_page(self)
        if path is not None:
            page.write(Path(path))

        return page.html()

    def _repr_html_(self) -> str:
        """The answer and the methods, for notebooks."""
        head, rows = self.answer.methods.cells()
        lines = (*self.answer.lines, *self.answer.notes)
        return card(f"Diagnosis of {self.name}", rows, head=head, sentences=lines)


def best_of(predictions: tuple[Prediction, ...]) -> Prediction | None:
    """The safe recipe with the smallest loss; within 2 %, ravine's own are preferred."""
    good = [p for p in predictions if p.safe]
    least = min((p.loss for p in good), default=math.inf)
    equal = [p for p in good if p.loss <= least + _EQUAL * abs(least)]

    return min(equal, key=lambda p: (not p.candidate.recommended, p.loss), default=None)


def _record(result: Diagnosis) -> dict[str, Any]:
    """The documented keys of ``ravine diagnose --json``; errors are E‖y - x*‖², squared."""
    from ravine import __version__

    best, quick, scaled = result.recommendation, result.quick, result.scaling
    survey, batching, why = result.survey, result.survey.batching, result.disagreement
    bounds, point = survey.certified_curvature, survey.minimiser
    held = "everywhere" if survey.quadratic else "at x*"
    share = {} if best is None else {"excess_share": result.share(best.loss)}

    everything = {
        **_named(result, "verdict", "answer", "findings", "remedies_computed", "left_out"),
        **_named(result, "epochs", "steps", "seconds"),
        **_named(survey, "interpolates", "sigma", "exact"),
        **_named(result.setup, "seed"),
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
        "advice": best and {**_plain(best.candidate.recipe), **share, "epochs": result.epochs},
        "scaling": scaled
        and {
            **_named(scaled, "Q", "gain", excess_share="share_after"),
            **_named(scaled, excess_share_before="share_before"),
            **_plain(scaled.recipe),
        },
        "remedies": [{**_plain(r), "works": r.works} for r in result.remedies],
        "batches_are": "fixed" if batching.fixed else "new",
        "sampling": batching.sampling,
        "ravine_version": __version__,
    }
    return {key: _plain(value) for key, value in everything.items()}


def _plain(value: Any) -> Any:
    """Convert to dicts, lists, texts and finite numbers; None for a number that JSON lacks.

    A record becomes the dict of its fields. A few fields have other names, and mean-square rates
    become rates of the distance, their roots.
    """
    match value:
        case Enum():
            return value.value
        case Recipe():
            rest = _named(value, "constant_share", "schedule", "averaged")
            return {**_plain(value.method.parameters), **rest}
        case Growth():
            power = 0.5 if value.sense.power == 2 else 1.0
            ends = {"rate": value.value, "low": value.low, "high": value.high}
            rest = _named(value, "exact", "sampling")
            return _plain({**{key: end**power for key, end in ends.items()}, **rest})
        case Certificate():
            return _plain(_named(value, "rate", "P", "transient_gain", "noise_gain"))
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case np.ndarray() | np.generic():
            return _plain(value.tolist())
        case float():
            return value if math.isfinite(value) else None

    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}

    return value


def _named(thing: Any, *names: str, **others: str) -> dict[str, Any]:
    """Some attributes of an object by their names, or by other names: ``key="attribute"``."""
    keys = {name: name for name in names} | others
    return {key: getattr(thing, name) for key, name in keys.items()}


def _method(result: Diagnosis, i: int) -> dict[str, Any]:
    """Predictions for a method, and the results of its runs."""
    p, runs = result.predictions[i], result.runs
    known = {f.name: getattr(p, f.name) for f in fields(p) if f.name not in ("candidate", "curve")}
    kept = runs.watched

    return {
        **_named(p.candidate, "key", "name", "reason", "certificate"),
        **_plain(p.candidate.recipe),
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
