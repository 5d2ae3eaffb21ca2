"""Growth of given finite sums: lifts written out, closed forms, and simulated paths."""

from itertools import permutations
from math import exp, factorial, log

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method, heavy_ball, nesterov
from ravine.sampling import Sampling
from ravine.theory.finite_sums import positive_map
from ravine.theory.finite_sums.growth import Growth, consistent, growth
from ravine.theory.finite_sums.inconsistent_term import counterexample_growth
from ravine.theory.finite_sums.paths import Plan, almost_sure_growth, moment_growth
from ravine.theory.finite_sums.terms import Sense, finite_sum, one_method

Q2000 = Curvature(mu=0.05, L=100)
RANDOM = [s for s in Sampling if s is not Sampling.CYCLIC]


def rotated(n, d, seed, low=1.0, high=20.0):
    """Hessians with eigenvalues in [low, high] and eigenvectors of their own."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    return np.einsum("bij,bj,bkj->bik", Q, rng.uniform(low, high, (n, d)), Q)


def example(n):
    """Third direction of the paper's example."""
    return np.array([[0.05]] * (n - 1) + [[100.0]])


def block(H, method):
    alpha, beta, gamma = float(method.alpha), float(method.beta), float(method.gamma)
    identity = np.eye(len(H))
    return np.block(
        [
            [identity - alpha * (1 + gamma) * H, (beta * (1 + gamma) - gamma) * identity],
            [-alpha * H, beta * identity],
        ]
    )


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


def lifted_growth(maps, sampling):
    """Growth of the mean of products of the maps, the whole Markov chain written out."""
    n, size = len(maps), len(maps[0])
    lift = np.zeros((n, size, n, size))
    if sampling in ("iid", "iid-no-repeat"):
        repeat = sampling == "iid"
        for j, i in np.ndindex(n, n):
            if repeat or i != j:
                lift[j, :, i, :] = maps[j] / (n if repeat else n - 1)
        return radius(lift.reshape(n * size, n * size))
    orders = [tuple(range(n))] if sampling == "cyclic" else list(permutations(range(n)))
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


def standard_errors(found, expected, replicas=32):
    """Distance in standard errors: Student's 95 % limits are 2.04 of them for 32 replicas."""
    quantile = {32: 2.0395, 64: 1.9983}[replicas]
    return abs(log(found.value / expected)) / (log(found.high / found.low) / 2 / quantile)


@pytest.mark.parametrize("sampling", list(Sampling))
@pytest.mark.parametrize(
    "method", [Method(0.06, 0.6), Method(0.05, 0.5, 0.0), Method(0.08, -0.3, 0.2)]
)
@pytest.mark.parametrize(("n", "d"), [(2, 3), (4, 2)])
def test_mean_square_of_rotated_terms_is_the_lift_written_out(sampling, method, n, d):
    H = rotated(n, d, seed=n)
    found = growth(H, method, sampling=sampling, sense="mean-square")
    A = [block(h, method) for h in H]
    expected = lifted_growth([np.kron(a, a) for a in A], sampling)
    assert found.exact
    assert found.value == pytest.approx(expected, rel=1e-10)
    assert found.rate == pytest.approx(np.sqrt(expected), rel=1e-10)


@pytest.mark.parametrize("sampling", list(Sampling))
@pytest.mark.parametrize("n", [3, 6, 50, 300])
def test_mean_square_of_the_papers_example(sampling, n):
    found = growth(example(n), nesterov(Q2000), sampling=sampling, sense="mean-square")
    expected = counterexample_growth(Q2000, n, sampling=sampling, sense="mean-square")
    assert found.exact
    assert found.value == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("sampling", list(Sampling))
def test_shared_eigenvectors_in_any_basis(sampling):
    # Diagonal terms go direction by direction, rotated ones through the matrices.
    rng = np.random.default_rng(5)
    lam = rng.uniform(1, 20, (4, 3))
    lam[3] = lam[0]
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    method = Method(0.07, 0.4, 0.1)
    by_direction = growth(lam, method, sampling=sampling)
    by_diagonal = growth(lam[:, :, None] * np.eye(3), method, sampling=sampling)
    by_matrix = growth(Q @ (lam[:, :, None] * Q.T), method, sampling=sampling)
    assert by_diagonal == by_direction
    assert by_matrix.value == pytest.approx(by_direction.value, rel=1e-10)


@pytest.mark.parametrize("sampling", RANDOM)
def test_a_direction_that_grows_unseen_by_the_mean_is_found(sampling):
    # The paper's example in a turned basis: the mean decays like its slowest direction, which is an
    # eigenvector of its own, while the direction of the one inconsistent term grows.
    n = 20 if sampling in ("iid", "iid-no-repeat") else 6
    lam = np.full((n, 12), 0.05)
    lam[:, 0] = lam[-1, 2] = 1.0
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    method = nesterov(Curvature(0.05, 1))
    turned = growth(Q @ (lam[:, :, None] * Q.T), method, sampling=sampling)
    assert turned.exact
    expected = growth(lam, method, sampling=sampling).value
    assert turned.value == pytest.approx(expected, rel=1e-6)


def test_a_product_that_vanishes_is_no_obstacle_to_krylov_iteration():
    # alpha = 1/L without momentum: the first step lands on the minimiser.
    found = growth(np.stack([np.eye(8), np.eye(8)]) * 4.0, Method(0.25))
    assert found.value == 0.0
    assert found.exact


@pytest.mark.parametrize("sampling", RANDOM)
def test_larger_sums_are_solved_without_matrices(sampling):
    # More than 160 unknowns. The mean-square growth lies between the almost sure and the cyclic
    # extremes of a nearly deterministic sum: all terms within 1 % of one Hessian.
    H = rotated(1, 9, seed=2) * np.linspace(0.99, 1.01, 5)[:, None, None]
    method = Method(0.05, 0.5)
    found = growth(H, method, sampling=sampling)
    alone = growth(H[2:3], method)
    assert found.exact
    assert found.value == pytest.approx(alone.value, rel=2e-3)


@pytest.mark.parametrize("sampling", RANDOM)
@pytest.mark.parametrize("sense", ["almost-sure", "mean"])
def test_paths_of_the_papers_example(sampling, sense):
    found = growth(example(8), nesterov(Q2000), sampling=sampling, sense=sense, steps=600, seed=3)
    expected = counterexample_growth(Q2000, 8, sampling=sampling, sense=sense)
    if expected == 0.0:
        assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
    else:
        assert not found.exact
        assert standard_errors(found, expected) < 4
        assert found.high - found.low < 0.02


def test_a_rare_end_at_zero_is_seen_without_waiting_for_it():
    # Two visits to f_n in a row happen once in n² epochs.
    found = growth(
        example(300), nesterov(Q2000), sampling="reshuffle", sense="almost-sure", steps=9
    )
    assert found.value == 0.0


def test_without_repeat_two_equal_terms_can_end_at_zero_too():
    # f_n and f_{n-1} both have L: one after the other they are B(L)² = 0.
    H = np.array([[0.05]] * 298 + [[100.0]] * 2)
    for sampling in ("iid-no-repeat", "reshuffle-no-repeat"):
        found = growth(H, nesterov(Q2000), sampling=sampling, sense="almost-sure", steps=9)
        assert found.value == 0.0


@pytest.mark.parametrize("sense", list(Sense))
def test_gradient_descent_in_one_direction_is_a_product_of_numbers(sense):
    # beta = 0: the factors are 1 - alpha lambda.
    lam = np.array([1.0, 2.0, 7.0])
    q = np.abs(1 - 0.2 * lam)
    expected = {
        Sense.ALMOST_SURE: np.exp(np.log(q).mean()),
        Sense.MEAN: q.mean(),
        Sense.MEAN_SQUARE: (q**2).mean(),
    }[sense]
    found = growth(lam[:, None], Method(0.2), sampling="iid", sense=sense, steps=800, seed=1)
    if found.exact:
        assert found.value == pytest.approx(expected, rel=1e-12)
    else:
        assert standard_errors(found, expected) < 4


@pytest.mark.parametrize("sampling", RANDOM)
def test_weighted_populations_find_the_exact_mean_square(sampling):
    H, method = rotated(4, 2, seed=11), Method(0.08, 0.6)
    expected = growth(H, method, sampling=sampling, sense="mean-square").value
    terms = finite_sum(H)
    plan = Plan.of(terms, sampling, 400, replicas=32, population=256, seed=2)
    path = moment_growth(terms, one_method(method), sampling, 2, plan)
    assert standard_errors(path, expected) < 4
    assert path.high / path.low < 1.02


def test_reshuffling_many_different_terms_is_estimated():
    H = rotated(14, 2, seed=4)
    found = growth(H, Method(0.06, 0.5), sampling="reshuffle", sense="mean-square", steps=280)
    near = growth(H, Method(0.06, 0.5), sampling="cyclic", sense="mean-square")
    assert not found.exact
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(near.value, rel=0.2)
    assert found.diverges is False


@pytest.mark.parametrize("sampling", RANDOM)
def test_senses_are_ordered_on_rotated_terms(sampling):
    H, method = rotated(4, 3, seed=1), Method(0.07, 0.7)
    path = growth(H, method, sampling=sampling, sense="almost-sure", steps=500)
    mean = growth(H, method, sampling=sampling, sense="mean", steps=300, population=256)
    square = growth(H, method, sampling=sampling, sense="mean-square")
    assert path.low <= mean.high
    assert mean.low <= square.rate


@pytest.mark.parametrize("method", [nesterov(Curvature(1, 30)), heavy_ball(Curvature(2, 40))])
@pytest.mark.parametrize("sense", list(Sense))
@pytest.mark.parametrize("sampling", list(Sampling))
def test_equal_terms_are_the_deterministic_method(method, sense, sampling):
    H = rotated(1, 3, seed=9)
    found = growth(np.repeat(H, 3, axis=0), method, sampling=sampling, sense=sense)
    expected = max(
        radius(
            [
                [1 + b - a * lam * (1 + g), -(b - a * lam * g)],
                [1.0, 0.0],
            ]
        )
        for lam in np.linalg.eigvalsh(H[0])
        for a, b, g in [(float(method.alpha), float(method.beta), float(method.gamma))]
    )
    assert found.exact
    # A pair of eigenvalues near critical damping is known to the root of the rounding.
    assert found.value ** (1 / found.sense.power) == pytest.approx(expected, rel=1e-7)


def test_cyclic_order_is_the_order_of_the_terms():
    H = rotated(4, 2, seed=3)
    method = Method(0.1, 0.7)
    product = np.eye(4)
    for h in H[[2, 0, 1, 3]]:
        product = block(h, method) @ product
    found = growth(H[[2, 0, 1, 3]], method, sampling="cyclic", sense="almost-sure")
    assert found.value == pytest.approx(radius(product) ** 0.25, rel=1e-12)
    assert found.value != pytest.approx(growth(H, method, sampling="cyclic").rate, rel=1e-3)


def test_four_turned_quadratics_diverge_cyclically_above_the_threshold():
    # T5: axes at 0, 45, 90, 135 degrees grow at √2 (1 - 1/√Q); the threshold is Q = 6 + 4√2.
    for Q in (11.5, 11.8):
        turn = np.pi / 4 * np.arange(4)
        axis = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        H = np.eye(2) + (Q - 1) * axis[:, :, None] * axis[:, None, :]
        found = growth(H, nesterov(Curvature(1, Q)), sampling="cyclic", sense="almost-sure")
        assert found.value == pytest.approx(np.sqrt(2) * (1 - 1 / np.sqrt(Q)), rel=1e-9)
        assert found.diverges is (Q == 11.8)


def test_seeds_give_the_same_paths_again():
    H, method = rotated(3, 2, seed=0), Method(0.05, 0.5)
    one, two, other = (
        growth(H, method, sense="almost-sure", steps=50, seed=seed) for seed in (4, 4, 5)
    )
    assert one == two
    assert one.value != other.value


def test_divergence_is_open_when_the_limits_straddle_one():
    args = (False, Sense.MEAN, Sampling.IID)
    assert Growth(1.01, 0.99, 1.03, *args).diverges is None
    assert Growth(1.02, 1.01, 1.03, *args).diverges is True
    assert Growth(0.98, 0.97, 1.0, *args).diverges is False
    assert Growth(exp(2), 1.0, 9.0, True, Sense.MEAN_SQUARE, Sampling.IID).rate == exp(1)


def test_paths_shorter_than_the_memory_decide_nothing():
    # One step in ten thousand: 500 steps show the beginning only.
    H = rotated(6, 3, seed=2, low=1e-3, high=0.1)
    short = growth(H, Method(0.001, 0.5), sense="almost-sure", steps=500, replicas=8)
    assert short.diverges is None
    assert "undecided: 500 steps are fewer than the memory" in short.note
    long = growth(rotated(6, 3, seed=2), Method(0.05, 0.5), sense="almost-sure", steps=500)
    assert long.decided
    assert long.diverges is False


def a_growth(value, low, high, sense, *, exact=False, decided=True):
    return Growth(value, low, high, exact, sense, Sampling.IID, decided)


@pytest.mark.parametrize(
    ("square", "sure"),
    [
        ((0.9, 0.9, 0.9, True), (1.0011, 1.0010, 1.0012)),  # transient growth read as asymptotic
        ((0.9, 0.8, 1.2, False), (1.0, 0.96, 1.02)),
        ((0.5, 0.45, 0.55, False), (0.9, 0.89, 0.91)),  # a mean square that missed rare paths
        ((1.2, 1.2, 1.2, True), (0.9, 0.8, 1.0)),
    ],
)
def test_statements_about_one_sum_cannot_contradict(square, sure):
    *limits, exact = square
    one = a_growth(*limits, Sense.MEAN_SQUARE, exact=exact)
    two = a_growth(*sure, Sense.ALMOST_SURE)
    raised, lowered = consistent(one, two)
    assert lowered.value <= raised.rate * (1 + 1e-12)
    assert lowered.high <= np.sqrt(raised.high) * (1 + 1e-12)
    for found in (raised, lowered):
        assert found.low <= found.value <= found.high
    if exact:
        assert raised == one
    changed = lowered.value != two.value or raised.value != one.value
    assert changed == bool(raised.note or lowered.note)


def test_short_paths_converge_where_the_mean_square_does():
    square = a_growth(0.9, 0.9, 0.9, Sense.MEAN_SQUARE, exact=True)
    short = a_growth(1.001, 1.0005, 1.0015, Sense.ALMOST_SURE, decided=False)
    assert short.diverges is None
    assert consistent(square, short)[1].diverges is False


def test_an_iteration_that_does_not_settle_gives_wider_limits_and_says_so(monkeypatch):
    H = rotated(9, 5, seed=3)
    exact = growth(H, Method(0.06, 0.5), sampling="iid-no-repeat")
    monkeypatch.setattr(positive_map, "_arnoldi", lambda *_: None)
    monkeypatch.setattr(positive_map, "LAST_DENSE", 0)
    cut = growth(H, Method(0.06, 0.5), sampling="iid-no-repeat")
    assert exact.exact
    assert not cut.exact
    assert "limits hold" in cut.note
    assert cut.low <= exact.value <= cut.high


def test_a_thousand_terms_and_more_are_estimated():
    lam = np.linspace(1.0, 2.0, 1100)[:, None]
    rest = {"sampling": "reshuffle", "steps": 1100, "replicas": 4, "population": 4}
    found = growth(lam, Method(0.3), sense="almost-sure", **rest)
    # One direction without momentum: every order of an epoch has the same product. The norm of
    # (r, v) also has the last step in it, a factor of at most √2 over the whole epoch.
    expected = np.exp(np.mean(np.log(1 - 0.3 * lam)))
    assert found.value == pytest.approx(expected, rel=np.log(2) / 1100)
    assert growth(lam, Method(0.3), sense="mean-square", **rest).diverges is False


@pytest.mark.parametrize("sampling", ["iid", "iid-no-repeat", "reshuffle"])
def test_a_growth_next_to_one_is_found_as_well(sampling):
    # Condition 10^4 and a short step: 1 - growth is 1e-6, and the matrix of the map agrees.
    H = rotated(4, 12, seed=6, low=1e-4, high=1.0)
    method = Method(0.02, 0.5)
    found = growth(H, method, sampling=sampling)
    A = [block(h, method) for h in H]
    mean_rate = radius(np.mean(A, axis=0))
    assert found.exact
    assert 1.0 - found.value == pytest.approx(1.0 - mean_rate**2, rel=0.05)


@pytest.mark.parametrize(
    ("hessians", "options", "message"),
    [
        ([[[1.0, 2.0], [0.0, 1.0]]], {}, "hessians must be symmetric"),
        ([1.0, 2.0], {}, "hessians must be of shape"),
        ([[np.nan]], {}, "hessians must be finite"),
        ([[1.0]], {"sampling": "iid-no-repeat"}, "two terms or more"),
        ([[1.0], [2.0]], {"replicas": 1}, "replicas must be at least 2"),
        ([[1.0], [2.0]], {"sense": "typical"}, "sense must be one of"),
    ],
)
def test_refusals_take_one_line(hessians, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        growth(hessians, Method(0.1, 0.5), **options)
    assert "\n" not in str(caught.value)


def test_refuses_a_plane_of_methods():
    with pytest.raises(ValueError, match="alpha must be a single number"):
        growth([[1.0], [2.0]], Method([0.1, 0.2], 0.5))


def test_a_notebook_shows_the_growth_and_its_limits():
    sure = growth([[1.0], [3.0]], Method(0.3, 0.2))
    html = sure._repr_html_()
    assert f"{sure.value:.8g}" in html
    assert "converges" in html
    paths = growth([[1.0], [3.0]], Method(0.3, 0.2), sense="almost-sure", steps=200, replicas=4)
    assert "estimated from random paths" in paths._repr_html_()


def test_a_fixed_order_is_its_product_along_every_path():
    H = rotated(4, 2, seed=3)
    terms = finite_sum(H)
    plan = Plan.of(terms, Sampling.CYCLIC, 4000, replicas=4, population=2, seed=0)
    paths = almost_sure_growth(terms, one_method(Method(0.05, 0.5)), Sampling.CYCLIC, plan)
    exact = growth(H, Method(0.05, 0.5), sampling="cyclic", sense="almost-sure").value
    # What is left of the start's direction is of order 1/steps.
    assert paths.value == pytest.approx(exact, rel=1e-3)


LINEAR_HESSIANS = [
    [[1.0, 0.3], [0.3, 2.0]],
    [[3.0, -0.5], [-0.5, 1.0]],
    [[0.5, 0.0], [0.0, 4.0]],
]


@pytest.mark.parametrize("sampling", ["iid", "iid-no-repeat", "cyclic", "reshuffle"])
@pytest.mark.parametrize("hessians", [LINEAR_HESSIANS, [[1.0, 3.0], [2.0, 0.5]]])
def test_a_linear_method_that_is_in_the_family_grows_as_it_does(sampling, hessians):
    method = Method(0.2, 0.6, 0.3)
    one = growth(hessians, method, sampling=sampling)
    other = growth(hessians, LinearMethod.of(method), sampling=sampling)
    assert other.value == pytest.approx(one.value, rel=1e-9)
    assert other.exact


def test_a_longer_memory_grows_as_its_runs_do():
    late = LinearMethod.multi_step([1], [0, 0, 0.25])
    H = np.array(LINEAR_HESSIANS)
    A, B, C = late.state
    rng = np.random.default_rng(0)
    state = np.ones((20_000, 3, 2))
    sizes = []
    for _ in range(60):
        y = np.einsum("j,sjd->sd", C, state)
        g = np.einsum("sde,se->sd", H[rng.integers(3, size=len(state))], y)
        state = np.einsum("ij,sjd->sid", A, state) + B[:, None] * g[:, None, :]
        sizes.append(np.mean(state**2))
    seen = (sizes[-1] / sizes[19]) ** (1 / 40)
    assert growth(H, late).value == pytest.approx(seen, rel=0.02)


@pytest.mark.parametrize("sampling", RANDOM)
@pytest.mark.parametrize("sense", ["almost-sure", "mean"])
def test_a_linear_method_grows_along_paths_as_its_member_of_the_family(sampling, sense):
    method = Method(0.2, 0.6, 0.3)
    rest = {"sampling": sampling, "sense": sense, "steps": 600, "replicas": 16, "population": 64}
    one = growth(LINEAR_HESSIANS, method, **rest)
    other = growth(LINEAR_HESSIANS, LinearMethod.of(method), **rest)
    assert not other.exact
    # The draws are the same; what differs is the norm, at the ends of the paths alone.
    assert other.value == pytest.approx(one.value, rel=2e-3)


def test_a_longer_memory_grows_along_almost_every_path_as_its_products_do():
    late = LinearMethod.multi_step([1], [0, 0, 0.25])
    H = np.array(LINEAR_HESSIANS)
    A, B, C = late.state
    loops = [np.kron(A, np.eye(2)) + np.kron(np.outer(B, C), h) for h in H]
    rng = np.random.default_rng(1)
    state, total = np.ones(6), 0.0
    for _ in range(20_000):
        state = loops[rng.integers(3)] @ state
        size = np.linalg.norm(state)
        total += np.log(size)
        state = state / size
    found = growth(H, late, sense="almost-sure", steps=2000)
    assert not found.exact
    # One path of 20,000 steps beside 32 of 2,000: its standard error is about twice theirs.
    assert np.exp(total / 20_000) == pytest.approx(found.value, abs=4 * (found.high - found.low))
