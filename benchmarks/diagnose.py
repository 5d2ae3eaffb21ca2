"""What a diagnosis says against what long runs do; time and memory on large data.

python benchmarks/diagnose.py [agreement] [certified] [large] [sparse]
"""

from __future__ import annotations

import math
import resource
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix

from ravine.diagnosis import diagnose, read_table
from ravine.diagnosis.batches import Survey, survey
from ravine.diagnosis.candidates import candidates
from ravine.diagnosis.measurement import follow, on_data
from ravine.diagnosis.remedies import standardised
from ravine.engine.kernels.blas import one_blas_thread
from ravine.methods import Method, nesterov, sgd
from ravine.problems import from_data
from ravine.sampling import Sampling

LOSSES = {
    "diabetes": "squared",
    "breast_cancer": "logistic",
    "digits": "squared",
    "wine": "squared",
}
BATCH_SIZES = (8, 32, 128)
STEPS, SEEDS = 3000, 64


def cases():
    """Every data set, raw and standardised, at several batch sizes."""
    for name, loss in LOSSES.items():
        table = read_table(name)
        for scaled in (False, True):
            X = standardised(table.X) if scaled else table.X
            size = float(np.mean(np.sum(X * X, axis=1)))
            for m in BATCH_SIZES:
                problem = from_data(X, table.y, loss=loss, l2=1e-3 * size, batch_size=m, shuffle=0)
                label = f"{name}{' standardised' if scaled else ''}, {loss}, batch {m}"
                yield label, survey(problem, table.columns)


def agreement() -> None:
    """Mean-square verdict against runs that begin at the minimiser, iid sampling."""
    right = wrong = 0
    ratios, local = [], []
    for label, found in cases():
        L, top = float(found.curvature.L), float(found.local[:, 1].max())
        methods = [nesterov(found.curvature), sgd(found.curvature), Method(0.3 / top, 0.5)]
        methods += [Method(f / L, 0.8) for f in (0.03, 0.3)]
        problem = found.problem
        far = float(np.linalg.norm(problem.minimiser))
        runs = follow(
            on_data(problem), methods, problem.minimiser, problem.minimiser,
            batches=problem.terms, sampling=Sampling.IID, steps=STEPS, seeds=SEEDS, reference=far,
        )  # fmt: skip
        for i, method in enumerate(methods):
            value = found.moments.growth(method)
            stable = value < 1.0
            X = found.moments.stationary(method) if stable else None
            quiet = _additive(found, method)
            each = runs.average[:, i]
            mean = float(each.mean())
            calm = math.isfinite(mean) and mean < 3.0 * (np.trace(X) if stable else quiet)
            agrees = calm == stable
            right, wrong = right + agrees, wrong + (not agrees)
            if not agrees:
                print(f"  differs: {label}, alpha {method.alpha:.3g} beta {method.beta:.3g}, "
                      f"mean-square growth {value:.4f}, error / floor without disagreement "
                      f"{mean / quiet:.3g}")  # fmt: skip
            settled = 20.0 / max(1.0 - math.sqrt(value), 1e-12) < STEPS
            if stable and settled and found.exact:
                error = float(each.std(ddof=1)) / math.sqrt(SEEDS)
                kind = ratios if found.quadratic else local
                kind.append((mean / np.trace(X), error / np.trace(X), label, method))
    print(f"mean-square verdict agrees with the long run in {right} of {right + wrong}")
    for name, kind in (("exact", ratios), ("local (logistic)", local)):
        off = [abs(r - 1.0) for r, *_ in kind]
        if off:
            middle = 100 * float(np.median(off))
            print(f"floor, {name}: {len(off)} cases, measured/predicted within "
                  f"{100 * max(off):.1f} %, median {middle:.1f} %")  # fmt: skip
        for ratio, error, label, method in kind:
            if abs(ratio - 1.0) > 0.1:
                print(f"  beyond 10 %: {ratio:.3f} ± {error:.3f} {label} {method}")


def _additive(found: Survey, method: Method) -> float:
    """Floor without disagreement of the batches; infinite where exact gradients diverge."""
    from ravine.theory.noise.moments import stationary_variance

    m = found.moments
    noise = m.weights @ m.gradients**2
    return float(np.sum(stationary_variance(m.eigenvalues, method, sigma2=noise).y))


def certified() -> None:
    """1000 seeds of every certified recommendation, each under three orders of the batches."""
    total = diverged = above = 0
    for label, found in cases():
        problem = found.problem
        judged = candidates(found, problem.start, yours=None, steps=500)
        sure = next((c for c in judged if c.certificate is not None), None)
        if sure is None:
            print(f"  no certificate: {label}")
            continue
        proof = sure.certificate
        far = float(np.linalg.norm(problem.minimiser))
        for rule in (Sampling.IID, Sampling.RESHUFFLE, Sampling.CYCLIC):
            seeds = 1 if rule is Sampling.CYCLIC else 1000
            runs = follow(
                on_data(problem), [sure.method], problem.start, problem.minimiser,
                batches=problem.terms, sampling=rule, steps=300, seeds=seeds,
            )  # fmt: skip
            total += seeds
            diverged += int((runs.diverged_at >= 0).sum())
            bound = proof.transient_gain * proof.rate**300 * far + proof.noise_gain * found.sigma
            above += int(np.sqrt(runs.squares[-1]).mean() > bound)
    print(f"certified: {diverged} of {total} runs diverged; {above} means above the proven bound")


def large() -> None:
    """10^6 rows, 100 columns, against one pass X_b.T @ X_b over all batches."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10**6, 100))
    X *= np.geomspace(0.3, 3.0, 100)  # in place: the peak counts what the diagnosis needs
    X[::5000] *= 6.0
    y = X @ rng.standard_normal(100) + rng.standard_normal(10**6)
    with one_blas_thread():
        begin = time.perf_counter()
        for first in range(0, 10**6, 32):
            X[first : first + 32].T @ X[first : first + 32]
        once = time.perf_counter() - begin
    begin = time.perf_counter()
    found = diagnose(X, y, l2=1e-3, batch_size=32)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"10^6 x 100: {seconds:.1f} s, allowed {3 * once + 60:.1f} s; peak memory "
          f"{peak / X.nbytes:.2f} x the data")  # fmt: skip
    print(found.verdict)


def sparse() -> None:
    """10^5 x 10^5 with 10^7 non-zeros."""
    rng = np.random.default_rng(0)
    n = d = 10**5
    columns = rng.integers(d, size=10**7)
    values = rng.standard_normal(10**7)
    X = csr_matrix((values, columns, np.arange(0, 10**7 + 1, 100)), shape=(n, d))
    y = np.asarray(X @ rng.standard_normal(d)) + rng.standard_normal(n)
    begin = time.perf_counter()
    found = diagnose(X, y, l2=1e-3, batch_size=1000)
    print(f"sparse 10^5 x 10^5, 10^7 non-zeros: {time.perf_counter() - begin:.1f} s, peak "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")  # fmt: skip
    print(found.verdict)


if __name__ == "__main__":
    wished = sys.argv[1:] or ["agreement", "certified", "large", "sparse"]
    for name in wished:
        {"agreement": agreement, "certified": certified, "large": large, "sparse": sparse}[name]()
