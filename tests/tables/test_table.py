import dataclasses

import numpy as np
import pytest

from ravine.tables import as_table
from ravine.tables.limits import MAX_CLASSES
from ravine.tables.table import Table


def test_a_table_cannot_be_changed_and_keeps_everything_by_default():
    table = Table(np.ones((2, 1)), np.array([0.0, 1.0]), ("a",), "y", "data")
    assert table.weights is None
    assert table.rows is None
    assert table.findings == ()
    assert table.limits.classes == MAX_CLASSES
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.name = "other"


def test_limits_that_were_raised_stay_with_the_table():
    table = as_table(np.eye(3), [1.0, 2.0, 3.5], max_classes=7)
    assert table.limits.classes == 7
