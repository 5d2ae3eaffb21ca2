"""A local page to see and touch it: every number comes from the library itself.

Needs ``ravine[web]``. The page asks, Python answers: the scripts in ``assets`` carry inputs and
pictures to and fro and know nothing of the mathematics.
"""

from importlib.util import find_spec

_NEEDED = ("flask", "waitress", "contourpy")

for _name in _NEEDED:
    if find_spec(_name) is None:
        raise ImportError(
            f"the page needs the package {_name}, which is not installed: pip install 'ravine[web]'"
        )

from ravine.web.explore import explore  # noqa: E402  after the check of what it needs

__all__ = ["explore"]
