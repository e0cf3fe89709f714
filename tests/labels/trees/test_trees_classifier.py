import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from noisewise import FlipMatrix
from noisewise.labels import RobustTreesClassifier

NOISE = FlipMatrix.binary(false_positive=0.05, false_negative=0.4)


def steps(n=400):
    """Classes by thresholds of two columns among eight, as trees find them."""
    X = np.random.default_rng(0).uniform(size=(n, 8))
    y = ((X[:, 0] > 0.4) & (X[:, 1] > 0.3)).astype(int)
    return X, y, NOISE.corrupt(y, 0)


def test_fitted_to_true_labels_the_trees_err_less_than_on_observed_ones():
    X, y, observed = steps(800)
    train, test = slice(500), slice(500, None)
    plain = RandomForestClassifier(200, random_state=0).fit(X[train], observed[train]).score(X[test], y[test])
    robust = RobustTreesClassifier().fit(X[train], observed[train])
    assert robust.score(X[test], y[test]) > plain + 0.05
    assert abs(robust.noise_.matrix - NOISE.matrix).max() < 0.15


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(50, random_state=0),  # out-of-bag
        ExtraTreesClassifier(50, random_state=0),  # no bag: out of fold
        HistGradientBoostingClassifier(max_iter=30, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_trees_of_scikit_learn_will_do(estimator):
    X, y, observed = steps()
    model = RobustTreesClassifier(estimator).fit(X, observed)
    assert model.score(X, y) > (observed == y).mean() + 0.05
    assert type(model.trees_.model) is type(estimator)


def test_flipped_rows_have_a_low_quality():
    X, y, observed = steps()
    quality = RobustTreesClassifier().fit(X, observed).label_quality_
    assert quality[observed != y].mean() < quality[observed == y].mean() - 0.3


def test_known_noise_is_used():
    X, _, observed = steps(150)
    assert RobustTreesClassifier(noise=NOISE, n_estimators=20).fit(X, observed).noise_ == NOISE


def test_a_classifier_without_weights_is_refused():
    X, _, observed = steps(60)
    with pytest.raises(ValueError, match="KNeighborsClassifier is no classifier whose fit takes sample_weight"):
        RobustTreesClassifier(KNeighborsClassifier()).fit(X, observed)
