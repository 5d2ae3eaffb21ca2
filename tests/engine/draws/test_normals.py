from math import erfc, sqrt

import numpy as np
import pytest
import reference
from numba import njit

from ravine.engine.draws import random


@njit
def normal_pair(first, second):
    r = random.radius(first)
    return r * random.cosine(second), r * random.sine(second)


@njit
def fill(seed, out):
    """Normals [pixel, coordinate, step], drawn as the kernels draw them."""
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            s = random.stream(seed, np.uint64(p), np.uint32(i), random.NOISE)
            for k in range(0, out.shape[2], 2):
                first = random.output(s[0], s[3])
                s = random.advance(*s)
                pair = normal_pair(first, random.output(s[0], s[3]))
                s = random.advance(*s)
                out[p, i, k], out[p, i, k + 1] = pair


@pytest.fixture(scope="module")
def sample():
    out = np.empty((1000, 20, 1000), np.float32)
    fill(np.uint64(11), out)
    return out


def test_normals_agree_with_double_precision():
    out = np.empty((30, 10, 200), np.float32)
    fill(np.uint64(2**40 + 5), out)
    exact = reference.normals(
        reference.words(2**40 + 5, np.arange(30)[:, None], np.arange(10), 0, 200)
    )
    # Single precision: u near 1 is off by 2^-25, and with it r²/2; elsewhere a few units of 2^-24.
    small = np.hypot(exact[..., 0::2], exact[..., 1::2]).repeat(2, axis=-1)
    assert np.all(np.abs(out - exact) < 1e-6 + 2.0**-24 / np.maximum(small, 1e-3))


def test_extreme_words_stay_finite():
    ends = [0, 1, 2, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]
    for a in ends:
        for b in ends:
            pair = normal_pair(np.uint32(a), np.uint32(b))
            assert np.all(np.isfinite(pair))
            assert np.hypot(*pair) <= np.sqrt(64 * np.log(2)) + 1e-5
            exact = reference.normals(np.array([a, b], np.uint32))
            np.testing.assert_allclose(pair, exact, atol=1e-4)


def test_moments(sample):
    # E z^k = 1, 3, 15 for k = 2, 4, 6; Var z^k = E z^2k - (E z^k)² = 1, 2, 15, 96, 10170.
    n = sample.size
    expected = {1: (0.0, 1.0), 2: (1.0, 2.0), 3: (0.0, 15.0), 4: (3.0, 96.0), 6: (15.0, 10170.0)}
    for power, (mean, variance) in expected.items():
        found = sum((part.astype(np.float64) ** power).sum() for part in sample) / n
        assert abs(found - mean) < 4 * np.sqrt(variance / n), power


def test_tails_to_five_sigma(sample):
    n = sample.size
    for edge in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
        for side in (1, -1):
            share = 0.5 * erfc(edge / sqrt(2))
            found = np.count_nonzero(side * sample > edge)
            assert abs(found - n * share) < 4 * np.sqrt(n * share) + 1, (edge, side)


def test_independence_between_pixels_coordinates_and_steps(sample):
    for axis in range(3):
        for lag in (1, 2, 3):
            ahead = [slice(None)] * 3
            behind = [slice(None)] * 3
            ahead[axis], behind[axis] = slice(lag, None), slice(None, -lag)
            part = slice(0, 200)
            a, b = sample[part][tuple(ahead)], sample[part][tuple(behind)]
            # The product of two independent normals has variance 1, of their squares (about 1) 4.
            n = a.size
            assert abs(np.mean(a * b, dtype=np.float64)) < 4.5 / np.sqrt(n), (axis, lag)
            squares = np.mean((a * a - 1) * (b * b - 1), dtype=np.float64)
            assert abs(squares) < 4.5 * 2 / np.sqrt(n), (axis, lag)
