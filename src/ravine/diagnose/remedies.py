"""What would change the verdict: each option is tried on the data, none is guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.diagnose.batches import Survey, survey
from ravine.diagnose.columns import column_sizes
from ravine.diagnose.prediction import Outcome, both_growths, outcome
from ravine.methods import Method, nesterov
from ravine.problems import LinearModel, from_data
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.sampling import Sampling

REMEDY_ENTRIES = 4_000_000
"""Data with more entries are not diagnosed again for every remedy."""

REMEDY_DIRECTIONS = 128


@dataclass(frozen=True)
class Remedy:
    """An option that was tried on the data.

    Attributes
    ----------
    kind
        ``"batch size"``, ``"l2"``, ``"standardise"``, ``"drop rows"``, ``"clip rows"`` or
        ``"shuffle"``.
    action
        What to do, in words.
    rate
        Growth of the root-mean-square error per step afterwards.
    outcome
        What becomes of a run afterwards.
    works
        Whether it now converges.
    """

    kind: str
    action: str
    rate: float
    outcome: Outcome

    @property
    def works(self) -> bool:
        """Whether the method converges afterwards."""
        return self.outcome is Outcome.CONVERGES


@dataclass(frozen=True, eq=False)
class Setup:
    """The data and options that a diagnosis started from, to be changed one at a time."""

    X: Any
    y: npt.NDArray[Any]
    columns: tuple[str, ...]
    loss: str
    l2: float
    batch_size: int
    shuffle: int | None

    def problem(self, **changes: Any) -> LinearModel:
        """The model, with some options changed."""
        options = {name: getattr(self, name) for name in ("X", "y", "loss", "l2", "batch_size", "shuffle")}
        options.update(changes)
        X, y = options.pop("X"), options.pop("y")
        return from_data(X, y, **options)


def remedies(
    setup: Setup,
    found: Survey,
    method: Method | None,
    rows: tuple[int, ...],
    *,
    sampling: Sampling,
    seed: int,
) -> list[Remedy]:
    """Try the options on the method; None means the usual parameters, computed anew each time."""
    judge = _judge(setup, method, sampling, seed)
    tried: list[Remedy] = []
    for options in (
        _batch_sizes(setup), _more_l2(setup, found), _standardised(setup),
        _without(setup, rows), _clipped(setup, rows), _shuffled(setup),
    ):  # fmt: skip
        last = None
        for kind, action, make in options:
            last = judge(kind, action, make)
            if last is None or last.works:
                break
        if last is not None:
            tried.append(last)
    return tried


_Option = tuple[str, str, Callable[[], LinearModel]]


def _judge(
    setup: Setup, method: Method | None, sampling: Sampling, seed: int
) -> Callable[[str, str, Callable[[], LinearModel]], Remedy | None]:
    def judge(kind: str, action: str, make: Callable[[], LinearModel]) -> Remedy | None:
        try:
            after = survey(make(), setup.columns)
        except ValueError:  # e.g. a label or a direction is lost with the rows
            return None
        rule = sampling
        if after.problem.terms < 2 and sampling in (
            Sampling.IID_NO_REPEAT, Sampling.RESHUFFLE_NO_REPEAT
        ):  # fmt: skip
            rule = Sampling.CYCLIC
        by = nesterov(after.curvature) if method is None else method
        square, sure = both_growths(after, by, rule, seed)
        return Remedy(kind, action, square.rate, outcome(square, sure))

    return judge


def _batch_sizes(setup: Setup) -> Iterator[_Option]:
    rows, size = setup.X.shape[0], setup.batch_size
    while size < rows:
        size = min(2 * size, rows)
        chosen = size
        what = f"batch size {chosen}" if chosen < rows else "the whole data in one batch"
        yield "batch size", what, lambda m=chosen: setup.problem(batch_size=m)  # type: ignore[misc]


def _more_l2(setup: Setup, found: Survey) -> Iterator[_Option]:
    top = float(found.curvature.L)
    first = max(setup.l2, 1e-4 * top)
    for exponent in np.arange(0.5, 5.0, 0.5):
        value = float(f"{first * 10**exponent:.2g}")
        if value > 2.0 * top:
            return
        yield "l2", f"l2 = {value:g}", lambda weight=value: setup.problem(l2=weight)  # type: ignore[misc]


def _standardised(setup: Setup) -> Iterator[_Option]:
    _, spread = column_sizes(setup.X)
    used = spread[spread > 0.0]
    if used.size and used.max() / used.min() > 1.5:
        yield "standardise", "scale the columns to unit variance", lambda: setup.problem(
            X=standardised(setup.X)
        )


def standardised(X: Any) -> Any:
    """Columns with mean 0 and variance 1; sparse ones keep their zeros, constant ones their value."""
    mean, spread = column_sizes(X)
    scale = np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
    if is_sparse(X):
        return X.multiply(1.0 / scale[None, :]).tocsr()
    shift = np.where(spread > 1e-12 * np.abs(mean), mean, 0.0)
    return (X - shift) / scale


def _without(setup: Setup, rows: tuple[int, ...]) -> Iterator[_Option]:
    if not rows or len(rows) >= setup.X.shape[0] - 1:
        return
    kept = np.setdiff1d(np.arange(setup.X.shape[0]), rows)
    if kept.size < setup.batch_size:
        return
    yield "drop rows", f"drop {named_rows(rows)}", lambda: setup.problem(
        X=setup.X[kept], y=setup.y[kept]
    )


def _clipped(setup: Setup, rows: tuple[int, ...]) -> Iterator[_Option]:
    """Shorten the named rows to the median length, the target of a squared loss with them."""
    if not rows or is_sparse(setup.X):
        return

    def make() -> LinearModel:
        X = np.array(setup.X, dtype=np.float64)
        y = np.array(setup.y)
        typical = float(np.median(np.linalg.norm(X, axis=1)))
        for r in rows:
            factor = min(1.0, typical / max(float(np.linalg.norm(X[r])), 1e-300))
            X[r] *= factor
            if setup.loss == "squared" and y.dtype.kind == "f":
                y[r] *= factor
        return setup.problem(X=X, y=y)

    yield "clip rows", f"clip {named_rows(rows)} to the median length", make


def _shuffled(setup: Setup) -> Iterator[_Option]:
    if setup.shuffle is None:
        yield "shuffle", "shuffle the rows before cutting batches", lambda: setup.problem(shuffle=0)


def named_rows(rows: tuple[int, ...]) -> str:
    """"row 7", or "rows 7, 12 and 40"."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    return f"rows {', '.join(str(r) for r in rows[:-1])} and {rows[-1]}"


def affordable(X: Any, problem: LinearModel) -> bool:
    """Whether the data are small enough to be diagnosed again for every remedy."""
    entries = X.nnz if is_sparse(X) else X.shape[0] * X.shape[1]
    return bool(entries <= REMEDY_ENTRIES and problem.dimension <= REMEDY_DIRECTIONS)

