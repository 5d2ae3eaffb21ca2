import numpy as np
import pytest
import reference

from ravine.engine.kernels import quadratic_kernel
from ravine.engine.kernels.quadratic_driver import CHUNK
from ravine.engine.sweep import sweep
from ravine.problems import Quadratic

SEED = 2**40 + 17


def small_problem(d=5, seed=0):
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    hessian = (q * np.geomspace(0.1, 1.0, d)) @ q.T
    return Quadratic(hessian, minimiser=rng.standard_normal(d), start=3 * rng.standard_normal(d))


# Nesterov, heavy ball, negative momentum and look-ahead, gamma = -1 where y is the point before.
PIXELS = [
    (0.5, 0.7, 0.7),
    (1.2, 0.5, 0.0),
    (0.8, -0.4, -0.4),
    (1.0, 0.3, -1.0),
    (0.9, -1.0, -1.0),
    (0.6, 0.8, 0.2),
    (0.0, 0.5, 0.5),
    (0.4, 0.0, -0.7),
    (3.5, 0.9, 0.9),
]
DIVERGING = 8  # beyond 1e10 times its start from step 15 on


def expected_errors(problem, pixel, repeat, parameters, steps, sigma2, noise):
    """Path of y - x* from the reference."""
    alpha, beta, gamma = parameters
    identity = (0 if noise == "shared" else pixel) | repeat << 32
    even = steps + steps % 2
    drawn = reference.normals(
        reference.words(SEED, identity, np.arange(problem.dimension), 0, even)
    ).T[:steps]
    z = np.sqrt(sigma2) * drawn @ problem.eigenvectors.T
    start = problem.start - problem.minimiser
    return reference.errors(problem.hessian(), start, alpha, beta, gamma, z)


@pytest.mark.parametrize("noise", ["none", "independent", "shared"])
def test_every_step_agrees_with_the_reference(noise):
    problem = small_problem()
    alphas, betas, gammas = np.array(PIXELS).T
    sigma2 = 0.0 if noise == "none" else 0.3
    steps = 2 * CHUNK + 3
    kind = "independent" if noise == "none" else noise
    paths = {
        (p, r): expected_errors(problem, p, r, PIXELS[p], steps, sigma2, noise)
        for p in range(len(PIXELS))
        for r in range(3)
    }
    for k in range(1, steps + 1):
        found = sweep(
            problem, alphas, betas, gammas=gammas, pairs=True, steps=k, repeats=3,
            sigma2=sigma2, noise=kind, seed=SEED, measure=["final_error"],
        ).final_error.values  # fmt: skip
        for p in range(len(PIXELS)):
            mean = np.mean([np.linalg.norm(paths[p, r][k]) for r in range(3)])
            if p == DIVERGING and k >= 15:
                assert found[p] == np.inf
                continue
            # Normals are single precision: 1e-6 of each, carried along.
            assert found[p] == pytest.approx(mean, rel=1e-5 if sigma2 else 1e-11), (k, p)


def test_float32_agrees_with_float64():
    problem = small_problem()
    for noise in ("independent", "shared"):
        found = [
            sweep(
                problem, np.linspace(0.1, 1.5, 9), np.linspace(-0.5, 0.8, 8), steps=300,
                sigma2=0.1, noise=noise, seed=3, dtype=dtype, measure=["floor", "final_error"],
            )
            for dtype in ("float64", "float32")
        ]  # fmt: skip
        for name in ("floor", "final_error"):
            # The same draws; rounding of 2^-24 a step, amplified by at most 1/(1-rho) < 100.
            np.testing.assert_allclose(found[1][name], found[0][name], rtol=2e-4)
            assert np.any(found[1][name].values != found[0][name].values)


def test_sup_norm_floor_agrees_with_the_reference():
    problem = small_problem()
    steps = 10 * CHUNK
    found = sweep(
        problem, [0.5, 1.1], [0.3, 0.6], steps=steps, sigma2=0.5, seed=SEED, measure=["floor_sup"]
    ).floor_sup.values.ravel()
    ends = np.arange(6 * CHUNK, steps + 1, CHUNK)
    for p, (alpha, beta) in enumerate([(0.5, 0.3), (0.5, 0.6), (1.1, 0.3), (1.1, 0.6)]):
        path = expected_errors(problem, p, 0, (alpha, beta, beta), steps, 0.5, "independent")
        assert found[p] == pytest.approx(np.abs(path[ends]).max(axis=1).mean(), rel=1e-5)


@pytest.mark.parametrize("noise", ["none", "independent", "shared"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_same_bytes_for_any_threads_and_tiles(noise, dtype):
    problem = small_problem(d=3)
    # From certain convergence to fast divergence, so that lanes retire at different times.
    kind = {"sigma2": 0.0 if noise == "none" else 0.2}
    kind["noise"] = "independent" if noise == "none" else noise

    def run(threads, tile):
        return sweep(
            problem, np.linspace(0.0, 4.0, 23), np.linspace(-0.9, 1.2, 17), steps=333, repeats=2,
            seed=5, dtype=dtype, threads=threads, tile=tile,
            measure=["rate", "floor", "floor_sup", "outcome", "diverged_at", "final_error"], **kind,
        )  # fmt: skip

    first = run(1, 4096)
    assert {0, 3} <= set(first.outcome.values.ravel()) or noise != "none"
    for threads, tile in [(2, 4096), (1, 7), (2, 7), (1, 64), (2, 64)]:
        again = run(threads, tile)
        for name in first:
            assert first[name].values.tobytes() == again[name].values.tobytes(), (name, tile)


def test_a_pixel_does_not_depend_on_its_neighbours():
    # The draws depend on the pixel's index; the neighbours here diverge at once, or vanish.
    problem = small_problem(d=3)
    common = {"steps": 200, "pairs": True, "measure": ["rate", "floor_sup", "final_error"]}
    for sigma2 in (0.0, 0.1):
        calm = sweep(problem, [0.5, 0.5], [0.3, 0.3], sigma2=sigma2, **common)
        wild = sweep(problem, [0.5, 50.0], [0.3, 3.0], sigma2=sigma2, **common)
        for name in calm:
            assert calm[name].values[:1].tobytes() == wild[name].values[:1].tobytes(), name


def test_start_at_the_minimiser_without_noise_stays_there():
    problem = small_problem()
    found = sweep(problem, [0.5], [0.5], steps=50, start=0.0, measure=["final_error", "outcome"])
    assert found.final_error.item() == 0.0
    assert found.outcome.item() == 0


def test_more_coordinates_than_lanes():
    d = 131
    hessian = np.diag(np.linspace(0.5, 1.0, d))
    problem = Quadratic(hessian)
    for noise in ("independent", "shared"):
        found = sweep(
            problem, [0.7], [0.2], steps=21, sigma2=1.0, noise=noise, seed=SEED,
            measure=["final_error"],
        ).final_error.item()  # fmt: skip
        path = expected_errors(problem, 0, 0, (0.7, 0.2, 0.2), 21, 1.0, noise)
        assert found == pytest.approx(np.linalg.norm(path[-1]), rel=1e-5)


def test_a_start_beyond_single_precision_is_refused():
    problem = small_problem()
    common = {"steps": 10, "dtype": "float32"}
    with pytest.raises(ValueError, match="dtype must be float64 for a start beyond 1e"):
        sweep(problem, [0.5], [0.5], start=1e18, **common)
    with pytest.raises(ValueError, match="dtype must be float64 for a start beyond 1e"):
        sweep(problem, [0.0, 1e-10], [0.5], start=1e9, sigma2=1.0, noise="shared", **common)
    found = sweep(problem, [0.0, 0.5], [0.5], start=1e15, sigma2=1.0, noise="shared", **common)
    assert np.isfinite(found.final_error.values).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_coordinates_put_to_rest_change_no_bit(dtype, monkeypatch):
    # Directions that vanish a thousand steps before others, stable and not; gamma next to -1 too.
    problem = Quadratic(np.diag([1e-3, 0.3, 0.9, 1.0]), start=np.array([1.0, 2.0, 3.0, 1e-250]))
    betas = np.array([-1.0, -0.3, 0.0, 0.5, 0.9])

    def run():
        found = sweep(
            problem, np.linspace(0.1, 2.4, 24), betas, steps=2000, dtype=dtype,
            measure=["rate", "floor", "outcome", "diverged_at", "final_error"],
        )  # fmt: skip
        return {name: found[name].values.tobytes() for name in found}

    resting = run()
    for name in ("_LEAST_64", "_LEAST_32"):
        monkeypatch.setattr(quadratic_kernel, name, 0.0)
    assert run() == resting
    # Where too much is left out, it shows.
    for name in ("_LEAST_64", "_LEAST_32"):
        monkeypatch.setattr(quadratic_kernel, name, 1e-3)
    assert run() != resting
