"""Named choices: each member is a word that users type and a sentence that explains it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self, cast

from ravine.arguments import known_name


class Choice(StrEnum):
    """One of a few names, each with a sentence that explains it.

    Write a member as ``NAME = "value", "the sentence"``, with traits as an optional third part.
    Functions that take a choice accept a member or its value, and pass it to ``parse``.
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
        """Return the member for ``value``, or refuse it and list the members.

        ``name`` is the parameter named in the message; by default the name of the class.
        """
        names = [member.value for member in cls]
        return cls(known_name(name or cls.__name__.lower(), value, names))

    @classmethod
    def _missing_(cls, value: object) -> Self:
        """Refuse a word that is not a member like any other argument."""
        return cls.parse(cast("str", value))
