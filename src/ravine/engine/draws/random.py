"""Random streams and normals whose draws depend only on (seed, pixel, step, coordinate).

Every stream is a xoshiro128++ generator (Blackman and Vigna 2021) whose 128-bit state is one
Philox4x32-10 block (Salmon et al. 2011): key = the 64-bit seed, counter = (pixel's low word,
pixel's high word, coordinate, purpose). Philox makes the streams of different pixels, coordinates
and purposes unrelated; xoshiro makes draws within a stream cheap. Threads, tiles and the order of
work cannot change a draw.

Normals are in single precision, from pairs of words, without branches: Box and Muller's transform.
With u uniform in (0, 1] and theta uniform on the circle, sqrt(-2 ln u) cos(theta) and
sqrt(-2 ln u) sin(theta) are independent standard normals. The logarithm, sine and cosine are
minimax polynomials, so that a loop over lanes becomes vector code. The radius is at most
sqrt(64 ln 2) = 6.66, which truncates 2.7e-11 of the mass. The stream of one coordinate gives words
w0, w1, w2, ...; words 2j and 2j+1 give the normals of steps 2j and 2j+1. ``radius`` and the two
functions of the angle are separate because kernels run them in separate lane loops: together, their
constants do not fit into the registers.

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

LANES = 128
"""Trajectories in a block.

Buffers are flat, with ``LANES`` entries per row, so that the compiler knows the distance of rows
and needs no checks for overlap.
"""

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
Words = npt.NDArray[np.uint32]
Identities = npt.NDArray[np.uint64]

_f = np.float32
_HALF = _f(0.5)  # uniform numbers are the centres of their cells, so that none is 0
_UNIT = _f(
    2.0**-31
)  # width of a cell: 31 bits fit into an int32, which processors convert in vectors
_ANGLE = _f(np.pi / 2.0**32)  # radians per unit of a word: all words together are half a turn
_MINUS_TWO_LN2 = _f(
    -2.0 * np.log(2.0)
)  # -2 ln 2, the contribution of each binary exponent to -2 ln u
_ROOT_HALF = np.int32(0x3F3504F3)  # the bits of sqrt(1/2)
_ONE = _f(1.0)
_MANTISSA = np.int32(23)  # bits of a float32's mantissa, below its exponent
_1 = np.uint32(1)
_31 = np.uint32(31)  # the highest bit of a word

# -2 ln(1+t) / t on sqrt(1/2) <= 1+t <= sqrt(2), relative error 1.7e-7.
_L0, _L1, _L2, _L3 = map(_f, (-1.9999999, 1.0000073, -0.6667012, 0.49939817))
_L4, _L5, _L6, _L7 = map(_f, (-0.3980033, 0.3450166, -0.32445163, 0.20213792))
# sin(a) / a and cos(a) in powers of a² on |a| <= pi/2, errors 5e-9 and 5e-8.
_S0, _S1, _S2, _S3, _S4 = map(_f, (1.0, -0.16666657, 0.0083330255, -1.980742e-4, 2.6019031e-6))
_C0, _C1, _C2, _C3, _C4 = map(
    _f, (0.99999994, -0.49999905, 0.041663583, -0.0013853704, 2.3153932e-5)
)


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
    seed: np.uint64, identity: Identities, across: bool, purpose: np.uint32, words: Words
) -> None:
    """Write initial states to ``words``: flat, four rows of ``LANES`` per group.

    A group contains the streams of one coordinate, one lane per identity; or, with ``across``, of
    as many coordinates as there are lanes.
    """
    for group in range(words.size // (4 * LANES)):
        for p in range(LANES):
            coordinate = group * LANES + p if across else group
            s0, s1, s2, s3 = stream(seed, identity[p], np.uint32(coordinate), purpose)
            at = 4 * group * LANES + p
            words[at], words[at + LANES] = s0, s1
            words[at + 2 * LANES], words[at + 3 * LANES] = s2, s3


@inner
def radius(bits: np.uint32) -> np.float32:
    """Return sqrt(-2 ln u) for u = (floor(bits/2) + 1/2) / 2³¹."""
    u = np.float32((_f(np.int32(bits >> _1)) + _HALF) * _UNIT)
    word = u.view(np.int32)
    exponent = np.int32(np.int32(word - _ROOT_HALF) >> _MANTISSA)
    mantissa = np.int32(word - np.int32(exponent << _MANTISSA))
    t = mantissa.view(np.float32) - _ONE
    p = _L4 + t * (_L5 + t * (_L6 + t * _L7))
    p = _L0 + t * (_L1 + t * (_L2 + t * (_L3 + t * p)))
    return np.float32(np.sqrt(t * p + _f(exponent) * _MINUS_TWO_LN2))


@inner
def sine(bits: np.uint32) -> np.float32:
    """Return sin(a), where a in [-pi/2, pi/2) is proportional to the bits as an integer."""
    a = _f(np.uint32(bits).view(np.int32)) * _ANGLE
    s = a * a
    return a * (_S0 + s * (_S1 + s * (_S2 + s * (_S3 + s * _S4))))


@inner
def cosine(bits: np.uint32) -> np.float32:
    """Return ±cos(a), with the sign from the lowest bit: the angle is uniform on the circle."""
    a = _f(np.uint32(bits).view(np.int32)) * _ANGLE
    s = a * a
    size = np.float32(_C0 + s * (_C1 + s * (_C2 + s * (_C3 + s * _C4))))
    return np.uint32(size.view(np.uint32) ^ np.uint32((bits & _1) << _31)).view(np.float32)
