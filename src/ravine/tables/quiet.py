"""Reading without a word on the terminal: what is to be said is said by findings and refusals."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from ravine.arguments import Refusal

_P = ParamSpec("_P")
_R = TypeVar("_R")


def quietly(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Keep the warnings of NumPy, pandas and Arrow to themselves; refuse what memory lacks."""

    @functools.wraps(function)
    def quiet(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return function(*args, **kwargs)
            except MemoryError:
                remedy = "read a part of it, or take a machine with more"
                raise Refusal("DATA", "within the memory", "more", remedy) from None

    return quiet
