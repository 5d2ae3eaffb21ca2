"""Names to choose from: each member is a word that people type and a sentence that explains it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self, cast

from ravine.arguments import known_name


class Choice(StrEnum):
    """One of a few names, each with what it means in words.

    A member is written as ``NAME = "value", "the sentence"``, and may have traits as a third part.
    Functions that take a choice accept a member or its value, and hand it to ``parse``.
    """

    sentence: str
    """The meaning of the choice, as a sentence."""
    traits: Any
    """Further properties of each choice."""

    def __new__(cls, value: str, sentence: str = "", traits: Any = None) -> Self:
        """Make a member."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        member.traits = traits
        return member

    @classmethod
    def parse(cls, value: Self | str, name: str | None = None) -> Self:
        """Return the member for ``value``, or say which there are.

        ``name`` is the parameter that a refusal names, the class's own name unless given.
        """
        names = [member.value for member in cls]
        return cls(known_name(name or cls.__name__.lower(), value, names))

    @classmethod
    def _missing_(cls, value: object) -> Self:
        """A word that is none of the members is refused like any other argument."""
        return cls.parse(cast("str", value))
