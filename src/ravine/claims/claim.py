"""Claims, and how they are judged."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from ravine.markup import Cell

Measurements: TypeAlias = dict[str, Any]
"""Measurements: names and numbers, or lists of numbers."""

ROUNDING = 1e-9
"""Relative excess over a bound that is attributed to rounding."""


class Judgement(StrEnum):
    """The verdict of the measurements on a statement."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "does not hold"

    @property
    def tone(self) -> str:
        """Its colour: "good", "unsure" or "bad"."""
        return {"holds": "good", "does not hold": "bad"}.get(self.value, "unsure")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement, how it is measured, and how the measurements decide whether it holds.

    Attributes
    ----------
    id
        Short name, unique.
    place
        Its place in the paper.
    statement
        The statement, paraphrased.
    measured
        A format string for the measurements.
    exact
        A format string for the exact value, or for the correct statement.
    measure
        Computes the measurements from the data of the figures in ``needs``, in that order.
    holds
        Whether the measurements alone confirm the statement as it is in the paper.
    corrected
        Whether they confirm the corrected statement.
    needs
        Names of the figures whose data ``measure`` needs.
    """

    id: str
    place: str
    statement: str
    measured: str
    exact: str
    measure: Callable[..., Measurements]
    holds: Callable[[Measurements], bool]
    corrected: Callable[[Measurements], bool] = lambda measurements: False
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with the measurements that decide whether it holds."""

    claim: Claim
    measurements: Measurements

    @property
    def judgement(self) -> Judgement:
        """Whether it holds, holds with a correction, or does not hold."""
        if self.claim.holds(self.measurements):
            return Judgement.HOLDS

        corrected = self.claim.corrected(self.measurements)
        return Judgement.CORRECTED if corrected else Judgement.FAILS

    @property
    def words(self) -> dict[str, str]:
        """The place in the paper, the statement, the measurement, and the exact result."""
        claim = self.claim
        return {
            "place": claim.place,
            "statement": claim.statement,
            "measured": claim.measured.format(**self.measurements),
            "exact": claim.exact.format(**self.measurements),
        }

    @property
    def cells(self) -> list[Cell]:
        """The texts and the judgement, as a row of a table."""
        words = [Cell(text, formulas=True) for text in self.words.values()]
        return [*words, Cell(self.judgement.value, self.judgement.tone)]

    def as_json(self) -> dict[str, Any]:
        """The keys of ``claims.json``."""
        verdict = {"verdict": self.judgement.value, "data": self.measurements}
        return {"id": self.claim.id, **self.words, **verdict}


def stated(
    name: str, **decisions: Callable[[Measurements], bool]
) -> Callable[[Callable[..., Measurements]], Claim]:
    """Decorate a measuring function: it becomes the claim with this name in the catalogue.

    ``decisions`` are ``holds`` and ``corrected`` of :class:`Claim`. Each parameter of the function
    is a figure whose data it takes: ``figure_1`` is "figure-1".
    """

    def made(measure: Callable[..., Measurements]) -> Claim:
        needs = tuple(figure.replace("_", "-") for figure in signature(measure).parameters)
        parts: dict[str, Any] = {**statements()[name], **decisions}
        return Claim(id=name, measure=measure, needs=needs, **parts)

    return made


@cache
def statements() -> dict[str, dict[str, str]]:
    """The texts of every claim by its name, in the order of the paper."""
    text = Path(__file__).with_name("statements.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def judge(claim: Claim, figures: Mapping[str, xr.Dataset] | None = None) -> JudgedClaim:
    """Measure a claim with the data of the figures that it needs, given by name.

    Examples
    --------
    >>> two = Claim(
    ...     id="two", place="nowhere", statement="2 < 1", measured="{two:g}", exact="2",
    ...     measure=lambda: {"two": 2.0}, holds=lambda m: m["two"] < 1.0,
    ... )
    >>> judge(two).judgement.value
    'does not hold'
    """
    measured = claim.measure(*((figures or {})[name] for name in claim.needs))
    # NumPy numbers and arrays become types that JSON can hold.
    plain = {name: np.asarray(value).tolist() for name, value in measured.items()}
    return JudgedClaim(claim, plain)
