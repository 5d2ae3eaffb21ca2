"""Names to choose from: each member is a word that people type and a sentence that explains it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self, cast

from ravine.arguments import Refusal, in_words


class Choice(StrEnum):
    """One of a few names, each with what it means in words.

    A member is written as ``NAME = "value", "the sentence"``, and may have traits as a third part.
    Functions that take a choice accept a member or its value, and hand it to ``parse``.
    """

    sentence: str
    """What the choice means, in words."""
    traits: Any
    """What else the class has to say of each."""

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
        # Only words are looked up: the search by value asks foreign objects for equality.
        if isinstance(value, str) and value in cls._value2member_map_:
            return cls(value)

        names = ", ".join(member.value for member in cls)
        parameter = name or cls.__name__.lower()
        raise Refusal(parameter, f"one of {names}", in_words(value), "pick one of these names")

    @classmethod
    def _missing_(cls, value: object) -> Self:
        """A word that is none of the members is refused like any other argument."""
        return cls.parse(cast("str", value))
