"""Digests of the bytes of small sweeps: every kernel, sampling, number type and option.

``python -m benchmarks.sweeps.bytes before.json`` writes them; with ``--against before.json`` it
names every sweep whose bytes have changed. Digests agree only between machines with the same
numerics: compare two states of the sources on one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import ravine
from ravine import problems

_SAMPLINGS = ("iid", "iid-no-repeat", "cyclic", "reshuffle", "reshuffle-no-repeat")
_MEASURES = ("rate", "floor", "floor_sup", "outcome", "diverged_at", "final_error")


def cases() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Every sweep by name: its problem and its options."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((40, 3))
    score = rows @ [1.0, -2.0, 0.5]
    labels = np.digitize(score, [-1.0, 1.0])
    whole = {
        "quadratic": problems.worst_case_quadratic(Q=32, d=10),
        "least-squares": problems.least_squares(60, 6, Q=8),
    }
    sums = {
        "shared-eigenvectors": problems.counterexample(mu=0.05, L=100, n=12),
        "turning": problems.turning_quadratics(mu=1, L=32),
        "partitioned": problems.partitioned_least_squares(120, 2, 6, Q=8),
        "squared": problems.from_data(rows, score + rng.standard_normal(40), batch_size=6),
        "logistic": problems.from_data(rows, score > 0, loss="logistic", l2=0.1, batch_size=6),
        "functions": problems.from_functions(
            gradients=lambda i, x: (1.0, 3.0, 9.0)[i] * x,
            terms=3,
            dimension=2,
            curvature=ravine.Curvature(1, 9),
            minimiser=np.zeros(2),
            start=np.ones(2),
        ),
        "multinomial": problems.from_data(rows, labels, loss="multinomial", l2=0.1, batch_size=6),
    }
    found: dict[str, tuple[Any, dict[str, Any]]] = {}
    for dtype in ("float64", "float32"):
        for name, problem in whole.items():
            for noise in ("independent", "shared"):
                options = {"dtype": dtype, "noise": noise, "sigma2": 0.01, "repeats": 2}
                found[f"{name} {dtype} {noise}"] = problem, options
            found[f"{name} {dtype} exact"] = problem, {"dtype": dtype}
        for name, problem in sums.items():
            if name == "functions" and dtype == "float32":
                continue  # plain Python runs in double precision only
            for sampling in _SAMPLINGS:
                options = {"dtype": dtype, "sampling": sampling}
                found[f"{name} {dtype} {sampling}"] = problem, options
            some = {"dtype": dtype, "sampling": "reshuffle"}
            found[f"{name} {dtype} batch"] = problem, {**some, "batch": 2}
            found[f"{name} {dtype} noise"] = problem, {**some, "sigma2": 0.1, "repeats": 3}
            found[f"{name} {dtype} shared"] = problem, {**some, "sigma2": 0.1, "noise": "shared"}
            for restart in ("gradient", "sampled", "full", 25):
                found[f"{name} {dtype} restart {restart}"] = problem, {**some, "restart": restart}
            schedule = np.linspace(0.0, 0.9, 200)
            found[f"{name} {dtype} schedule"] = problem, {**some, "schedule": schedule}
            found[f"{name} {dtype} heavy ball"] = problem, {**some, "gammas": 0.0}
            found[f"{name} {dtype} full gradient"] = problem, {"dtype": dtype}
    return found


def digest(problem: Any, options: dict[str, Any]) -> str:
    """Run one sweep and hash every measure."""
    L = float(problem.curvature.L)
    plane = ravine.sweep(
        problem,
        np.linspace(0.05, 2.5, 9) / L,
        np.linspace(-0.4, 0.95, 8),
        steps=200,
        measure=_MEASURES,
        seed=3,
        **options,
    )
    state = hashlib.sha256()
    for name in _MEASURES:
        state.update(np.ascontiguousarray(plane[name].values).tobytes())
    return state.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", help="where to write the digests")
    parser.add_argument("--against", type=Path, help="digests to compare with")
    asked = parser.parse_args()
    found = {name: digest(*case) for name, case in cases().items()}
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{len(found)} sweeps")
    if asked.against is not None:
        before = json.loads(asked.against.read_text(encoding="utf-8"))
        changed = [name for name in found if before.get(name) != found[name]]
        print("\n".join(changed) or "all bytes are the same")
        raise SystemExit(1 if changed else 0)


if __name__ == "__main__":
    main()
