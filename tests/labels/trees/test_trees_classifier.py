import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from noisewise import FlipMatrix
from noisewise.labels import RobustClassifier, RobustRidgeClassifier, RobustTreesClassifier, importance_weights
from noisewise.labels.stacking.readings import importance_of_rows, read_by_ridge
from noisewise.labels.stacking.rows import CountedRows

NOISE = FlipMatrix.binary(false_positive=0.05, false_negative=0.4)


def steps(n=400):
    """Classes by thresholds of two columns among eight, as trees find them."""
    X = np.random.default_rng(0).uniform(size=(n, 8))
    y = ((X[:, 0] > 0.4) & (X[:, 1] > 0.3)).astype(int)
    return X, y, NOISE.corrupt(y, 0)


@pytest.mark.parametrize("weighting", ["posterior", "importance"])
def test_fitted_to_probable_labels_the_trees_err_less_than_on_observed_ones(weighting):
    X, y, observed = steps(800)
    train, test = slice(500), slice(500, None)
    plain = RandomForestClassifier(200, random_state=0).fit(X[train], observed[train]).score(X[test], y[test])
    robust = RobustTreesClassifier(weighting=weighting).fit(X[train], observed[train])
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


@pytest.mark.parametrize("n_classes", [2, 3], ids=["two classes", "three classes"])
@pytest.mark.parametrize(
    ("package", "name", "options"),
    [
        ("lightgbm", "LGBMClassifier", {"n_estimators": 20, "verbose": -1, "n_jobs": 1}),
        ("xgboost", "XGBClassifier", {"n_estimators": 20, "n_jobs": 1}),
        ("catboost", "CatBoostClassifier", {"iterations": 20, "verbose": False, "allow_writing_files": False}),
    ],
)
def test_boosting_of_other_packages_will_do(package, name, options, n_classes):
    booster = getattr(pytest.importorskip(package), name)(**options)
    X, y, _ = steps()
    y = y + (X[:, 2] > 0.7) if n_classes == 3 else y
    names = np.array(["never", "now", "then"])
    observed = names[FlipMatrix.symmetric(0.25, n_classes).corrupt(y, 0)]
    for model in (RobustTreesClassifier(booster), RobustClassifier([RobustRidgeClassifier(), booster])):
        assert model.fit(X, observed).score(X, names[y]) > (observed == names[y]).mean() + 0.05
        assert model.predict_proba(X).shape == (len(X), n_classes)


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


def test_importance_weights_are_those_of_importance_reweighting():
    X, _, observed = steps(200)
    rows = CountedRows.of(X, observed, np.ones(200), np.arange(2), None)
    by_ridge = read_by_ridge(RobustRidgeClassifier(), rows)
    noise, ridge = by_ridge.model.noise_, by_ridge.model
    clean = ridge.calibration_.clean_posterior(ridge.scores_)
    wanted = importance_weights(noise.push(clean), rows.codes, noise)
    np.testing.assert_allclose(importance_of_rows(by_ridge, rows), wanted, atol=0.05)  # but for the outliers' part


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"weighting": "none"}, "weighting is 'none'; 'posterior' or 'importance' will do"),
        (
            {"weighting": "importance", "estimator": RandomForestClassifier()},
            "ImportanceReweightedClassifier takes others",
        ),
    ],
)
def test_impossible_weightings_get_a_sentence(options, sentence):
    X, _, observed = steps(40)
    with pytest.raises(ValueError, match=sentence):
        RobustTreesClassifier(**options).fit(X, observed)
