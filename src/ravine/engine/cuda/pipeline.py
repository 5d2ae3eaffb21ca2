"""Run the tiles of a sweep on the GPU, one after the other without gaps.

Queues take turns. While the tile of one queue is computed, the results of another are copied back
and passed on, and its next tile is requested, so the GPU never waits for the host. With three
queues, a tile is ready even if the host takes longer than the GPU needs for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ravine.engine.cuda.measures import reduced, reductions
from ravine.engine.cuda.work_queue import WorkQueue, work_queues
from ravine.engine.repeats import variable_names
from ravine.engine.spec import Spec
from ravine.engine.tiles import Part, Tile

_QUEUES = 3


def run_tiles(
    spec: Spec, new_launcher: Callable[[Spec, WorkQueue], Any], tiles: Iterable[Tile]
) -> Iterator[tuple[Tile, Part]]:
    """Run tiles; yield each with the variables of its pixels.

    ``new_launcher`` copies shared data to the GPU, into the buffers of its queue. Its
    ``launch(queue, first, last)`` queues the pixels first..last-1 and returns their fields
    (trajectories, fields); ``repeats_outside`` says whether all pixels of a repeat come before
    those of the next repeat, instead of all repeats of a pixel before those of the next pixel. The
    next tile reuses the memory of the variables, so copy what you keep.
    """
    names = variable_names(spec.measures, spec.repeats)

    def begin(queue: WorkQueue, tile: Tile) -> tuple[WorkQueue, Tile]:
        first, last = tile
        fields = launcher.launch(queue, first, last)
        outside = launcher.repeats_outside
        queue.fetch(reduced(queue, fields, last - first, spec.repeats, outside, rows))
        return queue, tile

    def end(begun: tuple[WorkQueue, Tile]) -> tuple[Tile, Part]:
        queue, tile = begun
        return tile, dict(zip(names, queue.fetched(), strict=True))

    with work_queues(_QUEUES) as queues:
        launcher = new_launcher(spec, queues[0])
        rows = queues[0].put("reductions", reductions(names))
        for queue in queues[1:]:
            queue.follow(queues[0])

        waiting: list[tuple[WorkQueue, Tile]] = []
        for number, tile in enumerate(tiles):
            if len(waiting) == _QUEUES:
                yield end(waiting.pop(0))
            waiting.append(begin(queues[number % _QUEUES], tile))

        while waiting:
            yield end(waiting.pop(0))
