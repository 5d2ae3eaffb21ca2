"""The orders in which the terms of a finite sum are visited."""

from __future__ import annotations

from enum import StrEnum

from ravine.arguments import complaint


class Sampling(StrEnum):
    """How the next term, or mini-batch, of a finite sum is chosen.

    Every function that takes a sampling accepts a member or its value.

    Examples
    --------
    >>> Sampling("reshuffle").sentence
    'every epoch visits each term once, in a new random order'
    """

    IID = "iid"
    IID_NO_REPEAT = "iid-no-repeat"
    CYCLIC = "cyclic"
    RESHUFFLE = "reshuffle"
    RESHUFFLE_NO_REPEAT = "reshuffle-no-repeat"

    @property
    def sentence(self) -> str:
        """What the rule does, in words."""
        return _SENTENCES[self]

    @classmethod
    def parse(cls, value: Sampling | str) -> Sampling:
        """Return the member for ``value``, or say which there are."""
        try:
            return cls(value)
        except ValueError:
            names = ", ".join(member.value for member in cls)
            raise ValueError(
                complaint("sampling", f"one of {names}", repr(value), "pick one of these names")
            ) from None


_SENTENCES = {
    Sampling.IID: "each step draws any term, with replacement",
    Sampling.IID_NO_REPEAT: "each step draws any term but the last one",
    Sampling.CYCLIC: "the terms are visited in one fixed order, over and over",
    Sampling.RESHUFFLE: "every epoch visits each term once, in a new random order",
    Sampling.RESHUFFLE_NO_REPEAT: (
        "every epoch visits each term once, in a new random order that does not begin "
        "with the term the last epoch ended with"
    ),
}
