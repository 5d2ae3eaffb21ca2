"""What a claim is, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import xarray as xr

Data: TypeAlias = dict[str, Any]
"""What was measured: names and numbers, or lists of numbers, that JSON can hold."""


class Verdict(StrEnum):
    """What the data say of a statement."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Evidence:
    """What a measurement may draw on: the data of the figures, by name."""

    figures: Mapping[str, xr.Dataset] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A statement, how it is measured, and how the data decide on it.

    Attributes
    ----------
    id
        Short name, unique.
    place
        Where the paper says it.
    statement
        What it says, in our words.
    measured
        A format string over the data: what was seen.
    exact
        A format string over the data: the exact value, or what is right instead.
    measure
        From the evidence to the data.
    verdict
        From the data, and nothing else, to the verdict.
    needs
        Figures whose data the measurement takes.
    """

    id: str
    place: str
    statement: str
    measured: str
    exact: str
    measure: Callable[[Evidence], Data]
    verdict: Callable[[Data], Verdict]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A claim with its data and the verdict they lead to."""

    claim: Claim
    data: Data
    verdict: Verdict

    def as_json(self) -> dict[str, Any]:
        """The keys of ``claims.json``."""
        return {
            "id": self.claim.id,
            "place": self.claim.place,
            "statement": self.claim.statement,
            "measured": self.measured,
            "exact": self.exact,
            "verdict": self.verdict.value,
            "data": self.data,
        }

    @property
    def measured(self) -> str:
        """What was seen, with its numbers."""
        return self.claim.measured.format(**self.data)

    @property
    def exact(self) -> str:
        """The exact value, with its numbers."""
        return self.claim.exact.format(**self.data)


def judge(claim: Claim, evidence: Evidence) -> Judged:
    """Measure a claim and let the data decide.

    Examples
    --------
    >>> claim = Claim("two", "nowhere", "2 < 1", "{two:g}", "2", lambda e: {"two": 2.0},
    ...               lambda d: either(d["two"] < 1.0))
    >>> judge(claim, Evidence()).verdict.value
    'does not hold'
    """
    data = claim.measure(evidence)
    return Judged(claim, data, claim.verdict(data))


def judgeable(claims: Sequence[Claim], evidence: Evidence) -> list[Claim]:
    """The claims whose figures are at hand."""
    return [claim for claim in claims if all(name in evidence.figures for name in claim.needs)]


def either(holds: bool, corrected: bool = False) -> Verdict:
    """Holds, or else holds with a correction, or else does not hold."""
    if holds:
        return Verdict.HOLDS
    return Verdict.CORRECTED if corrected else Verdict.FAILS
