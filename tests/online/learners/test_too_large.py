"""Rows whose sum of squares overflows would leave no variance to learn with: they are refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from noisewise._loops.compiled import COMPILING
from noisewise.online import RateTracker, recipes
from noisewise.online.river import RiverClassifier
from refusals import assert_refused

K, D = 3, 5
pytestmark = [] if COMPILING else pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
RECIPES = {
    "confidit": lambda: recipes.confidit(K, random_state=0),
    "ucwl": lambda: recipes.ucwl(K, random_state=0),
    "corrected_ucwl": lambda: recipes.corrected_ucwl(K, random_state=0),
    "soba": lambda: recipes.soba(K, random_state=0),
    "linucb": lambda: recipes.linucb(K, random_state=0),
    "linucb with missing feedback": lambda: recipes.linucb(K, missing="auto", random_state=0),
    "bandit_pa": lambda: recipes.bandit_pa(K, random_state=0),
}
LABEL_RECIPES = ["mpa", "mcw", "mscw", "arow", "nherd"]
SHAPES = {"dense": np.asarray, "sparse": lambda rows: sp.csr_array(np.atleast_2d(rows))}


def too_large(row):
    return f"in row {row} whose sum of squares overflows"


def rounds(n=30, dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, D)).astype(dtype), np.arange(n) % K


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", RECIPES)
def test_by_every_public_call_before_the_first_round_and_later(name, shape):
    learner, (X, y), make = RECIPES[name](), rounds(), SHAPES[shape]
    long = X.copy()
    long[10, 2] = 1e200
    for _ in range(2):
        assert_refused(learner, lambda: learner.decide(make(long[10])), too_large(0))
        assert_refused(learner, lambda: learner.play(make(long), y), too_large(10))
        assert_refused(learner, lambda: learner.play(make(long[10:12]), y[10:12]), too_large(0))
        assert_refused(learner, lambda: learner.learn_logged(make(long), y, y % 2, 1 / K), too_large(10))
        learner.play(make(X), y)
    kept = learner.decide(make(X[0]))
    row = long[10] if shape == "dense" else (np.arange(D), long[10])
    assert_refused(learner, lambda: learner.learn(kept._replace(features=row), 1), too_large(0))
    assert np.isfinite(learner.decision_function(X)).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", LABEL_RECIPES)
def test_of_learners_from_labels(name, shape):
    model, (X, y), make = getattr(recipes, name)(), rounds(), SHAPES[shape]
    long = X.copy()
    long[10, 2] = 1e200
    assert_refused(model, lambda: model.fit(make(long), y), too_large(10))
    model.fit(make(X), y)
    assert_refused(model, lambda: model.partial_fit(make(long), y), too_large(10))
    assert_refused(model, lambda: model.partial_fit(make(long[10:11]), y[10:11]), too_large(0))


def test_what_is_too_large_depends_on_the_dtype():
    X, y = rounds(dtype=np.float32)
    X[10, 2] = 1e25
    learner = recipes.confidit(K)
    assert_refused(learner, lambda: learner.play(X, y), too_large(10))
    learner.play(X.astype(np.float64), y)
    assert np.isfinite(learner.decision_function(X.astype(np.float64))).all()


def test_learners_without_variances_take_them():
    X, y = rounds()
    X[10, 2] = 1e200
    assert recipes.perceptron().fit(X, y).n_rounds_ == len(X)
    learner = recipes.banditron(K, random_state=0)
    learner.decide(X[10])
    learner.play(X, y)
    assert np.isfinite(learner.table_).all()


def test_a_tracker_leaves_out_rounds_too_long_for_float32():
    X, y = rounds(300)
    long = np.insert(X, 70, 1e20, axis=0)
    one, other = RateTracker(K), RateTracker(K)
    one.observe(X, y, np.full(300, 0.5), y % 2)
    other.observe(long, np.insert(y, 70, 0), np.full(301, 0.5), np.insert(y % 2, 70, 1))
    assert one.estimate() == other.estimate()
    nothing = RateTracker(K)
    nothing.observe(np.full((2, D), 1e40), [0, 1], [0.5, 0.5], [0, 1])
    assert "scale the features down" in nothing.estimate().reason


@pytest.mark.parametrize("value", [1e200, -1e151, pytest.param(10**400, id="beyond float")])
def test_river_rows_are_refused_before_their_names_and_labels_are_kept(value):
    pytest.importorskip("river")
    model = RiverClassifier()
    model.learn_one({"a": 1.0}, "x")
    model.learn_one({"a": -1.0}, "y")
    before = model.predict_proba_one({"a": 1.0})
    with pytest.raises(ValueError, match=r"feature 'b' is .* numbers up to 1e"):
        model.learn_one({"b": value}, "z")
    assert model.predict_proba_one({"a": 1.0}) == before


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1e-160, "f8"), (1e-30, "f8"), (1e15, "f8"), (1e60, "f8"), (1e-30, "f4"), (1e-20, "f4"), (1e15, "f4")],
)
def test_rows_very_short_or_long_leave_numbers_to_learn_with(scale, dtype):
    X, y = rounds()
    rows = (X * scale).astype(dtype)
    makers = [lambda: recipes.mpa(C=np.inf), recipes.mpa, recipes.mcw, lambda: recipes.mcw(covariance="full")]
    makers += [lambda: recipes.mscw(variant="II"), recipes.mscw, recipes.arow, recipes.nherd, recipes.perceptron]
    for make in makers:
        assert np.isfinite(make().fit(rows, y).table_).all()
    for make in RECIPES.values():
        learner = make()
        learner.play(rows, y)
        assert np.isfinite(learner.table_).all()
