import json

import pytest


def test_the_record_is_json_and_complete(broken):
    text = json.dumps(broken.to_dict())
    back = json.loads(text.replace("Infinity", "null"))
    assert back["data"]["batches"] == 24
    assert len(back["methods"]) == len(broken.predictions)
    assert back["recommended"] in {m["key"] for m in back["methods"]}
    assert back["methods"][0]["measured"]["runs"] == broken.runs.squares.shape[1]
    assert back["disagreement"]["rows"][0] == 37
    assert back["batches_are"] == "new"


def test_every_documented_key_is_there(calm):
    record = calm.to_dict()
    assert {
        "verdict", "answer", "data", "findings", "curvature", "all_batches", "batches", "minimiser",
        "interpolates", "sigma", "exact", "disagreement", "methods", "recommended", "quick",
        "advice", "scaling", "remedies", "left_out", "sampling", "epochs", "steps", "seed",
        "seconds", "ravine_version",
    } <= record.keys()  # fmt: skip
    assert {
        "key", "alpha", "beta", "gamma", "schedule", "averaged", "outcome", "spectral_radius",
        "mean_square", "almost_sure", "worst_case_rate", "certificate", "critical_batch_size",
        "floor", "excess_floor", "error_after", "excess_after", "steps_to_1_percent", "measured",
    } <= record["methods"][0].keys()  # fmt: skip


def test_losses_are_those_of_the_runs(calm):
    for m in calm.to_dict()["methods"]:
        if m["excess_after"] is not None and m["constant_share"] == 1.0 and not m["averaged"]:
            assert m["measured"]["excess"][-1] == pytest.approx(m["excess_after"]["value"])
