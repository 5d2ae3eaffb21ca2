"""What would change the verdict: each option is tried on the data, none is guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.diagnosis.batches import Survey, survey
from ravine.diagnosis.columns import column_sizes
from ravine.diagnosis.disagreement import disagreement
from ravine.diagnosis.prediction import Outcome, outcome
from ravine.methods import Method, nesterov
from ravine.problems import LinearModel, from_data
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.sampling import Sampling
from ravine.theory.finite_sums.known_sum import both_growths

REMEDY_ENTRIES = 4_000_000
"""Data with more entries are not diagnosed again for every remedy."""

REMEDY_DIRECTIONS = 128
_ROW_ROUNDS = 6
_ROW_SHARE = 0.02
_ROW_LEAST = 5


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


_Option = tuple[str, str, Callable[[], LinearModel]]
_RowOption = tuple[str, str, Callable[[], LinearModel], npt.NDArray[np.intp]]
_Judge = Callable[[str, str, Callable[[], LinearModel]], tuple[Remedy, Survey] | None]


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
        options = {
            name: getattr(self, name) for name in ("X", "y", "loss", "l2", "batch_size", "shuffle")
        }
        options.update(changes)
        X, y = options.pop("X"), options.pop("y")
        return from_data(X, y, **options)


_RowChange = Callable[[Setup, tuple[int, ...]], _RowOption]


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
    families = [_batch_sizes(setup), _more_l2(setup, found), _standardised(setup), _shuffled(setup)]
    for options in families:
        last = None
        for kind, action, make in options:
            last = judge(kind, action, make)
            if last is None or last[0].works:
                break
        if last is not None:
            tried.append(last[0])
    for change in (_dropped, _clipped):
        last_remedy = _row_by_row(setup, rows, method, judge, change)
        if last_remedy is not None:
            tried.append(last_remedy)
    return tried


def _row_by_row(
    setup: Setup, rows: tuple[int, ...], method: Method | None, judge: _Judge, change: _RowChange
) -> Remedy | None:
    """Change the rows that drive the growth, then those that drive what is left, a few times."""
    named = list(rows)
    last: Remedy | None = None
    for _ in range(_ROW_ROUNDS):
        if not named or len(named) > max(_ROW_LEAST, int(_ROW_SHARE * setup.X.shape[0])):
            break
        kind, action, make, order = change(setup, tuple(named))
        answer = judge(kind, action, make)
        if answer is None:
            break
        last, after = answer
        if last.works:
            break
        by = nesterov(after.curvature) if method is None else method
        more = disagreement(after, by, setup.columns, order).rows
        fresh = [r for r in more if r not in named]
        if not fresh:
            break
        named += fresh
    return last


def _judge(setup: Setup, method: Method | None, sampling: Sampling, seed: int) -> _Judge:
    def judge(
        kind: str, action: str, make: Callable[[], LinearModel]
    ) -> tuple[Remedy, Survey] | None:
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
        square, sure = both_growths(after.known_sum, by, rule, seed=seed)
        return Remedy(kind, action, square.rate, outcome(square, sure)), after

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
        yield (
            "standardise",
            "scale the columns to unit variance",
            lambda: setup.problem(X=standardised(setup.X)),
        )


def standardised(X: Any) -> Any:
    """Columns with mean 0 and variance 1; sparse ones keep their zeros, constant ones as is."""
    mean, spread = column_sizes(X)
    scale = np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
    if is_sparse(X):
        return X.multiply(1.0 / scale[None, :]).tocsr()
    shift = np.where(spread > 1e-12 * np.abs(mean), mean, 0.0)
    return (X - shift) / scale


def _dropped(setup: Setup, rows: tuple[int, ...]) -> _RowOption:
    kept = np.setdiff1d(np.arange(setup.X.shape[0]), rows)
    order = kept if setup.shuffle is None else kept[_order(len(kept), setup.shuffle)]

    def make() -> LinearModel:
        size = min(setup.batch_size, len(kept))
        return setup.problem(X=setup.X[kept], y=setup.y[kept], batch_size=size)

    return "drop rows", f"drop {named_rows(rows)}", make, order


def _clipped(setup: Setup, rows: tuple[int, ...]) -> _RowOption:
    """Shorten the named rows to the median length, the target of a squared loss with them."""

    def make() -> LinearModel:
        X = setup.X.copy()
        y = setup.y.astype(np.float64) if setup.loss == "squared" else setup.y
        sizes = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()) if is_sparse(X) else (
            np.linalg.norm(X, axis=1)
        )  # fmt: skip
        factors = np.ones(len(sizes))
        chosen = np.array(rows)
        factors[chosen] = np.minimum(1.0, np.median(sizes) / np.maximum(sizes[chosen], 1e-300))
        X = X.multiply(factors[:, None]).tocsr() if is_sparse(X) else X * factors[:, None]
        return setup.problem(X=X, y=y * factors if setup.loss == "squared" else y)

    n = setup.X.shape[0]
    order = np.arange(n) if setup.shuffle is None else _order(n, setup.shuffle)
    return "clip rows", f"clip {named_rows(rows)} to the median length", make, order


def _order(rows: int, seed: int) -> npt.NDArray[np.intp]:
    """The order that ``from_data`` shuffles rows into."""
    return np.random.default_rng(seed).permutation(rows)


def _shuffled(setup: Setup) -> Iterator[_Option]:
    if setup.shuffle is None:
        yield "shuffle", "shuffle the rows before cutting batches", lambda: setup.problem(shuffle=0)


def named_rows(rows: tuple[int, ...]) -> str:
    """Rows in words: "row 7", or "rows 7, 12 and 40"."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > 6:
        return f"rows {', '.join(str(r) for r in rows[:5])} and {len(rows) - 5} more"
    return f"rows {', '.join(str(r) for r in rows[:-1])} and {rows[-1]}"


def affordable(X: Any, problem: LinearModel) -> bool:
    """Whether the data are small enough to be diagnosed again for every remedy."""
    entries = X.nnz if is_sparse(X) else X.shape[0] * X.shape[1]
    return bool(entries <= REMEDY_ENTRIES and problem.dimension <= REMEDY_DIRECTIONS)
