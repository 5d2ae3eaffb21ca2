import numpy as np
import pytest

from ravine.engine.storage.grid import TileGrid


@pytest.mark.parametrize(
    ("shape", "pixels"), [((7, 5), 5), ((7, 5), 12), ((7, 5), 3), ((7, 5), 999), ((11,), 4)]
)
def test_boxes_and_tiles_cover_every_pixel_once_and_agree(shape, pixels):
    grid = TileGrid.cut(shape, pixels)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    seen = []
    for number in range(grid.total):
        first, last = grid.tile(number)
        assert numbers[grid.box(number)].ravel().tolist() == list(range(first, last))
        seen += range(first, last)
    assert seen == list(range(numbers.size))


def test_a_tile_is_whole_rows_or_a_part_of_one():
    assert TileGrid.cut((7, 5), 12).chunk == (2, 5)
    assert TileGrid.cut((7, 5), 3).chunk == (1, 3)
    assert TileGrid.cut((7, 5), 3).place(3) == (1, 1)
