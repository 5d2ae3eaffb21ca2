"""A local page to explore methods: every number comes from the library itself.

Needs ``ravine[web]``. Python computes; the scripts in ``assets`` send inputs and draw answers.
"""

from ravine.arguments import needed

for _name in ("flask", "waitress", "contourpy"):
    needed(_name, "the page", "web")

from ravine.web.server import explore  # noqa: E402  after the check of what it needs

__all__ = ["explore"]
