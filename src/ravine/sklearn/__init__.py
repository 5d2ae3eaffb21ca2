"""Linear models for scikit-learn, trained by momentum SGD that chooses its own step size."""

from ravine.arguments import needed

needed("sklearn", "ravine.sklearn")

from ravine.sklearn.estimators import SGDClassifier, SGDRegressor  # noqa: E402  after the check

__all__ = ["SGDClassifier", "SGDRegressor"]
