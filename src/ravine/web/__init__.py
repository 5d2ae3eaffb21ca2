"""A local page to see and touch it: every number comes from the library itself.

Needs ``ravine[web]``. The page asks, Python answers: the scripts in ``assets`` carry inputs and
pictures to and fro and know nothing of the mathematics.
"""

from ravine.arguments import needed

for _name in ("flask", "waitress", "contourpy"):
    needed(_name, "the page", "web")

from ravine.web.explore import explore  # noqa: E402  after the check of what it needs

__all__ = ["explore"]
