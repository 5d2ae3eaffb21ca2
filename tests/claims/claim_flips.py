"""What every file of claims has to show: each judgement follows its measurements.

A test class takes ``MeasuredFlips``, ``FigureFlips`` or both, and gives the tables.
"""

from typing import Any, ClassVar

from ravine.claims.claim import Claim, Judgement


def assert_turns(claim, measurements, expected, change, other):
    """Measurements lead to one judgement, and changed ones to another."""
    assert set(change) <= set(measurements)
    assert claim.decide(measurements) is expected
    assert claim.decide({**measurements, **change}) is other
    assert other is not expected


class _Flips:
    claims: ClassVar[tuple[Claim, ...]] = ()
    measured: ClassVar[dict[str, tuple[Judgement, dict[str, Any], Judgement]]] = {}
    """What a run leads to, and a change to its measurements that must lead elsewhere."""
    from_figures: ClassVar[
        dict[str, tuple[dict[str, Any], Judgement, dict[str, Any], Judgement]]
    ] = {}
    """Measurements as the data of a figure give them, what they lead to, a change, and where to."""

    def claim(self, name):
        return next(claim for claim in self.claims if claim.id == name)

    def test_every_claim_has_a_flip(self):
        assert {claim.id for claim in self.claims} == {*self.measured, *self.from_figures}


class MeasuredFlips(_Flips):
    """For claims that are measured without a figure."""

    def test_what_is_measured_decides(self, measured_claim, judged_from_scratch):
        claim = self.claim(measured_claim)
        expected, change, other = self.measured[measured_claim]
        assert_turns(claim, judged_from_scratch(claim).measurements, expected, change, other)


class FigureFlips(_Flips):
    """For claims that the data of a figure decide."""

    def test_data_of_figures_decide(self, figure_claim):
        claim = self.claim(figure_claim)
        assert claim.needs
        assert_turns(claim, *self.from_figures[figure_claim])
