import math
import os

import pytest

from ravine.arguments import Refusal
from ravine.tables import read_table
from ravine.web.tasks import plain, source_of


def test_what_json_cannot_hold_is_none():
    assert plain({"a": [math.inf, math.nan, 1.5], 2: (1, "x")}) == {
        "a": [None, None, 1.5],
        "2": [1, "x"],
    }


def test_a_dropped_table_is_read_from_memory_and_gone_after():
    content = b"a,b,target\n1,2,3\n4,5,6\n7,8,10\n2,2,1\n"
    with source_of({}, content) as source:
        assert os.path.realpath(source).startswith("/memfd:")
        assert read_table(source).X.shape == (4, 2)
    assert not os.path.exists(source)


def test_a_data_set_has_its_name():
    with source_of({"dataset": "iris"}, b"") as source:
        assert source == "iris"


def test_a_system_without_files_in_memory_says_so(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(Refusal, match="ravine diagnose FILE"), source_of({}, b"a,b\n"):
        pass
