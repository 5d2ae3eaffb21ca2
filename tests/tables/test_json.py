import json

import numpy as np
import pytest

from ravine.tables import read_table

RECORDS = [
    {"a": 1, "b": "x", "y": 1.5},
    {"a": 2.5, "b": "y", "y": 2},
    {"a": "NA", "b": "x", "y": 3, "late": [1]},
    {"a": 4, "b": "y", "y": 4.5},
    {"a": 5, "b": "x", "y": 5},
]
COLUMNS = {key: [record[key] for record in RECORDS] for key in ("a", "b", "y")}

ROWS = [list(record.values())[:3] for record in RECORDS]


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("jsonl", "\n".join(json.dumps(record) for record in RECORDS)),
        ("ndjson", "\n\n".join(json.dumps(record) for record in RECORDS)),
        ("json", json.dumps(RECORDS)),
        ("json", json.dumps(RECORDS, indent=2)),
        ("json", json.dumps({"about": "this", "rows": RECORDS})),
        ("json", json.dumps(COLUMNS)),
        ("json", json.dumps({"columns": ["a", "b", "y"], "data": ROWS})),
        ("json", json.dumps({k: dict(enumerate(v)) for k, v in COLUMNS.items()})),
    ],
)  # fmt: skip
def test_records_and_columns(tmp_path, ending, text):
    path = tmp_path / f"t.{ending}"
    path.write_text(text)
    table = read_table(path)
    assert table.columns == ("a", "b=y")
    np.testing.assert_array_equal(table.X, [[1, 0], [2.5, 1], [4, 1], [5, 0]])
    np.testing.assert_array_equal(table.y, [1.5, 2, 4.5, 5])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "readable JSON"),
        ('{"a": 1,\n"b"', "readable JSON"),
        ('[{"a": 1}, 5]', "readable JSON"),
        ('{"a": [1, 2], "b": [1]}', "All arrays must be of the same length"),
        ('{"a": 1}', "must pass an index"),
    ],
)
def test_broken_json_is_refused(tmp_path, text, words):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_table(path)


def test_large_documents_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ravine.tables.data_files._DOCUMENT", 20)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(RECORDS))
    with pytest.raises(ValueError, match=r"one document.*\.jsonl"):
        read_table(path)
