"""The iid rung at size: against searches over sums, its neighbours, and runs of the engine.

Run with ``python -m benchmarks.theory.iid_rung``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ravine
from ravine.theory.ladder.iid import critical_batch_size, iid_rate

SUMS = 10_000
"""Non-commuting sums tried at random, and another tenth that climb towards the rung."""


def _mean_square(hessians: np.ndarray, method: ravine.Method) -> float:
    """Root of the spectral radius of X -> mean A X Aᵀ, by the eigenvalues of mean A⊗A."""
    alpha, beta, gamma = (float(v) for v in (method.alpha, method.beta, method.gamma))
    d = hessians.shape[-1]
    total = np.zeros((4 * d * d, 4 * d * d))
    for H in hessians:
        top = [np.eye(d) - alpha * (1 + gamma) * H, (beta * (1 + gamma) - gamma) * np.eye(d)]
        A = np.block([top, [-alpha * H, beta * np.eye(d)]])
        total += np.kron(A, A) / len(hessians)
    return float(np.sqrt(np.abs(np.linalg.eigvals(total)).max()))


def _sum(rng: np.random.Generator, d: int, count: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Axes and spectra of a sum with curvature in [mu, 1], most of it at the ends."""
    axes = np.linalg.qr(rng.standard_normal((count, d, d)))[0]
    ends = rng.random((count, d)) < 0.7
    spectra = np.where(ends, rng.choice([mu, 1.0], (count, d)), rng.uniform(mu, 1.0, (count, d)))
    return axes, spectra


def _share(axes: np.ndarray, spectra: np.ndarray, method: ravine.Method, mu: float) -> float:
    """Growth of the sum over the rung for the curvature of its mean."""
    hessians = np.einsum("nij,nj,nkj->nik", axes, spectra, axes)
    mean = np.linalg.eigvalsh(hessians.mean(axis=0))
    curvature = ravine.Curvature(max(mean[0], mu), min(max(mean[-1], mu), 1.0))
    rung = float(iid_rate(curvature, method, L_max=1.0, mu_min=mu))
    return _mean_square(hessians, method) / rung


def search(seed: int = 0) -> dict[str, float]:
    """Largest growth over the rung: random sums, and hill climbs that turn and stretch them."""
    rng = np.random.default_rng(seed)
    random, climbed, tried = 0.0, 0.0, 0
    while tried < SUMS:
        mu = 10.0 ** rng.uniform(-2, -0.5)
        method = ravine.Method(
            10.0 ** rng.uniform(-1.5, 0.3), rng.uniform(-0.5, 0.95), rng.choice([None, 0.0, 0.3])
        )
        axes, spectra = _sum(rng, int(rng.integers(2, 4)), int(rng.integers(2, 5)), mu)
        share = _share(axes, spectra, method, mu)
        random = max(random, share)
        tried += 1
        if tried % 50 == 0:  # an adversary: keep what grows
            for _ in range(50):
                turned = np.linalg.qr(axes + 0.2 * rng.standard_normal(axes.shape))[0]
                moved = np.clip(spectra + 0.1 * rng.standard_normal(spectra.shape), mu, 1.0)
                higher = _share(turned, moved, method, mu)
                tried += 1
                if higher > share:
                    axes, spectra, share = turned, moved, higher
            climbed = max(climbed, share)
    return {"sums": tried, "largest, random": random, "largest, climbed": climbed}


def nesting(count: int = 100_000, seed: int = 1) -> dict[str, float]:
    """ρ <= rung <= r* on random parameters; shares of the pixels in order."""
    rng = np.random.default_rng(seed)
    Q = 10.0 ** rng.uniform(0, 6, count)
    L_max = 10.0 ** rng.uniform(0, 2, count)
    size = np.floor(10.0 ** rng.uniform(0, 3, count))
    beta = rng.uniform(-1.1, 1.1, count)
    gamma = np.where(rng.random(count) < 0.5, beta, rng.uniform(-1, 1.5, count))
    method = ravine.Method(3.0 * 10.0 ** rng.uniform(-3, 0, count), beta, gamma)
    curvature = ravine.Curvature(1 / Q, 1.0)
    rung = iid_rate(curvature, method, L_max=L_max, batch_size=size, mu_min=1 / Q)
    worst = ravine.worst_case_rate(ravine.Curvature(1 / Q, L_max), method)
    limit = critical_batch_size(curvature, method, L_max=L_max, mu_min=1 / Q)
    clear = np.abs(rung - 1.0) > 1e-9
    return {
        "parameters": count,
        "rho <= rung": float(np.mean(ravine.spectral_radius(curvature, method) <= rung)),
        "rung <= r* (1 + 1e-12)": float(np.mean(rung <= worst * (1 + 1e-12))),
        "rung < 1 iff b > b*": float(np.mean((limit < size)[clear] == (rung < 1.0)[clear])),
    }


def attained(count: int = 1000, seed: int = 2) -> float:
    """Largest relative difference to the growth of the one-dimensional sum that attains it."""
    rng = np.random.default_rng(seed)
    largest = 0.0
    for _ in range(count):
        mu, most, parts = rng.uniform(0.01, 0.5), rng.uniform(1.0, 5.0), int(rng.integers(1, 10))
        mean = mu + parts / 10 * (most - mu)
        method = ravine.Method(rng.uniform(0.05, 1.0), rng.uniform(-0.5, 0.9))
        terms = np.array([[[mu]]] * (10 - parts) + [[[most]]] * parts)
        rung = float(iid_rate(ravine.Curvature(mean, mean), method, L_max=most, mu_min=mu))
        largest = max(largest, abs(_mean_square(terms, method) / rung - 1.0))
    return largest


def threshold(trajectories: int = 24_000, groups: int = 48, seed: int = 3) -> dict[str, float]:
    """Where measured mean-square divergence starts, by runs of the engine at Q = 1000.

    One direction of mean curvature mu = 1: one sample in 10,000 has curvature L_max = 10 L, the
    others next to none. The engine draws batches without a repetition inside, so the prediction
    has ``rows=10_000``. For each batch size the growth of E y² from step 150 to step 350; a
    parabola through the growths over 1/b is zero at b*. Intervals of 95 % (Student) come from a
    jackknife over groups of trajectories, which also takes out the bias of the logarithm of a mean.
    """
    from scipy.stats import t as student

    from ravine.engine.kernels.finite_sum import ensemble
    from ravine.problems import QuadraticSum

    curvature = ravine.Curvature(1.0, 1000.0)
    method = ravine.nesterov(curvature)
    flat = 1e-6
    steep = 10_000.0 - 9_999 * flat
    problem = QuadraticSum(
        np.array([steep] + [flat] * 9_999)[:, None, None], start=[1.0], minimiser=[0.0]
    )
    sizes = np.array([66, 73, 80, 87, 94])
    squares = np.stack(
        [
            ensemble(
                problem, method, [150, 350], trajectories=trajectories, sampling="iid",
                batch=int(size), seed=seed + int(size),
            ).norms.reshape(2, groups, -1)
            for size in sizes
        ]
    )  # fmt: skip
    means = (squares**2).mean(axis=3)

    def growths(of_groups: np.ndarray) -> np.ndarray:
        total = of_groups.mean(axis=2)
        return np.asarray(np.log(total[:, 1] / total[:, 0]) / 200.0)

    def crossing(of_groups: np.ndarray) -> float:
        roots = np.roots(np.polyfit(1.0 / sizes, growths(of_groups), 2))
        return float(1.0 / roots[np.argmin(np.abs(roots - 1.0 / 80.0))])

    def jackknife(statistic: Callable[[np.ndarray], Any]) -> tuple[Any, Any]:
        whole = statistic(means)
        without = np.array([statistic(np.delete(means, i, axis=2)) for i in range(groups)])
        estimate = groups * whole - (groups - 1) * without.mean(axis=0)
        error = np.sqrt((groups - 1) * without.var(axis=0))
        return estimate, student.ppf(0.975, groups - 1) * error

    limit, half = jackknife(crossing)
    found = {
        "predicted b*": float(critical_batch_size(curvature, method, L_max=10_000.0, rows=10_000)),
        "measured b*": float(limit),
        "95 % interval, half width": float(half),
    }
    one = ravine.Curvature(1.0, 1.0)
    known = {"L_max": steep, "mu_min": flat, "rows": 10_000}
    exact = 2.0 * np.log(iid_rate(one, method, batch_size=sizes, **known))
    for size, expected, seen, error in zip(sizes, exact, *jackknife(growths), strict=True):
        found[f"b = {size}: growth of E y², predicted"] = float(expected)
        found[f"b = {size}: growth of E y², measured"] = float(seen)
        found[f"b = {size}: half width"] = float(error)
    return found


def measure() -> dict[str, dict[str, float]]:
    """All of it, with the seconds of a map of every closed-form rung."""
    curvature = ravine.Curvature(1 / 32, 1.0)
    plane = ravine.Method(np.linspace(0, 2.5, 1000)[:, None], np.linspace(-1, 1, 1000)[None, :])
    seconds = {}
    for rung in (ravine.spectral_radius, iid_rate, ravine.worst_case_rate, ravine.contraction):
        rung(curvature, plane)
        began, worked = time.perf_counter(), time.process_time()
        rung(curvature, plane)
        seconds[rung.__name__] = time.perf_counter() - began
        seconds[f"{rung.__name__}, processor"] = time.process_time() - worked
    return {
        "threshold by the engine": threshold(),
        "search": search(),
        "nesting": nesting(),
        "attained in one dimension": {"largest relative difference": attained()},
        "seconds of 1000 x 1000": seconds,
    }


def main() -> None:
    """Print a table."""
    for title, rows in measure().items():
        print(title)
        for name, value in rows.items():
            print(f"  {name:36} {value:.15g}")


if __name__ == "__main__":
    main()
