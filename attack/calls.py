"""Every public function and method, with one or two arguments replaced by a mistake.

A call answers, or refuses: a value in ravine's own line (``Refusal``), an object of the wrong type
with Python's ``TypeError`` or ``AttributeError``. Everything else is a failure: another exception,
any warning, a NaN in an answer of the theory, an answer that cannot be printed, copied or pickled.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import io
import math
import os
import pickle
import tempfile
import traceback
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from attack.cases import ANSWERED, REFUSED, Result
from attack.nasty import NUMBERS, nasty, words

COUNT = 10_000
"""Calls of a run at length."""

_LINE = 600
"""Characters of a refusal at most."""


@dataclasses.dataclass(frozen=True)
class Call:
    """What is called with what."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={words(value)}" for name, value in self.arguments.items())
        return f"{self.name}({inside})"


def prepare() -> None:
    """Go to an empty folder, with what the calls may read; nothing is served."""
    os.chdir(tempfile.mkdtemp(prefix="ravine-calls-"))
    Path("table.csv").write_text("a,b,y\n1,2,3\n2,1,4\n3,5,1\n4,4,2\n5,2,7\n", encoding="utf-8")
    page = import_module("ravine.web")
    page._serve = lambda app, listener: listener.close()  # type: ignore[attr-defined]
    page.webbrowser.open = lambda *_: True


def public() -> dict[str, Callable[..., Any]]:
    """Every public callable by name: the package's, its subjects', and the methods of objects."""
    import ravine

    names: dict[str, Any] = {}
    for home, members in ravine._HOMES.items():
        names |= {name: getattr(import_module(home), name) for name in members}
    for home in ravine._OPEN:
        names |= {name: getattr(import_module(home), name) for name in import_module(home).__all__}
    for subject, home in ravine._SUBJECTS.items():
        module = import_module(home)
        for name in getattr(module, "__all__", ()):
            if getattr(module, name) not in names.values():
                names[f"{subject}.{name}"] = getattr(module, name)

    made = {name: value for name, value in names.items() if callable(value) and _tried(value)}
    return made | _methods()


def _tried(value: Any) -> bool:
    """Classes that are made by ravine alone are only looked at."""
    from ravine import Curvature, Method, problems
    from ravine.engine.schedule import Tail
    from ravine.methods import LinearMethod

    makers = (Curvature, Method, Tail, LinearMethod, problems.Quadratic, problems.QuadraticSum)
    return not inspect.isclass(value) or value in makers


def _methods() -> dict[str, Callable[..., Any]]:
    """Public methods of objects that ravine hands out; of a problem those that every one has."""
    import ravine
    from ravine import bounds, problems
    from ravine.problems import Problem

    c = ravine.Curvature(0.5, 8.0)
    m = ravine.nesterov(c)
    objects = {
        "Bound": bounds.additive_noise(c, m),
        "Certificate": ravine.certificate(c, ravine.sgd(c)),
        "CircleRate": ravine.circle_rate(c, m),
        "Quadratic": problems.Quadratic(np.diag([1.0, 4.0])),
        "QuadraticSum": problems.turning_quadratics(1.0, 8.0),
        "LinearModel": problems.multinomial_logistic(20, 3, 2, 2, batch_size=5),
        "FunctionSum": problems.from_functions(
            lambda x: x, dimension=2, curvature=ravine.Curvature(1.0, 1.0)
        ),
    }

    return {
        f"{name}.{method}": getattr(one, method)
        for name, one in objects.items()
        for method, _ in inspect.getmembers(type(one), inspect.isfunction)
        if not method.startswith("_") and (hasattr(Problem, method) or not isinstance(one, Problem))
    }


_CACHE: dict[str, Callable[..., Any]] = {}


def make_call(seed: int, number: int) -> Call:
    """The call of a number."""
    if not _CACHE:
        _CACHE.update(public())

    rng = Random(f"calls {seed} {number}")
    name = rng.choice(sorted(_CACHE))
    function = _CACHE[name]
    parameters = inspect.signature(function).parameters
    arguments = {}
    for parameter in parameters.values():
        if parameter.default is inspect.Parameter.empty or rng.random() < 0.25:
            arguments[parameter.name] = _valid(name, parameter.name, parameter.default, rng)

    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        if not parameters:
            break
        target = rng.choice(sorted(parameters))
        if isinstance(parameters[target].default, bool) or target == "parameters":
            continue  # what is no flag or no dictionary gets Python's own words
        arguments[target] = _spoilt(target, rng)
        if target in ("tell", "gradient", "objective") and callable(arguments[target]):
            # A function of the caller's own, which may raise what it likes.
            del arguments[target]

    _keep_short(name, arguments)
    return Call(name, function, arguments)


def _spoilt(parameter: str, rng: Random) -> Any:
    """What replaces an argument: of the right kind at the edge of its range, or anything."""
    import ravine

    if parameter == "curvature" and rng.random() < 0.4:
        return ravine.Curvature(*sorted(10.0 ** rng.uniform(-49.9, 49.9) for _ in range(2)))
    if parameter == "method" and rng.random() < 0.4:
        return ravine.Method(*(_edge(rng) for _ in range(rng.choice((1, 2, 3)))))
    if parameter == "curvature" and rng.random() < 0.5:
        with contextlib.suppress(ValueError):
            return ravine.Curvature(*sorted((abs(rng.choice(NUMBERS)), abs(rng.choice(NUMBERS)))))
    if parameter == "method" and rng.random() < 0.5:
        with contextlib.suppress(ValueError):
            return ravine.Method(*(rng.choice(NUMBERS) for _ in range(rng.choice((1, 2, 3)))))
    if rng.random() < 0.1:
        return _valid("", rng.choice(("curvature", "method", "problem", "hessians")), None, rng)

    return nasty(rng)


def _edge(rng: Random) -> float:
    """A number of any size that ravine takes; the first parameter of a method is not negative."""
    return 10.0 ** rng.uniform(-49.9, 49.9)


def _keep_short(name: str, arguments: dict[str, Any]) -> None:
    """Ask for short work: a long job that was asked for is no hang."""
    if name == "diagnose":
        arguments.setdefault("epochs", 2)
        arguments.setdefault("try_remedies", False)
        if not isinstance(arguments.get("time"), float) or not arguments["time"] <= 2.0:
            arguments["time"] = 2.0
    if name == "explore":
        arguments.setdefault("inline", False)
        arguments.setdefault("port", 18057)
    if name == "growth":
        arguments.setdefault("seconds", 2.0)
        arguments.setdefault("steps", 100)
    if name == "sweep":
        # A folder to write to, and not the one that the process was started in.
        arguments.pop("cluster", None)
    if name == "joint_spectral_radius":
        arguments.setdefault("budget", 200)


def _valid(function: str, parameter: str, default: Any, rng: Random) -> Any:
    """A value that an argument may have."""
    import ravine

    mu = rng.choice((0.05, 1.0, 0.3))
    L = mu * rng.choice((1.0, 1.5, 8.0, 100.0))
    curvature = ravine.Curvature(mu, L)
    alpha = rng.choice((0.0, 0.1, 1.0, 2.5)) / L
    match parameter:
        case "curvature" if function != "problems.from_functions":
            if function.startswith(("Quadratic", "problems.")):
                return None
            if rng.random() < 0.15:
                return ravine.Curvature(np.array([mu, 2 * mu]), 2 * L)
            return curvature
        case "curvature":
            return curvature
        case "method":
            if rng.random() < 0.1:
                return ravine.Method(np.array([alpha, 0.1]), 0.5)
            return rng.choice(
                (ravine.nesterov(curvature), ravine.sgd(curvature), ravine.heavy_ball(curvature),
                 ravine.Method(alpha, rng.choice((0.0, 0.9, -0.5))), ravine.Method(alpha, 0.5, 0.2))
            )  # fmt: skip
        case "problem":
            return rng.choice(
                (ravine.problems.Quadratic(np.diag([mu, L])),
                 ravine.problems.turning_quadratics(mu, 2 * L, terms=3),
                 ravine.problems.multinomial_logistic(20, 3, 2, 2, batch_size=5))
            )  # fmt: skip
        case "hessians":
            return [np.diag([mu, L]), np.diag([L, mu]), np.eye(2)]
        case "hessian":
            return np.diag([mu, L]) if function == "Quadratic" else None
        case "gradients":
            return [[1.0, 0.0], [-1.0, 0.5], [0.0, -0.5]] if function != "" else None
        case "matrices":
            return [[[0.5, 0.1], [0.0, 0.4]], [[0.2, 0.3], [0.1, 0.5]]]
        case "X" | "samples" | "features" | "classes" | "informative" if function == "diagnose":
            return np.random.default_rng(rng.randrange(9)).normal(size=(30, 3))
        case "X":
            return np.random.default_rng(rng.randrange(9)).normal(size=(30, 3))
        case "y":
            return np.random.default_rng(rng.randrange(9)).normal(size=30)
        case "source":
            return "table.csv"
        case "x" | "v" | "minimiser" | "x0" | "start" if not isinstance(default, float):
            return None if default is None else [0.5, -1.0]
        case "gradient":
            return lambda x: x
        case "dimension":
            return 2
        case "trajectory":
            return [[0.5, -1.0], [0.0, 1.0]] if function != "run" else 3
        case "i":
            return 0
        case "n" | "terms":
            return rng.choice((2, 3, 5))
        case "numerator":
            return [0.1]
        case "denominator":
            return [1.0, -1.0]
        case "P":
            return np.eye(2)
        case "rate":
            return rng.choice((0.9, 0.5, 1.0))
        case "mu":
            return mu
        case "L" | "L_max":
            return 100.0 * L
        case "Q":
            return 8.0
        case "alpha":
            return alpha
        case "alphas":
            return [alpha, 0.1]
        case "betas":
            return [0.0, 0.5]
        case "beta" | "nu" | "gamma":
            return rng.choice((0.0, 0.5, 0.9))
        case "eigenvalues":
            return rng.choice((mu, [mu, L]))
        case "steps" if function == "schedule_rate":
            return (0.1 / L, 1.0 / L)
        case "steps":
            return rng.choice((1, 5, 40))
        case "sampling":
            return rng.choice(("iid", "cyclic", "reshuffle", ravine.Sampling.IID_NO_REPEAT))
        case "sense":
            return rng.choice(("mean-square", "almost-sure"))
        case "quantity":
            return rng.choice(("distance", "objective"))
        case "seed":
            return rng.choice((0, 3, 2**32 + 5, 2**64 + 1, 2**127))
        case _:
            return None if default is inspect.Parameter.empty else default


def describe(seed: int, number: int) -> str:
    """The case in words."""
    return str(make_call(seed, number))


def attempt(seed: int, number: int) -> Result:
    """Make the call and judge how it ended."""
    from ravine.arguments import Refusal

    call = make_call(seed, number)
    case = str(call)
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            try:
                answer = call.function(**call.arguments)
                outcome = ANSWERED
                detail = _flaw(call, answer)
            except Refusal as error:
                outcome = REFUSED
                detail = _bad_line(str(error))
            except (TypeError, AttributeError):
                outcome = REFUSED  # Python's own words for an object of another kind
                detail = ""
            except ValueError as error:
                outcome = REFUSED
                # NumPy's own words for an array in place of True or False.
                flag = str(error).startswith("The truth value of an")
                detail = "" if flag else f"ValueError: {traceback.format_exc()[-1500:]}"
            except Exception as error:
                outcome = REFUSED
                detail = f"{type(error).__name__}: {traceback.format_exc()[-1500:]}"

    loud = [one for one in caught if not issubclass(one.category, _QUIET)]
    if loud:
        return Result("warning", case, f"{loud[0].category.__name__}: {loud[0].message} "
                                       f"({loud[0].filename}:{loud[0].lineno})")  # fmt: skip
    if detail:
        kind = detail.split(":")[0]
        return Result(kind, case, detail)

    return Result(outcome, case)


_QUIET = (DeprecationWarning, PendingDeprecationWarning, ResourceWarning, ImportWarning)
"""What Python does not show to a user."""


def _bad_line(line: str) -> str:
    """What is wrong with a refusal, or nothing."""
    if "\n" in line or len(line) > _LINE:
        return f"long line: {len(line)} characters, {line.count(chr(10)) + 1} lines: {line[:200]!r}"

    return ""


def _flaw(call: Call, answer: Any) -> str:
    """What is wrong with an answer, or nothing."""
    if call.name.startswith("FunctionSum") or call.name == "problems.from_functions":
        # Made of the caller's functions: a lambda does not pickle.
        return ""

    try:
        repr(answer)
        _look_at(answer)
        copy.deepcopy(answer)
        pickle.loads(pickle.dumps(answer))
        bool(np.all(answer == answer))
    except Exception:
        return f"unhandy answer: {traceback.format_exc()[-1000:]}"

    if not call.name.startswith(_MAY_LACK) and _lacks(answer):
        return f"nan: {words(answer)}"

    return ""


_MAY_LACK = (
    "diagnose",
    "sweep",
    "run",
    "read_table",
    "transient_peak",
    "safe_momentum",
    "Quadratic",
    "LinearModel",
)
"""Where a NaN stands for what was not measured, or comes from a NaN that was given a gradient."""


def _look_at(answer: Any) -> None:
    """Ask a result for everything that it can say."""
    for name, member in inspect.getmembers(type(answer)):
        if isinstance(member, property) and type(answer).__module__.startswith("ravine."):
            getattr(answer, name)


def _lacks(answer: Any) -> bool:
    """Whether an answer contains a NaN."""
    if isinstance(answer, float | np.floating | np.ndarray):
        values = np.asarray(answer)
        return values.dtype.kind == "f" and bool(np.isnan(values).any())
    if isinstance(answer, complex):
        return math.isnan(abs(answer))
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        return any(_lacks(getattr(answer, one.name)) for one in dataclasses.fields(answer))
    if isinstance(answer, tuple | list):
        return any(_lacks(one) for one in answer)

    return False
