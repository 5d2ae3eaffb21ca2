"""Two real 2x2 matrices: points are complex numbers, a matrix maps z to u z + v z̄."""

import itertools

import numpy as np
import pytest

from ravine.theory.joint_spectral_radius import planar
from ravine.theory.joint_spectral_radius.hulls import Hull

GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0
SHEARS = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])


def pair_of(matrices: np.ndarray) -> list[complex]:
    return planar.as_complex(np.asarray(matrices, float)).ravel().tolist()


def product(matrices: np.ndarray, word: list[int]) -> np.ndarray:
    """The matrix of a word whose letters act in their order: the last one is written first."""
    out = np.eye(2)
    for letter in word:
        out = matrices[letter] @ out
    return out


def radius_per_factor(matrices: np.ndarray, word: list[int]) -> float:
    return float(np.abs(np.linalg.eigvals(product(matrices, word))).max() ** (1.0 / len(word)))


def test_complex_form_of_matrices() -> None:
    """Images, products and radii, real and complex eigenvalues, against NumPy."""
    generator = np.random.default_rng(1)
    for a, b in generator.normal(size=(50, 2, 2, 2)):
        (u, v), (s, t) = planar.as_complex(a), planar.as_complex(b)
        point = complex(*generator.normal(size=2))
        image = u * point + v * point.conjugate()
        np.testing.assert_allclose([image.real, image.imag], a @ [point.real, point.imag])
        np.testing.assert_allclose(planar.times(u, v, s, t), planar.as_complex(a @ b), atol=1e-14)
        expected = np.abs(np.linalg.eigvals(a)).max()
        assert planar.radius(u, v) == pytest.approx(expected, rel=1e-12)
        assert abs(u) + abs(v) == pytest.approx(np.linalg.norm(a, ord=2))


@pytest.mark.parametrize("seed", range(6))
def test_the_best_short_word_is_the_best_of_all(seed: int) -> None:
    matrices = np.random.default_rng(seed).normal(size=(2, 2, 2))
    best, word = planar.short_word(pair_of(matrices))
    assert radius_per_factor(matrices, word) == pytest.approx(best, rel=1e-12)
    for k in range(1, 11):
        for letters in itertools.product((0, 1), repeat=k):
            assert radius_per_factor(matrices, list(letters)) <= best * (1.0 + 1e-10)


def test_the_certain_radius_is_just_below_the_computed_one() -> None:
    """A double eigenvalue costs the root of rounding, a simple one next to nothing."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for matrices, word, loss in (
        (np.random.default_rng(4).normal(size=(2, 2, 2)), [0, 1, 1, 0, 1], 1e-12),
        (np.array([turn, 2.0 * turn.T]), [0, 1, 1], 1e-13),
        (np.array([SHEARS[0], np.eye(2)]), [0, 0, 0], 1e-7),
    ):
        exact = radius_per_factor(matrices, word)
        lower = planar.certain_pair_radius(pair_of(matrices), word)
        assert exact * (1.0 - loss) <= lower <= exact * (1.0 + 1e-15 + loss)


def test_leading_vectors_are_kept_by_their_product() -> None:
    """An eigenvector is mapped to its multiple, an ellipse to a multiple of itself."""
    generator = np.random.default_rng(6)
    kinds = set()
    for matrix in [*generator.normal(size=(40, 2, 2)), np.diag([-2.0, 1.0]), np.eye(2)]:
        points = planar.leading_vectors(pair_of([matrix, np.eye(2)]), [0])
        plane = np.array([[z.real, z.imag] for z in points]).T
        values = np.linalg.eigvals(matrix)
        size = np.abs(values).max()
        kinds.add(len(points))
        if len(points) == 2:
            lead = values[np.argmax(np.abs(values))].real
            np.testing.assert_allclose(matrix @ plane[:, 0], lead * plane[:, 0], atol=1e-12)
        else:
            form = np.linalg.inv(plane @ plane.T)  # the ellipse's own quadratic form
            before = np.einsum("ik,ij,jk->k", plane, form, plane)
            after = np.einsum("ik,ij,jk->k", matrix @ plane, form, matrix @ plane)
            np.testing.assert_allclose(after, size**2 * before, rtol=1e-9)
    assert len(kinds) == 2


def test_a_polygon_is_the_hull_of_its_nodes() -> None:
    """Against the linear programs of the general polytope; vertices are sorted by angle."""
    generator = np.random.default_rng(2)
    points = [planar.upper(complex(*z)) for z in generator.normal(size=(30, 2))]
    alive, hull = [1] * 30, [0]
    for node in range(1, 30):
        vertices = np.array([[points[k].real, points[k].imag] for k in hull]).T
        if len(hull) < 2 or Hull(vertices).norms(plane(points[node]))[0] > 1.0:
            planar.add(points, alive, hull, node)
        else:
            alive[node] = 0
    assert sum(alive) == len(hull) < 30
    angles = [np.angle(points[k]) for k in hull]
    assert angles == sorted(angles)
    vertices = np.concatenate([plane(points[k]) for k in hull], axis=1)
    whole = np.concatenate([plane(z) for z in points], axis=1)
    tests = [planar.upper(complex(*z)) for z in generator.normal(size=(60, 2))]
    expected = Hull(whole).norms(np.concatenate([plane(z) for z in tests], axis=1))
    edges = [planar.edge_at(points, hull, z) for z in tests]
    sizes = [
        planar.cross(z, e) / planar.cross(a, e) for z, (a, e) in zip(tests, edges, strict=True)
    ]
    np.testing.assert_allclose(sizes, expected, rtol=1e-9)
    np.testing.assert_allclose(Hull(vertices).norms(whole).max(), 1.0, rtol=1e-12)


def plane(z: complex) -> np.ndarray:
    return np.array([[z.real], [z.imag]])


def test_golden_pair() -> None:
    lower, upper, word, polygon = planar.bracket_pair(pair_of(SHEARS), 10.0, 1e-3)
    assert lower == pytest.approx(GOLDEN, rel=1e-13)
    assert upper == pytest.approx(GOLDEN, rel=1e-11)
    assert lower <= GOLDEN <= upper
    assert sorted(word) == [0, 1]
    assert len(polygon) >= 2


def test_a_common_eigenvector() -> None:
    """Both upper triangular: the largest diagonal entry, reached within the tolerance."""
    matrices = np.array([[[0.9, 5.0], [0.0, 0.3]], [[-0.2, 1.0], [0.0, 0.8]]])
    lower, upper, _, _ = planar.bracket_pair(pair_of(matrices), 10.0, 1e-3)
    assert lower == pytest.approx(0.9, rel=1e-12)
    assert 0.9 <= upper <= 0.9 * (1.0 + 1.001e-3)


def test_rotations() -> None:
    """Complex leading eigenvalues: the unit circle is between the polygons."""
    turns = [np.exp(1j), 0.0, np.exp(2j), 0.0]
    lower, upper, _, _ = planar.bracket_pair([complex(t) for t in turns], 3.0, 1e-3)
    assert 1.0 - 1e-12 <= lower <= 1.0 <= upper <= 1.0 + 1.001e-3


def test_a_known_bound_below_the_tolerance_is_returned() -> None:
    known = GOLDEN * (1.0 + 1e-12)
    lower, upper, _, polygon = planar.bracket_pair(pair_of(SHEARS), known, 1e-3)
    assert upper == known
    assert lower <= GOLDEN
    assert not polygon


def test_a_long_product_is_found_from_the_growth() -> None:
    """Words of more than ten letters are not tried one by one: this pair needs forty."""
    angle, shrink = np.pi / 80.0, 0.999
    turn = shrink * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    pair = pair_of(np.array([turn, [[0.0, 0.0], [2.0, 0.0]]]))
    lower, upper, word, _ = planar.bracket_pair(pair, 2.0, 1e-3)
    assert len(word) > 20
    assert upper / lower - 1.0 <= 1e-3
    # 2 (0.999)^k sin(k angle) per factor, the best k by trying all
    k = np.arange(1, 80)
    best = (2.0 * shrink**k * np.sin(k * angle)) ** (1.0 / (k + 1))
    assert lower <= best.max() * (1.0 + 1e-12)
    assert upper >= best.max() * (1.0 - 1e-12)
