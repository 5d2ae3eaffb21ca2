"""The orders in which the terms of a finite sum are visited."""

from __future__ import annotations

from typing import NamedTuple

from ravine.arguments import Choice


class Traits(NamedTuple):
    """Properties of a sampling rule."""

    phrase: str
    """The rule in a few words, to follow "batches"."""
    by_epoch: bool
    """Whether every epoch visits each term once."""
    random: bool = True
    """Whether two runs visit the terms in different orders."""
    may_repeat: bool = True
    """Whether a term may be drawn twice in a row."""
    independent: bool = False
    """Whether each draw is independent of the earlier ones."""


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
        Traits("drawn with replacement", by_epoch=False, independent=True),
    )
    IID_NO_REPEAT = (
        "iid-no-repeat",
        "each step draws any term but the last one",
        Traits("drawn without immediate repeats", by_epoch=False, may_repeat=False),
    )
    # With a single term, even a fixed order repeats it.
    CYCLIC = (
        "cyclic",
        "the terms are visited in one fixed order, again and again",
        Traits("in a fixed order", by_epoch=True, random=False),
    )
    RESHUFFLE = (
        "reshuffle",
        "every epoch visits each term once, in a new random order",
        Traits("reshuffled every epoch", by_epoch=True),
    )
    RESHUFFLE_NO_REPEAT = (
        "reshuffle-no-repeat",
        "every epoch visits each term once, in a new random order that does not begin "
        "with the term the last epoch ended with",
        Traits("reshuffled without immediate repeats", by_epoch=True, may_repeat=False),
    )
