"""Settings of the whole suite, doctests among it."""

import os

from hypothesis import settings

# No deadline: how long an example takes says how busy the machine is. In CI the examples are the
# same every time, so that a failure there is that of the change; elsewhere new ones are tried.
settings.register_profile("ravine", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("ravine")
