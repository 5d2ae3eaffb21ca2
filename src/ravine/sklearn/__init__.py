"""Linear models for scikit-learn, trained by momentum SGD that chooses its own step size."""

try:
    import sklearn  # noqa: F401
except ImportError:
    raise ImportError(
        "scikit-learn must be installed for ravine.sklearn, got none: pip install 'ravine[data]'"
    ) from None

from ravine.sklearn.estimators import SGDClassifier, SGDRegressor

__all__ = ["SGDClassifier", "SGDRegressor"]
