import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier

from noisewise.labels.trees.boosting import BoostedTrees


@pytest.mark.parametrize("dataset", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("weighted", [False, True])
def test_flat_trees_predict_what_scikit_learns_boosting_does(dataset, weighted):
    X, y = dataset(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    weights = np.random.default_rng(0).uniform(0, 2, len(y)) if weighted else None
    ours = BoostedTrees(20).fit(X, names, weights)
    theirs = HistGradientBoostingClassifier(max_iter=20, early_stopping=False).fit(X.astype(np.float32), names, weights)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X.astype(np.float32)), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X.astype(np.float32)))


def test_numbers_beyond_single_precision_are_the_largest_of_it():
    X = np.array([[-1e300], [-1.0], [1.0], [1e300]] * 30)
    y = np.tile([0, 1, 1, 0], 30)
    np.testing.assert_array_equal(BoostedTrees().fit(X, y).predict(X), y)
