import pytest
from matplotlib.figure import Figure

from ravine.markup import Cell
from ravine.report import Page


def drawing() -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.add_subplot().plot([0, 1], [1, 0])
    return figure


@pytest.fixture
def page(tmp_path) -> Page:
    drawing().savefig(tmp_path / "dot.png")
    page = Page("A <title>", subtitle="why & how", footer="made here")
    page.lead(["First.", "Second <b>."], tone="bad")
    page.heading("Numbers")
    page.table(["name", Cell("value", number=True)], [["a<b", Cell("1.5", "good", number=True)]])
    page.bullets(["one", "two"])
    page.picture(drawing(), "A line")
    page.picture(tmp_path / "dot.png", "A dot")
    return page


def test_text_is_escaped_and_structure_is_there(page):
    html = page.html()
    assert "<h1>A &lt;title&gt;</h1>" in html
    assert '<div class="lead bad"><p>First.</p><p>Second &lt;b&gt;.</p></div>' in html
    assert '<td class="good number">1.5</td>' in html
    assert "<td>a&lt;b</td>" in html
    assert "<li>two</li>" in html


def test_nothing_is_loaded_from_elsewhere(page):
    html = page.html()
    assert "<script" not in html
    assert "<link" not in html
    for part in html.split("src=")[1:]:
        assert part.startswith('"data:image/png;base64,')
    assert html.count("<svg") == 1


def test_formulas_are_drawn_where_they_are_asked_for_and_nowhere_else():
    page = Page("A page")
    page.paragraph("rho^k", formulas=True)
    page.paragraph("rho^k")
    page.table([Cell("Q^2", formulas=True)], [["Q^2"]])
    html = page.html()
    assert "<p>ρ<sup>k</sup></p>" in html
    assert "<p>rho^k</p>" in html
    assert "<th>Q<sup>2</sup></th>" in html
    assert "<td>Q^2</td>" in html


def test_the_same_page_twice_is_the_same_bytes(page):
    first = page.html()
    again = Page(page.title)
    again.picture(drawing(), "A line")
    other = Page(page.title)
    other.picture(drawing(), "A line")
    assert again.html() == other.html()
    assert page.html() == first


def test_a_page_is_written_whole_or_not_at_all(page, tmp_path):
    path = tmp_path / "new" / "page.html"
    page.write(path)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]
