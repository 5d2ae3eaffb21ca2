import json
import shlex

import numpy as np
import pandas as pd
import pytest

from ravine.cli.output import say

ROWS = ["a,b,y"] + [f"{i % 7},{(3 * i) % 11},{i % 5 + 0.5}" for i in range(40)]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(ROWS))
    return path


def test_the_verdict_is_printed_first_within_80_columns(ravine, table):
    shown = ravine("diagnose", table, "--batch-size", 8, "--l2", 0.1, "--sampling", "iid",
                   "--epochs", 5, "--no-remedies")  # fmt: skip
    assert shown.code == 0
    assert shown.out.startswith("Use lr = ")
    assert "\nThe textbook setting (lr = " in shown.out
    assert shown.out.index("\n\nmethod ") <= 8 * 81
    *lines, command = shown.out.splitlines()
    assert max(len(line) for line in lines) <= 80
    program, name, file, *options = shlex.split(command)
    assert (program, name, file) == ("ravine", "diagnose", str(table))
    again = ravine("diagnose", file, *options)
    assert "--sampling iid" in command
    assert "import torch" in again.out
    assert "certified" in shown.out


def test_numbers_stay_with_their_signs(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    say("lr = 0.1 leaves 0.5 % of it")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["lr = 0.1", "leaves 0.5 %", "of it"]


def test_a_table_is_standardised_and_gets_an_intercept_unless_raw(ravine, tmp_path):
    path = tmp_path / "houses.csv"
    rows = [f"{1000 + 37 * i % 500},{i % 4},{300000 + 900 * (i % 7)}" for i in range(60)]
    path.write_text("\n".join(["area,rooms,price", *rows]))
    options = ("--epochs", 3, "--no-remedies", "--json")
    usual = json.loads(ravine("diagnose", path, *options).out)
    assert usual["curvature"]["Q"] < 4.0
    assert "columns standardised, intercept added" in usual["answer"]["data"]
    assert json.loads(ravine("diagnose", path, "--raw", *options).out)["curvature"]["Q"] > 1e4


def test_json_has_the_documented_keys(ravine, table):
    shown = ravine("diagnose", table, "--batch-size", 8, "--l2", 0.1, "--sampling", "iid",
                   "--alpha", 0.01, "--beta", 0.9, "--epochs", 3, "--json")  # fmt: skip
    record = json.loads(shown.out)
    assert record["methods"][0]["key"] == "yours"
    assert record["methods"][0]["alpha"] == 0.01
    assert {"verdict", "data", "curvature", "disagreement", "remedies", "seed"} <= record.keys()


def test_the_report_is_written(ravine, table, tmp_path):
    out = tmp_path / "deep" / "report.html"
    shown = ravine("diagnose", table, "--batch-size", 8, "--l2", 0.1, "--epochs", 3, "--out", out)
    assert shown.code == 0
    assert f"Wrote {out}" in shown.out.replace("\n", "")
    assert "<svg" in out.read_text(encoding="utf-8")


def spoil(tmp_path, case):
    path = tmp_path / "bad.csv"
    if case == "empty":
        path.write_text("")
    elif case == "only names":
        path.write_text(ROWS[0])
    elif case == "one row":
        path.write_text("\n".join(ROWS[:2]))
    elif case == "one column":
        path.write_text("\n".join(row.split(",")[0] for row in ROWS))
    elif case == "ragged":
        path.write_text("\n".join([*ROWS, "1,2,3,4"]))
    elif case == "constant":
        path.write_text("\n".join([ROWS[0]] + [f"{i},{i * i},7" for i in range(40)]))
    elif case == "parquet":
        path = tmp_path / "bad.parquet"
        pd.DataFrame({"a": [1.0, 2.0], "y": [0.0, 1.0]}).to_parquet(path)
        path.write_bytes(path.read_bytes()[:-40] + b"x" * 40)
    elif case == "folder":
        path.mkdir()
    elif case == "libsvm":
        path = tmp_path / "bad.libsvm"
        path.write_text("1 1:2\n" * 60 + "1 2:x\n")
    else:
        path = tmp_path / f"bad.{case}"
        start = {"npy": b"\x93NUMPY", "npz": b"PK\x03\x04"}[case]
        path.write_bytes(start + "\n".join(ROWS).encode())
    return path


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("empty", "it is empty"),
        ("only names", "2 columns or more, got 0 rows"),
        ("one row", "2 columns or more, got 1 row and"),
        ("one column", f"columns or more, got {len(ROWS) - 1} rows and 1 column:"),
        ("ragged", "4 fields instead of 3 in line 42"),
        ("constant", "the target must be more than one value"),
        ("parquet", "a readable Parquet file"),
        ("folder", "a file or one of"),
        ("npy", "a readable NPY file"),
        ("npz", "File is not a zip file"),
        ("libsvm", "a readable LIBSVM file"),
    ],
)
def test_bad_files_get_one_line(refused, tmp_path, case, words):
    assert words in refused("diagnose", spoil(tmp_path, case))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("oops,1,2.5", "what is not a number counts as missing (1 time: 'oops')"),
        (",1,2.5", "dropped 1 of 40 rows, because values are missing in"),
        ("inf,1,2.5", "infinite values count as missing (1 time)"),
    ],
)
def test_odd_rows_are_left_out_and_said(ravine, tmp_path, row, words):
    path = tmp_path / "odd.csv"
    path.write_text("\n".join([*ROWS[:3], row, *ROWS[4:]]))
    shown = ravine("diagnose", path, "--batch-size", 8, "--l2", 0.1, "--epochs", 3, "--json",
                   "--no-remedies")  # fmt: skip
    assert shown.code == 0
    messages = [finding["message"] for finding in json.loads(shown.out)["findings"]]
    assert any(words in message for message in messages)


def test_reading_options_reach_the_table(ravine, tmp_path):
    path = tmp_path / "odd.csv"
    rows = [row.replace(",", "|") for row in ROWS]
    path.write_text(
        "\n".join([f"{rows[0]}|extra", *(f"{row}|{i * i}" for i, row in enumerate(rows[1:]))])
    )
    shown = ravine("diagnose", path, "--sep", "|", "--drop", "extra", "--target", "y", "--l2", 0.1,
                   "--batch-size", 8, "--epochs", 3, "--json", "--no-remedies",
                   "--raw")  # fmt: skip
    assert json.loads(shown.out)["data"]["features"] == 2


def test_step_and_momentum_have_two_names(ravine, refused, table):
    shown = ravine("diagnose", table, "--batch-size", 8, "--l2", 0.1, "--sampling", "iid",
                   "--lr", 0.01, "--momentum", 0.9, "--epochs", 3, "--json",
                   "--no-remedies")  # fmt: skip
    first = json.loads(shown.out)["methods"][0]
    assert (first["alpha"], first["beta"]) == (0.01, 0.9)
    assert "--lr must be omitted with --alpha" in refused(
        "diagnose", table, "--alpha", 0.1, "--lr", 0.1
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--batch-size", 4000), "batch_size must be at most 40"),
        (("--loss", "hinge"), "hinge"),
        (("--target", "z"), "target must be one of the columns a, b, y"),
        (("--out", "report.pdf"), "out must be a file ending in .html"),
        (("--beta", 0.9), "alpha must be given"),
        (("--l2", -1), "l2 must be"),
    ],
)
def test_bad_options_get_one_line(refused, table, options, words):
    assert words in refused("diagnose", table, *options)


def test_a_singular_design_is_answered_and_explained(ravine, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.standard_normal(40)
    path = tmp_path / "twice.csv"
    pd.DataFrame({"a": a, "twice": 2 * a, "y": rng.standard_normal(40)}).to_csv(path, index=False)
    shown = ravine("diagnose", path, "--epochs", 3, "--no-remedies")
    assert shown.code == 0
    assert "columns 'a', 'twice' depend on each other" in " ".join(shown.out.split())


def test_options_of_the_batches_and_the_time_are_taken(ravine, table):
    shown = ravine("diagnose", table, "--batches", "fixed", "--batch-size", 8, "--epochs", 3,
                   "--time", 600, "--validation", 0.2, "--json", "--no-remedies")  # fmt: skip
    record = json.loads(shown.out)
    assert record["batches_are"] == "fixed"
    assert record["data"]["rows"] == 32
    assert record["methods"][0]["held_out_loss"] is not None
    assert shown.err == ""
