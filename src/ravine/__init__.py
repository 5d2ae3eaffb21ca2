"""Whether Nesterov's method converges, how fast, and to what error."""

from ravine.curvature import Curvature
from ravine.methods import Method, gradient_descent, heavy_ball, nesterov, sgd, triple_momentum
from ravine.sampling import Sampling

__version__ = "0.1.0"

__all__ = [
    "Curvature",
    "Method",
    "Sampling",
    "gradient_descent",
    "heavy_ball",
    "nesterov",
    "sgd",
    "triple_momentum",
]
