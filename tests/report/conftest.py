"""A diagnosis with one wild row, shared by the tests of its page and its pictures."""

import numpy as np
import pytest

from ravine.diagnosis import diagnose


@pytest.fixture(scope="session")
def found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) * [0.5, 1.0, 2.0]
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(80)
    X[5] *= 10.0
    return diagnose(X, y, l2=0.1, batch_size=8, batches="fixed", columns=("a", "b", "<c>"),
                    epochs=10, seeds=8, time=600.0)  # fmt: skip
