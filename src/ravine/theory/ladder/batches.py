"""What is known of the single terms and of the batches, for every rung of a ladder at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.curvature import Curvature
from ravine.theory.ladder.batch_noise import batch_noise

_ALMOST_FLAT = 1e-300
"""Stands for a least curvature of zero, which a ``Curvature`` cannot have, in units of L_max."""


@dataclass(frozen=True)
class Batches:
    """Curvature of single terms and size of the batches, as :func:`ravine.iid_rate` takes them."""

    L_max: float | None = None
    """Largest curvature of a single term; L unless given."""
    batch_size: float = 1.0
    """Terms averaged in a step."""
    mu_min: float | None = None
    """Least curvature of a single term: 0 with L_max, else mu, unless given."""

    def terms(self, curvature: Curvature) -> Curvature:
        """The curvature that every single term keeps to, and so every batch in every order."""
        noise = batch_noise(curvature, L_max=self.L_max, mu_min=self.mu_min)
        return Curvature.derived(np.maximum(noise.least, _ALMOST_FLAT * noise.most), noise.most)

    @property
    def flat_terms(self) -> bool:
        """Whether single terms may have no curvature at all in some direction."""
        return self.mu_min == 0.0 or (self.mu_min is None and self.L_max is not None)

    def options(self) -> dict[str, float | None]:
        """The keywords of the functions that ask for them."""
        return {"L_max": self.L_max, "batch_size": self.batch_size, "mu_min": self.mu_min}


SINGLE_TERMS = Batches()
"""Batches of one term, of which each has the curvature given for the objective."""
