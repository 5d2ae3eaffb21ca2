"""Check the closed forms and the recommendations against brute force.

    python -m benchmarks.theory.checks limits          # T9 and T10, 10,000 cases each, seconds
    python -m benchmarks.theory.checks memory          # T11 and the general path, minutes
    python -m benchmarks.theory.checks recommend       # random recommend calls, minutes
    python -m benchmarks.theory.checks speed           # all rates on 1000 x 1000 points

Every check prints the number of cases, the largest deviation and the failures.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from ravine import (
    Curvature,
    LinearMethod,
    Method,
    adam_limit,
    iid_noise_floor,
    iid_rate,
    largest_step,
    recommend,
    smallest_stable_batch,
    spectral_radius,
)
from ravine.arguments import FloatArray
from ravine.theory.blocks import block, noise_gain_vector
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.ladder.rungs import RUNGS
from ravine.theory.tuning.budget import moment_after


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
    worst = 0.0
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
        grid = np.linspace(1.0, Q, 65)
        loops = A + grid[:, None, None] * outer
        radii = lifted_radius(
            loops, np.tile(B, (65, 1)), np.tile(C, (65, 1)), np.full(65, variance)
        )
        worst = max(worst, np.sqrt(radii.max()) / rate - 1.0)
    print(
        f"T11: {cases} non-commuting cases of memory 1 to 4, {above} above the rate; "
        f"a grid of 65 curvatures exceeds it by at most {worst:.1e}"
    )

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


def recommended(cases: int = 60) -> None:
    rng = np.random.default_rng(500)
    losses = []
    for _ in range(8 * cases):
        Q = 10.0 ** rng.uniform(0.01, 4.0) if rng.random() < 0.7 else rng.uniform(1.05, 4.0)
        known = {
            "L_max": Q * 10.0 ** rng.uniform(0.0, 3.0),
            "batch_size": float(np.floor(10.0 ** rng.uniform(0.0, 5.0))),
        }
        curvature = Curvature(1.0, Q)
        advice = recommend(curvature, **known)
        steps = 4.0 / Q * np.geomspace(1e-5, 1.0, 300)[:, None]
        plane = Method(steps, np.tanh(np.linspace(-1.5, 0.5 * np.log(8 * np.sqrt(Q)) + 0.5, 300)))
        best = float(iid_rate(curvature, plane, **known).min())
        losses.append(np.log(best) / np.log(advice.value) - 1.0)
    print(
        f"mini-batches: {len(losses)} calls; a grid of 90,000 points needs at best "
        f"{max(losses):.2e} fewer steps (share); {(np.array(losses) > 1e-3).sum()} above 0.1 %"
    )

    for kind in ("mini-batches", "additive-noise"):
        over, gained = [], []
        for _ in range(cases):
            Q = 10.0 ** rng.uniform(0.1, 4.0)
            curvature = Curvature(1.0 / Q, 1.0)
            budget = {
                "sigma2": float(rng.choice([0.0, 10.0 ** rng.uniform(-6, 1)])),
                "steps": int(10.0 ** rng.uniform(0.5, 2.7)),
                "quantity": str(rng.choice(["distance", "objective"])),
            }
            noise = None
            if kind == "mini-batches":
                known = {
                    "L_max": 10.0 ** rng.uniform(0, 2),
                    "batch_size": 10.0 ** rng.uniform(0, 4),
                }
                budget |= known
                noise = batch_noise(curvature, **known)
            advice = recommend(curvature, setting=kind, **budget)
            lam = np.concatenate(
                [np.geomspace(1.0 / Q, 1.0, 1500), np.linspace(1.0 / Q, 1.0, 1500)]
            )
            weight = 0.5 * lam if budget["quantity"] == "objective" else 1.0
            spent = {"sigma2": budget["sigma2"], "steps": budget["steps"]}
            errors = weight * moment_after(lam, advice.method, noise, **spent)
            over.append(errors.max() / advice.value - 1.0)
            # 60 neighbours, near and far.
            size = np.repeat([1e-3, 0.02, 0.5], 20)
            cloud = Method(
                float(advice.method.alpha) * np.exp(size * rng.standard_normal(60))[:, None],
                np.clip(
                    float(advice.method.beta) + 0.4 * size * rng.standard_normal(60), -0.99, 0.9999
                )[:, None],
            )
            # All curvatures: a sample of them would miss the narrow peaks of the neighbours.
            others = (weight * moment_after(lam, cloud, noise, **spent)).max(axis=-1)
            gained.append(1.0 - others.min() / advice.value)
        print(
            f"budget, {kind}: {cases} calls; largest error over promise {max(over):+.1e} (share); "
            f"best neighbour lower by {max(gained):.1e}; "
            f"{(np.array(gained) > 1e-3).sum()} above 0.1 %"
        )


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
    count = [int(v) for v in sys.argv[2:3]]
    {"limits": limits, "memory": memory, "recommend": recommended, "speed": speed}[name](*count)
