import numpy as np
from scipy.sparse import csr_matrix

from ravine.diagnosis.batching import make_batching
from ravine.diagnosis.work import loss_work, step_work
from ravine.problems.losses import make_loss
from ravine.problems.row_model import RowModel
from ravine.sampling import Sampling


def counted(loss="squared", rows=64, features=5, batch=8, runs=3, seeds=4, sparse=False):
    X = np.ones((rows, features))
    target = np.arange(rows) % 3
    if loss == "logistic":
        target = target > 0
    model = RowModel(csr_matrix(X) if sparse else X, make_loss(loss, target), 0.0)
    cut = make_batching(rows, batch, None, Sampling.RESHUFFLE, 0)
    return step_work(model, cut, runs, seeds), loss_work(model, runs, seeds)


def test_every_size_adds_to_the_work():
    step, whole = counted()
    for larger in (
        {"features": 50}, {"runs": 30}, {"seeds": 40}, {"loss": "logistic"},
        {"loss": "multinomial"}, {"sparse": True},
    ):  # fmt: skip
        more = counted(**larger)
        assert more[0] > step
        assert more[1] > whole

    assert counted(batch=32)[0] > step
    assert counted(rows=640)[1] > whole


def test_work_is_counted_not_timed():
    assert counted() == counted()


def test_a_large_step_costs_its_multiplications():
    # 2 products of 32 x 100 x 1000 x 2 at 4 per nanosecond are 3.2 ms of the work.
    step, _ = counted(rows=1000, features=100, batch=32, runs=1000, seeds=2)
    assert 3.2e-3 < step < 8e-3
