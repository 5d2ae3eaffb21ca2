"""Contenders measured in turn, round after round: a noisy machine is noisy for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Contender(NamedTuple):
    """One way to do a piece of work, and how many units of it a call does."""

    name: str
    work: Callable[[], object]
    units: float


class Workload(NamedTuple):
    """A piece of work, ravine's way of doing it first."""

    title: str
    unit: str
    scale: float  # of a unit, in speeds
    contenders: list[Contender]
    goals: dict[str, float]  # how many times as fast ravine is meant to be, by start of a name


def contest(
    contenders: list[Contender], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Units a second of every contender: the best of the rounds, after one call to warm up.

    ``time.process_time`` as the clock leaves out what other programs did meanwhile.
    """
    for contender in contenders:
        contender.work()
    best = dict.fromkeys((c.name for c in contenders), float("inf"))
    for _ in range(rounds):
        for contender in contenders:
            began = clock()
            contender.work()
            best[contender.name] = min(best[contender.name], clock() - began)
    return {c.name: c.units / best[c.name] for c in contenders}


def show(workload: Workload, speeds: dict[str, float]) -> None:
    """Print speeds, how many times as fast the first one is, and which goals it met."""
    print(f"\n{workload.title}\n{workload.unit:58}{'speed':>10}{'ravine is':>14}")
    first = next(iter(speeds.values()))
    for name, speed in speeds.items():
        ratio = "" if speed == first else f"{first / speed:.3g} x"
        print(f"{name:58}{speed / workload.scale:10.4g}{ratio:>14}")
    for start, goal in workload.goals.items():
        best = max((s for name, s in speeds.items() if name.startswith(start)), default=None)
        if best is not None:
            met = "met" if first / best >= goal else "MISSED"
            print(f"  goal {goal:g} x the best of {start}: {first / best:.3g} x, {met}")


def markdown(results: list[tuple[Workload, dict[str, float]]]) -> str:
    """All speeds as a table for a README."""
    lines = ["| workload | contender | speed | ravine is |", "|---|---|---:|---:|"]
    for workload, speeds in results:
        first = next(iter(speeds.values()))
        for i, (name, speed) in enumerate(speeds.items()):
            title = f"{workload.title}; {workload.unit}" if i == 0 else ""
            ratio = "" if speed == first else f"{first / speed:.3g} x"
            lines.append(f"| {title} | {name} | {speed / workload.scale:.3g} | {ratio} |")
    return "\n".join(lines)
