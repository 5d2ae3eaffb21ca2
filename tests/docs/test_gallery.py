"""Every picture of the gallery has its script, its caption and its file."""

from making import gallery


def test_the_page_is_the_one_that_the_scripts_make():
    assert (gallery.DOCS / "gallery.md").read_text(encoding="utf-8") == gallery.page()


def test_every_script_has_a_title_a_caption_a_drawing_and_its_picture():
    for name, path in gallery.scripts().items():
        module = gallery.load(path)
        title, blank, caption = (module.__doc__ or "").split("\n", 2)
        assert title.endswith(".")
        assert blank == ""
        assert len(caption) > 40
        assert callable(module.draw)
        assert (gallery.DOCS / "images" / f"gallery-{name}.png").exists()
