import json

import pytest


def test_torch_in_the_paper_s_words(ravine):
    shown = ravine("convert", "--from", "torch", "--to", "paper", "--lr", 0.1, "--momentum", 0.9,
                   "--nesterov")  # fmt: skip
    assert shown.code == 0
    assert "ravine.Method(0.1, 0.9, 0.9)" in shown.out
    assert "alpha = 0.1, beta = 0.9, gamma = 0.9." in shown.out
    assert "(1 + gamma) alpha = 0.19" in " ".join(shown.out.split())


def test_json_has_the_documented_keys(ravine):
    data = json.loads(
        ravine("convert", "--from", "paper", "--to", "qhm", "--alpha", 0.125, "--beta", 0.75,
               "--gamma", 0.75, "--json").out
    )  # fmt: skip
    assert set(data) == {
        "from", "to", "parameters", "method", "sequence", "first_velocity", "code", "notes",
    }  # fmt: skip
    assert data["parameters"] == {"lr": 0.5, "momentum": 0.75, "nu": 0.75, "weight_decay": 0.0}
    assert data["method"] == {"alpha": 0.125, "beta": 0.75, "gamma": 0.75}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--from", "paper", "--to", "torch", "--alpha", 0.1, "--beta", -0.5],
         "beta must be zero or more for torch, got -0.5: use ravine.torch.ASG or optax"),
        (["--from", "flax"], "source must be one of"),
        (["--lr", 0.1, "--nu", 0.5], "parameters must be among"),
        ([], "lr must be given"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(refused, arguments, line):
    assert line in refused("convert", *arguments)
