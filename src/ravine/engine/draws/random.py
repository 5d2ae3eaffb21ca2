"""Random streams whose draws depend only on (seed, pixel, step, coordinate).

Every stream is a xoshiro128++ generator (Blackman and Vigna 2021) whose 128-bit state is one
Philox4x32-10 block (Salmon et al. 2011): key = the 64-bit seed, counter = (pixel's low word,
pixel's high word, coordinate, purpose). Philox makes the streams of different pixels, coordinates
and purposes unrelated; xoshiro makes draws within a stream cheap. Threads, tiles and the order of
work cannot change a draw.

The functions take and return scalars, and use operators with the same meaning in Python, Numba and
CUDA: sums of words are computed in 64 bits and truncated, so that nothing overflows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import seed_number
from ravine.engine.kernels.compiled import compiled, inner

NOISE = np.uint32(0)
"""Purpose of a stream of additive noise, one per coordinate."""
INDEX = np.uint32(1)
"""Purpose of a stream of sampled indices, one per trajectory, with coordinate 0."""

_WORD = np.uint64(0xFFFFFFFF)  # the low 32 bits of a 64-bit product
_SHIFT = np.uint64(32)  # bits of a word

# Philox4x32: its multipliers, and the increments of the key from round to round, the golden ratio
# and √3, less 1, in units of 2⁻³².
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)

# Shifts and rotations of xoshiro128++.
_7, _9, _11, _21, _25 = (np.uint32(n) for n in (7, 9, 11, 21, 25))

_KEYS = 2**64
"""A key of Philox has 64 bits."""

State = tuple[np.uint32, np.uint32, np.uint32, np.uint32]


def key_of_seed(seed: object) -> int:
    """Check a seed of up to 128 bits, and return its key of 64 bits.

    A seed below 2⁶⁴ is its own key; a larger one is hashed.

    Examples
    --------
    >>> key_of_seed(7), key_of_seed(2**100) < 2**64
    (7, True)
    """
    number = seed_number("seed", seed)
    if number < _KEYS:
        return number

    return int(np.random.SeedSequence(number).generate_state(1, np.uint64)[0])


@inner
def philox(
    c0: np.uint32, c1: np.uint32, c2: np.uint32, c3: np.uint32, k0: np.uint32, k1: np.uint32
) -> State:
    """Return the Philox4x32-10 block of a counter and a key."""
    key_0 = np.uint64(k0)
    key_1 = np.uint64(k1)
    for _ in range(10):
        p0 = _MULTIPLIER_0 * np.uint64(c0)
        p1 = _MULTIPLIER_1 * np.uint64(c2)
        c0 = np.uint32((p1 >> _SHIFT) ^ np.uint64(c1) ^ key_0)
        c1 = np.uint32(p1 & _WORD)
        c2 = np.uint32((p0 >> _SHIFT) ^ np.uint64(c3) ^ key_1)
        c3 = np.uint32(p0 & _WORD)
        key_0 = (key_0 + _WEYL_0) & _WORD
        key_1 = (key_1 + _WEYL_1) & _WORD

    return c0, c1, c2, c3


@inner
def stream(seed: np.uint64, pixel: np.uint64, coordinate: np.uint32, purpose: np.uint32) -> State:
    """Return the initial state of the stream of (seed, pixel, coordinate) for a purpose.

    xoshiro must not start from four zeros, which a Philox block has with probability 2⁻¹²⁸.
    """
    return philox(
        np.uint32(np.uint64(pixel) & _WORD),
        np.uint32(np.uint64(pixel) >> _SHIFT),
        np.uint32(coordinate),
        np.uint32(purpose),
        np.uint32(np.uint64(seed) & _WORD),
        np.uint32(np.uint64(seed) >> _SHIFT),
    )


@inner
def output(s0: np.uint32, s3: np.uint32) -> np.uint32:
    """Return the 32 random bits of a xoshiro128++ state."""
    total = np.uint32((np.uint64(s0) + np.uint64(s3)) & _WORD)
    turned = np.uint32((total << _7) & np.uint32(_WORD)) | np.uint32(total >> _25)
    return np.uint32((np.uint64(turned) + np.uint64(s0)) & _WORD)


@inner
def advance(s0: np.uint32, s1: np.uint32, s2: np.uint32, s3: np.uint32) -> State:
    """Return the next xoshiro128++ state."""
    shifted = np.uint32((s1 << _9) & np.uint32(_WORD))
    s2 = np.uint32(s2 ^ s0)
    s3 = np.uint32(s3 ^ s1)
    s1 = np.uint32(s1 ^ s2)
    s0 = np.uint32(s0 ^ s3)
    s2 = np.uint32(s2 ^ shifted)
    s3 = np.uint32((s3 << _11) & np.uint32(_WORD)) | np.uint32(s3 >> _21)
    return s0, s1, s2, np.uint32(s3)


@inner
def below(n: np.uint32, bits: np.uint32) -> np.uint32:
    """Return floor(n · bits / 2³²), an index in 0..n-1; its bias is at most n / 2³²."""
    return np.uint32((np.uint64(bits) * np.uint64(n)) >> _SHIFT)


@compiled
def fill_streams(
    seed: np.uint64,
    identity: npt.NDArray[np.uint64],
    across: bool,
    purpose: np.uint32,
    words: npt.NDArray[np.uint32],
) -> None:
    """Write initial states to ``words``: flat, four rows of ``identity.size`` lanes per group.

    A group contains the streams of one coordinate, one lane per identity; or, with ``across``, of
    as many coordinates as there are lanes.
    """
    lanes = identity.size
    for group in range(words.size // (4 * lanes)):
        for p in range(lanes):
            coordinate = group * lanes + p if across else group
            state = stream(seed, identity[p], np.uint32(coordinate), purpose)
            at = 4 * group * lanes + p
            words[at] = state[0]
            words[at + lanes] = state[1]
            words[at + 2 * lanes] = state[2]
            words[at + 3 * lanes] = state[3]
