"""From the errors of a run to its measures: rate, noise floor, outcome.

No history is stored. A kernel adds the squared errors e_k² = ‖y_{k+1} - x*‖² after each step k to
the bins of ``bin_edges`` (``record``), and ``summarise`` computes the measures from the mean
squares of the bins. Bins are one step wide for the first 64 steps, then there are 32 per octave, so
that about fifty bins resolve a fast and a slow decay, and a run of any length needs a few hundred.

rate
    exp of the least-squares slope of ½ ln(mean square) against the step, corrected for the widths
    of the bins so that it is exact for a geometric sequence. The window depends on the history: it
    ends where the run diverges, where a noise-free error reaches the end of the number format, or
    where a noisy error comes within a factor of sqrt(30) of its floor; it starts half-way to that,
    which excludes the transient, and for diverging runs at three quarters. NaN if there is no decay
    above the floor. A diverging run has only ten decades, in which slower modes still distort the
    rate, by at most 2 % on the worst-case quadratic.
floor
    mean square over the second half of the run (from the first bin that starts there).
outcome
    see ``Outcome``. Noise or a slow decay? The second half counts as level if the slope of its bins
    is within their scatter, bin by bin and in eight groups. A decaying oscillation is distinguished
    from noise if its period is less than an eighth of that half.

An error counts as diverged beyond ``DIVERGENCE`` times its scale ‖x_0 - x*‖ + alpha sigma sqrt(d),
or if it grows tenfold over the second half, beyond everything in the first half: a stable linear
run can at most double there (a double eigenvalue), and noise can grow it by 2^1.5 (a random walk).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.draws.random import LANES
from ravine.engine.kernels.compiled import compiled, inner
from ravine.engine.kernels.line_fit import fit

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

DIVERGENCE = 1e10
"""Errors beyond this multiple of their scale have diverged."""
TOLERANCE = 1e-6
"""A run has converged if its error fell to this share of the initial error."""

_ABOVE_FLOOR = 30.0
"""Smallest mean square in the window of the rate, in units of that of the floor: the floor then
adds less than 1/60 to the logarithm of an error."""
_GROWTH = 100.0
"""Growth of mean squares over the second half that no stable run has: tenfold in the error."""
_FEWEST_BINS = 4
"""Minimum number of bins of a decay towards a floor; a line through fewer means little."""

# A line through n levels with scatter s has, over its whole span, a rise with the standard error s
# sqrt(12 / (n - 2)). The second half counts as level if the rise is within five of these for its 32
# bins or so, and within four for eight groups of bins: an oscillation can hide a decay in the first
# test, but not in the second.
_GROUPS = 8
_LEVEL_GROUPS = 5.7  # 4 sqrt(12 / 6)
_LEVEL_BINS = 3.0  # 5 sqrt(12 / 30), and a little less
_UNEVEN = 0.35
"""Scatter of the groups, in the logarithm of the error, above which a run is too short to
decide."""

# Squared errors a few decades above the smallest normal numbers, 2e-308 and 1e-38, so that the
# squares of single coordinates have all their digits.
_VANISHED_64 = 1e-280
_VANISHED_32 = 1e-34

ONE, EIGHT = (0,), (0,) * 8
"""Their lengths are the numbers of steps recorded together: constants of the compiled code."""
_TOGETHER = 8
"""Lanes that are read together, because their float64 numbers share a cache line of 64 bytes."""


class Outcome(IntEnum):
    """How a run ended, from success to divergence.

    Examples
    --------
    >>> Outcome(1).sentence
    'at its noise floor: the error has stopped falling'
    """

    sentence: str
    """The meaning of the outcome."""

    CONVERGED = 0, "converged: the error fell to 1e-6 of its initial value"
    NOISE_FLOOR = 1, "at its noise floor: the error has stopped falling"
    UNDECIDED = 2, "undecided: the error was still changing at the last step"
    DIVERGED = 3, "diverged"

    def __new__(cls, number: int, sentence: str) -> Self:
        """Make a member with a sentence that explains it."""
        outcome = int.__new__(cls, number)
        outcome._value_ = number
        outcome.sentence = sentence
        return outcome


FIELDS = (
    "rate",
    "rate_start",
    "rate_stop",
    "floor_square",
    "floor_sup",
    "outcome",
    "diverged_at",
    "final_error",
)
"""Results of a kernel for each trajectory, in this order."""
_RATE, _START, _STOP, _FLOOR, _SUP, _OUTCOME, _WHEN, _FINAL = range(len(FIELDS))
_CONVERGED, _AT_FLOOR, _UNDECIDED, _DIVERGED = (int(o) for o in Outcome)


class Setting(NamedTuple):
    """Settings of the measures that are the same for all runs of a sweep."""

    edges: Integers  # of the bins
    start_square: float  # squared error at the start
    noisy: bool  # whether there is noise at the minimiser
    tiny: float  # squared error below which a noise-free run counts as zero
    samples: int  # number of sup-norms that are added up in a run


class Records(NamedTuple):
    """Records of a kernel for the runs of a block."""

    bins: FloatArray  # (bins, lanes) sums of squared errors
    latest: FloatArray  # (lanes,) squared error after the last step
    diverged_at: Integers  # (lanes,) step at which a run passed its limit, or 0
    sup: FloatArray  # (lanes,) sum of sup-norms


def bin_edges(steps: int) -> Integers:
    """Edges of the bins: bin b contains the steps edges[b] < k <= edges[b+1]."""
    edges = list(range(min(steps, 64) + 1))
    width = 2
    while edges[-1] < steps:
        edges += range(edges[-1] + width, 2 * edges[-1] + 1, width)
        width *= 2

    inside = [e for e in edges if e < steps]
    return np.array([*inside, steps], dtype=np.int64)


def new_setting(steps: int, error: Floats, noisy: bool, tiny: float, samples: int) -> Setting:
    """Settings of the measures; ``error`` is that of the start."""
    start_square = float((error.astype(np.float64) ** 2).sum())
    return Setting(bin_edges(steps), start_square, noisy, tiny, samples)


def divergence_limit(scale: npt.ArrayLike) -> FloatArray:
    """Squared error beyond which a run has diverged: (``DIVERGENCE`` times its scale)².

    ``scale`` is ‖x_0 - x*‖ + alpha sigma sqrt(d), the initial error plus the noise of one step. If
    nothing moves at all, any limit works.
    """
    size = np.asarray(scale, dtype=np.float64)
    return np.where(size > 0.0, (DIVERGENCE * size) ** 2, 1.0)


def vanished(dtype: npt.DTypeLike) -> float:
    """Squared error below which a noise-free run is at the end of its number format."""
    return _VANISHED_64 if np.dtype(dtype) == np.float64 else _VANISHED_32


@inner
def record(
    squares: Floats, bounds: Floats, k: int, b: int, records: Records, steps: tuple[int, ...]
) -> None:
    """Add the squared errors of the steps k, k + 1, ... to bin ``b``.

    The length of ``steps`` is the number of steps. ``bounds`` contains the factor of the squares of
    each lane, then its limit of divergence. One check decides whether any error is beyond the
    limit; only then is it located. Comparing every error also keeps the compiler from fusing a
    product with its sum, which would change the last digit.
    """
    bin_sum = records.bins[b]
    diverged_at = records.diverged_at
    beyond = 0
    for lane in range(LANES):
        factor = bounds[lane]
        limit = bounds[LANES + lane]
        total = bin_sum[lane]
        within = True
        for u in range(len(steps)):
            error = factor * squares[u * LANES + lane]
            total += error
            records.latest[lane] = error
            # Written so that a NaN counts as beyond the limit too.
            within = within & (error <= limit)
        bin_sum[lane] = total
        beyond += 0 if within else 1

    for u in range(len(steps) if beyond > 0 else 0):
        for lane in range(LANES):
            outside = not (bounds[lane] * squares[u * LANES + lane] <= bounds[LANES + lane])
            first = outside and diverged_at[lane] == 0
            diverged_at[lane] = k + u if first else diverged_at[lane]


@inner
def record_chunk(
    squares: Floats, bounds: Floats, k: int, count: int, b: int, edges: Integers, records: Records
) -> int:
    """Record the steps k + 1, ..., k + count, from bin ``b`` on; return the last bin.

    Wide bins take eight steps at a time.
    """
    u = 0
    while u < count:
        b += k + u + 1 > edges[b + 1]
        newest = squares[u * LANES :]
        if u + len(EIGHT) <= count and k + u + len(EIGHT) <= edges[b + 1]:
            record(newest, bounds, k + u + 1, b, records, EIGHT)
            u += len(EIGHT)
        else:
            record(newest, bounds, k + u + 1, b, records, ONE)
            u += 1

    return b


@inner
def bin_at(edges: Integers, step: float) -> int:
    """Return the first bin that starts at ``step`` or later."""
    low = 0
    high = edges.size - 2
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < step:
            low = middle + 1
        else:
            high = middle

    return low


@inner
def grew(mean: FloatArray, edges: Integers, start_square: float) -> int:
    """Return the step at which the second half exceeded the first tenfold, or 0."""
    half = bin_at(edges, 0.5 * edges[-1])
    most = start_square
    for b in range(half):
        most = max(most, mean[b])

    for b in range(half, mean.size):
        if mean[b] > _GROWTH * most and most > 0.0:
            return int(edges[b] + 1)

    return 0


@inner
def window_end(
    mean: FloatArray, edges: Integers, when: int, noisy: bool, tiny: float, floor: float
) -> int:
    """Return the bin before which the window of the rate ends; 0 if there is no decay."""
    last = mean.size
    if when > 0:
        while last > 0 and edges[last] >= when:
            last -= 1
        return last

    if not noisy:
        while last > 0 and mean[last - 1] < tiny:
            last -= 1
        return last

    for b in range(mean.size):
        if mean[b] <= _ABOVE_FLOOR * floor:
            return b if b >= _FEWEST_BINS else 0

    return last


@inner
def mean_square_from(mean: FloatArray, edges: Integers, half: int) -> float:
    """Return the mean square of the steps from bin ``half`` on."""
    floor = 0.0
    for b in range(half, mean.size):
        floor += mean[b] * (edges[b + 1] - edges[b])

    return float(floor / (edges[-1] - edges[half]))


@inner
def is_level(mean: FloatArray, edges: Integers, half: int, single: int) -> bool:
    """Whether the error neither falls nor rises from bin ``half`` on, within its own scatter."""
    bins = mean.size
    span = float(edges[-1] - edges[half])

    coarse = max(single, (bins - half) // _GROUPS)
    slope, deviation = fit(mean, edges, half, bins, coarse, single == 0)
    if not (abs(slope) * span <= _LEVEL_GROUPS * deviation and deviation <= _UNEVEN):
        return False

    slope, deviation = fit(mean, edges, half, bins, single, single == 0)
    return abs(slope) * span <= _LEVEL_BINS * deviation


@inner
def outcome_of(
    setting: Setting, mean: FloatArray, half: int, last_square: float, diverged: bool, single: int
) -> int:
    """Return the number of the ``Outcome`` of a run."""
    if diverged:
        return _DIVERGED

    # An oscillation may pass through zero in its last step, so the last bin must be low as well.
    last = max(last_square, 0.1 * mean[mean.size - 1])
    if last <= TOLERANCE * TOLERANCE * setting.start_square:
        return _CONVERGED
    enough = setting.noisy and mean.size - half >= _FEWEST_BINS
    if enough and is_level(mean, setting.edges, half, single):
        return _AT_FLOOR

    return _UNDECIDED


@inner
def summarise_lane(
    setting: Setting, mean: FloatArray, last_square: float, when: int, sup: float, out: FloatArray
) -> None:
    """Write the measures of one run into ``out``, in the order of ``FIELDS``.

    ``mean`` has the mean squares of its bins; ``when`` is the step at which the error passed the
    limit of divergence, 0 if it never did.
    """
    edges, start_square, noisy, tiny, samples = setting
    bins = mean.size
    half = bin_at(edges, 0.5 * edges[-1])
    single = min(bins, 1)  # not a constant, for which ``fit`` would be compiled again
    floor = mean_square_from(mean, edges, half)
    slow = grew(mean, edges, start_square) if when == 0 else 0
    diverged = when > 0 or slow > 0
    outcome = outcome_of(setting, mean, half, last_square, diverged, single)

    # The window of the rate: bins first to last - 1.
    last = window_end(mean, edges, when, noisy and not diverged, tiny, floor)
    if last == 0 and outcome == _UNDECIDED:
        last = bins

    share = 0.75 if diverged else 0.5
    first = min(bin_at(edges, share * edges[last]), max(last - 2, 0))
    fitted = last - first >= 2
    rate = np.nan
    if fitted:
        rate = np.exp(fit(mean, edges, first, last, single, single == 1)[0])
    elif not noisy and when == 0 and start_square > 0.0:
        rate = 0.0  # zero within two bins

    out[_RATE] = rate
    out[_START] = edges[first] + 1 if fitted else -1
    out[_STOP] = edges[last] if fitted else -1
    out[_FLOOR] = np.nan if diverged else floor
    out[_SUP] = np.nan if diverged or np.isnan(floor) or samples == 0 else sup / samples
    out[_OUTCOME] = outcome
    out[_WHEN] = max(when, slow) if diverged else -1
    out[_FINAL] = np.inf if when > 0 else np.sqrt(last_square)


@compiled
def summarise(setting: Setting, records: Records, out: FloatArray) -> None:
    """Write the measures of all lanes of a block into ``out`` [lanes, fields]."""
    edges = setting.edges
    bins = edges.size - 1
    lanes = records.latest.size
    mean = np.empty((_TOGETHER, bins))
    # Lanes that share a cache line are read together; single columns would miss at every bin.
    for at in range(0, lanes, _TOGETHER):
        together = min(_TOGETHER, lanes - at)
        for b in range(bins):
            scale = 1.0 / (edges[b + 1] - edges[b])
            for i in range(together):
                mean[i, b] = records.bins[b, at + i] * scale

        for i in range(together):
            lane = at + i
            summarise_lane(
                setting, mean[i], records.latest[lane], records.diverged_at[lane],
                records.sup[lane], out[lane],
            )  # fmt: skip


def fields_of(out: FloatArray, repeats: int) -> dict[str, FloatArray]:
    """Measures [trajectories, fields] by name, each of shape (pixels, repeats)."""
    shaped = out.reshape(-1, repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}
