import json
import textwrap

import pytest

from ravine.diagnosis import diagnose


def test_the_lines_fit_a_terminal(broken, calm):
    for result in (broken, calm):
        lines = [row for line in result.answer.lines for row in textwrap.wrap(line, 80)]
        assert len(lines) <= 8
        assert len(result.answer.notes) <= 3


def test_what_is_certain_is_one_line(broken, calm, found):
    for result in (broken, calm, found):
        assert len(result.answer.certain) <= 80


def test_every_row_has_a_cell_for_every_column(calm):
    table = calm.answer.methods
    assert [row.key for row in table.rows] == [p.candidate.key for p in calm.predictions]
    for row in table.rows:
        assert len(row.cells) == len(table.columns)
        assert {column.key for column in table.columns} <= row.values.keys()
    assert [row.recommended for row in table.rows].count(True) == 1
    assert sum(row.cells[0].endswith(" *") for row in table.rows) == 1


def test_the_short_table_leaves_out_the_detail(calm):
    head, rows = calm.answer.methods.cells()
    assert [cell.text for cell in head] == [
        "method", "lr", "momentum", "schedule", "outcome", "loss left", "to 1 %"
    ]  # fmt: skip
    assert all(len(row) == 7 for row in rows)
    titles = {cell.text for cell in calm.answer.methods.cells(detail=True)[0]}
    assert titles & {cell.text for cell in head} == {"method"}
    assert len(titles) + len(head) == len(calm.answer.methods.columns) + 1


def test_numbers_behind_the_texts_are_those_of_the_predictions(calm):
    for row, p in zip(calm.answer.methods.rows, calm.predictions, strict=True):
        assert row.values["lr"] == float(p.candidate.method.alpha)
        assert row.values["excess_share"] == p.loss / calm.survey.start_excess
        assert row.values["rate"] == p.rate


def test_what_was_done_with_the_table_is_said(calm):
    assert calm.answer.data[0].startswith("data: 96 rows, 4 columns")
    assert calm.answer.data[1] == "columns not scaled, no intercept added"


def test_terminal_notebook_and_json_show_one_table(calm):
    record = json.loads(json.dumps(calm.to_dict()["answer"]))
    assert record["do"] == calm.answer.do
    cells = [row["cells"] for row in record["methods"]["rows"]]
    assert cells == [list(row.cells) for row in calm.answer.methods.rows]
    html = calm._repr_html_()
    assert all(row.cells[0] in html for row in calm.answer.methods.rows)
    report = calm.to_html()
    assert all(row.cells[0] in report for row in calm.answer.methods.rows)


def test_held_out_rows_have_their_column(data):
    X, y = data()
    held = diagnose(X, y, batch_size=16, validation=0.25, epochs=3, seeds=2, try_remedies=False)
    titles = [cell.text for cell in held.answer.methods.cells()[0]]
    assert "held out" in titles
    assert held.answer.methods.rows[0].values["held_out"] == pytest.approx(
        held.subject.held_out_loss
    )
