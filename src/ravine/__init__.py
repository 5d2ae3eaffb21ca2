"""Find out whether an optimizer converges, how fast, to what error, and with which settings.

``dir(ravine)`` lists what most people need, and the modules that hold the rest: ``ravine.bounds``,
``ravine.noise``, ``ravine.finite_sums``, ``ravine.rates``, ``ravine.methods``, ``ravine.problems``.
Every public name can also be reached as ``ravine.<name>``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ravine import methods, problems
    from ravine.curvature import Curvature
    from ravine.diagnosis import Diagnosis, diagnose
    from ravine.engine.run import run
    from ravine.engine.sweep import sweep
    from ravine.methods import Method, nesterov, sgd
    from ravine.sampling import Sampling
    from ravine.theory import bounds, finite_sums, noise
    from ravine.theory import ladder as rates
    from ravine.theory.finite_sums.growth import growth
    from ravine.theory.ladder.iid import iid_rate, smallest_stable_batch
    from ravine.theory.ladder.ladder import ladder
    from ravine.theory.ladder.rates import spectral_radius
    from ravine.theory.ladder.safety import safe_momentum, safe_step
    from ravine.theory.ladder.worst_case import certificate, worst_case_rate
    from ravine.theory.tuning.recommend import recommend

__version__ = "0.3.0"

__all__ = [
    "Curvature",
    "Diagnosis",
    "Method",
    "Sampling",
    "bounds",
    "certificate",
    "diagnose",
    "finite_sums",
    "growth",
    "iid_rate",
    "ladder",
    "methods",
    "nesterov",
    "noise",
    "problems",
    "rates",
    "recommend",
    "run",
    "safe_momentum",
    "safe_step",
    "sgd",
    "smallest_stable_batch",
    "spectral_radius",
    "sweep",
    "worst_case_rate",
]

_SUBJECTS = {
    "bounds": "ravine.theory.bounds",
    "finite_sums": "ravine.theory.finite_sums",
    "methods": "ravine.methods",
    "noise": "ravine.theory.noise",
    "problems": "ravine.problems",
    "rates": "ravine.theory.ladder",
}
"""Modules that are shown under a name of their own."""

_NAMES = {
    "ravine.catalogue": "NamedMethod named_method",
    "ravine.curvature": "Curvature",
    "ravine.diagnosis": "Diagnosis diagnose",
    "ravine.engine.measures": "Outcome",
    "ravine.engine.restart": "Restart",
    "ravine.engine.run": "Trace run",
    "ravine.engine.schedule": "Tail",
    "ravine.engine.sweep": "sweep",
    "ravine.methods": (
        "Method gradient_descent heavy_ball nesterov quasi_hyperbolic sgd triple_momentum "
        "LinearMethod"
    ),
    "ravine.sampling": "Sampling",
    "ravine.tables": "read_table",
    "ravine.web": "explore",
    "ravine.theory.bounds": "Bound Envelope",
    "ravine.theory.bracket": "Bracket",
    "ravine.theory.joint_spectral_radius": "JointSpectralRadius joint_spectral_radius",
    "ravine.theory.tuning.batch_gain": "BatchGain batch_gain",
    "ravine.theory.tuning.league": "league",
    "ravine.theory.tuning.rescale": "Rescaled rescale",
    "ravine.theory.tuning.useful_batch": "BatchSizes UsefulBatch batch_sizes useful_batch_size",
    "ravine.theory.tuning.recommend": "Recommendation Setting recommend",
}
"""The modules of other public names. Each is imported on first use, so that ``import ravine`` stays
fast and loads neither Numba nor xarray."""

_OPEN = ("ravine.theory.ladder", "ravine.theory.noise", "ravine.theory.finite_sums")
"""Modules whose names can all be reached as ``ravine.<name>``."""

_HOMES = {home: tuple(names.split()) for home, names in _NAMES.items()}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _SUBJECTS:
        value = import_module(_SUBJECTS[name])
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        # Python itself looks up names with underscores; they need no import.
        subjects = () if name.startswith("_") else map(import_module, _OPEN)
        home = next((subject for subject in subjects if name in subject.__all__), None)
        if home is None:
            raise AttributeError(f"module 'ravine' has no attribute {name!r}")
        value = getattr(home, name)

    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
