"""Means over repeats are the same on the GPU as on the CPU."""

import numpy as np
import pytest

CODE = """
from ravine.engine.cuda.measures import reduced, reductions
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.measures import FIELDS
from ravine.engine.repeats import MEASURES, reduce_repeats, variable_names

rng = np.random.default_rng(2)
pixels, repeats = 6, {repeats}
values = rng.uniform(0.1, 2.0, (pixels, repeats, len(FIELDS)))
values[..., FIELDS.index("outcome")] = rng.integers(0, 4, (pixels, repeats))
values[..., FIELDS.index("diverged_at")] = rng.choice([-1, 5, 9], (pixels, repeats))
values[0] = np.nan
values[1, :, FIELDS.index("final_error")] = np.inf
values[2, 0] = np.nan
values[3, :, FIELDS.index("floor_square")] = 0.0
for name in ("outcome", "rate_stop"):  # which every run has
    values[..., FIELDS.index(name)] = np.nan_to_num(values[..., FIELDS.index(name)])
fields = {{name: values[..., i] for i, name in enumerate(FIELDS)}}
expected = reduce_repeats(fields, MEASURES, repeats)
names = variable_names(MEASURES, repeats)
flat = values.transpose(1, 0, 2) if {outer} else values
flat = np.ascontiguousarray(flat).reshape(-1, len(FIELDS))
with work_queues(1) as (queue,):
    rows = cuda.to_device(reductions(names))
    queue.fetch(reduced(queue, cuda.to_device(flat), pixels, repeats, {outer}, rows))
    found = queue.fetched()
result = {{name: [found[i].tolist(), expected[name].tolist()] for i, name in enumerate(names)}}
"""


@pytest.mark.parametrize(("repeats", "outer"), [(1, False), (3, False), (3, True)])
def test_variables_are_those_of_the_processor(in_simulator, repeats, outer):
    found = in_simulator(CODE.format(repeats=repeats, outer=outer))
    assert len(found) == (9 if repeats == 1 else 13)
    for name, (gpu, cpu) in found.items():
        np.testing.assert_allclose(gpu, cpu, 1e-14, err_msg=name)
