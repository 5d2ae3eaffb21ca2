"""Curvature bounds of an objective: strong convexity mu, smoothness L, condition number Q."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import Real, Refusal, broadcast, one_number, overflow_allowed, real
from ravine.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class Curvature(Value):
    """Curvature bounds 0 < mu <= L of an L-smooth, mu-strongly convex function.

    Arrays broadcast against each other, and against the parameters of a method.

    Both lie between 1e-50 and 1e50 (``ravine.arguments.LEAST`` and ``MOST``). In this range no
    formula of the theory overflows float64 if the method's parameters are in it too.

    Parameters
    ----------
    mu
        Strong convexity: the smallest eigenvalue of any Hessian. Positive.
    L
        Smoothness: the largest eigenvalue of any Hessian. At least ``mu``.

    Examples
    --------
    >>> float(Curvature(mu=0.05, L=100).Q)
    2000.0
    """

    mu: Real
    L: Real

    @overflow_allowed
    def __init__(self, mu: npt.ArrayLike, L: npt.ArrayLike) -> None:
        low = real("mu", mu, "positive", remedy="give the smallest curvature, e.g. mu=0.05")
        high = real("L", L, "positive", remedy="give the largest curvature, e.g. L=100")
        broadcast(mu=low, L=high)
        swapped = np.asarray(low > high)
        if swapped.any():
            index = tuple(np.argwhere(swapped)[0])
            pair = [np.broadcast_to(v, swapped.shape)[index] for v in (low, high)]
            shown = f"mu={pair[0]:g} with L={pair[1]:g}"
            raise Refusal("mu", "at most L", shown, "swap the two")

        # A frozen dataclass does not allow assignment.
        vars(self).update(mu=low, L=high)

    @property
    def Q(self) -> Real:
        """Condition number L / mu."""
        return self.L / self.mu

    def single(self, remedy: str) -> tuple[float, float]:
        """Return mu and L as two numbers; refuse arrays, with ``remedy``.

        Examples
        --------
        >>> Curvature(1, 9).single("give one at a time")
        (1.0, 9.0)
        """
        mu = one_number("mu", self.mu, remedy=remedy)
        return mu, one_number("L", self.L, remedy=remedy)

    @classmethod
    def derived(cls, mu: Real, L: Real) -> Curvature:
        """A curvature computed from one in range, which may itself be out of range.

        Nothing is checked.

        Examples
        --------
        >>> float(Curvature.derived(np.float64(0.0), np.float64(1.0)).mu)
        0.0
        """
        made = cls.__new__(cls)
        vars(made).update(mu=mu, L=L)
        return made
