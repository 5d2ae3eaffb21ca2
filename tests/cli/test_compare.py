import json

from ravine.catalogue import CATALOGUE


def test_the_league_table_and_its_picture(ravine, tmp_path):
    out = tmp_path / "league.png"
    arguments = ["--Q", 8, "--L-max-ratio", 2, "--batch-size", 4]
    shown = ravine("compare", *arguments, "--out", out)
    assert shown.code == 0
    assert all(name in shown.out for name in CATALOGUE)
    assert out.read_bytes().startswith(b"\x89PNG")
    data = json.loads(ravine("compare", *arguments, "--json").out)
    assert {row["name"] for row in data["methods"]} == set(CATALOGUE)


def test_rescale(ravine):
    shown = ravine("rescale", "--lr", 0.1, "--momentum", 0.9, "--from-batch", 64, "--to-batch", 512)
    assert "lr = 0.105, momentum = 0.9869" in shown.out
    data = json.loads(
        ravine("rescale", "--lr", 0.1, "--from-batch", 1, "--to-batch", 2, "--json").out
    )
    assert data["linear_rule"] == 0.2
