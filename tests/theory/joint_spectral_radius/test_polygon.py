import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.polygon import (
    array_room,
    bracket_pair,
    compiled_sweep,
    list_room,
    workspace,
)

GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0


def test_golden_pair() -> None:
    room = workspace(list_room)
    lower, upper, length = bracket_pair([1, 1, 0, 1, 1, 0, 1, 1], 10.0, 1e-3, room)
    assert lower == pytest.approx(GOLDEN, rel=1e-13)
    assert upper == pytest.approx(GOLDEN, rel=1e-11)
    assert lower <= GOLDEN <= upper
    assert sorted(room.word[:length]) == [0, 1]


def test_a_common_eigenvector() -> None:
    """Both upper triangular: the largest diagonal entry, reached within the tolerance."""
    pair = [0.9, 5.0, 0.0, 0.3, -0.2, 1.0, 0.0, 0.8]
    lower, upper, _ = bracket_pair(pair, 10.0, 1e-3, workspace(list_room))
    assert lower == pytest.approx(0.9, rel=1e-12)
    assert 0.9 <= upper <= 0.9 * (1.0 + 1.001e-3)


def test_rotations() -> None:
    """Complex leading eigenvalues: the unit circle is between the polygons."""
    c, s = np.cos([1.0, 2.0]), np.sin([1.0, 2.0])
    pair = [c[0], -s[0], s[0], c[0], c[1], -s[1], s[1], c[1]]
    lower, upper, _ = bracket_pair(pair, 3.0, 1e-3, workspace(list_room))
    assert 1.0 - 1e-12 <= lower <= 1.0 <= upper <= 1.0 + 1.001e-3


def test_a_known_bound_below_the_tolerance_is_returned() -> None:
    lower, upper, _ = bracket_pair(
        [1, 1, 0, 1, 1, 0, 1, 1], GOLDEN * (1.0 + 1e-12), 1e-3, workspace(list_room)
    )
    assert upper == GOLDEN * (1.0 + 1e-12)
    assert lower <= GOLDEN


def test_a_long_product_is_found_from_the_growth() -> None:
    """Words of more than ten letters are not tried one by one: this pair needs forty."""
    angle, shrink = np.pi / 80.0, 0.999
    turn = shrink * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    pair = [*turn.ravel().tolist(), 0.0, 0.0, 2.0, 0.0]
    room = workspace(list_room)
    lower, upper, length = bracket_pair(pair, 2.0, 1e-3, room)
    assert length > 20
    assert upper / lower - 1.0 <= 1e-3
    # 2 (0.999)^k sin(k angle) per factor, the best k by trying all
    k = np.arange(1, 80)
    best = (2.0 * shrink**k * np.sin(k * angle)) ** (1.0 / (k + 1))
    assert lower <= best.max() * (1.0 + 1e-12)
    assert upper >= best.max() * (1.0 - 1e-12)


def test_compiled_code_computes_the_same() -> None:
    pairs = np.random.default_rng(7).normal(size=(50, 8))
    lower, upper = np.empty(50), np.empty(50)
    compiled_sweep()(pairs, np.full(50, 20.0), 1e-3, lower, upper, workspace(array_room))
    for n in range(50):
        low, high, _ = bracket_pair(pairs[n].tolist(), 20.0, 1e-3, workspace(list_room))
        # a fused multiply-add may take another path inside the same bracket
        assert low == pytest.approx(lower[n], rel=1e-3)
        assert high == pytest.approx(upper[n], rel=1e-3)
        assert low <= upper[n] * (1.0 + 1e-12)
        assert lower[n] <= high * (1.0 + 1e-12)
