"""A specification file gives the arguments of a sweep; a bad one names the key."""

import os

import numpy as np
import pytest
import xarray as xr

from ravine.engine.spec_file import KINDS, read_spec_file
from ravine.engine.sweep import sweep
from ravine.problems import Quadratic, counterexample, worst_case_quadratic

GOOD = """\
# a small plane
alphas = {start = 0.0, stop = 0.2, count = 5}
betas = [
    0.0,
    0.5,  # steps = 3 here is no key
]
steps = 30
sigma2 = 0.01
measure = ["rate", "floor"]

[problem]
kind = "worst_case_quadratic"
Q = 8
d = 4
"""


@pytest.fixture
def read(tmp_path):
    def reading(text):
        file = tmp_path / "spec.toml"
        file.write_text(text, encoding="utf-8")
        return read_spec_file(file)

    return reading


def test_a_file_runs_the_sweep_of_its_arguments(read):
    expected = sweep(
        worst_case_quadratic(8, 4),
        np.linspace(0.0, 0.2, 5),
        [0.0, 0.5],
        steps=30,
        sigma2=0.01,
        measure=("rate", "floor"),
    )
    xr.testing.assert_identical(read(GOOD).sweep(), expected)
    assert read(GOOD).sweep(seed=1).attrs["seed"] == "1"


def test_problems_from_tables_files_and_options(read, tmp_path):
    np.save(tmp_path / "h.npy", np.diag([1.0, 4.0]))
    text = GOOD[: GOOD.index("[problem]")]
    found = read(
        f'{text}[problem]\nkind = "Quadratic"\nhessian = {{file = "h.npy"}}\n'
        "minimiser = [1.0, 2.0]\n[problem.curvature]\nmu = 0.5\nL = 5.0\n"
    ).arguments["problem"]
    assert isinstance(found, Quadratic)
    assert found.minimiser.tolist() == [1.0, 2.0]
    assert (found.curvature.mu, found.curvature.L) == (0.5, 5.0)
    text = text.replace("sigma2 = 0.01", 'sampling = "iid"\nbatch = 2')
    data = read(f'{text}\nproblem = {{kind = "counterexample", mu = 1, L = 4, n = 3}}').sweep()
    plane = np.linspace(0.0, 0.2, 5), [0.0, 0.5]
    given = {"steps": 30, "sampling": "iid", "batch": 2, "measure": ("rate", "floor")}
    xr.testing.assert_identical(data, sweep(counterexample(1, 4, 3), *plane, **given))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("steps = 30", "steps = 0", "spec.toml: steps must be at least 1, got 0"),
        ("steps = 30", "steps = 'many'", "spec.toml: steps must be a whole number"),
        (
            "steps = 30",
            "step = 30",
            "spec.toml: step must be .*: did you mean steps?",
        ),
        ("steps = 30\n", "", "spec.toml: steps must be given"),
        ("sigma2 = 0.01", "sigma2 = -1", "spec.toml: sigma2 must be zero or more"),
        (
            "sigma2 = 0.01",
            "sigma2 = 1\ntotal_variance = 1",
            "spec.toml: sigma2 must be omitted with total_variance",
        ),
        ('"floor"]', '"flor"]', "spec.toml: measure must be one of .*got 'flor'"),
        ("count = 5", "count = 0", "spec.toml: alphas.count must be at least 1, got 0"),
        ("stop = 0.2", "stop = 'b'", "spec.toml: alphas.stop must be a real number"),
        (
            ", count = 5",
            "",
            "spec.toml: alphas must be a list, or a table of start, stop and count",
        ),
        ("0.0,\n", "inf,\n", "spec.toml: betas must be finite, got inf"),
        ("steps = 30", "steps = 30\ndtype = 'float16'", "spec.toml: dtype must be one of"),
        (
            "steps = 30",
            "steps = 30\nflavour = 1",
            "spec.toml: flavour must be one of",
        ),
        ("Q = 8", "Q = 0.5", "spec.toml: problem.Q must be more than 1, got 0.5"),
        ("Q = 8", "q = 8", "spec.toml: problem.q must be one of Q, d, mu"),
        ("Q = 8\n", "", "spec.toml: problem.Q must be given"),
        ("d = 4", "d = 4.5", "spec.toml: problem.d must be a whole number"),
        ("d = 4", "d = {file = 'x.npy'}", "spec.toml: problem.d must be in an NPY file"),
        ("d = 4", "d = {a = 1}", "spec.toml: problem.d must be a value, got a table of a"),
        ('"worst_case_quadratic"', '"worst"', "spec.toml: problem must be a table with a kind"),
        ('kind = "worst_case_quadratic"', "", "spec.toml: problem must be a table with a kind"),
        ("steps = 30", "steps = = 30", "at line 7, column 9"),
    ],
)
def test_a_bad_file_names_the_key(read, old, new, complaint):
    assert old in GOOD
    with pytest.raises(ValueError, match=complaint.replace("?", r"\?")) as refusal:
        read(GOOD.replace(old, new, 1)).sweep()
    assert str(refusal.value).startswith("spec.toml")
    assert "\n" not in str(refusal.value)


def test_what_the_command_line_gave_is_not_blamed_on_the_file(read):
    with pytest.raises(ValueError, match=r"^threads must be at least 1"):
        read(GOOD).sweep(threads=0)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read_spec_file(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_bytes(bytes([255]))
    with pytest.raises(ValueError, match="not text in UTF-8"):
        read_spec_file(tmp_path / "a.toml")


def test_every_problem_that_numbers_describe_has_a_kind():
    assert {"worst_case_quadratic", "counterexample", "least_squares", "Quadratic"} <= set(KINDS)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    pipe = tmp_path / "spec.toml"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="there is no such file"):
        read_spec_file(pipe)
