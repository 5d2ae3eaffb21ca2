"""The theorems and corollaries of the paper as objects with a rate, a floor and an envelope.

A new bound is one function that returns a ``Bound``, named in ``__all__`` of its file.
"""

from ravine.theory.bounds import theorems as _theorems
from ravine.theory.bounds.bound import Bound, Envelope
from ravine.theory.bounds.theorems import *  # noqa: F403

__all__ = ["Bound", "Envelope"]
__all__ += _theorems.__all__
