"""Where the tiles of a plane lie in a store."""

from __future__ import annotations

from math import prod

import numpy as np

from ravine.engine.tiles import Tile


class TileGrid:
    """A plane cut into boxes of pixels, each of which C order keeps together.

    Parameters
    ----------
    shape
        Pixels along each axis of the plane.
    chunk
        Pixels of a box along each axis; the last box of an axis may hold fewer.

    Examples
    --------
    >>> grid = TileGrid.cut((5, 4), pixels=8)
    >>> grid.chunk, grid.total, grid.tile(2)
    ((2, 4), 3, (16, 20))
    """

    def __init__(self, shape: tuple[int, ...], chunk: tuple[int, ...]) -> None:
        self.shape = shape
        self.chunk = chunk
        self.counts = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
        self.total = prod(self.counts)

    @classmethod
    def cut(cls, shape: tuple[int, ...], pixels: int) -> TileGrid:
        """Tiles of about ``pixels`` pixels: some whole rows, or a part of one."""
        if len(shape) == 1 or pixels < shape[1]:
            ones = (1,) * (len(shape) - 1)
            return cls(shape, (*ones, min(pixels, shape[-1])))

        rows = min(pixels // shape[1], shape[0])
        return cls(shape, (rows, shape[1]))

    def place(self, number: int) -> tuple[int, ...]:
        """Which box of each axis the tile of this number is."""
        return tuple(int(i) for i in np.unravel_index(number, self.counts))

    def box(self, number: int) -> tuple[slice, ...]:
        """The pixels of a tile along each axis."""
        along = zip(self.place(number), self.chunk, self.shape, strict=True)
        return tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in along)

    def tile(self, number: int) -> Tile:
        """The first pixel of a tile in C order, and the one after its last."""
        box = self.box(number)
        first = np.ravel_multi_index([side.start for side in box], self.shape)
        last = np.ravel_multi_index([side.stop - 1 for side in box], self.shape)

        return int(first), int(last) + 1
