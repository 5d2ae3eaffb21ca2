"""A notebook that a real kernel runs: results are cards, and the page is a frame that answers."""

import nbformat
import pytest
from nbclient import NotebookClient

SOURCES = {
    "begin": (
        "import ravine\ncurvature = ravine.Curvature(1, 8)\nmethod = ravine.nesterov(curvature)"
    ),
    "Ladder": "ravine.ladder(curvature, method)",
    "Recommendation": "ravine.recommend(curvature)",
    "Certificate": "ravine.certificate(curvature, ravine.sgd(curvature))",
    "Growth": "ravine.growth([[1.0, 8.0], [8.0, 1.0]], method)",
    "Trace": (
        "problem = ravine.problems.worst_case_quadratic(Q=8, d=3)\n"
        "ravine.run(problem, method, 20, sampling=None)"
    ),
    "Diagnosis": (
        "import numpy as np\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(64, 3))\n"
        "y = X @ [1.0, 2.0, 3.0]\n"
        "ravine.diagnose(X, y, batch_size=16, epochs=5, seeds=8, time=0.5, try_remedies=False)"
    ),
    "explore": "page = ravine.explore(port=18700)\npage",
    "answer": (
        "import json, urllib.request\n"
        "question = json.dumps({'settings': {'Q': '8'}}).encode()\n"
        "head = {'Content-Type': 'application/json'}\n"
        "asked = urllib.request.Request(page.src + 'answer', question, head)\n"
        "json.load(urllib.request.urlopen(asked))['query']"
    ),
}


@pytest.fixture(scope="module")
def outputs():
    """What every cell shows, by mime type."""
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(source) for source in SOURCES.values()]
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    shown = {}
    for name, cell in zip(SOURCES, book.cells, strict=True):
        results = [one for one in cell.outputs if one["output_type"] == "execute_result"]
        shown[name] = results[0]["data"] if results else {}

    return shown


@pytest.mark.parametrize(
    "name", ["Ladder", "Recommendation", "Certificate", "Growth", "Trace", "Diagnosis"]
)
def test_a_result_is_a_card_with_a_table(outputs, name):
    html = outputs[name]["text/html"]
    assert "<table" in html
    assert "Traceback" not in html
    # Beside it words for whoever reads the notebook without its pictures.
    assert name in outputs[name]["text/plain"]
    assert len(outputs[name]["text/plain"]) < 2000


def test_the_page_is_a_frame_below_the_cell(outputs):
    html = outputs["explore"]["text/html"]
    assert "<iframe" in html
    assert 'src="http://127.0.0.1:187' in html


def test_the_page_answers_from_the_kernel(outputs):
    assert outputs["answer"]["text/plain"] == "'Q=8.0'"
