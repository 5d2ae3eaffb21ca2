"""The engine once more in plain NumPy, written for reading: what the kernels are tested against.

Words come from vectorised integer arithmetic, normals from the library's own logarithm, sine and
cosine in double precision, steps from the definition of the method in the given coordinates.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray

Words = npt.NDArray[np.uint32]


def philox(counter: npt.ArrayLike, key: npt.ArrayLike) -> Words:
    """Philox4x32-10 blocks of counters (..., 4) under keys (..., 2)."""
    c = np.asarray(counter, dtype=np.uint64)
    k = np.asarray(key, dtype=np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for bump in range(10):
        weyl = np.array([0x9E3779B9, 0xBB67AE85], dtype=np.uint64) * np.uint64(bump)
        turned = (k + weyl) & low
        left = np.uint64(0xD2511F53) * c[..., 0]
        right = np.uint64(0xCD9E8D57) * c[..., 2]
        c = np.stack(
            [
                (right >> half) ^ c[..., 1] ^ turned[..., 0],
                right & low,
                (left >> half) ^ c[..., 3] ^ turned[..., 1],
                left & low,
            ],
            axis=-1,
        )
    return c.astype(np.uint32)


def words(
    seed: int, pixel: npt.ArrayLike, coordinate: npt.ArrayLike, purpose: int, count: int
) -> Words:
    """First ``count`` words of streams, shape (..., count) for pixels and coordinates (...)."""
    identity, place = np.broadcast_arrays(
        np.asarray(pixel, np.uint64), np.asarray(coordinate, np.uint64)
    )
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    start = np.stack(
        [identity & low, identity >> half, place, np.full_like(place, purpose)], axis=-1
    )
    # One leading axis more: sums of NumPy scalars would warn that they wrap around.
    state = philox(start, [seed & 0xFFFFFFFF, seed >> 32])[np.newaxis]
    s0, s1, s2, s3 = (state[..., i].copy() for i in range(4))

    def rotate(v: Words, n: int) -> Words:
        return (v << np.uint32(n)) | (v >> np.uint32(32 - n))

    drawn = np.empty((1, *identity.shape, count), np.uint32)
    for k in range(count):
        drawn[..., k] = rotate(s0 + s3, 7) + s0
        shifted = s1 << np.uint32(9)
        s2 = s2 ^ s0
        s3 = s3 ^ s1
        s1 = s1 ^ s2
        s0 = s0 ^ s3
        s2 = s2 ^ shifted
        s3 = rotate(s3, 11)
    return np.asarray(drawn[0])


def normals(drawn: Words) -> FloatArray:
    """Standard normals from words (..., 2m), by Box and Muller's transform in double precision."""
    first, second = drawn[..., 0::2], drawn[..., 1::2]
    u = (np.floor(first / 2.0) + 0.5) / 2.0**31
    angle = second.astype(np.int32, casting="unsafe") * (np.pi / 2.0**32)
    sign = 1.0 - 2.0 * (second % 2)
    radius = np.sqrt(-2.0 * np.log(u))
    pair = [radius * np.cos(angle) * sign, radius * np.sin(angle)]
    return np.stack(pair, axis=-1).reshape(drawn.shape)


def errors(
    hessian: FloatArray,
    start: FloatArray,
    alpha: float,
    beta: float,
    gamma: float,
    noise: FloatArray,
) -> FloatArray:
    """y_{k+1} - x* after k = 0, 1, ... steps, shape (steps + 1, d), with the noise of each step."""
    x = x_prev = np.asarray(start, dtype=np.float64)
    history = [x]
    for z in noise:
        y = x + gamma * (x - x_prev)
        x, x_prev = x + beta * (x - x_prev) - alpha * (hessian @ y + z), x
        history.append(x + gamma * (x - x_prev))
    return np.array(history)
