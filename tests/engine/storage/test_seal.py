import json
from dataclasses import replace

import pytest

from ravine.arguments import Refusal
from ravine.engine.storage.plain_files import Unreadable
from ravine.engine.storage.seal import (
    SEAL,
    Seal,
    damage,
    described_seal,
    read_seal,
    refuse_strange,
    whole_seal,
)


def test_what_was_written_is_read(tmp_path):
    seal = Seal((6, 5), (2, 5), ("rate",), {"steps": "30"}, {"zarr.json": "0" * 64})
    (tmp_path / "tiles").mkdir()
    seal.write(tmp_path)
    assert read_seal(tmp_path) == seal
    assert seal.grid.total == 3


def test_a_seal_covers_everything_but_tiles_and_itself(pristine):
    seal = whole_seal(pristine)
    files = {
        path.relative_to(pristine).as_posix() for path in pristine.rglob("*") if path.is_file()
    }
    chunks = {name for name in files if name.split("/")[0] in seal.variables and "/c/" in name}
    records = {name for name in files if name.startswith("tiles/0")}
    assert set(seal.files) == files - chunks - records - {SEAL, "tiles/lock"}
    assert len(chunks) == len(seal.variables) * len(records) == len(seal.variables) * 3


def test_other_words_of_the_same_content_are_no_seal(store):
    """Byte for byte: a space more is a change as well."""
    content = json.loads((store / SEAL).read_text(encoding="utf-8"))
    (store / SEAL).write_text(json.dumps(content, indent=1), encoding="utf-8")
    with pytest.raises(Unreadable, match="was changed"):
        read_seal(store)


def test_a_changed_seal_with_a_right_sum_must_still_be_possible(store):
    for changes in ({"shape": (0, 5)}, {"chunk": (7, 5)}, {"shape": (2**31, 8), "chunk": (1, 1)}):
        replace(read_seal_of(store), **changes).write(store)
        with pytest.raises(Unreadable, match="was changed"):
            read_seal(store)


def read_seal_of(store):
    return replace(described_seal(store), files={})


def test_attributes_say_what_the_seal_says(pristine):
    assert described_seal(pristine) == replace(read_seal(pristine), files={})


def test_the_digest_of_a_sweep_depends_on_what_made_it_and_on_its_tiles(pristine):
    seal = read_seal(pristine)
    others = [replace(seal, chunk=(1, 5)), replace(seal, made_with=seal.made_with | {"seed": "9"})]
    assert len({other.sweep for other in (seal, replace(seal, files={}), *others)}) == 3


def test_a_damage_names_the_first_file_and_counts_the_rest(store):
    line = str(damage(store, ["a is missing", "b was changed"]))
    assert line.endswith(
        f"got {store}, where a is missing (and 1 more): "
        f"ravine sweep SPEC --out {store} --resume mends it"
    )
    (store / "alpha" / "zarr.json").unlink()
    (store / "zarr.json").write_text("{}", encoding="utf-8")
    assert read_seal(store).damages(store) == [
        "alpha/zarr.json is missing",
        "zarr.json was changed",
    ]


def test_what_is_no_store_is_refused_for_what_it_is(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "other" / "tiles").mkdir(parents=True)
    words = {
        "empty": "an empty folder",
        "file": "no folder",
        "other": "nothing in it says which sweep",
        "": "something else",
    }
    for name, word in words.items():
        with pytest.raises(Refusal, match=word):
            refuse_strange(tmp_path / name)
