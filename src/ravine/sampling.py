"""The orders in which the terms of a finite sum are visited."""

from __future__ import annotations

from typing import NamedTuple

from ravine.choices import Choice


class Traits(NamedTuple):
    """What everything else asks of a sampling rule."""

    by_epoch: bool
    """Every epoch visits each term once."""
    random: bool
    """Two runs visit the terms in different orders."""
    may_repeat: bool
    """A term may be drawn twice in a row."""
    independent: bool
    """What is drawn does not depend on what was drawn before."""
    phrase: str
    """The rule in a few words that fit behind "batches"."""


class Sampling(Choice):
    """How the next term, or mini-batch, of a finite sum is chosen.

    Every function that takes a sampling accepts a member or its value.

    Examples
    --------
    >>> Sampling("reshuffle").sentence
    'every epoch visits each term once, in a new random order'
    >>> Sampling.CYCLIC.traits.random
    False
    """

    traits: Traits

    IID = (
        "iid",
        "each step draws any term, with replacement",
        Traits(
            by_epoch=False,
            random=True,
            may_repeat=True,
            independent=True,
            phrase="drawn with replacement",
        ),
    )
    IID_NO_REPEAT = (
        "iid-no-repeat",
        "each step draws any term but the last one",
        Traits(
            by_epoch=False,
            random=True,
            may_repeat=False,
            independent=False,
            phrase="drawn without immediate repeat",
        ),
    )
    CYCLIC = (
        "cyclic",
        "the terms are visited in one fixed order, over and over",
        Traits(
            by_epoch=True,
            random=False,
            may_repeat=True,  # a sum of a single term
            independent=False,
            phrase="in a fixed order",
        ),
    )
    RESHUFFLE = (
        "reshuffle",
        "every epoch visits each term once, in a new random order",
        Traits(
            by_epoch=True,
            random=True,
            may_repeat=True,
            independent=False,
            phrase="reshuffled every epoch",
        ),
    )
    RESHUFFLE_NO_REPEAT = (
        "reshuffle-no-repeat",
        "every epoch visits each term once, in a new random order that does not begin "
        "with the term the last epoch ended with",
        Traits(
            by_epoch=True,
            random=True,
            may_repeat=False,
            independent=False,
            phrase="reshuffled without immediate repeat",
        ),
    )

    def _take(self, traits: Traits) -> None:
        self.traits = traits
