"""Whether Nesterov's method converges, how fast, and to what error."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ravine.curvature import Curvature
from ravine.methods import Method, gradient_descent, heavy_ball, nesterov, sgd, triple_momentum
from ravine.sampling import Sampling
from ravine.theory.bounds.additive_noise import (
    accelerated_bound,
    accelerated_estimate,
    additive_noise_bound,
    additive_noise_estimate,
    gradient_descent_bound,
    lower_bound,
    nesterov_bound,
    sgd_noise_bound,
)
from ravine.theory.bounds.envelope import Envelope
from ravine.theory.bounds.finite_sum import (
    best_sgd_finite_sum_bound,
    contraction_bound,
    lyapunov_bound,
    sgd_finite_sum_bound,
    worst_case_bound,
)
from ravine.theory.bracket import Bracket
from ravine.theory.finite_sums.counterexample_growth import counterexample_growth
from ravine.theory.finite_sums.growth import Growth, growth
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.finite_sums.stationary_covariance import (
    StationaryCovariance,
    stationary_covariance,
)
from ravine.theory.joint_spectral_radius.radius import JointSpectralRadius, joint_spectral_radius
from ravine.theory.ladder.certificate import Certificate, certificate
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.ladder import Ladder, ladder
from ravine.theory.ladder.rates import contraction, spectral_radius, stable
from ravine.theory.ladder.safety import safe_momentum, safe_step
from ravine.theory.ladder.worst_case import turning_angle, worst_case_rate
from ravine.theory.noise.moments import (
    StationaryVariance,
    TransientPeak,
    exact_noise_coefficient,
    noise_floor,
    paper_noise_coefficient,
    second_moment,
    stationary_variance,
    transient_peak,
)
from ravine.theory.tuning.recommend import Recommendation, Setting, recommend

__version__ = "0.1.0"

# What needs Numba or xarray is loaded when it is first asked for: ``import ravine`` stays light.
_LATER = {
    "Diagnosis": "ravine.diagnosis",
    "Outcome": "ravine.engine.measures",
    "Restart": "ravine.engine.restart",
    "Tail": "ravine.engine.schedule",
    "Trace": "ravine.engine.run",
    "diagnose": "ravine.diagnosis",
    "problems": "ravine.problems",
    "read_table": "ravine.diagnosis",
    "run": "ravine.engine.run",
    "sweep": "ravine.engine.sweep",
}

if TYPE_CHECKING:
    from ravine import problems
    from ravine.diagnosis import Diagnosis, diagnose, read_table
    from ravine.engine.measures import Outcome
    from ravine.engine.restart import Restart
    from ravine.engine.run import Trace, run
    from ravine.engine.schedule import Tail
    from ravine.engine.sweep import sweep


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ravine' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if name == "problems" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "Bracket",
    "Certificate",
    "Curvature",
    "Diagnosis",
    "Envelope",
    "Growth",
    "JointSpectralRadius",
    "Ladder",
    "Method",
    "Outcome",
    "Recommendation",
    "Restart",
    "Sampling",
    "Sense",
    "Setting",
    "StationaryCovariance",
    "StationaryVariance",
    "Tail",
    "Trace",
    "TransientPeak",
    "accelerated_bound",
    "accelerated_estimate",
    "additive_noise_bound",
    "additive_noise_estimate",
    "best_sgd_finite_sum_bound",
    "certificate",
    "commuting_rate",
    "contraction",
    "contraction_bound",
    "counterexample_growth",
    "diagnose",
    "exact_noise_coefficient",
    "gradient_descent",
    "gradient_descent_bound",
    "growth",
    "heavy_ball",
    "joint_spectral_radius",
    "ladder",
    "lower_bound",
    "lyapunov_bound",
    "nesterov",
    "nesterov_bound",
    "noise_floor",
    "paper_noise_coefficient",
    "problems",
    "read_table",
    "recommend",
    "run",
    "safe_momentum",
    "safe_step",
    "second_moment",
    "sgd",
    "sgd_finite_sum_bound",
    "sgd_noise_bound",
    "spectral_radius",
    "stable",
    "stationary_covariance",
    "stationary_variance",
    "sweep",
    "transient_peak",
    "triple_momentum",
    "turning_angle",
    "worst_case_bound",
    "worst_case_rate",
]
