import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from noisewise.noise import FlipMatrix
from noisewise.online.rates.nrest import NREst, _mean_and_interval
from noisewise.online.rates.printed_network import PrintedNetwork
from noisewise.online.recipes import banditron, rcine


def logged(rates, n_rounds, rng, skill=0.5):
    """Rounds of a player right with some skill, on digits described by their distances to the class means."""
    X, y = load_digits(return_X_y=True)
    centres = np.stack([X[y == k].mean(axis=0) for k in range(10)])
    near = np.exp(-np.square(X[:, None] - centres).sum(axis=2) / 200)
    X = near / near.sum(axis=1, keepdims=True)
    rows = rng.integers(len(X), size=n_rounds)
    actions = np.where(rng.random(n_rounds) < skill, y[rows], rng.integers(10, size=n_rounds))
    right = actions == y[rows]
    return X[rows], actions, np.full(n_rounds, 0.5), FlipMatrix.binary(*rates).corrupt(right.astype(int), rng)


class TableClassifier:
    """Knows P(positive feedback) of a pair (x, action) where x is one-hot: a stand-in for a perfect network."""

    def __init__(self, rates=(0.1, 0.2)):
        self.rates = rates

    def get_params(self, deep=True):
        return {"rates": self.rates}

    def fit(self, pairs, feedback):
        return self

    def predict_proba(self, pairs):
        half = pairs.shape[1] // 2
        right = (pairs[:, :half].argmax(axis=1) == pairs[:, half:].argmax(axis=1)).astype(float)
        positive = self.rates[0] + (1 - sum(self.rates)) * right
        return np.column_stack([1 - positive, positive])


def test_perfect_scores_give_the_exact_rates():
    rng = np.random.default_rng(0)
    y, actions = rng.integers(4, size=3_000), rng.integers(4, size=3_000)
    feedback = FlipMatrix.binary(0.15, 0.35).corrupt((actions == y).astype(int), rng)
    nrest = NREst(4, TableClassifier((0.15, 0.35)))
    nrest.observe(np.eye(4)[y], actions, np.full(3_000, 0.25), feedback)
    found = nrest.estimate()
    assert found.identified
    assert found.false_positive == pytest.approx(0.15)
    assert found.false_negative == pytest.approx(0.35)


def test_played_scores_alone_are_singular_for_a_good_player_and_counterfactual_ones_are_not():
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=1_000)
    actions = np.where(rng.random(1_000) < 0.95, y, (y + 1) % 4)
    log = np.eye(4)[y], actions, np.full(1_000, 0.5), rng.integers(2, size=1_000)
    printed = NREst(4, TableClassifier((0.2, 0.1)), counterfactual=False)
    printed.observe(*log)
    assert "scaled down" in printed.estimate().reason  # rho0 came out as 1 - rho1
    assert not printed.estimate().identified  # the paper's rule has no intervals
    ours = NREst(4, TableClassifier((0.2, 0.1)))
    ours.observe(*log)
    assert ours.estimate().noise.matrix == pytest.approx(FlipMatrix.binary(0.2, 0.1).matrix)
    poor = NREst(4, TableClassifier((0.2, 0.1)), counterfactual=False)
    poor.observe(np.eye(4)[y], rng.integers(4, size=1_000), log[2], log[3])
    assert poor.estimate().noise.matrix == pytest.approx(FlipMatrix.binary(0.2, 0.1).matrix)


@pytest.mark.parametrize("rates", [(0.15, 0.15), (0.2, 0.4)])
def test_any_probabilistic_classifier_serves(rates):
    trees = ExtraTreesClassifier(25, min_samples_leaf=40, max_features=None, random_state=0)
    nrest = NREst(10, trees)
    nrest.observe(*logged(rates, 8_000, np.random.default_rng(2)))
    found = nrest.estimate()
    assert abs(found.false_positive - rates[0]) <= 0.08  # leaves of trees are cautious
    assert abs(found.false_negative - rates[1]) <= 0.08
    assert not hasattr(trees, "estimators_")  # the given classifier is not touched


@pytest.mark.parametrize("classifier", [LogisticRegression(), GaussianNB(), DummyClassifier()], ids=str)
def test_a_classifier_that_can_t_tell_right_from_wrong_leaves_the_rates_open(classifier):
    nrest = NREst(10, classifier)
    nrest.observe(*logged((0.0, 0.0), 3_000, np.random.default_rng(5)))
    found = nrest.estimate()
    assert not found.identified
    assert "hardly tells right actions from wrong ones" in found.reason
    assert found.false_positive_interval == found.false_negative_interval == (0.0, 1.0)


@pytest.mark.slow
def test_the_default_network_finds_the_rates():
    rates = (0.25, 0.25)
    nrest = NREst(10)
    nrest.observe(*logged(rates, 50_000, np.random.default_rng(3)))
    found = nrest.estimate()
    assert abs(found.false_positive - rates[0]) <= 0.05
    assert abs(found.false_negative - rates[1]) <= 0.05


def test_printed_network_learns_where_torch_is_there():
    pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=3_000)
    actions = rng.integers(3, size=3_000)
    X = np.eye(3)[y] + rng.normal(scale=0.1, size=(3_000, 3))
    feedback = FlipMatrix.binary(0.1, 0.3).corrupt((actions == y).astype(int), rng)
    nrest = NREst(3, PrintedNetwork(hidden=(32, 32), epochs=15))
    nrest.observe(X, actions, np.full(3_000, 1 / 3), feedback)
    found = nrest.estimate()
    assert abs(found.false_positive - 0.1) < 0.08
    assert abs(found.false_negative - 0.3) < 0.08
    assert nrest.estimate() == found  # the same seed, the same network


def test_printed_network_names_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r"noisewise\[torch\]"):
        PrintedNetwork().fit(np.zeros((20, 2)), np.arange(20) % 2)
    assert clone(PrintedNetwork(epochs=3), safe=False).epochs == 3


def test_misuse_is_refused_and_one_sided_feedback_explained():
    with pytest.raises(ValueError, match="quantile"):
        NREst(3, quantile=1.5)
    with pytest.raises(ValueError, match="predict_proba"):
        NREst(3, LinearSVC())
    with pytest.raises(ValueError, match="predict_proba"):
        NREst(3, ExtraTreesClassifier)  # the class, where one of it is needed
    with pytest.raises(ValueError, match="2 or more"):
        NREst(1)
    nrest = NREst(3)
    with pytest.raises(ValueError, match="no rounds"):
        nrest.estimate()
    nrest.observe(np.eye(3), [0, 1, 2], [0.5] * 3, [1, 1, 1])
    found = nrest.estimate()
    assert not found.identified
    assert "the same" in found.reason


def test_a_block_with_too_little_feedback_leaves_the_rates_open():
    X, y = np.eye(3)[np.arange(30) % 3], np.arange(30) % 3
    for block in (1, 5, 19):
        learner = rcine(3, tracker=NREst(3), block=block, random_state=0)
        learner.play(X, y)
        estimate = learner.tracker_.estimate()
        assert not estimate.identified
        assert "10 of each kind" in estimate.reason
        assert learner.noise_ == FlipMatrix.none(2)


def test_intervals_follow_the_standard_deviation_between_classes():
    mean, (low, high) = _mean_and_interval(np.array([0.40, 0.42, 0.44]))
    assert mean == pytest.approx(0.42)
    assert (high - mean, mean - low) == pytest.approx((4.303 * 0.02, 4.303 * 0.02), abs=1e-4)  # Student's t, 2 degrees


@pytest.mark.slow
def test_intervals_of_the_default_network_hold_most_rates():
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    held = []
    for seed in range(20, 26):
        rows, noise = np.random.default_rng(seed).integers(len(X), size=20_000), FlipMatrix.binary(0.4, 0.2)
        log = banditron(10, gamma=0.2, random_state=seed).play(X[rows], y[rows], noise=noise, rng=seed)
        nrest = NREst(10)
        nrest.observe(X[rows], log.actions, log.probabilities, log.feedback)
        found = nrest.estimate()
        held.append(found.false_positive_interval[0] <= 0.4 <= found.false_positive_interval[1])
        held.append(found.false_negative_interval[0] <= 0.2 <= found.false_negative_interval[1])
    assert sum(held) >= 9  # of 12


def test_rates_that_are_not_those_of_the_feedback_are_not_identified():
    rng = np.random.default_rng(30)
    y, actions = rng.integers(4, size=3_000), rng.integers(4, size=3_000)
    feedback = FlipMatrix.binary(0.15, 0.2).corrupt((actions == y).astype(int), rng)
    for rates, identified in (((0.15, 0.2), True), ((0.27, 0.2), False)):
        nrest = NREst(4, TableClassifier(rates))
        nrest.observe(np.eye(4)[y], actions, np.full(3_000, 0.25), feedback)
        found = nrest.estimate()
        assert found.identified == identified
        low, high = found.false_positive_interval
        assert low <= 0.15 <= high
        assert identified or "not those of the feedback in rounds known to be wrong" in found.reason


@pytest.mark.parametrize("n_rounds", [1_000, 1_900])
def test_trees_of_a_small_block_leave_the_rates_open(n_rounds):
    X, y = load_digits(n_class=4, return_X_y=True)
    for seed in range(3):
        rng = np.random.default_rng([41, seed])
        rows = rng.integers(len(X), size=n_rounds)
        actions = np.where(rng.random(n_rounds) < 0.7, y[rows], rng.integers(4, size=n_rounds))
        feedback = FlipMatrix.binary(0.1, 0.1).corrupt((actions == y[rows]).astype(int), rng)
        nrest = NREst(4, ExtraTreesClassifier(50, min_samples_leaf=10, random_state=0))
        nrest.observe(X[rows], actions, np.full(n_rounds, 0.5), feedback)
        found = nrest.estimate()
        assert found.false_positive > 0.3  # scores are drawn to their mean
        assert "not those of the feedback in rounds known to be wrong" in found.reason
        assert not found.identified
