"""Tiles come out in order, each with its own numbers, while others are under way."""

CODE = """
from ravine.engine.cuda.pipeline import run_tiles
from ravine.engine.measures import FIELDS
from ravine.engine.spec import Spec
from ravine.problems import worst_case_quadratic

problem = worst_case_quadratic(Q=9, d=3)
spec = Spec(
    problem=problem, alphas=np.arange(7.0), betas=np.zeros(1), steps=4, start=problem.start,
    measures=("final_error", "outcome"), device="cuda",
)
launched = []

class Numbers:
    repeats_outside = False

    def launch(self, queue, first, last):
        launched.append((first, last))
        fields = queue.buffer("fields", (last - first, len(FIELDS)), np.float64)
        fields.copy_to_device(np.arange(first, last)[:, None] * np.ones(len(FIELDS)))
        return fields

tiles = [(0, 2), (2, 4), (4, 6), (6, 7)]
result = []
for tile, part in run_tiles(spec, lambda spec, queue: Numbers(), tiles):
    result.append([tile, len(launched), {name: v.tolist() for name, v in part.items()}])
"""


def test_tiles_come_in_order_two_ahead(in_simulator):
    found = in_simulator(CODE)
    assert [tile for tile, _, _ in found] == [[0, 2], [2, 4], [4, 6], [6, 7]]
    # Three are under way when the first comes back, and two stay ahead until there are none.
    assert [launched for _, launched, _ in found] == [3, 4, 4, 4]
    assert [part["final_error"] for _, _, part in found] == [[0, 1], [2, 3], [4, 5], [6]]
    assert sorted(found[0][2]) == ["diverged_share", "final_error", "outcome"]
