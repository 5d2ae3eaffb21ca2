import json

import numpy as np

from ravine import Curvature, Method, iid_rate
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
    assert "lr = 0.8, momentum = 0.9" in shown.out
    data = json.loads(
        ravine("rescale", "--lr", 0.1, "--from-batch", 1, "--to-batch", 2, "--json").out
    )
    assert data["linear_rule"] == 0.2
    assert data["momentum"] > 0.0


def test_rescale_says_when_the_old_lr_was_too_large(ravine):
    given = ["rescale", "--lr", 0.1, "--from-batch", 8, "--to-batch", 64, "--Q", 100]
    words = ravine(*given, "--L-max", 2000).words
    limit = float(words.split("It can diverge; below ")[1].split()[0])
    momentum = json.loads(ravine(*given, "--L-max", 2000, "--json").out)["momentum"]
    rates = [
        iid_rate(Curvature(1, 100), Method(lr, momentum, 0.0), L_max=2000, batch_size=64)
        for lr in (limit, 1.02 * limit)
    ]
    assert rates[0] < 1.0 < rates[1]
    given[2] = 1e-4
    assert "can diverge" not in ravine(*given, "--L-max", 2000).words


def test_rescale_takes_the_name_of_an_optimizer_in_any_case(ravine):
    given = ["rescale", "--lr", 0.001, "--from-batch", 256, "--to-batch", 64, "--optimizer"]
    assert ravine(*given, "AdamW").out == ravine(*given, "adamw").out
    assert "ravine batch" in ravine(*given, "AdamW").out


def test_rescale_on_a_table(ravine, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) * [1.0, 20.0, 0.1]
    file = tmp_path / "train.csv"
    rows = np.column_stack([X, X.sum(axis=1) + rng.standard_normal(200)])
    np.savetxt(file, rows, delimiter=",", header="a,b,c,price", comments="")
    given = ["rescale", "--lr", 0.1, "--from-batch", 8, "--to-batch", 32, "--data", file]
    given += ["--target", "price", "--steps", 50]
    scaled, raw = (
        json.loads(ravine(*given, *more, "--json").out)["lr"] for more in ([], ["--raw"])
    )
    assert raw < 0.01 < 0.1 < scaled
    assert "smallest expected loss after 50 steps" in ravine(*given).out


def test_adamw_is_rescaled_without_a_momentum_that_was_not_given(ravine):
    given = ["rescale", "--lr", 0.001, "--from-batch", 64, "--to-batch", 256]
    assert "momentum" not in ravine(*given, "--optimizer", "adamw").out
    assert "beta1 = 0.9" in ravine(*given, "--optimizer", "adamw", "--momentum", 0.9).out


def test_where_one_step_is_enough(ravine):
    lines = ravine("compare", "--Q", 1).out.splitlines()
    assert next(line for line in lines if line.startswith("sgd ")).split()[-1] == "1"
    assert "inf" not in "".join(lines)
    assert "e-324" not in "".join(lines)
