"""The map of what a measured curvature allows: lr by momentum and batch size."""

from __future__ import annotations

from dataclasses import dataclass

from ravine.torch.curvature import LocalCurvature

USUAL_MOMENTA = (0.0, 0.5, 0.9, 0.99)
"""The momenta of a map unless others are asked for."""


@dataclass(frozen=True)
class LrLimit:
    """The largest lr with one momentum and batch size."""

    momentum: float
    batch_size: int
    limit: float
    """Stable in mean square with batches as they were measured."""
    iid_limit: float
    """Stable in mean square whatever the law of the batches, of curvature up to the largest
    measured: the rung of independent batches."""


def lr_limits(
    curvature: LocalCurvature,
    gamma: float | None,
    momenta: tuple[float, ...],
    batch_sizes: tuple[int, ...] = (),
) -> list[LrLimit]:
    """The limits of all pairs; batch sizes around the user's unless given.

    ``gamma`` is 0 for methods without look-ahead, None for Nesterov's.
    """
    size = curvature.batch_size
    sizes = batch_sizes or tuple(sorted({max(size // 4, 1), size, size * 4}))
    return [
        LrLimit(
            momentum,
            batch,
            curvature.limit(momentum, gamma, batch),
            curvature.iid_limit(momentum, gamma, batch),
        )
        for momentum in momenta
        for batch in sizes
    ]
