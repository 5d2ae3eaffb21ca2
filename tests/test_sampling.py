import pytest

from ravine import Sampling


def test_members_are_their_names():
    assert Sampling.parse("iid-no-repeat") is Sampling.IID_NO_REPEAT
    assert Sampling.parse(Sampling.CYCLIC) is Sampling.CYCLIC
    assert {member.value for member in Sampling} == {
        "iid", "iid-no-repeat", "cyclic", "reshuffle", "reshuffle-no-repeat",
    }  # fmt: skip


def test_every_rule_has_its_own_sentence():
    assert len({member.sentence for member in Sampling}) == len(Sampling)


def test_an_unknown_rule_names_those_there_are():
    with pytest.raises(ValueError, match=r"sampling must be one of iid, .*, got 'random'"):
        Sampling.parse("random")
