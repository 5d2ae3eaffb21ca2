"""Run time of a sweep on 1 and 2 Dask workers, against the model of docs/cluster.md.

    T(w) = s + max(ceil(n / w) (t + v), n u, n (t + v + u) / c)

for n tiles on w workers. t is the processor time of a tile, measured without a cluster; v and u
are what a tile costs its worker and the driver besides, and s what starting and
ending costs: from a sweep whose tiles are next to nothing. The last term is for workers and driver
that share the c cores of one machine, as they do here. Nothing is fitted to the runs that the model
is compared with. Of each time the least of several rounds is taken, the contenders in turn: what
else the machine does can only add to it.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

PROBLEM = worst_case_quadratic(32, 100)
TILES, TILE, STEPS = 48, 256, 2000
ROUNDS = 5


def seconds(tiles: int, steps: int, **others: Any) -> float:
    alphas = np.linspace(0.0, 0.04, tiles)
    betas = np.linspace(0.0, 0.9, TILE)
    start = time.perf_counter()
    sweep(PROBLEM, alphas, betas, steps=steps, sigma2=1e-4, tile=TILE, **others)
    return time.perf_counter() - start


def overheads(client: Client, tiles: int = 200) -> tuple[float, float, float]:
    """Processor time of a tile on a worker and on the driver, and the time of a short sweep."""
    short = min(seconds(1, 1, cluster=client) for _ in range(5))
    worker = sum(client.run(time.process_time).values())
    driver = time.process_time()
    seconds(tiles, 1, cluster=client)
    driver = time.process_time() - driver
    worker = sum(client.run(time.process_time).values()) - worker
    return worker / tiles, driver / tiles, short


def main() -> None:
    clusters = [
        LocalCluster(n_workers=w, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0")
        for w in (1, 2)
    ]
    clients = [Client(cluster, set_as_default=False) for cluster in clusters]
    for client in clients:
        seconds(16, 10, cluster=client)
    seconds(16, 10, threads=1)
    runs: dict[int, list[float]] = {0: [], 1: [], 2: []}
    alone: list[float] = []
    for _ in range(ROUNDS):
        before = time.process_time()
        runs[0].append(seconds(TILES, STEPS, threads=1))
        alone.append(time.process_time() - before)
        for w, client in zip((1, 2), clients, strict=True):
            runs[w].append(seconds(TILES, STEPS, cluster=client))
    t = min(alone) / TILES
    v, u, s = (min(values) for values in zip(*map(overheads, clients), strict=True))
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f}; a tile takes {1e3 * t:.0f} ms, of the "
          f"worker {1e3 * v:.1f} ms and of the driver {1e3 * u:.1f} ms more; "
          f"starting and ending {1e3 * s:.0f} ms")  # fmt: skip
    print(f"{'workers':>8s} {'seconds':>8s} {'model':>8s} {'seconds / model':>16s}")
    print(f"{'none':>8s} {min(runs[0]):8.2f}")
    for w in (1, 2):
        own = -(-TILES // w) * (t + v)
        model = s + max(own, TILES * u, TILES * (t + v + u) / cores)
        print(f"{w:8d} {min(runs[w]):8.2f} {model:8.2f} {min(runs[w]) / model:16.2f}")
    for client, cluster in zip(clients, clusters, strict=True):
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
