from ravine.engine.storage.seal import read_seal
from ravine.engine.storage.tile_record import (
    chunk_name,
    is_recorded,
    record_name,
    tile_damage,
)


def test_names_of_files(pristine):
    seal = read_seal(pristine)
    assert chunk_name(seal, "rate", 2) == "rate/c/2/0"
    assert record_name(2) == "tiles/00000002.json"
    assert [is_recorded(pristine, number) for number in range(4)] == [True] * 3 + [False]


def test_a_damage_names_its_file(store):
    seal = read_seal(store)
    assert [tile_damage(store, seal, number) for number in range(3)] == [None] * 3
    (store / "rate/c/0/0").unlink()
    (store / "outcome/c/1/0").write_bytes(b"")
    record = store / record_name(2)
    record.write_text(record.read_text(encoding="utf-8").replace(" ", ""), encoding="utf-8")
    assert [tile_damage(store, seal, number) for number in range(3)] == [
        "rate/c/0/0 is missing",
        "outcome/c/1/0 was changed",
        "tiles/00000002.json was changed",
    ]
