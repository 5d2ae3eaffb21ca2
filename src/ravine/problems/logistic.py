"""Random multinomial logistic regression."""

from __future__ import annotations

import numpy as np

from ravine.arguments import (
    Refusal,
    one_number,
    overflow_allowed,
    refuse_too_large,
    seed_number,
    whole,
)
from ravine.problems.linear_model import LinearModel
from ravine.problems.losses import Multinomial


@overflow_allowed
def multinomial_logistic(
    samples: int = 100,
    features: int = 10,
    classes: int = 5,
    informative: int = 5,
    *,
    separation: float = 1.0,
    l2: float = 0.01,
    batch_size: int | None = None,
    seed: int = 0,
) -> LinearModel:
    """Multinomial logistic regression on random data, one cluster for each class.

    The data come from scikit-learn's ``make_classification``; features that are not informative
    are noise. f(W) = mean -log softmax(x_rᵀ W)_{y_r} + l2/2 ‖W‖² with W of shape
    (features, classes), starting at zero. ``curvature`` holds everywhere: mu = l2 and
    L = l2 + λ_max(XᵀX / m)/2; ``curvature_along(points)`` is what was met on a run.

    Parameters
    ----------
    samples, features, classes, informative
        Shape of the data; informative <= features, and 2^informative >= classes.
    separation
        Distance of the cluster centres, positive.
    l2
        Weight of the regulariser, positive.
    batch_size
        Rows in a mini-batch; all of them unless given.
    seed
        Of the data.

    Examples
    --------
    >>> problem = multinomial_logistic(separation=1.0, l2=0.05)
    >>> problem.dimension, problem.terms, float(problem.curvature.mu)
    (50, 1, 0.05)
    """
    try:
        from sklearn.datasets import make_classification
    except ImportError:
        raise ImportError(
            "multinomial_logistic needs scikit-learn: pip install 'ravine[data]'"
        ) from None

    rows = whole("samples", samples, 2, remedy="give a number of samples, e.g. 100")
    columns = whole("features", features, 1, remedy="give a number of features, e.g. 10")
    kinds = whole("classes", classes, 2, remedy="give a number of classes, e.g. 5")
    telling = whole("informative", informative, 1, remedy="give a number of features, e.g. 5")
    if telling > columns or 2**telling < kinds:
        rule = f"at most {columns} and at least log2 of the {kinds} classes"
        raise Refusal("informative", rule, telling, "give each class a corner")

    # Rows, their copies on the way, and the scores of each class.
    refuse_too_large("samples", 40 * rows * (columns + kinds), f"{rows} x {columns}", "take fewer")
    distance = one_number("separation", separation, "positive", remedy="give a distance, e.g. 1")
    weight = one_number("l2", l2, "positive", remedy="give a weight, e.g. l2=0.01")
    size = rows if batch_size is None else whole("batch_size", batch_size, 1, remedy="e.g. 10")
    if size > rows:
        raise Refusal("batch_size", f"at most {rows}", size, "use a smaller batch")

    origin = seed_number("seed", seed)
    X, y = make_classification(
        n_samples=rows,
        n_features=columns,
        n_informative=telling,
        n_redundant=0,
        n_classes=kinds,
        n_clusters_per_class=1,
        class_sep=distance,
        random_state=_generator(origin),
    )

    problem = LinearModel(
        X,
        Multinomial(y),
        l2=weight,
        batch_size=size,
        name="multinomial_logistic",
        parameters={
            "samples": rows,
            "features": columns,
            "classes": kinds,
            "informative": telling,
            "separation": distance,
            "l2": weight,
            "batch_size": size,
            "seed": origin,
        },
    )
    # Asked for now: classes too far apart for this l2 have no minimiser that float64 can hold.
    problem.minimiser  # noqa: B018

    return problem


def _generator(seed: int) -> np.random.RandomState:
    """The generator that scikit-learn draws from, which by itself takes seeds of 32 bits alone."""
    if seed < 2**32:
        return np.random.RandomState(seed)

    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
