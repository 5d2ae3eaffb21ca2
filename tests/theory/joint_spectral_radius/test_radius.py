import itertools
from dataclasses import replace
from math import comb

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import nesterov
from ravine.theory.blocks import block
from ravine.theory.joint_spectral_radius.radius import JointSpectralRadius, joint_spectral_radius

GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0


def radius_per_factor(matrices: np.ndarray, word: tuple[int, ...]) -> float:
    product = np.eye(matrices.shape[-1])
    for i in word:
        product = product @ matrices[i]
    return float(np.abs(np.linalg.eigvals(product)).max() ** (1.0 / len(word)))


def check(matrices: object, result: JointSpectralRadius) -> None:
    """What must hold of every result: order, the product, the proof, short products."""
    stack = np.asarray(matrices, dtype=float)
    assert 0.0 <= result.lower <= result.upper < np.inf
    # 1e-7: a product with a double eigenvalue has its radius only to the root of rounding
    assert radius_per_factor(stack, result.product) >= result.lower * (1.0 - 1e-7)
    assert result.proof.verify()
    assert result.proof.bound == result.upper
    for length in (1, 2, 3, 4):
        for word in itertools.product(range(len(stack)), repeat=length):
            assert radius_per_factor(stack, word) <= result.upper * (1.0 + 1e-7)


@pytest.mark.parametrize(
    ("matrices", "value"),
    [
        ([[[1, 1], [0, 1]], [[1, 0], [1, 1]]], GOLDEN),
        # pairs of 2x2 binary matrices: ((3 + √13)/2)^(1/4), attained by the word 0 0 0 1
        ([[[1, 1], [0, 1]], [[0, 1], [1, 0]]], ((3.0 + np.sqrt(13.0)) / 2.0) ** 0.25),
        # the word 0^k 1 has k^(1/(k+1)), largest for k = 4
        ([[[1, 1], [0, 1]], [[0, 0], [1, 0]]], 4.0**0.2),
        ([[[2.0]], [[-3.0]], [[1.0]]], 3.0),
        ([[[0, 2], [0, 0]], [[0, 0], [2, 0]]], 2.0),
        ([[[1, 1], [0, 1]]], 1.0),
        ([[[1, 2], [3, 4]]], (5.0 + np.sqrt(33.0)) / 2.0),
        (np.eye(4)[[[1, 2, 3, 0], [0, 2, 1, 3]]], 1.0),
    ],
)
def test_known_values(matrices: object, value: float) -> None:
    result = joint_spectral_radius(matrices)
    check(matrices, result)
    assert result.exact
    assert not result.exhausted
    assert result.lower == pytest.approx(value, rel=1e-11)
    assert result.upper == pytest.approx(value, rel=1e-11)
    assert result.lower <= value * (1.0 + 1e-15)
    assert result.upper >= value * (1.0 - 1e-15)


def test_gripenberg_pair() -> None:
    """Gripenberg (1996), Computing the joint spectral radius: 0.6596789 < value < 0.6596924."""
    pair = np.array([[[3, 0], [1, 3]], [[3, -3], [0, -1]]]) / 5.0
    result = joint_spectral_radius(pair)
    check(pair, result)
    assert result.exact
    assert 0.6596789 < result.lower < result.upper < 0.6596924


@pytest.mark.parametrize("Q", [2.0, 17.0553550856302, 2000.0])
def test_usual_nesterov_parameters(Q: float) -> None:
    """4^(1/5)(1 - 1/√Q), attained by one B(L) and four B(mu)."""
    curvature = Curvature(1.0, Q)
    pair = [block(1.0, nesterov(curvature)), block(Q, nesterov(curvature))]
    result = joint_spectral_radius(pair)
    assert result.lower == pytest.approx(4.0**0.2 * (1.0 - Q**-0.5), rel=1e-10)
    assert result.exact
    assert sorted(result.product) == [0, 0, 0, 0, 1]
    assert result.proof.kind == "invariant polytope"


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_jointly_nilpotent_sets_give_exactly_zero(n: int) -> None:
    generator = np.random.default_rng(n)
    strict = np.triu(generator.integers(-5, 6, (3, n, n)), 1).astype(float)
    unit = np.tril(generator.integers(-2, 3, (n, n)), -1) + np.eye(n)
    turned = unit @ strict @ np.round(np.linalg.inv(unit))  # whole numbers: no rounding
    for matrices in (strict, turned):
        result = joint_spectral_radius(matrices)
        assert result.lower == result.upper == 0.0
        assert result.exact
        assert result.proof.kind == "every long product is zero"
        assert result.proof.verify()


def test_zero_matrices() -> None:
    result = joint_spectral_radius(np.zeros((2, 3, 3)))
    assert result.proof.verify()
    assert result.lower == result.upper == 0.0


def test_nilpotent_matrices_with_a_growing_product() -> None:
    """Both matrices have radius 0, their product does not."""
    result = joint_spectral_radius([[[0, 4], [0, 0]], [[0, 0], [9, 0]]])
    assert result.lower == pytest.approx(6.0, rel=1e-12)
    assert result.product == (0, 1)
    assert result.exact


@pytest.mark.parametrize("n", range(1, 9))
def test_random_sets(n: int) -> None:
    matrices = np.random.default_rng(40 + n).normal(size=(2, n, n))
    result = joint_spectral_radius(matrices, tolerance=1e-2, budget=4000)
    check(matrices, result)
    assert result.exhausted or result.relative_width <= 1e-2
    assert result.upper <= np.linalg.norm(matrices, ord=2, axis=(1, 2)).max() * (1.0 + 1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_nonnegative_integer_sets(n: int) -> None:
    matrices = np.random.default_rng(n).integers(0, 3, (3, n, n))
    result = joint_spectral_radius(matrices, tolerance=1e-3, budget=4000)
    check(matrices, result)
    assert result.relative_width <= 1e-3


def similar_sets(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    matrices = generator.normal(size=(2, n, n))
    basis = generator.normal(size=(n, n))
    return matrices, np.linalg.solve(basis, matrices @ basis)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_invariants(n: int) -> None:
    """Scaling, similarity and transposition: the brackets must overlap and be tight."""
    matrices, similar = similar_sets(60 + n, n)
    plain = joint_spectral_radius(matrices, tolerance=1e-3)
    variants = {
        "scaled": (joint_spectral_radius(-2.5 * matrices, tolerance=1e-3), 2.5),
        "similar": (joint_spectral_radius(similar, tolerance=1e-3), 1.0),
        "transposed": (joint_spectral_radius(matrices.transpose(0, 2, 1), tolerance=1e-3), 1.0),
    }
    assert plain.relative_width <= 1e-3
    for name, (other, factor) in variants.items():
        assert other.relative_width <= 1e-3, name
        assert other.lower / factor <= plain.upper * (1.0 + 1e-12), name
        assert plain.lower <= other.upper / factor * (1.0 + 1e-12), name


def test_repetitions_and_signs_do_not_matter() -> None:
    a, b = np.random.default_rng(3).normal(size=(2, 3, 3))
    plain = joint_spectral_radius([a, b])
    more = joint_spectral_radius([a, -a, np.zeros((3, 3)), b, a, -b])
    assert plain.lower == more.lower
    assert plain.upper == more.upper
    assert [(0, 3)[i] for i in plain.product] == list(more.product)


def test_block_triangular_is_the_largest_block() -> None:
    generator = np.random.default_rng(9)
    first, last = generator.normal(size=(2, 3, 3)), 1.3 * generator.normal(size=(2, 2, 2))
    joined = np.zeros((2, 5, 5))
    joined[:, :3, :3], joined[:, 3:, 3:] = first, last
    joined[:, :3, 3:] = generator.normal(size=(2, 3, 2))
    parts = [joint_spectral_radius(part) for part in (first, last)]
    largest = max(parts, key=lambda part: part.lower)
    result = joint_spectral_radius(joined)
    check(joined, result)
    assert result.upper == pytest.approx(largest.upper, rel=1e-12)
    assert result.lower == pytest.approx(largest.lower, rel=1e-12)
    assert result.proof.kind.startswith("block triangular with 2 blocks")


def test_hidden_blocks_are_found_and_what_is_left_below_is_paid_for() -> None:
    generator = np.random.default_rng(10)
    joined = np.triu(generator.normal(size=(2, 4, 4)))
    value = np.abs(np.diagonal(joined, axis1=1, axis2=2)).max()
    basis = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    result = joint_spectral_radius(basis.T @ joined @ basis)
    check(basis.T @ joined @ basis, result)
    assert result.lower <= value * (1.0 + 1e-12)
    assert value * (1.0 - 1e-12) <= result.upper
    assert result.relative_width < 1e-6
    assert result.proof.kind.startswith("block triangular with 4 blocks")


def test_commuting_normal_matrices_have_the_largest_radius() -> None:
    generator = np.random.default_rng(12)
    angles, sizes = generator.uniform(0, np.pi, (3, 2)), generator.uniform(0.5, 2.0, (3, 2))
    basis = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    matrices = []
    for angle, size in zip(angles, sizes, strict=True):
        whole = np.zeros((4, 4))
        for k in range(2):
            c, s = size[k] * np.cos(angle[k]), size[k] * np.sin(angle[k])
            whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[c, -s], [s, c]]
        matrices.append(basis.T @ whole @ basis)
    result = joint_spectral_radius(matrices)
    check(matrices, result)
    assert result.lower == pytest.approx(sizes.max(), rel=1e-7)
    assert result.upper == pytest.approx(sizes.max(), rel=1e-7)


def test_rotations_have_radius_one_by_a_quadratic_norm() -> None:
    """A leading eigenvalue that is complex, in a basis where the circle is an ellipse."""
    c, s = np.cos([1.0, 2.0]), np.sin([1.0, 2.0])
    turn = np.array([[c, -s], [s, c]]).transpose(2, 0, 1)
    stretch = np.array([[3.0, 1.0], [0.0, 0.5]])
    result = joint_spectral_radius(np.linalg.solve(stretch, turn @ stretch))
    assert result.lower == pytest.approx(1.0, abs=1e-11)
    assert result.upper == pytest.approx(1.0, abs=1e-11)
    assert result.proof.kind == "quadratic norm"


def test_an_empty_purse_gives_an_honest_wide_bracket() -> None:
    matrices = np.random.default_rng(48).normal(size=(2, 6, 6))
    rich = joint_spectral_radius(matrices, tolerance=1e-3)
    poor = joint_spectral_radius(matrices, tolerance=1e-3, budget=1)
    assert poor.exhausted
    assert poor.lower <= rich.upper
    assert rich.lower <= poor.upper
    assert poor.relative_width > 1e-3
    assert poor.proof.verify()
    assert not rich.exhausted


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_extreme_units(unit: float) -> None:
    matrices = np.array([[[1, 1], [0, 1]], [[1, 0], [1, 1]]]) * unit
    result = joint_spectral_radius(matrices)
    assert result.lower / unit == pytest.approx(GOLDEN, rel=1e-11)
    assert result.proof.verify()


def test_a_forged_proof_is_refused() -> None:
    pair = np.array([[[3, 0], [1, 3]], [[3, -3], [0, -1]]]) / 5.0
    proof = joint_spectral_radius(pair).proof
    assert proof.verify()
    thinner = replace(proof.norm, vertices=proof.norm.vertices * np.array([[1.0], [1.01]]))
    other = replace(proof.norm, basis=proof.norm.basis[::-1])
    for change in (
        {"bound": proof.bound * 0.999},
        {"matrices": proof.matrices * 1.01},
        {"norm": thinner},
        {"norm": other},
    ):
        assert not replace(proof, **change).verify()


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([], "non-empty"),
        ([[1.0, 2.0, 3.0]], "square"),
        ([[[1.0, np.nan], [0.0, 1.0]]], "finite"),
        ([np.eye(2), np.eye(3)], "one size"),
        (3.0, "square"),
    ],
)
def test_refuses_what_is_not_a_set_of_square_matrices(matrices: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"matrices must be.*{message}"):
        joint_spectral_radius(matrices)


def test_refuses_senseless_options() -> None:
    with pytest.raises(ValueError, match="tolerance must be"):
        joint_spectral_radius([[[1.0]]], tolerance=0.0)
    with pytest.raises(ValueError, match="budget must be"):
        joint_spectral_radius([[[1.0]]], budget=0)


def test_units_of_the_coordinates_do_not_matter() -> None:
    """Two shears, 1e8 apart in their units: the golden ratio all the same."""
    matrices = np.array([[[1, 1e8], [0, 1]], [[1, 0], [1e-8, 1]]])
    result = joint_spectral_radius(matrices)
    assert result.lower == pytest.approx(GOLDEN, rel=1e-13)
    assert result.upper == pytest.approx(GOLDEN, rel=1e-13)
    assert result.proof.verify()
    np.testing.assert_array_equal(result.proof.matrices, matrices)


def test_units_of_hidden_blocks_do_not_matter() -> None:
    """Block triangular in a turned basis, then in units 2^±20 apart."""
    generator = np.random.default_rng(10)
    joined = np.triu(generator.normal(size=(2, 4, 4)))
    value = np.abs(np.diagonal(joined, axis1=1, axis2=2)).max()
    basis = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    units = 2.0 ** np.array([20, -3, 0, -20])
    matrices = basis.T @ joined @ basis * units[:, None] / units[None, :]
    result = joint_spectral_radius(matrices)
    assert result.proof.verify()
    assert result.lower <= value * (1.0 + 1e-12)
    assert value * (1.0 - 1e-12) <= result.upper
    assert result.relative_width < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_a_larger_budget_never_gives_a_wider_bracket(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(3, 6))
    matrices = generator.normal(size=(2, n, n))
    widths = [joint_spectral_radius(matrices, budget=b).width for b in (1, 300, 500, 900, 2000)]
    assert all(later <= earlier for earlier, later in itertools.pairwise(widths))
    assert widths[-1] < widths[0]


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_2x2_are_exact_or_nearly(seed: int) -> None:
    """Polygons: 1e-6 is always reached, most often rounding."""
    matrices = np.random.default_rng(seed).normal(size=(2, 2, 2))
    result = joint_spectral_radius(matrices)
    check(matrices, result)
    assert result.relative_width <= 1e-6


def wavelet(N: int) -> np.ndarray:
    """Daubechies' matrices of size N - 1: entries q_{2i-j}, q_{2i-j+1} of the mask's factor q."""
    square = np.zeros(2 * N - 1)
    power = np.ones(1)
    for k in range(N):
        square[N - 1 - k : N + k] += comb(N - 1 + k, k) * power
        power = np.convolve(power, [-0.25, 0.5, -0.25])
    zeros = np.roots(square)
    q = np.poly(zeros[np.abs(zeros) < 1.0]).real
    matrices = np.zeros((2, N - 1, N - 1))
    for shift, i, j in np.ndindex(2, N - 1, N - 1):
        if 0 <= 2 * i - j + shift < N:
            matrices[shift, i, j] = q[2 * i - j + shift] / q.sum()
    return matrices


@pytest.mark.parametrize(("N", "exponent"), [(4, 1.6179), (6, 2.1891), (8, 2.7608), (9, 3.0736)])
def test_regularity_of_wavelets(N: int, exponent: float) -> None:
    """Hölder exponents N - 1 - log2 of the radius, from the literature, to its four digits."""
    result = joint_spectral_radius(wavelet(N))
    assert result.exact
    assert result.proof.verify()
    assert N - 1 - np.log2(result.lower) == pytest.approx(exponent, abs=6e-5)
