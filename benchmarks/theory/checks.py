"""Check the closed forms and the recommendations against brute force.

    python -m benchmarks.theory.checks limits          # T9 and T10, 10,000 cases each, seconds
    python -m benchmarks.theory.checks memory          # T11, 10,000 cases, minutes
    python -m benchmarks.theory.checks general         # any memory against closed forms, minutes
    python -m benchmarks.theory.checks recommend       # random calls of five kinds, an hour
    python -m benchmarks.theory.checks speed           # all rates on 1000 x 1000 points

Every check prints the number of cases, the largest deviation and the failures.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from numba import njit
from scipy.ndimage import minimum_filter

from ravine import (
    Curvature,
    LinearMethod,
    Method,
    adam_limit,
    circle_rate,
    iid_noise_floor,
    iid_rate,
    largest_step,
    recommend,
    safe_step,
    smallest_stable_batch,
    spectral_radius,
    worst_case_rate,
)
from ravine.arguments import FloatArray
from ravine.theory.blocks import block, noise_gain_vector
from ravine.theory.ladder.any_memory import Loop
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.ladder.rungs import RUNGS


def lifted_radius(loop: FloatArray, gain: FloatArray, row: FloatArray, w: FloatArray) -> FloatArray:
    """Radius of X ↦ A X Aᵀ + w (row X rowᵀ) gain gainᵀ for a stack of loops, as a matrix."""
    n = loop.shape[-1]
    lift = np.einsum("pij,pkl->pikjl", loop, loop).reshape(-1, n * n, n * n)
    kick = np.einsum("pi,pk->pik", gain, gain).reshape(-1, n * n)
    seen = np.einsum("pi,pk->pik", row, row).reshape(-1, n * n)
    lift = lift + w[:, None, None] * kick[:, :, None] * seen[:, None, :]
    return np.asarray(np.abs(np.linalg.eigvals(lift)).max(axis=-1))


def bisected(radius, guess: FloatArray) -> FloatArray:
    """The step where the radius passes 1, by bisection from half to twice the guess."""
    low, high = 0.5 * guess, 2.0 * guess
    for _ in range(60):
        middle = 0.5 * (low + high)
        stable = radius(middle) < 1.0
        low, high = np.where(stable, middle, low), np.where(stable, high, middle)
    return low


def limits(cases: int = 10_000) -> None:
    rng = np.random.default_rng(26)
    lam = 10.0 ** rng.uniform(-2, 1, cases)
    ratio = lam * 10.0 ** rng.uniform(-3, 2, cases)
    beta = rng.uniform(-0.98, 0.98, cases)
    gamma = np.where(rng.random(cases) < 0.3, beta, rng.uniform(-2.0, 2.0, cases))
    row = np.tile([1.0, 0.0], (cases, 1))

    def family(step: FloatArray) -> FloatArray:
        method = Method(step, beta, gamma)
        gain = step[:, None] * noise_gain_vector(method)
        return lifted_radius(block(lam, method), gain, row, ratio * lam)

    limit = largest_step(lam, variance_ratio=ratio, beta=beta, gamma=gamma)
    far = np.abs(bisected(family, limit) / limit - 1.0)
    print(
        f"T9: {cases} cases, largest deviation {far.max():.1e}, {(far > 1e-10).sum()} above 1e-10"
    )

    beta1 = rng.uniform(0.0, 0.98, cases)
    decay = lam * 10.0 ** rng.uniform(-3, 1, cases) * (rng.random(cases) < 0.7)

    def adam(step: FloatArray) -> FloatArray:
        keep = 1.0 - step * decay
        fresh = (1.0 - beta1) * lam
        loop = np.stack([keep - step * fresh, -step * beta1, fresh, beta1], -1).reshape(-1, 2, 2)
        gain = np.stack([-step * (1.0 - beta1), 1.0 - beta1], axis=-1)
        return lifted_radius(loop, gain, row, ratio * lam)

    limit = adam_limit(lam, variance_ratio=ratio, beta1=beta1, weight_decay=decay)
    far = np.abs(bisected(adam, limit) / limit - 1.0)
    print(
        f"T10: {cases} cases, largest deviation {far.max():.1e}, {(far > 1e-10).sum()} above 1e-10"
    )


def random_linear(rng: np.random.Generator) -> LinearMethod:
    """A random method of memory 1 to 4 whose loop is stable without gradients but for the 1."""
    memory = int(rng.integers(1, 5))
    poles = np.append(rng.uniform(-0.9, 0.9, memory - 1), 1.0)
    numerator = rng.standard_normal(memory) * 10.0 ** rng.uniform(-2, -0.5)
    numerator[0] += 2.0 * np.abs(numerator).sum()
    return LinearMethod(numerator, np.poly(poles))


def memory(cases: int = 10_000) -> None:
    rng = np.random.default_rng(11)
    far = []
    above = 0
    for _ in range(cases):
        method = random_linear(rng)
        A, B, C = method.state
        Q = 10.0 ** rng.uniform(0.0, 2.0)
        curvature = Curvature(1.0, Q)
        # The deviation is ± √V times a reflection, whose square is the identity.
        low, high = np.sort(rng.uniform(1.0, Q, 2))
        variance = 10.0 ** rng.uniform(-2, 1)
        angle = rng.uniform(0.0, np.pi)
        flip = np.sqrt(variance) * np.array(
            [[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]]
        )
        n = A.shape[0]
        outer = np.outer(B, C)
        lift = np.zeros((4 * n * n, 4 * n * n))
        for sign in (-1.0, 1.0):
            H = np.diag([low, high]) + sign * flip
            loop = np.kron(A, np.eye(2)) + np.kron(outer, H)
            lift += 0.5 * np.kron(loop, loop)
        grown = np.sqrt(np.abs(np.linalg.eigvals(lift)).max())
        rate = float(iid_rate(curvature, method, variance=variance))
        above += grown > rate * (1.0 + 1e-9)
        # The largest radius over λ, by a grid that is narrowed around its best point.
        left, right = 1.0, Q
        best = 0.0
        for _ in range(4):
            grid = np.linspace(left, right, 65)
            loops = A + grid[:, None, None] * outer
            sides = (np.tile(B, (65, 1)), np.tile(C, (65, 1)), np.full(65, variance))
            radii = lifted_radius(loops, *sides)
            at = int(radii.argmax())
            best = max(best, float(radii[at]))
            left, right = grid[max(at - 1, 0)], grid[min(at + 1, 64)]
        far.append(np.sqrt(best) / rate - 1.0)
    apart = np.array(far)
    print(
        f"T11: {cases} non-commuting cases of memory 1 to 4, {above} above the rate; brute force "
        f"over curvatures differs by {np.abs(apart).max():.1e}, "
        f"{(np.abs(apart) > 1e-10).sum()} above 1e-10",
        flush=True,
    )


def general(cases: int = 10_000) -> None:
    """The general path against the closed forms of the family."""
    rng = np.random.default_rng(11)
    far = np.zeros((cases, 4))
    for k in range(cases):
        Q, share, size = 10.0 ** rng.uniform(0.0, [3.0, 2.0, 4.0])
        beta = rng.uniform(-0.9, 0.95)
        gamma = beta if rng.random() < 0.5 else rng.uniform(-0.4, 1.2)
        limit = float(largest_step(Q, beta=beta, gamma=gamma))
        method = Method(limit * rng.uniform(0.05, 0.95), beta, gamma)
        curvature, known = Curvature(1.0, Q), {"L_max": share * Q}
        pair = (method, LinearMethod.of(method))
        stable = float(smallest_stable_batch(curvature, method, **known))
        values = [
            [spectral_radius(curvature, m) for m in pair],
            [iid_rate(curvature, m, batch_size=size, **known) for m in pair],
            [smallest_stable_batch(curvature, m, **known) for m in pair],
            [
                iid_noise_floor(curvature, m, batch_size=2.0 * max(1.0, stable), **known)
                for m in pair
            ],
        ]
        far[k] = [abs(float(b) / float(a) - 1.0) for a, b in values]
    for name, column in zip(("ρ", "iid rate", "stable batch", "noise floor"), far.T, strict=True):
        print(
            f"general path, {name}: {cases} cases, largest deviation {column.max():.1e}, "
            f"{(column > 1e-12).sum()} above 1e-12, median {np.median(column):.1e}"
        )


def recommended(kind: str = "all", cases: int = 500) -> None:
    """Random calls against brute force; a running total after every fifty."""
    kinds = {
        "any-sampling": any_sampling, "batches": batches, "finite-sum": given_sum,
        "batch-budget": budget, "noise-budget": budget,
    }  # fmt: skip
    for name, check in kinds.items():
        if kind not in ("all", name):
            continue
        over, lost = [], []
        for k in range(cases):
            more, less = check(np.random.default_rng([500, k]), name)
            if more > 1e-9 or less > 1e-3:
                print(f"  case {k}: promise exceeded by {more:.1e}, {less:.1e} above the best")
            over.append(more)
            lost.append(less)
            if (k + 1) % 50 == 0 or k + 1 == cases:
                print(
                    f"{name}: {k + 1} calls; above the promise by {max(over):+.1e} (share), "
                    f"{(np.array(over) > 1e-9).sum()} times; brute force better by {max(lost):+.1e}"
                    f", {(np.array(lost) > 1e-3).sum()} times by more than 0.1 %",
                    flush=True,
                )


def any_sampling(rng: np.random.Generator, _: str) -> tuple[float, float]:
    """The step with the least worst-case rate at a momentum, against 4,000 steps."""
    Q = 1.0 + 10.0 ** rng.uniform(-1.0, 4.0)
    curvature = Curvature(1.0, Q)
    beta = float(rng.uniform(-0.9, 0.95))
    every = bool(rng.random() < 0.3)
    advice = recommend(curvature, beta=beta, for_every_mu=every)
    proven = circle_rate(curvature, advice.method)
    steps = np.geomspace(1e-6, 4.0, 4000) / Q
    if every:
        steps = steps[steps < float(safe_step(Q, beta))]
    best = float(worst_case_rate(curvature, Method(steps, beta)).min())
    return float(proven.lower) / advice.value - 1.0, fewer(best, advice.value)


def fewer(best: float, rate: float) -> float:
    """The share of steps that a better rate saves."""
    return float(np.log(best) / np.log(rate)) - 1.0


def batches(rng: np.random.Generator, _: str) -> tuple[float, float]:
    """The best guaranteed rate for random batches, against a grid of 120 x 120."""
    Q = 10.0 ** rng.uniform(0.01, 4.0) if rng.random() < 0.7 else rng.uniform(1.05, 4.0)
    known = {
        "L_max": Q * 10.0 ** rng.uniform(0.0, 3.0),
        "batch_size": float(np.floor(10.0 ** rng.uniform(0.0, 5.0))),
    }
    curvature = Curvature(1.0, Q)
    advice = recommend(curvature, **known)
    loop = Loop(curvature, LinearMethod.of(advice.method), batch_noise(curvature, **known))
    steps = 4.0 / Q * np.geomspace(1e-5, 1.0, 120)[:, None]
    plane = Method(steps, np.tanh(np.linspace(-1.5, 0.5 * np.log(8 * np.sqrt(Q)) + 0.5, 120)))
    best = float(iid_rate(curvature, plane, **known).min())
    return loop.growth() / advice.value - 1.0, fewer(best, advice.value)


def given_sum(rng: np.random.Generator, _: str) -> tuple[float, float]:
    """The best mean-square rate of a small random sum, against a grid of 40 x 40 and a cloud."""
    n, d = rng.integers(2, 6), rng.integers(1, 3)
    roots = rng.standard_normal((n, d, d + 1)) * np.sqrt(10.0 ** rng.uniform(-1.5, 1.0, (n, 1, 1)))
    H = roots @ roots.transpose(0, 2, 1) + 0.05 * np.eye(d)
    extremes = np.linalg.eigvalsh(H)
    curvature = Curvature(extremes.min(), extremes.max())
    advice = recommend(curvature, setting="finite-sum", hessians=H)

    def rate(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        total = 0.0
        eye = np.eye(d)
        for one in H:
            top = eye - alpha[:, None, None] * (1.0 + beta)[:, None, None] * one
            right = (beta**2)[:, None, None] * eye
            low = -alpha[:, None, None] * one
            A = np.concatenate(
                [
                    np.concatenate([top, right], axis=2),
                    np.concatenate([low, beta[:, None, None] * eye], axis=2),
                ],
                axis=1,
            )
            total = total + np.einsum("pij,pkl->pikjl", A, A).reshape(-1, 4 * d * d, 4 * d * d) / n
        return np.sqrt(np.abs(np.linalg.eigvals(total)).max(axis=-1))

    alpha, beta = float(advice.method.alpha), float(advice.method.beta)
    grid = np.meshgrid(np.geomspace(0.02, 6.0, 40) / extremes.max(), np.linspace(-0.9, 0.98, 40))
    size = np.repeat([1e-3, 0.02, 0.3], 100)
    cloud = alpha * np.exp(size * rng.standard_normal(300))
    near = np.clip(beta + 0.4 * size * rng.standard_normal(300), -0.95, 0.9999)
    best = rate(np.append(grid[0].ravel(), cloud), np.append(grid[1].ravel(), near)).min()
    own = float(rate(np.array([alpha]), np.array([beta]))[0])
    return own / advice.value - 1.0, fewer(float(best), advice.value)


@njit(cache=True, nogil=True)
def worst_errors(alphas, betas, lam, variance, weight, sigma2, steps):
    """Logarithm of the largest weighted E r² over curvatures after so many steps of each method.

    Step by step. Without noise, moments that shrink are scaled up to stay within the floats.
    """
    out = np.full(len(alphas), -np.inf)
    for p in range(len(alphas)):
        alpha, beta = alphas[p], betas[p]
        ahead = 1.0 + beta
        for i in range(len(lam)):
            rr, rv, vv = 1.0, 0.0, 0.0
            scale = 0.0
            for _ in range(steps):
                # v⁺ = beta v - alpha (h r + noise), r⁺ = r + beta (v⁺ - v) + v⁺, h random
                kick = alpha * alpha * (variance[i] * rr + sigma2)
                step = alpha * lam[i]
                a, b = 1.0 - ahead * step, beta * beta
                new = a * a * rr + 2.0 * a * b * rv + b * b * vv + ahead * ahead * kick
                cross = -a * step * rr + (a * beta - b * step) * rv + b * beta * vv + ahead * kick
                vv = step * step * rr - 2.0 * step * beta * rv + beta * beta * vv + kick
                rr, rv = new, cross
                if sigma2 == 0.0 and rr + vv < 1e-100:
                    rr, rv, vv = 1e100 * rr, 1e100 * rv, 1e100 * vv
                    scale -= np.log(1e100)
            size = scale + np.log(max(weight[i] * rr, 1e-300)) if rr < np.inf else np.inf
            out[p] = max(out[p], size)
    return out


def budget(rng: np.random.Generator, kind: str) -> tuple[float, float]:
    """The least error after a budget: the promise at 20,000 curvatures, the plane of methods.

    The plane has 64 x 64 points; around its eight lowest valleys 240 random points each, ever
    closer. What seems better at 300 curvatures is looked at again at 20,000.
    """
    Q = 10.0 ** rng.uniform(0.1, 4.0)
    curvature = Curvature(1.0 / Q, 1.0)
    given = {
        "sigma2": float(rng.choice([0.0, 10.0 ** rng.uniform(-6, 1)])),
        "steps": int(10.0 ** rng.uniform(0.5, 2.7)),
        "quantity": str(rng.choice(["distance", "objective"])),
    }
    noise = batch_noise(curvature, variance=0.0)
    setting = "additive-noise"
    if kind == "batch-budget":
        known = {"L_max": 10.0 ** rng.uniform(0, 2), "batch_size": 10.0 ** rng.uniform(0, 4)}
        given |= known
        noise = batch_noise(curvature, **known)
        setting = "mini-batches"

    advice = recommend(curvature, setting=setting, **given)

    def errors(alpha: FloatArray, beta: FloatArray, count: int) -> FloatArray:
        lam = np.append(np.geomspace(1.0 / Q, 1.0, count), np.linspace(1.0 / Q, 1.0, count))
        lam = np.minimum(lam, 1.0)
        weight = 0.5 * lam if given["quantity"] == "objective" else np.ones_like(lam)
        variance = np.broadcast_to(noise.variance(lam), lam.shape).copy()
        return worst_errors(alpha, beta, lam, variance, weight, given["sigma2"], given["steps"])

    own = (np.array([float(advice.method.alpha)]), np.array([float(advice.method.beta)]))
    promised = float(errors(*own, 10_000)[0])
    # A promise below 1e-300 has few digits left: the method is judged by its own error.
    claimed = float(np.log(advice.value)) if advice.value > 1e-300 else promised

    x, s = np.linspace(np.log(1e-7), np.log(4.0), 64), np.linspace(-2.0, 4.6, 64)
    grid = np.stack(np.meshgrid(x, s, indexing="ij"))
    values = errors(np.exp(grid[0].ravel()), np.tanh(grid[1].ravel()), 30).reshape(64, 64)
    lowest = values <= minimum_filter(values, size=3)
    starts = grid[:, lowest][:, np.argsort(values[lowest])[:8]].T
    better = []
    for start in (*starts, (np.log(own[0][0]), np.arctanh(own[1][0]))):
        centre, top = np.array(start), np.inf
        for size in (0.3, 0.1, 0.02, 0.003):
            points = centre + size * rng.standard_normal((60, 2))
            found = errors(np.exp(points[:, 0]), np.tanh(points[:, 1]), 150)
            better += points[found < claimed - 1e-3].tolist()
            if found.min() < top:
                centre, top = points[found.argmin()], found.min()

    best = np.inf
    if better:
        points = np.array(better)
        best = float(errors(np.exp(points[:, 0]), np.tanh(points[:, 1]), 10_000).min())
    return float(np.expm1(promised - claimed)), max(-float(np.expm1(best - claimed)), 0.0)


def speed() -> None:
    curvature = Curvature(1.0, 1000.0)
    plane = Method(np.linspace(1e-6, 2e-3, 1000)[:, None], np.linspace(-0.9, 0.99, 1000))
    for rung in RUNGS:
        if rung.bracketed:
            continue
        rung.rate(curvature, plane)
        start, cpu = time.perf_counter(), time.process_time()
        rung.rate(curvature, plane)
        print(
            f"{rung.key}: 1000 x 1000 in {time.perf_counter() - start:.2f} s, "
            f"{time.process_time() - cpu:.2f} s of CPU"
        )


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "limits"
    given = [int(v) if v.isdigit() else v for v in sys.argv[2:]]
    commands = {
        "limits": limits, "memory": memory, "general": general, "recommend": recommended,
        "speed": speed,
    }  # fmt: skip
    commands[name](*given)
