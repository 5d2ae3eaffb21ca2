"""The terms of a finite sum that each trajectory visits, from its own stream.

The stream of (seed, trajectory) gives 32-bit words, ``below(n, word)`` an index. In step k:

- iid: one word, any of the n terms.
- iid without immediate repeat: one word, any of the n - 1 others.
- cyclic: term k mod n, no word.
- reshuffling: position p = k mod n of a Fisher-Yates shuffle that is performed while it is read:
  one word swaps a later entry of the trajectory's order into place p. The order is kept from epoch
  to epoch, and every shuffle is uniform.
- reshuffling without repeat: the same, but the first place of an epoch is drawn among all places
  except the last, which has the term that ended the previous epoch.

A mini-batch of m terms takes m words and never contains a term twice. Cyclic and reshuffled epochs
are split into consecutive batches; the last one is shorter if m does not divide n. Without repeat,
a batch (reshuffling: the first of an epoch) contains no term of the previous batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.engine.draws.random import (
    INDEX,
    LANES,
    Identities,
    Words,
    advance,
    below,
    fill_streams,
    output,
)
from ravine.engine.kernels.compiled import compiled, inner
from ravine.sampling import Sampling

# Properties of draws as bits of a rule's number, so that compiled code can test each.
BY_EPOCH = 1  # every epoch visits each term once
NO_REPEAT = 2  # no term is drawn twice in a row
IN_ORDER = 4  # no draw: the terms come in the order of their numbers

IID = 0  # none of the bits: independent draws


def rule_number(sampling: Sampling | None) -> int:
    """The number of a rule in the kernels; None (whole gradients) has a single term."""
    traits = (sampling or Sampling.CYCLIC).traits
    no_repeat = 0 if traits.may_repeat else NO_REPEAT
    in_order = 0 if traits.random else IN_ORDER
    return (BY_EPOCH if traits.by_epoch else 0) | no_repeat | in_order


TOGETHER = 8
"""Number of steps for which ``draw_together`` is fast: their words fill the vector registers."""


@inner
def seed_lanes(seed: np.uint64, identity: Identities, words: Words, order: Words) -> None:
    """Start the streams (5 rows, the last for draws) and orders of a block of trajectories."""
    fill_streams(seed, identity, False, INDEX, words)
    for entry in range(order.size):
        order[entry] = np.uint32(entry // LANES)


@inner
def draw_row(words: Words, bound: int) -> None:
    """Draw one index below ``bound`` into the last row for each lane, and advance the streams."""
    top = np.uint32(bound)
    for lane in range(LANES):
        s0, s1 = words[lane], words[LANES + lane]
        s2, s3 = words[2 * LANES + lane], words[3 * LANES + lane]
        words[4 * LANES + lane] = below(top, output(s0, s3))
        s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        words[lane], words[LANES + lane] = s0, s1
        words[2 * LANES + lane], words[3 * LANES + lane] = s2, s3


@inner
def draw_batch(rule: int, n: int, step: int, words: Words, order: Words, picks: Words) -> int:
    """Draw the terms of ``step`` into the m rows of ``picks``, and return their number.

    Steps are drawn in turn from 0; ``picks`` contains the terms of the previous step. ``order`` has
    n rows; it may be empty for single terms drawn iid, which do not read it.
    """
    m = picks.size // LANES
    by_epoch = rule & BY_EPOCH != 0
    no_repeat = rule & NO_REPEAT != 0

    # The batch uses the places first, first + 1, ... of the order; its first term is any of the
    # ``free`` ones there or behind.
    first = 0
    free = n
    size: int = m
    if by_epoch:
        batches = (n + m - 1) // m
        first = (step % batches) * m
        size = min(m, n - first)
        free = n - first
        if no_repeat and first == 0 and step > 0:
            # The last batch of the previous epoch is in the last places: exclude it.
            free = (batches - 1) * m
    elif no_repeat and step > 0:
        free = n - m
        if m > 1:
            # The last batch is in the first m places: exchange it with the last m.
            for entry in range(m * LANES):
                other = (n - m) * LANES + entry
                order[entry], order[other] = order[other], order[entry]

    terms = np.uint32(n)
    for b in range(size):
        row = picks[b * LANES : (b + 1) * LANES]
        if rule & IN_ORDER != 0:
            for lane in range(LANES):
                row[lane] = np.uint32(first + b)
            continue

        draw_row(words, free - b)
        if m > 1 or by_epoch:
            # Swap the drawn entry, counted from this place, into this place.
            here = np.uint64((first + b) * LANES)
            for lane in range(LANES):
                at = here + np.uint64(lane)
                there = at + np.uint64(words[4 * LANES + lane]) * np.uint64(LANES)
                term = order[there]
                order[there] = order[at]
                order[at] = term
                row[lane] = term
        elif free == n:
            for lane in range(LANES):
                row[lane] = words[4 * LANES + lane]
        else:
            # Any of the n - 1 others: that many places ahead of the last one, around the circle.
            for lane in range(LANES):
                ahead = np.uint32(row[lane] + np.uint32(1) + words[4 * LANES + lane])
                row[lane] = np.uint32(ahead - terms) if ahead >= terms else ahead

    return size


@inner
def draw_together(
    rule: int, n: int, step: int, count: int, words: Words, order: Words, picks: Words, drawn: Words
) -> None:
    """Draw the single terms of the steps step, step + 1, ... into the rows of ``drawn``."""
    if rule == IID and count == TOGETHER:
        # Eight words at once, so that the state of a stream stays in registers.
        terms = np.uint32(n)
        for lane in range(LANES):
            s0, s1 = words[lane], words[LANES + lane]
            s2, s3 = words[2 * LANES + lane], words[3 * LANES + lane]
            for u in range(TOGETHER):
                drawn[u * LANES + lane] = below(terms, output(s0, s3))
                s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            words[lane], words[LANES + lane] = s0, s1
            words[2 * LANES + lane], words[3 * LANES + lane] = s2, s3

        return

    for u in range(count):
        draw_batch(rule, n, step + u, words, order, picks)
        for lane in range(LANES):
            drawn[u * LANES + lane] = picks[lane]


def order_size(rule: int, n: int, batch: int) -> int:
    """Number of entries of a trajectory's order: none for single terms drawn iid."""
    return n if rule & BY_EPOCH or batch > 1 else 0


def new_draws(rule: int, n: int, batch: int) -> tuple[Words, Words, Words]:
    """Allocate the words, the orders and the picks of a block."""
    return (
        np.zeros(5 * LANES, np.uint32),
        np.zeros(order_size(rule, n, batch) * LANES, np.uint32),
        np.zeros(batch * LANES, np.uint32),
    )


@compiled
def _indices(
    rule: int, n: int, seed: np.uint64, identity: Identities, draws: Any, out: npt.NDArray[np.int64]
) -> None:
    words, order, picks = draws
    steps, m = out.shape
    seed_lanes(seed, identity, words, order)
    for k in range(steps):
        size = draw_batch(rule, n, k, words, order, picks)
        for b in range(m):
            out[k, b] = np.int64(picks[b * LANES]) if b < size else np.int64(-1)


def sampled_indices(
    n: int, steps: int, *, sampling: Sampling, seed: int = 0, trajectory: int = 0, batch: int = 1
) -> npt.NDArray[np.int64]:
    """The terms that a trajectory visits, the same as in every kernel of the engine.

    Parameters
    ----------
    n
        Number of terms in the sum, at least 1 (2 without repeat).
    steps
        Number of steps, at least 1.
    sampling
        One of :class:`ravine.Sampling`.
    seed, trajectory
        Select the stream; each from 0 to 2⁶⁴ - 1.
    batch
        Terms drawn in a step, without replacement.

    Returns
    -------
    array of shape (steps, batch)
        Terms from 0 to n - 1; -1 fills up shorter batches at the end of an epoch.

    Examples
    --------
    >>> sampled_indices(3, 6, sampling=Sampling.CYCLIC).ravel().tolist()
    [0, 1, 2, 0, 1, 2]
    >>> sorted(sampled_indices(5, 5, sampling=Sampling.RESHUFFLE, seed=3).ravel().tolist())
    [0, 1, 2, 3, 4]
    """
    out = np.empty((steps, batch), np.int64)
    rule = rule_number(sampling)
    identity = np.full(LANES, trajectory, np.uint64)
    _indices(rule, n, np.uint64(seed), identity, new_draws(rule, n, batch), out)
    return out
