import pytest

from ravine.tables.finding import Finding, listed


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a"], "column 'a'"),
        (["a", "b"], "columns 'a', 'b'"),
        (list("abcdefg"), "columns 'a', 'b', 'c', 'd', 'e' and 2 more"),
    ],
)
def test_names_are_listed_and_the_rest_counted(names, words):
    assert listed(names) == words


def test_a_long_name_does_not_break_the_line():
    assert len(listed(["x" * 500])) < 60


def test_a_finding_needs_no_remedy():
    assert Finding("loss", "chosen").remedy == ""
    assert Finding("loss", "chosen") == Finding("loss", "chosen", columns=())
