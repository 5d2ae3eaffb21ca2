import pytest

from ravine.arguments import Refusal
from ravine.engine.storage.skeleton import clear_leftovers, clear_place


def test_room_for_a_file_is_made_whatever_lies_there(tmp_path):
    (tmp_path / "rate").write_text("a file where a folder belongs", encoding="utf-8")
    (tmp_path / "floor" / "c" / "0").mkdir(parents=True)
    for name in ("rate/c/0", "floor/c/0"):
        clear_place(tmp_path, name)
        (tmp_path / name).write_text("chunk", encoding="utf-8")


def test_a_link_back_into_the_store_goes_and_one_to_another_disk_stays(tmp_path):
    store = tmp_path / "store"
    (store / "floor").mkdir(parents=True)
    (tmp_path / "disk").mkdir()
    (store / "rate").symlink_to(store / "floor")
    (store / "outcome").symlink_to(tmp_path / "nowhere")
    (store / "final_error").symlink_to(tmp_path / "disk")
    for name in ("rate", "outcome", "final_error"):
        clear_place(store, f"{name}/0")
        (store / name / "0").write_text(name, encoding="utf-8")
    assert list((store / "floor").iterdir()) == []
    assert (tmp_path / "disk" / "0").read_text(encoding="utf-8") == "final_error"


def test_a_folder_with_something_in_it_is_not_thrown_away(tmp_path):
    (tmp_path / "rate" / "c").mkdir(parents=True)
    (tmp_path / "rate" / "c" / "letter").touch()
    with pytest.raises(Refusal, match="rate/c is a folder with something in it: move that away"):
        clear_place(tmp_path, "rate/c")
    assert (tmp_path / "rate" / "c" / "letter").exists()


def test_what_killed_runs_leave_goes(store):
    before = set(store.parent.rglob("*"))
    leftovers = ["tiles/.00000001.part.json", "rate/c/1/0.8a7f.partial", ".mending/zarr.json"]
    for name in (*leftovers, "../.sweep.zarr.new/store/zarr.json"):
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).touch()
    clear_leftovers(store)
    assert set(store.parent.rglob("*")) == before
