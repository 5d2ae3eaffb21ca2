import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.half_polygon import add, gauge, place, under, upper
from ravine.theory.joint_spectral_radius.polytope_norm import SymmetricHull


def polygon(points: np.ndarray) -> tuple[list[float], list[float], list[int], int, list[int]]:
    """Half polygon of points and their negatives, built one by one; those inside are left out."""
    x, y, hull, alive, m = [], [], [0] * (len(points) + 1), [1] * len(points), 0
    for node, point in enumerate(points):
        wx, wy = upper(*point.tolist())
        x.append(wx)
        y.append(wy)
        if m == 0 or gauge(x, y, hull, m, wx, wy, 0.0) > 1.0:
            m = add(x, y, alive, hull, m, node)
        else:
            alive[node] = 0
    return x, y, hull, m, alive


def test_the_upper_half_plane() -> None:
    assert upper(1.0, -2.0) == (-1.0, 2.0)
    assert upper(-1.0, 0.0) == (1.0, 0.0)
    assert upper(-1.0, 2.0) == (-1.0, 2.0)


def test_the_gauge_is_the_norm_of_the_hull() -> None:
    """Against the linear programmes of the general polytope."""
    generator = np.random.default_rng(2)
    points = generator.normal(size=(12, 2))
    x, y, hull, m, alive = polygon(points)
    vertices = np.array([[x[v] for v in hull[:m]], [y[v] for v in hull[:m]]])
    tests = generator.normal(size=(2, 60))
    expected = SymmetricHull(points.T).norms(tests)
    sizes = [gauge(x, y, hull, m, *upper(*w.tolist()), 0.0) for w in tests.T]
    np.testing.assert_allclose(sizes, expected, rtol=1e-9)
    np.testing.assert_allclose(SymmetricHull(vertices).norms(tests), expected, rtol=1e-9)
    assert sum(alive) == m < len(points)


def test_vertices_are_sorted_by_angle() -> None:
    x, y, hull, m, _ = polygon(np.random.default_rng(3).normal(size=(20, 2)))
    angles = [np.arctan2(y[v], x[v]) for v in hull[:m]]
    assert angles == sorted(angles)
    for n in range(m):
        assert place(x, y, hull, m, x[hull[n]], y[hull[n]]) == n + 1


def test_a_single_vertex_is_a_segment() -> None:
    x, y, hull, m, _ = polygon(np.array([[3.0, 4.0]]))
    assert m == 1
    assert gauge(x, y, hull, m, 1.5, 2.0, 0.0) == pytest.approx(0.5)
    assert gauge(x, y, hull, m, 1.0, 2.0, 0.0) == np.inf


def test_noise_makes_a_vector_longer() -> None:
    x, y, hull, m, _ = polygon(np.array([[1.0, 0.0], [0.0, 1.0]]))
    plain = gauge(x, y, hull, m, 0.3, 0.4, 0.0)
    noisy = gauge(x, y, hull, m, 0.3, 0.4, 1e-6)
    assert plain == pytest.approx(0.7)
    assert 1e-6 <= noisy - plain <= 3e-6


def test_under() -> None:
    assert under(1.0, 0.0, 0.4, 0.4, 0.0, 1.0)
    assert not under(1.0, 0.0, 0.6, 0.6, 0.0, 1.0)
