"""What you gain from a larger batch.

Condition number 1000; single samples have ten times the curvature of the whole objective. Up to a
batch size of 10, a larger batch allows a longer step and momentum adds nothing. Beyond that SGD
stops gaining, and momentum starts to pay off.
"""

import ravine
from ravine.figures.batch_curves import draw_batch_gain


def draw():
    """The picture that ``ravine batch --Q 1000 --L-max 10000 --out batch.png`` writes."""
    known = {"curvature": ravine.Curvature(1, 1000), "L_max": 10_000}
    return draw_batch_gain(ravine.batch_gain(**known), ravine.batch_sizes(**known))
