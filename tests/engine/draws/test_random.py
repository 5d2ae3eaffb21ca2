import numpy as np
import pytest
import reference
from numba import njit

from ravine.engine.draws import random

# The kernels' parts are compiled for compiled code alone.
philox = njit(lambda *given: random.philox(*given))
output = njit(lambda s0, s3: random.output(s0, s3))
advance = njit(lambda *state: random.advance(*state))
below = njit(lambda n, bits: random.below(n, bits))
ONES = 0xFFFFFFFF


def w(*values):
    return tuple(np.uint32(v) for v in values)


# Known answers of Philox4x32-10, published with Random123 (Salmon et al. 2011).
PHILOX = [
    ((0,) * 6, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
# xoshiro128++ (Blackman and Vigna 2021) from the state 1, 2, 3, 4; the first by hand:
# rotl(1 + 4, 7) + 1 = 641.
XOSHIRO = [641, 1573767, 3222811527, 3517856514, 836907274, 4247214768, 3867114732, 1355841295]


@pytest.mark.parametrize(("given", "block"), PHILOX)
def test_philox_gives_its_published_answers(given, block):
    assert philox(*w(*given)) == block
    assert random.philox.py_func(*w(*given)) == block
    assert tuple(reference.philox(given[:4], given[4:])) == block


def test_xoshiro_gives_its_published_answers():
    for after, bits in ((advance, output), (random.advance.py_func, random.output.py_func)):
        state = w(1, 2, 3, 4)
        for expected in XOSHIRO:
            assert bits(state[0], state[3]) == expected
            state = w(*after(*state))


def test_streams_agree_with_the_reference():
    seed, purpose = 2**63 + 12345, np.uint32(1)
    pixels = np.array([0, 7, 5 | 2 << 32, 2**40 + 1], dtype=np.uint64)
    for across in (False, True):
        words = np.empty((3, 4, random.LANES), np.uint32)
        identity = np.resize(pixels, random.LANES)
        random.fill_streams(np.uint64(seed), identity, across, purpose, words.ravel())
        for group in range(3):
            for p, pixel in enumerate(pixels):
                coordinate = group * random.LANES + p if across else group
                state = w(*words[group, :, p])
                for word in reference.words(seed, pixel, coordinate, 1, 20):
                    assert output(state[0], state[3]) == word
                    state = w(*advance(*state))


def test_streams_of_neighbours_share_no_word():
    # 3 * 4 * 5 * 2 streams, 100 words each: 12000 words, of which 2^-32 pairs collide by chance,
    # 12000² / 2 / 2^32 = 0.017 pairs expected.
    drawn = np.concatenate(
        [
            reference.words(seed, np.arange(4)[:, None], np.arange(5), purpose, 100).ravel()
            for seed in (0, 1, 2**32)
            for purpose in (0, 1)
        ]
    )
    assert len(np.unique(drawn)) >= len(drawn) - 2


def test_words_are_uniform_and_uncorrelated():
    # 3.2e5 words: the mean of u has standard error 1/sqrt(12 n), a correlation 1/sqrt(n).
    u = reference.words(3, np.arange(40)[:, None], np.arange(20), 0, 400) / 2.0**32
    n = u.size
    assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * n)
    counts = np.histogram(u, bins=256, range=(0, 1))[0]
    chi2 = ((counts - n / 256) ** 2 / (n / 256)).sum()
    assert abs(chi2 - 255) < 4 * np.sqrt(2 * 255)
    c = (u - 0.5) * np.sqrt(12)
    for axis in range(3):
        lagged = np.take(c, range(1, c.shape[axis]), axis) * np.take(
            c, range(c.shape[axis] - 1), axis
        )
        assert abs(lagged.mean()) < 4 / np.sqrt(lagged.size)


def test_below_covers_its_range_evenly():
    bits = reference.words(5, np.arange(50), 0, 1, 1000).ravel()
    drawn = np.array([below(np.uint32(7), b) for b in bits[:5000]])
    counts = np.bincount(drawn, minlength=7)
    assert len(counts) == 7
    chi2 = ((counts - 5000 / 7) ** 2 / (5000 / 7)).sum()
    assert chi2 < 6 + 4 * np.sqrt(12)
    assert below(np.uint32(7), np.uint32(ONES)) == 6
    assert below(np.uint32(7), np.uint32(0)) == 0


def test_seeds_beyond_64_bits_are_hashed_and_differ():
    assert random.key_of_seed(2**64 - 1) == 2**64 - 1
    keys = {random.key_of_seed(seed) for seed in (2**64, 2**64 + 1, 2**127, 2**128 - 1)}
    assert len(keys) == 4
    assert all(0 <= key < 2**64 for key in keys)
