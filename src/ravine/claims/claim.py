"""What a claim is, and how it is judged."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import xarray as xr

Measurements: TypeAlias = dict[str, Any]
"""What was measured: names and numbers, or lists of numbers, that JSON can hold."""


class Judgement(StrEnum):
    """What the measurements say of a statement."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Evidence:
    """What a measurement may draw on: the data of the figures, by name."""

    figures: Mapping[str, xr.Dataset] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement, how it is measured, and how the measurements decide on it.

    Attributes
    ----------
    id
        Short name, unique.
    place
        Where the paper says it.
    statement
        What it says, in our words.
    measured
        A format string over the measurements: what was seen.
    exact
        A format string over the measurements: the exact value, or what is right instead.
    measure
        From the evidence to the measurements.
    decide
        From the measurements, and nothing else, to the judgement.
    needs
        Figures whose data ``measure`` takes.
    """

    id: str
    place: str
    statement: str
    measured: str
    exact: str
    measure: Callable[[Evidence], Measurements]
    decide: Callable[[Measurements], Judgement]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its measurements and the judgement they lead to."""

    claim: Claim
    measurements: Measurements
    judgement: Judgement

    def as_json(self) -> dict[str, Any]:
        """The keys of ``claims.json``."""
        return {
            "id": self.claim.id,
            "place": self.claim.place,
            "statement": self.claim.statement,
            "measured": self.measured,
            "exact": self.exact,
            "verdict": self.judgement.value,
            "data": self.measurements,
        }

    @property
    def measured(self) -> str:
        """What was seen, with its numbers."""
        return self.claim.measured.format(**self.measurements)

    @property
    def exact(self) -> str:
        """The exact value, with its numbers."""
        return self.claim.exact.format(**self.measurements)


def stated(
    name: str,
    measure: Callable[[Evidence], Measurements],
    decide: Callable[[Measurements], Judgement],
    needs: tuple[str, ...] = (),
) -> Claim:
    """The claim of this name, in the words of ``statements.toml``."""
    return Claim(id=name, **_statements()[name], measure=measure, decide=decide, needs=needs)


@cache
def _statements() -> dict[str, dict[str, str]]:
    text = Path(__file__).with_name("statements.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def judge(claim: Claim, evidence: Evidence) -> JudgedClaim:
    """Measure a claim and let the measurements decide.

    Examples
    --------
    >>> claim = Claim(
    ...     id="two", place="nowhere", statement="2 < 1", measured="{two:g}", exact="2",
    ...     measure=lambda evidence: {"two": 2.0}, decide=lambda m: judgement(m["two"] < 1.0),
    ... )
    >>> judge(claim, Evidence()).judgement.value
    'does not hold'
    """
    measurements = claim.measure(evidence)
    return JudgedClaim(claim, measurements, claim.decide(measurements))


def judgeable(claims: Sequence[Claim], evidence: Evidence) -> list[Claim]:
    """The claims whose figures are at hand."""
    return [claim for claim in claims if all(name in evidence.figures for name in claim.needs)]


def judgement(holds: bool, corrected: bool = False) -> Judgement:
    """Holds, or else holds with a correction, or else does not hold.

    Parameters
    ----------
    holds
        Whether the measurements bear out the statement as the paper has it.
    corrected
        Whether they bear out what we put in its place.

    Examples
    --------
    >>> judgement(False, corrected=True).value
    'holds with a correction'
    """
    if holds:
        return Judgement.HOLDS

    if corrected:
        return Judgement.CORRECTED

    return Judgement.FAILS
