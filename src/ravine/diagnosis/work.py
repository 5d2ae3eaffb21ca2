"""What runs cost, counted before they begin, in seconds of an ordinary core.

What a diagnosis tries and how often it runs is chosen by these counts and not by a clock, so that
the same command gives the same answer on a busy machine and on an idle one.
"""

from __future__ import annotations

from ravine.diagnosis.batching import Batching
from ravine.problems.row_model import RowModel

_STEP = 6e-5
"""Seconds of a step beside its arithmetic: two dozen calls of NumPy."""
_SPARSE_SEED = 1e-4
"""Seconds that a sparse batch of one seed takes beside its arithmetic."""
_GATHER = 2e-9
"""Seconds to copy a number of the drawn rows."""
_PRODUCT = 0.25e-9
"""Seconds of a multiplication in a product of small matrices; each step has two of them."""
_PASS = 0.05e-9
"""Seconds of a multiplication in a product with the whole table."""
_SPARSE_PRODUCT = 2e-9
"""Seconds of a multiplication in a product with a sparse batch."""
_STATE = 8e-9
"""Seconds to update one coordinate: a dozen passes over position, velocity and their sums."""
_SCORE = {"squared": 3e-9, "huber": 6e-9, "multinomial": 20e-9}
_USUAL_SCORE = 25e-9
"""Seconds for the slope of one score, which is an exponential for most losses."""


def step_work(model: RowModel, cut: Batching, runs: int, seeds: int) -> float:
    """Seconds of one step of so many runs on each of so many seeds."""
    m = cut.batch_size
    width = runs * model.outputs
    scores = m * width * _score(model)
    state = model.features * width * _STATE

    if model.sparse:
        entries = m * model.entries / max(model.rows, 1)
        own = _SPARSE_SEED + entries * (_GATHER + 2.0 * width * _SPARSE_PRODUCT)
    else:
        own = m * model.features * (_GATHER + 2.0 * width * _PRODUCT)

    return _STEP + seeds * (own + scores + state)


def loss_work(model: RowModel, runs: int, seeds: int) -> float:
    """Seconds to take the whole loss at the points of so many runs on each of so many seeds."""
    points = runs * seeds * model.outputs
    each = _SPARSE_PRODUCT if model.sparse else _PASS

    return _STEP + points * (model.entries * each + model.rows * _score(model))


def _score(model: RowModel) -> float:
    return _SCORE.get(model.loss.name, _USUAL_SCORE)
