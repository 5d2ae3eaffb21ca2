"""The result of a diagnosis: properties of the data, predictions and measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ravine.diagnosis.answer import Answer, make_answer
from ravine.diagnosis.causes import Disagreement, Remedy, Scaling
from ravine.diagnosis.code import training_code
from ravine.diagnosis.prediction import Prediction
from ravine.diagnosis.record import record
from ravine.diagnosis.runs import Runs
from ravine.diagnosis.setup import Setup
from ravine.diagnosis.survey import Survey
from ravine.markup import card
from ravine.tables import Finding
from ravine.values import Value

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_EQUAL = 0.02
"""Share of the loss below which a difference does not decide between two recipes."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Value):
    """Properties of the data, predictions for each recipe, and measurements.

    Attributes
    ----------
    name
        Name of the data.
    setup
        The data, and the options that were given or chosen.
    survey
        Curvature of the whole and of the batches, minimiser, gradients there.
    findings
        Notes about the columns and rows.
    disagreement
        How the batches differ, and which batches and rows cause it.
    predictions
        One for each recipe judged; the first is the user's, or the textbook one.
    runs
        What the recipes did on the data, in the order of ``predictions``.
    remedies
        Options that were tried, and whether they make the first method converge.
    scaling
        What standardising the columns would change, if their scale is the problem.
    left_out
        What was not computed, or is less exact, because of the time budget.
    epochs, steps, seed, seconds, time
        Length and seed of the runs, the seconds they took, and the seconds allowed.
    """

    name: str
    setup: Setup
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
    seed: int
    seconds: float
    time: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.setup.columns

    def share(self, excess: float) -> float:
        """An excess loss f - f* as a share of the initial one."""
        return excess / self.survey.start_excess

    @property
    def subject(self) -> Prediction:
        """The method that the verdict is about: the user's, or the textbook one."""
        return self.predictions[0]

    @property
    def recommendation(self) -> Prediction | None:
        """The recipe with the smallest final loss, of all that ran and are safe.

        The judged method is kept if nothing else leaves clearly less.
        """
        best = best_of(self.predictions)
        subject = self.subject
        if best is not None and subject.safe and best.loss >= (1.0 - _EQUAL) * subject.loss:
            return subject

        return best

    @property
    def quick(self) -> Prediction | None:
        """The recipe that is first at 1 % of the initial loss, of all that ran and are safe."""
        reached = [p for p in self.predictions if p.safe and math.isfinite(p.steps_to_1_percent)]
        return min(reached, key=lambda p: p.steps_to_1_percent, default=None)

    @cached_property
    def answer(self) -> Answer:
        """What to do, what is wrong, what is guaranteed, and the table of methods, as data."""
        return make_answer(self)

    @property
    def verdict(self) -> str:
        """The answer as one text."""
        return " ".join((*self.answer.lines, *self.answer.notes))

    def code(self, framework: str = "torch", *, source: str | None = None) -> str:
        """A training loop with exactly the recommended setting, as a script to paste.

        Parameters
        ----------
        framework
            ``"torch"``, ``"sklearn"`` or ``"numpy"``.
        source
            Lines that make the arrays ``X`` and ``y``; unless given, a comment asks for them.

        Returns
        -------
        str
            Python code. It standardises, adds the intercept, draws the batches, and follows the
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
        return record(self)

    def to_dataframe(self) -> pd.DataFrame:
        """One row for each method: parameters, outcome, rates, errors and losses."""
        import pandas as pd

        rows = self.answer.methods.rows
        return pd.DataFrame([row.values for row in rows], index=[row.key for row in rows])

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one self-contained page; written to ``path`` if given."""
        from pathlib import Path

        from ravine.diagnosis.report import diagnosis_page

        page = diagnosis_page(self)
        if path is not None:
            page.write(Path(path))

        return page.html()

    def _repr_html_(self) -> str:
        """The answer and the methods, for notebooks."""
        answer = self.answer
        table = answer.methods.short()

        return card(
            f"Diagnosis of {self.name}",
            [row.cells for row in table.rows],
            head=[column.title for column in table.columns],
            sentences=(*answer.lines, *answer.notes),
        )


def best_of(predictions: tuple[Prediction, ...]) -> Prediction | None:
    """The safe recipe with the least loss, of equals (within 2 %) the first of ravine's own."""
    good = [p for p in predictions if p.safe]
    if not good:
        return None

    least = min(p.loss for p in good)
    equal = [p for p in good if p.loss <= least + _EQUAL * abs(least)]

    return min(equal, key=lambda p: (not p.candidate.recommended, p.loss))
