"""Queues keep their memory, and nobody shares one."""

CODE = """
from ravine.engine.cuda.work_queue import work_queues

with work_queues(2) as (one, two):
    different = one is not two
    room = one.room("bins", (4, 3), np.float64)
    again = one.room("bins", (4, 3), np.float64) is room
    smaller = one.room("bins", (5,), np.float64)
    shape = list(smaller.shape)
    larger = list(one.room("bins", (7, 2), np.float64).shape)
    other = one.room("bins", (2,), np.int32).dtype.name
    source = cuda.to_device(np.arange(6.0).reshape(2, 3))
    one.fetch(source)
    fetched = one.fetched().tolist()
with work_queues(1) as (three,):
    kept = three is one or three is two
result = different, again, shape, larger, other, fetched, kept
"""


def test_rooms_are_kept_and_results_come_back(in_simulator):
    different, again, shape, larger, other, fetched, kept = in_simulator(CODE)
    assert different
    assert again
    assert shape == [5]
    assert larger == [7, 2]
    assert other == "int32"
    assert fetched == [[0, 1, 2], [3, 4, 5]]
    assert kept
