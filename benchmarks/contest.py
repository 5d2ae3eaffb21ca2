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


def contest(contenders: list[Contender], rounds: int) -> dict[str, float]:
    """Units a second of every contender: the best of the rounds, after one call to warm up."""
    for contender in contenders:
        contender.work()
    best = dict.fromkeys((c.name for c in contenders), float("inf"))
    for _ in range(rounds):
        for contender in contenders:
            began = time.perf_counter()
            contender.work()
            best[contender.name] = min(best[contender.name], time.perf_counter() - began)
    return {c.name: c.units / best[c.name] for c in contenders}


def show(title: str, unit: float, speeds: dict[str, float]) -> None:
    """Print speeds in units of ``unit`` a second, and how many times as fast the first one is."""
    print(f"\n{title:52}{'speed':>10}{'ravine is':>12}")
    first = next(iter(speeds.values()))
    for name, speed in speeds.items():
        ratio = first / speed
        print(f"{name:52}{speed / unit:10.4g}{f'{ratio:.3g} x' if name != 'ravine' else '':>12}")
