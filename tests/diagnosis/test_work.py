from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ravine.diagnosis import work
from ravine.diagnosis.setup import Batching
from ravine.diagnosis.work import Budget, loss_work, step_work
from ravine.problems import LinearModel
from ravine.problems.losses import make_loss
from ravine.sampling import Sampling


def counted(loss="squared", rows=64, features=5, batch=8, runs=3, seeds=4, sparse=False):
    X = np.ones((rows, features))
    target = np.arange(rows) % 3
    if loss == "logistic":
        target = target > 0
    model = LinearModel(csr_matrix(X) if sparse else X, make_loss(loss, target), l2=0.0)
    batching = Batching(rows, batch, False, Sampling.RESHUFFLE, np.arange(rows))
    return step_work(model, batching, runs, seeds), loss_work(model, runs, seeds)


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


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""
    hands = SimpleNamespace(now=0.0)
    monkeypatch.setattr(work, "time", SimpleNamespace(perf_counter=lambda: hands.now))
    return hands


def test_a_clock_that_has_run_out_changes_nothing(clock):
    budget = Budget(10.0)
    before = budget.begin("running on the data")
    clock.now = 1e6
    assert budget.begin("running on the data") == before == pytest.approx(0.8)
    assert budget.left_out == []


def test_stages_are_told_and_what_is_left_out_is_kept_once():
    told = []
    budget = Budget(10.0, lambda stage, share: told.append((stage, share)))
    budget.begin("surveying the batches")
    budget.leave_out("floors")
    budget.leave_out("floors")
    assert told[0][0] == "surveying the batches"
    assert 0.0 <= told[0][1] <= 1.0
    assert budget.left_out == ["floors"]
