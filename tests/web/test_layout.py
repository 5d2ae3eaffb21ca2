import pytest

from ravine.theory.ladder.rungs import RUNGS
from ravine.web.layout import CHOICES, CONTROLS, page
from ravine.web.view import LABELS, RANGES, View


def parts(root):
    yield root
    children = getattr(root, "children", None)
    if isinstance(children, list | tuple):
        for child in children:
            yield from parts(child)
    elif children is not None and not isinstance(children, str | int | float):
        yield from parts(children)


@pytest.fixture(scope="module")
def everything():
    return list(parts(page()))


def test_identities_are_unique(everything):
    names = [part.id for part in everything if isinstance(getattr(part, "id", None), str)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", CONTROLS)
def test_every_number_has_slider_box_label_and_room_for_a_message(everything, name):
    by_id = {part.id: part for part in everything if isinstance(getattr(part, "id", None), str)}
    assert by_id[f"slide-{name}"].min < by_id[f"slide-{name}"].max
    assert float(by_id[f"box-{name}"].value) == pytest.approx(getattr(View(), name), rel=1e-5)
    assert f"message-{name}" in by_id
    assert f"box-{name}" in {getattr(part, "htmlFor", None) for part in everything}


def test_every_setting_is_on_the_page(everything):
    assert {*CONTROLS, *CHOICES} == set(View.__dataclass_fields__)
    assert set(CONTROLS) == set(RANGES) == set(LABELS)


def test_every_rung_has_a_row(everything):
    names = {
        getattr(part, "id", None)
        for part in everything
        if not isinstance(getattr(part, "id", None), dict)
    }
    assert {f"rung-{rung.key}" for rung in RUNGS} <= names
    assert {f"cursor-{rung.key}" for rung in RUNGS} <= names
