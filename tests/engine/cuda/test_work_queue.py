"""Queues keep their memory, and nobody shares one."""

CODE = """
from ravine.engine.cuda.work_queue import work_queues

with work_queues(2) as (one, two):
    different = one is not two
    buffer = one.buffer("bins", (4, 3), np.float64)
    again = one.buffer("bins", (4, 3), np.float64) is buffer
    smaller = one.buffer("bins", (5,), np.float64)
    shape = list(smaller.shape)
    larger = list(one.buffer("bins", (7, 2), np.float64).shape)
    other = one.buffer("bins", (2,), np.int32).dtype.name
    source = cuda.to_device(np.arange(6.0).reshape(2, 3))
    one.fetch(source)
    fetched = one.fetched().tolist()
    held = one.put("axis", np.array([1.0, 2.0]))
    kept_room = one.put("axis", np.array([3.0, 4.0])) is held
    put = [held.copy_to_host().tolist()]
    put.append(one.put("axis", np.array([[1, 2], [3, 4]], np.int32).T).copy_to_host().tolist())
    put.append(one.put("nothing", np.empty(0)).copy_to_host().tolist())
    two.follow(one)
    with one.long() as stream:
        apart = stream is not one.stream
with work_queues(1) as (three,):
    kept = three is one or three is two
result = different, again, shape, larger, other, fetched, kept, kept_room, put, apart
"""


def test_rooms_are_kept_and_results_come_back(in_simulator):
    different, again, shape, larger, other, fetched, kept, kept_room, put, apart = in_simulator(
        CODE
    )
    assert different
    assert again
    assert shape == [5]
    assert larger == [7, 2]
    assert other == "int32"
    assert fetched == [[0, 1, 2], [3, 4, 5]]
    assert kept
    assert kept_room
    assert put == [[3, 4], [[1, 3], [2, 4]], []]
    assert apart
