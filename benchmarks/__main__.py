"""All workloads, each with its contenders in turn; then the closed forms.

    python -m benchmarks [rounds]

Prints tables of speeds (the best of the rounds) and ratios, and one table in Markdown.
"""

from __future__ import annotations

import shutil
import sys
import time

from benchmarks.contest import Workload, contest, markdown, show
from benchmarks.page import latency
from benchmarks.sweeps import finite_sum, installed, linear_model, quadratic
from benchmarks.theory import closed_forms, commuting_map


def main() -> None:
    """Run everything."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    began = time.perf_counter()
    workloads = [
        lambda: quadratic.workload(shared=False),
        lambda: quadratic.workload(shared=True),
        linear_model.workload,
        lambda: finite_sum.workload("iid"),
        lambda: finite_sum.workload("reshuffle"),
    ]
    results: list[tuple[Workload, dict[str, float]]] = []
    for make in workloads:
        workload = make()
        speeds = contest(workload.contenders, rounds)
        show(workload, speeds)
        results.append((workload, speeds))
    print()
    closed_forms.main()
    print("\ncommuting bracket, 256 x 256 pixels, Q = 32")
    for name, value in commuting_map.measure().items():
        print(f"{name:40} {value:.6g}")
    if shutil.which("chromedriver"):
        print("\nthe page of ravine explore")
        latency.report(count=20, readers=20, seconds=60.0)
    else:
        print("\nno chromedriver: the page of ravine explore is left out")
    print(f"\n{markdown(results)}")
    if installed.MISSING:
        print(f"\nNot installed, left out: {', '.join(dict.fromkeys(installed.MISSING))}")
    print(f"\n{time.perf_counter() - began:.0f} seconds in all")


if __name__ == "__main__":
    main()
