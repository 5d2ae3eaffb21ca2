import numpy as np
import pytest

from ravine.diagnosis import diagnose
from ravine.diagnosis.setup import make_setup
from ravine.diagnosis.survey import survey
from ravine.tables import as_table


def made_data(rows=96, d=4, seed=0):
    """Columns of different size, a linear target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d)) * np.geomspace(0.5, 2.0, d)
    return X, X @ np.arange(1.0, d + 1.0) + 0.5 * rng.standard_normal(rows)


def made_setup(X, y, **changes):
    return make_setup(as_table(X, y), **{"batch_size": 8, **changes})[0]


@pytest.fixture
def data():
    """The maker of data: ``data(rows=..., d=..., seed=...)``."""
    return made_data


@pytest.fixture
def setup_of():
    """The maker of a setup from data and options."""
    return made_setup


@pytest.fixture
def survey_of():
    """The maker of a survey from data and options."""

    def make(X, y, **options):
        return survey(made_setup(X, y, **options))

    return make


@pytest.fixture(scope="session")
def broken():
    """A diagnosis of data whose row 37 is fifteen times as long as the others."""
    X, y = made_data()
    X[37] *= 15.0
    y[37] *= 15.0
    return diagnose(X, y, batch_size=4, columns=("a", "b", "c", "d"), epochs=10, seeds=8, time=10.0)


@pytest.fixture(scope="session")
def found():
    """A diagnosis of fixed batches with one wild row."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) * [0.5, 1.0, 2.0]
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(80)
    X[5] *= 10.0
    return diagnose(X, y, l2=0.1, batch_size=8, batches="fixed", columns=("a", "b", "<c>"),
                    epochs=10, seeds=8, time=600.0)  # fmt: skip


@pytest.fixture(scope="session")
def calm():
    """A diagnosis of data on which the judged method converges."""
    X, y = made_data(seed=2)
    return diagnose(X, y, l2=0.1, batch_size=16, alpha=0.05, beta=0.5, epochs=10, seeds=32,
                    time=10.0, try_remedies=False)  # fmt: skip
