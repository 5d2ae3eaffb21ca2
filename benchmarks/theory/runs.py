"""Check closed forms against runs, with intervals of 95 %.

python -m benchmarks.theory.runs steps     # where mean-square divergence starts, a minute
python -m benchmarks.theory.runs league    # every entry of three league tables, five minutes
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import binom

from ravine import Curvature, LinearMethod, Method, adam_limit, circle_rate, largest_step
from ravine.arguments import FloatArray
from ravine.engine.kernels.finite_sum import ensemble
from ravine.problems import QuadraticSum
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.tuning.league import Standing, league

GROUPS = 40
GRID_TOLERANCE = 1e-3
"""What a grid of 300 curvatures may miss of the largest floor or rate."""


def jackknife(statistic, groups: FloatArray) -> tuple[float, float]:
    """A statistic of means over groups (the last axis), and half of its 95 % interval."""
    count = groups.shape[-1]
    without = np.array([statistic(np.delete(groups, i, axis=-1)) for i in range(count)])
    estimate = count * statistic(groups) - (count - 1) * without.mean(axis=0)
    return float(estimate), 2.02 * float(np.sqrt((count - 1) * without.var(axis=0)))


def steps() -> None:
    """The engine on one direction: E y² starts to grow at the predicted step.

    One sample in 1,000 has curvature 1,000, the others next to none; batches of 8 have no sample
    twice. Growth of E y² from step 150 to step 350; a parabola through its values at five steps
    around the limit is zero where divergence starts.
    """
    n, b, flat = 1000, 8, 1e-6
    steep = n - (n - 1) * flat
    problem = QuadraticSum(
        np.array([steep] + [flat] * (n - 1))[:, None, None], start=[1.0], minimiser=[0.0]
    )
    ratio = (1.0 - flat) * (steep - 1.0) * (n - b) / (n - 1.0) / b
    shares = np.array([0.9, 0.95, 1.0, 1.05, 1.1])
    cases = {
        "SGD": (0.0, 0.0),
        "heavy ball 0.9": (0.9, 0.0),
        "Nesterov 0.9": (0.9, 0.9),
        "beta 0.5, gamma -0.3": (0.5, -0.3),
        "QHM 0.9, nu 0.7": (0.9, 0.9 * 0.3 / 0.1),
        "Adam 0.8, fixed preconditioner": (0.8, 0.0),
    }
    for name, (beta, gamma) in cases.items():
        limit = float(largest_step(1.0, variance_ratio=ratio, beta=beta, gamma=gamma))
        if name.startswith("Adam"):
            limit = (1.0 - beta) * float(adam_limit(1.0, variance_ratio=ratio, beta1=beta))
        squares = np.stack(
            [
                ensemble(
                    problem, Method(share * limit, beta, gamma), [150, 350], trajectories=20_000,
                    sampling="iid", batch=b, seed=int(1000 * share),
                ).norms.reshape(2, GROUPS, -1)
                for share in shares
            ]
        )  # fmt: skip

        def crossing(groups: FloatArray) -> float:
            total = groups.mean(axis=-1)
            roots = np.roots(np.polyfit(shares, np.log(total[:, 1] / total[:, 0]), 2))
            return float(np.real(roots[np.argmin(np.abs(roots - 1.0))]))

        at, half = jackknife(crossing, (squares**2).mean(axis=-1))
        print(
            f"{name:32} limit {limit:.6f}; divergence starts at {at:.4f} ± {half:.4f} of it",
            flush=True,
        )


class Direction:
    """One method on one curvature, with batches of b samples of curvature 0 or L_max."""

    def __init__(self, method: LinearMethod, lam: float, most: float) -> None:
        self.A, self.B, self.C = method.state
        self.lam, self.most = lam, most

    def lift(self, b: float) -> FloatArray:
        """The map of second moments as a matrix."""
        loop = self.A + self.lam * np.outer(self.B, self.C)
        variance = self.lam * (self.most - self.lam) / b
        kick = np.outer(np.kron(self.B, self.B), np.kron(self.C, self.C))
        return np.asarray(np.kron(loop, loop) + variance * kick)

    def growth(
        self, b: int, rng: np.random.Generator, runs: int = 20_000, steps: int = 12
    ) -> tuple[float, float]:
        """Growth per step of √E y², from a start whose second moments grow at one rate."""
        values, vectors = np.linalg.eig(self.lift(b))
        n = self.B.size
        X = vectors[:, np.argmax(np.abs(values))].real.reshape(n, n)
        X = X * np.sign(np.trace(X))
        spread, turn = np.linalg.eigh(0.5 * (X + X.T))
        state = rng.standard_normal((runs, n)) * np.sqrt(np.maximum(spread, 0.0)) @ turn.T
        first = (state @ self.C) ** 2
        for _ in range(steps):
            h = self.most * rng.binomial(b, self.lam / self.most, runs) / b
            state = state @ self.A.T + (h * (state @ self.C))[:, None] * self.B
        groups = np.stack([first, (state @ self.C) ** 2]).reshape(2, GROUPS, -1).mean(axis=-1)

        def rate(both: FloatArray) -> float:
            total = both.mean(axis=-1)
            return float((total[1] / total[0]) ** (0.5 / steps))

        return jackknife(rate, groups)

    def after_a_step(self, X: FloatArray, b: int) -> FloatArray:
        """Second moments after a step: the mean over every number of steep samples in a batch.

        Runs do not tell: where the fourth moment of y grows, the mean of y² over runs has no finite
        variance, and an interval around it means nothing.
        """
        after = np.zeros_like(X)
        steep = np.arange(b + 1)
        for count, chance in zip(steep, binom.pmf(steep, b, self.lam / self.most), strict=True):
            loop = self.A + self.most * count / b * np.outer(self.B, self.C)
            after = after + chance * loop @ X @ loop.T
        return after

    def exact_growth(self, b: int) -> tuple[float, float]:
        """Growth of √E y², and how far a step changes the shape of moments that grow at it."""
        values, vectors = np.linalg.eig(self.lift(b))
        n = self.B.size
        X = vectors[:, np.argmax(np.abs(values))].real.reshape(n, n)
        after = self.after_a_step(X, b)
        grown = np.vdot(X, after) / np.vdot(X, X)
        return float(np.sqrt(grown)), float(np.abs(after - grown * X).max() / np.abs(X).max())

    def floor(self, b: int) -> tuple[float, float]:
        """Stationary E y² with noise of variance 1, and how far a step moves the moments."""
        n = self.B.size
        X = np.linalg.solve(np.eye(n * n) - self.lift(b), np.kron(self.B, self.B)).reshape(n, n)
        after = self.after_a_step(X, b) + np.outer(self.B, self.B)
        return float(self.C @ X @ self.C), float(np.abs(after - X).max() / np.abs(X).max())


def entry(
    curvature: Curvature, one: Standing, most: float, size: int, rng: np.random.Generator
) -> dict[str, float]:
    """Deviations in half widths of the interval, or in tolerances where nothing is random."""
    method = one.method if isinstance(one.method, LinearMethod) else LinearMethod.of(one.method)
    mu, L = float(curvature.mu), float(curvature.L)
    grid = np.unique(np.append(np.geomspace(mu, L, 150), np.linspace(mu, L, 150)))
    sides = [Direction(method, float(lam), most) for lam in grid]
    radii = [np.abs(np.linalg.eigvals(side.lift(size))).max() for side in sides]
    worst = sides[int(np.argmax(radii))]
    out = {}

    powers = [np.linalg.matrix_power(d.A + d.lam * np.outer(d.B, d.C), 512) for d in sides]
    exact = max(np.linalg.norm(power) for power in powers) ** (1.0 / 512.0)
    # At critical damping the norm of the power is about 512 times that of the rate.
    out["exact"] = abs(exact - one.exact) / (512.0 ** (1.0 / 512.0) - 1.0) / 1.3

    seen, moved = worst.exact_growth(size)
    out["iid"] = abs(seen / one.iid - 1.0) / GRID_TOLERANCE
    out["iid moments keep their shape"] = moved / 1e-12

    terms = Batches(L_max=most).terms(curvature)
    rate = circle_rate(terms, method)
    state = method.at_rest(np.array([1.0, 0.3]))
    A, B, C = method.state
    sizes = []
    for H in rate.turning_hessians(4000):
        state = A @ state + np.outer(B, H @ (C @ state))
        scale = np.linalg.norm(state)
        sizes.append(np.log(scale))
        state = state / scale
    out["worst"] = abs(np.exp(np.mean(sizes[2000:])) - one.worst) / (2e-3 * one.worst)

    if 1.0 < one.stable_batch < 1e6:
        limits = [
            max(np.abs(np.linalg.eigvals(d.lift(one.stable_batch))).max(), 0.0) for d in sides
        ]
        steep = sides[int(np.argmax(limits))]
        above, half = steep.growth(int(np.ceil(1.15 * one.stable_batch)), rng)
        out["stable batch"] = max(above - 1.0, 0.0) / half
        if 0.85 * one.stable_batch >= 1.0:
            below, half = steep.growth(int(0.85 * one.stable_batch), rng)
            out["stable batch"] = max(out["stable batch"], max(1.0 - below, 0.0) / half)

    if np.isfinite(one.floor):
        seen, moved = max(side.floor(size) for side in sides)
        out["floor"] = abs(seen / one.floor - 1.0) / GRID_TOLERANCE
        out["floor does not move"] = moved / 1e-12
    return out


def tables() -> None:
    for Q, share, size in ((20.0, 3.0, 16), (100.0, 3.0, 30), (1000.0, 10.0, 64)):
        curvature, most = Curvature(1.0, Q), share * Q
        seen: dict[str, list[float]] = {}
        rng = np.random.default_rng([26, int(Q)])
        for one in league(curvature, L_max=most, batch_size=float(size)):
            for kind, standing in (("published", one.published), ("best", one.tuned)):
                for name, value in entry(curvature, standing, most, size, rng).items():
                    seen.setdefault(name, []).append(value)
                    if value > 1.5:
                        print(f"  {one.name} ({kind}), {name}: {value:.2f} half widths off")
        for name, values in seen.items():
            off = np.array(values)
            print(
                f"Q = {Q:g}, L_max/L = {share:g}, b = {size}, {name}: {off.size} entries, "
                f"{(off <= 1.0).sum()} within the interval, largest {off.max():.2f} half widths",
                flush=True,
            )


if __name__ == "__main__":
    {"steps": steps, "league": tables}[sys.argv[1]]()
