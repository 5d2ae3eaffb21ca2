"""The estimators of ravine.sklearn against scikit-learn's SGD and the exact solution.

    python -m benchmarks.diagnose.estimators [--repeats 5] [TABLE...]

On all real tables (``benchmarks.diagnose.tables``): training loss, distance from the exact minimum,
score on held-out rows, and CPU time of a whole fit. The contenders take turns, with the same seeds.
Takes about five minutes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import SGDClassifier as TheirClassifier
from sklearn.linear_model import SGDRegressor as TheirRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.diagnose.tables import write_tables
from ravine.sklearn import SGDClassifier, SGDRegressor
from ravine.tables import TargetKind, read_table, target_kind

ALPHA = 1e-4
"""The l2 penalty, scikit-learn's default."""
LARGE = 1000
"""Rows from which on the time of a fit counts."""
EQUAL = 1e-6
"""Relative difference of losses that counts as none."""
NAMES = ("ravine", "sklearn", "scaled")


class Row(NamedTuple):
    """What was measured on one table."""

    name: str
    shape: tuple[int, int]
    losses: dict[str, list[float]]
    gap: float
    diverged: bool
    seconds: dict[str, list[float]]
    held_out: dict[str, float]


def contenders(labels: bool, seed: int) -> dict[str, Any]:
    """Ours, scikit-learn's SGD with its defaults, and the same after StandardScaler."""
    if labels:
        theirs = {"loss": "log_loss", "alpha": ALPHA, "random_state": seed}
        return {
            "ravine": SGDClassifier(alpha=ALPHA, random_state=seed),
            "sklearn": TheirClassifier(**theirs),
            "scaled": make_pipeline(StandardScaler(), TheirClassifier(**theirs)),
        }
    return {
        "ravine": SGDRegressor(alpha=ALPHA, random_state=seed),
        "sklearn": TheirRegressor(alpha=ALPHA, random_state=seed),
        "scaled": make_pipeline(StandardScaler(), TheirRegressor(alpha=ALPHA, random_state=seed)),
    }


def training_loss(model: Any, X: np.ndarray, y: np.ndarray, labels: bool) -> float:
    """Mean loss without penalty; infinite where the model has none."""
    try:
        if labels:
            return float(log_loss(y, model.predict_proba(X), labels=np.unique(y)))
        value = 0.5 * float(np.mean((model.predict(X) - y) ** 2))
        return value if np.isfinite(value) else np.inf
    except ValueError:
        return np.inf


def objective(W: np.ndarray, b: np.ndarray, Z: np.ndarray, y: np.ndarray, labels: bool) -> float:
    """Mean loss and penalty of weights of standardised columns."""
    S = Z @ W.T + b
    if not labels:
        loss = 0.5 * np.mean((S[:, 0] - y) ** 2)
    elif len(W) == 1:
        sign = np.where(y == np.unique(y)[1], 1.0, -1.0)
        loss = np.mean(np.logaddexp(0.0, -sign * S[:, 0]))
    else:
        own = S[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
        top = S.max(axis=1)
        loss = np.mean(np.log(np.exp(S - top[:, None]).sum(axis=1)) + top - own)
    return float(loss + 0.5 * ALPHA * (W**2).sum())


def exact_minimum(Z: np.ndarray, y: np.ndarray, labels: bool) -> float:
    """The least value of the objective, by solvers of NumPy and scikit-learn."""
    rows, columns = Z.shape
    if not labels:
        middle = y.mean()
        A = np.vstack([Z, np.sqrt(rows * ALPHA) * np.eye(columns)])
        w = np.linalg.lstsq(A, np.append(y - middle, np.zeros(columns)), rcond=None)[0]
        return objective(w[None, :], np.array([middle]), Z, y, labels)
    values = []
    for solver in ("newton-cholesky", "lbfgs"):
        model = LogisticRegression(
            C=1.0 / (rows * ALPHA), solver=solver, tol=1e-10, max_iter=5000
        ).fit(Z, y)
        values.append(objective(model.coef_, model.intercept_, Z, y, labels))
    return min(values)


def measure(name: str, X: np.ndarray, y: np.ndarray, labels: bool, repeats: int) -> Row:
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    Z = (X - mean) / scale
    losses: dict[str, list[float]] = {key: [] for key in NAMES}
    seconds: dict[str, list[float]] = {key: [] for key in NAMES}
    least = exact_minimum(Z, y, labels)
    gap = 0.0
    diverged = False
    for seed in range(repeats + 1):
        for key, model in contenders(labels, seed).items():
            began = time.process_time()
            model.fit(X, y)
            if seed:  # the first round warms up
                seconds[key].append(time.process_time() - began)
                losses[key].append(training_loss(model, X, y, labels))
            if key == "ravine":
                coef = np.atleast_2d(model.coef_)
                W, b = coef * scale, model.intercept_ + coef @ mean
                gap = max(gap, objective(W, b, Z, y, labels) / least - 1.0)
                diverged |= not np.isfinite(coef).all()
    return Row(name, X.shape, losses, gap, diverged, seconds, held_out(X, y, labels))


def held_out(X: np.ndarray, y: np.ndarray, labels: bool) -> dict[str, float]:
    """Accuracy, or R^2, on a fifth of the rows, mean of three splits."""
    scores: dict[str, list[float]] = {key: [] for key in NAMES}
    for seed in range(3):
        A, B, a, b = train_test_split(X, y, test_size=0.2, random_state=seed)
        if labels and (len(np.unique(a)) < 2 or not set(b) <= set(a)):
            continue
        for key, model in contenders(labels, seed).items():
            try:
                scores[key].append(model.fit(A, a).score(B, b))
            except ValueError:
                scores[key].append(-np.inf)
    return {key: float(np.mean(values)) if values else np.nan for key, values in scores.items()}


def show(row: Row) -> None:
    medians = {key: np.median(values) for key, values in row.losses.items()}
    times = {key: 1e3 * np.median(values) for key, values in row.seconds.items()}
    print(
        f"{row.name:32.32} {row.shape[0]:6} x {row.shape[1]:<3} gap {row.gap:8.1e}  loss "
        + " ".join(f"{medians[key]:9.4g}" for key in NAMES)
        + "  ms "
        + " ".join(f"{times[key]:7.1f}" for key in NAMES)
        + "  held out "
        + " ".join(f"{max(row.held_out[key], -99.0):6.3f}" for key in NAMES),
        flush=True,
    )


def summary(rows: list[Row]) -> None:
    def share(good: list[bool]) -> str:
        return f"{sum(good)} of {len(good)} ({100 * np.mean(good):.1f} %)"

    print(f"\ndiverged: {sum(row.diverged for row in rows)} of {len(rows)}")
    print("within 0.1 % of the exact minimum:", share([row.gap <= 1e-3 for row in rows]))
    for key in NAMES[1:]:
        below = [
            all(
                ours <= theirs * (1.0 + EQUAL)
                for ours, theirs in zip(row.losses["ravine"], row.losses[key], strict=True)
            )
            for row in rows
        ]
        print(f"training loss at or below {key}'s, all seeds:", share(below))
        large = [row for row in rows if row.shape[0] >= LARGE]
        ratios = [np.median(r.seconds["ravine"]) / np.median(r.seconds[key]) for r in large]
        print(
            f"time of a fit over {key}'s, {len(large)} tables of {LARGE} rows or more: "
            f"median {np.median(ratios):.2f}, largest {max(ratios):.2f}, "
            f"at most 3: {share([ratio <= 3.0 for ratio in ratios])}"
        )
        scored = [row for row in rows if not np.isnan(row.held_out["ravine"])]
        better = [row.held_out["ravine"] >= row.held_out[key] - 0.005 for row in scored]
        print(f"held-out score no worse than {key}'s by 0.005:", share(better))


def main() -> None:
    """Measure all tables, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"columns of loss, time and score: {', '.join(NAMES)}")
    rows = []
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for table, path in write_tables(Path(folder)):
            if given.tables and not any(word in table.name for word in given.tables):
                continue
            data = read_table(path, target=table.target)
            labels = target_kind(data.y) is TargetKind.LABELS
            rows.append(measure(table.name, data.X, data.y, labels, given.repeats))
            show(rows[-1])
    summary(rows)


if __name__ == "__main__":
    main()
