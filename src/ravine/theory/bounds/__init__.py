"""The theorems and corollaries of the paper as objects with a rate, a floor and an envelope.

A new bound is one function that returns a ``Bound``, named in ``__all__`` of its file.
"""

from ravine.theory.bounds import finite_sum as _finite_sum
from ravine.theory.bounds import gradients as _gradients
from ravine.theory.bounds.bound import Bound, Envelope
from ravine.theory.bounds.finite_sum import *  # noqa: F403
from ravine.theory.bounds.gradients import *  # noqa: F403

__all__ = ["Bound", "Envelope"]
__all__ += _gradients.__all__
__all__ += _finite_sum.__all__
