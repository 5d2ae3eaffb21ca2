"""What one peer is asked, what came back, and how long each side took."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
SIX_DIGITS = 1e-6


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One question asked of a peer and of ravine, on the same inputs, in one process."""

    peer: str  # with its version
    question: str
    answers: int  # how many the peer gave
    asked: int  # how many it was asked for
    seconds: float  # of the peer, for all that it was asked
    ravine_seconds: float  # of ravine, for the same
    agreement: str  # what was compared, and the largest difference

    def emit(self) -> None:
        """Print as one line of JSON for the gatherer."""
        print(json.dumps(asdict(self)), flush=True)


def tell(
    peer: str,
    question: str,
    values: npt.NDArray[np.float64],
    seconds: tuple[float, float],
    agreement: str,
) -> None:
    """Print what a peer answered: ``values``, NaN where it gave up, and both sides' seconds."""
    Comparison(
        peer=peer,
        question=question,
        answers=int(np.isfinite(values).sum()),
        asked=values.size,
        seconds=seconds[0],
        ravine_seconds=seconds[1],
        agreement=agreement,
    ).emit()


def relative_difference(peer: npt.NDArray[np.float64], ours: npt.NDArray[np.float64]) -> str:
    """The largest one, in words, of the answers that the peer gave."""
    return in_words(peer / ours - 1, "relative difference")


def in_words(differences: npt.NDArray[np.float64], what: str) -> str:
    """The largest difference, and the share within six digits where that is not all of them."""
    sizes = np.abs(differences[np.isfinite(differences)])
    words = f"largest {what} {sizes.max():.1e}"
    equal = int((sizes <= SIX_DIGITS).sum())
    if equal == sizes.size:
        return words

    return f"{words}, median {np.median(sizes):.1e}; {equal} of {sizes.size} within 1e-6"


def timed(work: Callable[[], T], tries: int = 1) -> tuple[T, float]:
    """Answer of some work, and the least processor seconds of several tries.

    Processor time, because other work on the machine is no property of the peer.
    """
    seconds = []
    for _ in range(tries):
        began = time.process_time()
        answer = work()
        seconds.append(time.process_time() - began)
    return answer, min(seconds)
