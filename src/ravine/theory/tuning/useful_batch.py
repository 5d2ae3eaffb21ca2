"""Three batch sizes: the smallest stable, the one where momentum pays off, the largest useful.

K = L_max/L is the largest curvature of a single sample over that of the objective. For Q → ∞ the
three grow like K √Q/4, K and 2.5 K √Q (docs/batch-size.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import nesterov
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.iid import smallest_stable_batch
from ravine.theory.tuning.batch_gain import (
    NOTICEABLE,
    ONE_CURVATURE,
    fastest_of,
    fastest_pair,
    gain_of,
)
from ravine.theory.tuning.table_moments import TableMoments
from ravine.values import Value

_PRECISION = 2e-3
"""Relative precision of a batch size."""
_MOMENTA = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)
"""Momenta tried on a table."""
_LARGEST = 1e12
"""Batch size beyond which gradients count as exact."""


@dataclass(frozen=True, eq=False, repr=False)
class UsefulBatch(Value):
    """The batch size at which samples are used with a given efficiency."""

    size: float
    """The result, from the best guaranteed rates at this curvature or from the table."""
    law: float | None
    """The law for Q → ∞; None for a table."""
    efficiency: float
    method: str

    def __float__(self) -> float:
        return self.size


@overflow_allowed
def useful_batch_size(
    curvature: Curvature | None = None,
    *,
    L_max: float | None = None,
    method: Literal["sgd", "nesterov"] = "nesterov",
    efficiency: float = 0.5,
    mu_min: float | None = None,
    data: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    accuracy: float = 0.01,
) -> UsefulBatch:
    """Return the batch size from which larger batches waste samples.

    N(b) steps of batches of b reach a given accuracy, with the best parameters at each b. The
    efficiency at b is S(1)/S(b), with S = N b the samples used. The size at which it has
    fallen to one half is the critical batch size of the literature.

    With Q → ∞, K = L_max/L and mu_min = 0, SGD has efficiency 1 up to b = K + 1 and then
    4K(b-1)/(b-1+K)²; tuned Nesterov has 1/x² with 4x³(x-1) = 3b²/(4 Q K²), so that
    (N_min/N)² + √(S_min/S) = 1, and half the efficiency at b = 2.50 K √Q.

    Parameters
    ----------
    curvature
        Curvature of the whole objective: single numbers.
    L_max, mu_min
        Largest and smallest curvature of a single term, as in :func:`ravine.iid_rate`.
    method
        ``"sgd"``, or ``"nesterov"`` with step and momentum tuned.
    efficiency
        Between 0 and 1.
    data
        (X, y), a table and its target, instead of a curvature: N(b) is then the number of steps
        until the share ``accuracy`` of the excess loss remains, as expected for least squares
        started at zero. This includes noise in the target; the guaranteed rates do not.
    accuracy
        Remaining share of the excess loss, between 0 and 1; with ``data`` only.

    Examples
    --------
    >>> best = useful_batch_size(Curvature(1, 1000), L_max=10_000, method="sgd")
    >>> round(best.size, 1), round(best.law, 1)
    (59.3, 59.3)
    """
    share = _share("efficiency", efficiency)
    if method not in ("sgd", "nesterov"):
        raise Refusal("method", "sgd or nesterov", repr(method), "pick one of the two")

    if data is not None:
        size = _on_table(data, method, share, _share("accuracy", accuracy))
        return UsefulBatch(size, None, share, method)
    if curvature is None:
        raise Refusal("curvature", "given, or data", "neither", "add one of them")

    terms = Batches(L_max, mu_min=mu_min)

    def steps(size: float) -> float:
        return fastest_of(method, curvature, replace(terms, batch_size=size)).steps_per_digit

    samples = steps(1.0)
    # If a single sample solves the problem in one step, a second one gains nothing.
    size = 1.0 if samples == 0.0 else _crossing(lambda b: np.log(samples / (b * steps(b)) / share))
    return UsefulBatch(size, _law(curvature, terms.L_max, method, share), share, method)


def _share(name: str, value: float) -> float:
    """A number between 0 and 1."""
    share = one_number(name, value, "positive", remedy="give a share, e.g. 0.5")
    if share >= 1.0:
        raise Refusal(name, "below 1", f"{share:g}", "give a share, e.g. 0.5")

    return share


def _on_table(
    data: tuple[npt.ArrayLike, npt.ArrayLike], method: str, share: float, accuracy: float
) -> float:
    """The batch size at which the efficiency falls below its share, at most all rows."""
    table = TableMoments(*data)
    momenta = (0.0,) if method == "sgd" else _MOMENTA
    samples = table.fewest_steps(momenta, accuracy, 1.0)
    size, before, now = 1.0, 1.0, 1.0
    while now > share and size < table.rows:
        size, before = 2.0 * size, now
        now = samples / (size * table.fewest_steps(momenta, accuracy, size))

    if now > share:
        return float(table.rows)

    part = np.log(share / before) / np.log(now / before)
    return min(float(size * 2.0 ** (part - 1.0)), float(table.rows))


def _law(curvature: Curvature, L_max: float | None, method: str, share: float) -> float:
    """The batch size of an efficiency for Q → ∞ and mu_min = 0."""
    steepness = 1.0 if L_max is None else L_max / float(curvature.L)
    if method == "sgd":
        return 1.0 + steepness * (2.0 - share + 2.0 * float(np.sqrt(1.0 - share))) / share

    size, _ = tradeoff_law(float(curvature.Q), steepness, np.array(share**-0.5))
    return float(size)


def tradeoff_law(Q: float, steepness: float, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Batch size and steps to a tenth on the curve (N_min/N)² + √(S_min/S) = 1, for x > 1.

    Tuned Nesterov with Q → ∞: b = K √(16 Q x³(x-1)/3) and N = N_min/√(1 - 1/x).
    """
    size = steepness * np.sqrt(16.0 / 3.0 * x**3 * (x - 1.0) * Q)
    steps = np.log(10.0) * np.sqrt(0.75 * Q) / np.sqrt(1.0 - 1.0 / x)
    return size, steps


def _crossing(function: Any) -> float:
    """The batch size at which a function falls from positive to negative; else 1 or inf."""
    from scipy.optimize import brentq

    if function(1.0) <= 0.0:
        return 1.0

    high = 10.0
    while function(high) > 0.0:
        high *= 10.0
        if high > _LARGEST:
            return float("inf")

    root = brentq(lambda x: function(np.exp(x)), np.log(high / 10.0), np.log(high), xtol=_PRECISION)
    return float(np.exp(root))


@dataclass(frozen=True, eq=False, repr=False)
class BatchSizes(Value):
    """The three batch sizes that matter, for one curvature."""

    stable: float
    """Smallest batch that is stable in mean square at the standard Nesterov parameters."""
    momentum_pays: float
    """Batch from which tuned momentum needs 5 % fewer steps than tuned SGD."""
    useful: UsefulBatch
    """Batch at which tuned Nesterov uses samples with half the efficiency."""
    useful_sgd: UsefulBatch
    """The same for SGD."""


@overflow_allowed
def batch_sizes(
    curvature: Curvature, *, L_max: float | None = None, mu_min: float | None = None
) -> BatchSizes:
    """Return the smallest stable batch, the one where momentum pays off, the largest useful one.

    Examples
    --------
    >>> sizes = batch_sizes(Curvature(1, 100), L_max=1000)
    >>> [round(v) for v in (sizes.stable, sizes.momentum_pays, sizes.useful.size)]
    [36, 17, 274]
    """
    known: dict[str, Any] = {"L_max": L_max, "mu_min": mu_min}
    terms = Batches(**known)
    curvature.single(ONE_CURVATURE)

    def lacking(size: float) -> float:
        return NOTICEABLE - gain_of(*fastest_pair(curvature, replace(terms, batch_size=size)))

    return BatchSizes(
        stable=float(smallest_stable_batch(curvature, nesterov(curvature), **known)),
        momentum_pays=_crossing(lacking),
        useful=useful_batch_size(curvature, **known),
        useful_sgd=useful_batch_size(curvature, method="sgd", **known),
    )
