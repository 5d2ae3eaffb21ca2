import pytest

from ravine.arguments import Refusal
from ravine.engine.storage.lock import locked


@pytest.mark.parametrize("name", ["lock", "."])
def test_a_second_run_is_refused_until_the_first_ends(tmp_path, name):
    with (
        locked(tmp_path / name, tmp_path),
        pytest.raises(Refusal, match=r"store must be free, got .*, which a run writes to now"),
        locked(tmp_path / name, tmp_path),
    ):
        pass
    with locked(tmp_path / name, tmp_path):
        pass


def test_a_lock_that_cannot_be_opened_is_one_line(tmp_path):
    place = tmp_path / "missing" / "lock"
    line = r"store must be writable.*lock cannot be opened \(No such"
    with pytest.raises(Refusal, match=line), locked(place, tmp_path):
        pass
