import resource

import pytest

from ravine import memory
from ravine.memory import bytes_in_words, memory_available


def test_words():
    assert bytes_in_words(0.0) == "0 bytes"
    assert bytes_in_words(2.0**40) == "1 TiB"
    assert bytes_in_words(2.0**80) == "1.05e+06 EiB"


def test_the_least_of_all_limits_counts(monkeypatch):
    monkeypatch.setattr(memory, "_machine", lambda: 3.0)
    monkeypatch.setattr(memory, "_group", lambda: 2.0)
    monkeypatch.setattr(memory, "_process", lambda: 5.0)
    assert memory_available() == 2.0


def test_the_limit_of_the_process(monkeypatch):
    limit = 2**50
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, limit))
    assert 0.99 * limit < memory._process() < limit


def test_the_limit_of_a_container(monkeypatch, tmp_path):
    most, used = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(memory, "_GROUP_LIMITS", ((str(most), str(used)),))
    assert memory._group() == float("inf")
    most.write_text("1000\n")
    used.write_text("400\n")
    assert memory._group() == 600.0
    most.write_text("max\n")
    assert memory._group() == float("inf")


@pytest.mark.parametrize("text", ["MemTotal: 8 kB\nMemAvailable:   3 kB\n"])
def test_the_machine(monkeypatch, tmp_path, text):
    source = tmp_path / "meminfo"
    source.write_text(text)
    monkeypatch.setattr("builtins.open", lambda *_, **__: source.open(encoding="ascii"))
    assert memory._machine() == 3072.0
