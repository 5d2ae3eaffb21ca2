"""Growth of the paper's example against reference values and lifts written out in full."""

from itertools import permutations
from math import factorial, log

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.sampling import Sampling
from ravine.theory.finite_sums.inconsistent_term import counterexample_growth
from ravine.theory.finite_sums.terms import Sense

Q2000 = Curvature(mu=0.05, L=100)

# Growth per step at L = 100, mu = 0.05; in mean square, of E‖·‖².
REFERENCE = [
    (50, "iid-no-repeat", "almost-sure", 1.045546054609704),
    (50, "cyclic", "almost-sure", 1.056775124850347),
    (50, "cyclic", "mean", 1.056775124850347),
    (50, "iid", "mean", 1.094956038652002),
    (50, "iid", "mean-square", 1.277649042255072),
    (50, "iid-no-repeat", "mean", 1.097350257395411),
    (50, "reshuffle", "mean", 1.05464557994081),
    (1000, "iid-no-repeat", "almost-sure", 0.9838504837888552),
    (1000, "cyclic", "almost-sure", 0.9844150073412689),
    (1000, "iid", "mean", 1.007561889023972),
    (1000, "iid", "mean-square", 1.07769059706878),
    (1000, "iid-no-repeat", "mean", 1.007591841545292),
    (1000, "reshuffle", "mean", 0.9843200527475221),
]


@pytest.mark.parametrize(("n", "sampling", "sense", "value"), REFERENCE)
def test_reference_values(n, sampling, sense, value):
    found = counterexample_growth(Q2000, n, sampling=sampling, sense=sense)
    assert found == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize(
    ("sampling", "largest"),
    [
        ("cyclic", (242, 242, 242)),
        ("reshuffle-no-repeat", (236, 237, 237)),
        ("reshuffle", (None, 237, 237)),
        ("iid-no-repeat", (211, 1824, 20595)),
        ("iid", (None, 1822, 20593)),
    ],
)
def test_largest_n_that_diverges(sampling, largest):
    n = np.arange(2, 21000)
    for sense, expected in zip(Sense, largest, strict=True):
        parts = np.array_split(n, 16)
        values = [counterexample_growth(Q2000, p, sampling=sampling, sense=sense) for p in parts]
        above = n[np.concatenate(values) > 1.0]
        assert (int(above.max()) if above.size else None) == expected


def blocks(curvature):
    """B(mu) and B(L) at standard parameters, from the paper's definition."""
    s = np.sqrt(float(curvature.Q))
    beta, alpha = (s - 1) / (s + 1), 1 / float(curvature.L)

    def B(lam):
        return np.array([[1 - alpha * (1 + beta) * lam, beta**2], [-alpha * lam, beta]])

    return B(float(curvature.mu)), B(float(curvature.L))


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


def lifted_growth(maps, sampling):
    """Growth of the mean of products of the maps, the whole Markov chain written out."""
    n, size = len(maps), len(maps[0])
    if sampling == "iid":
        return radius(np.mean(maps, axis=0))
    if sampling == "iid-no-repeat":
        lift = np.zeros((n, size, n, size))
        for j in range(n):
            for i in range(n):
                if i != j:
                    lift[j, :, i, :] = maps[j] / (n - 1)
        return radius(lift.reshape(n * size, n * size))
    orders = [tuple(range(n))] if sampling == "cyclic" else list(permutations(range(n)))
    lift = np.zeros((n, size, n, size))
    for order in orders:
        product = np.eye(size)
        for b in order:
            product = maps[b] @ product
        for last in range(n):
            if sampling != "reshuffle-no-repeat":
                lift[order[-1], :, last, :] += product / len(orders)
            elif order[0] != last:
                lift[order[-1], :, last, :] += product / ((n - 1) * factorial(n - 1))
    return radius(lift.reshape(n * size, n * size)) ** (1 / n)


@pytest.mark.parametrize("sampling", list(Sampling))
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("Q", [7.0, 2000.0])
def test_mean_square_is_the_lift_of_the_second_moment(sampling, n, Q):
    curvature = Curvature(1, Q)
    low, high = blocks(curvature)
    maps = [np.kron(B, B) for B in [low] * (n - 1) + [high]]
    found = counterexample_growth(curvature, n, sampling=sampling, sense="mean-square")
    # At n = 2 the reshuffled epoch has a double eigenvalue: √eps is the conditioning of the lift.
    tolerance = 1e-6 if n == 2 and sampling == "reshuffle" else 1e-11
    assert found == pytest.approx(lifted_growth(maps, sampling), rel=tolerance)


@pytest.mark.parametrize("sampling", list(Sampling))
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("Q", [7.0, 2000.0])
def test_mean_is_the_lift_of_the_first_moment_with_positive_signs(sampling, n, Q):
    # B(L) B(mu)^k B(L) = -k rho^(k+1) B(L): with -B(L) no product has a sign, so that the norm of
    # the mean grows as the mean of the norm does.
    curvature = Curvature(1, Q)
    low, high = blocks(curvature)
    found = counterexample_growth(curvature, n, sampling=sampling, sense="mean")
    tolerance = 1e-6 if n == 2 and sampling == "reshuffle" else 1e-11
    assert found == pytest.approx(lifted_growth([low] * (n - 1) + [-high], sampling), rel=tolerance)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_almost_sure_reshuffling_without_repeat_is_the_mean_over_pairs_of_epochs(n):
    last = n - 1
    logs = [
        log(n - 1 - one.index(last) + two.index(last))
        for one in permutations(range(n))
        for two in permutations(range(n))
        if one[-1] != two[0]
    ]
    rho = 1 - 1 / np.sqrt(2000)
    found = counterexample_growth(Q2000, n, sampling="reshuffle-no-repeat", sense="almost-sure")
    assert found == pytest.approx(rho * np.exp(np.mean(logs) / n), rel=1e-13)


def test_almost_sure_without_repeat_is_the_mean_over_geometric_gaps():
    n = np.array([3, 7, 40, 300])
    k = np.arange(1, 40 * 300)[:, None]
    p = 1 / (n - 1)
    mean = np.sum(p * (1 - p) ** (k - 1) * np.log(k), axis=0)
    rho = 1 - 1 / np.sqrt(2000)
    found = counterexample_growth(Q2000, n, sampling="iid-no-repeat", sense="almost-sure")
    # 40 mean gaps are summed: e^-40 is left out.
    np.testing.assert_allclose(found, rho * np.exp(mean / n), rtol=1e-13)


def test_almost_sure_reshuffling_without_repeat_is_continued_by_its_expansion():
    # The sum over pairs of positions, written out, on both sides of where the expansion begins.
    for n in (8, 9, 16, 17, 18, 19, 120):
        i = np.arange(1, n)
        total = 2 * np.log(i).mean() + (n - 2) * np.log(i[:, None] + i).mean()
        rho = 1 - 1 / np.sqrt(2000)
        found = counterexample_growth(Q2000, n, sampling="reshuffle-no-repeat", sense="almost-sure")
        assert found == pytest.approx(rho * np.exp(total / n**2), rel=1e-13)


def test_very_many_terms():
    # E ln K = ln(1/p) - Euler's constant for p to 0; a uniform pair of positions gives
    # E ln(i + j) = ln N + 2 ln 2 - 3/2.
    n = 10**9
    one = counterexample_growth(
        Curvature(1, 1e50), n, sampling="iid-no-repeat", sense="almost-sure"
    )
    two = counterexample_growth(
        Curvature(1, 1e50), n, sampling="reshuffle-no-repeat", sense="almost-sure"
    )
    assert n * np.log(one) == pytest.approx(np.log(n) - np.euler_gamma, abs=1e-6)
    assert n * np.log(two) == pytest.approx(np.log(n) + 2 * np.log(2) - 1.5, abs=1e-6)


@pytest.mark.parametrize("sampling", ["iid", "reshuffle"])
def test_two_visits_in_a_row_end_at_the_optimum(sampling):
    _, high = blocks(Q2000)
    assert np.abs(high @ high).max() < 1e-15
    assert counterexample_growth(Q2000, 50, sampling=sampling, sense="almost-sure") == 0.0


@pytest.mark.parametrize("sampling", list(Sampling))
def test_senses_are_ordered(sampling):
    n = np.arange(2, 400)
    path, mean, square = (
        counterexample_growth(Q2000, n, sampling=sampling, sense=sense) for sense in Sense
    )
    slack = 1 + 1e-14
    assert np.all(path <= mean * slack)
    assert np.all(mean <= np.sqrt(square) * slack)


def test_broadcasts_and_returns_scalars_for_scalars():
    curvature = Curvature(1, np.array([[8.0], [32.0]]))
    for sampling in Sampling:
        for sense in Sense:
            table = counterexample_growth(curvature, [3, 4, 9], sampling=sampling, sense=sense)
            assert table.shape == (2, 3)
            one = counterexample_growth(Curvature(1, 32), 4, sampling=sampling, sense=sense)
            assert isinstance(one, np.float64)
            assert table[1, 1] == pytest.approx(one, rel=1e-14)


def test_a_perfectly_conditioned_sum_is_solved_at_once():
    assert counterexample_growth(Curvature(3, 3), 5, sampling="iid", sense="mean-square") == 0.0


@pytest.mark.parametrize("n", [1, 2.5, 0, [3, 1]])
def test_refuses_other_than_whole_numbers_from_two(n):
    with pytest.raises(ValueError, match="n must be"):
        counterexample_growth(Q2000, n, sampling="iid", sense="mean")


def test_refuses_unknown_words():
    with pytest.raises(ValueError, match="sense must be one of almost-sure, mean, mean-square"):
        counterexample_growth(Q2000, 5, sampling="iid", sense="median")
    with pytest.raises(ValueError, match="sampling must be one of"):
        counterexample_growth(Q2000, 5, sampling="sorted", sense="mean")
