"""A time by which a computation has to hand over what it has."""

from __future__ import annotations

import time


class Deadline:
    """So many seconds from now; ``None`` for as long as it takes.

    Iterations ask ``passed`` between their steps. What they return then is a bracket that holds,
    only wider. Without a deadline the same input always gives the same result.

    Examples
    --------
    >>> Deadline(None).passed, Deadline(0.0).passed
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end

    @property
    def left(self) -> float | None:
        """Seconds left, zero or more; None without an end."""
        if self._end is None:
            return None

        return max(0.0, self._end - time.monotonic())


NEVER = Deadline(None)
"""No limit but the limits on iterations."""
