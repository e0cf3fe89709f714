import math
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from noisewise import FlipMatrix
from noisewise.datasets import load_crowd
from noisewise.labels.crowd.aggregation import dawid_skene, majority_vote, shared_flips, vote_shares
from noisewise.labels.crowd.annotations import read_annotations
from noisewise.labels.crowd.classifier import CrowdClassifier
from noisewise.labels.crowd.em import fit_crowd, plain_turns, pooled_turns
from noisewise.labels.crowd.soft_labels import SoftLogisticRegression, fit_soft

METHODS = [majority_vote, dawid_skene, shared_flips]


def crowd(rng, n_items=300, n_people=20, n_answers=2000, n_classes=3, careful=(8, 3)):
    """Who called what: true classes, true accuracies, and three columns."""
    truth = rng.integers(n_classes, size=n_items)
    knows = rng.beta(*careful, size=n_people)
    items, people = rng.integers(n_items, size=n_answers), rng.integers(n_people, size=n_answers)
    labels = np.where(rng.random(n_answers) < knows[people], truth[items], rng.integers(n_classes, size=n_answers))
    return truth, knows + (1 - knows) / n_classes, items, people, labels


def slow_dawid_skene(items, people, labels, n_turns):
    """The published turns, answer by answer."""
    answers = list(zip(items.tolist(), people.tolist(), labels.tolist(), strict=True))
    n, m, k = max(items) + 1, max(people) + 1, max(labels) + 1
    posterior = [[0.0] * k for _ in range(n)]
    for i, _, label in answers:
        posterior[i][label] += 1
    posterior = [[votes / sum(row) for votes in row] for row in posterior]
    history = []
    for _ in range(n_turns):
        shares = [sum(row[j] for row in posterior) / n for j in range(k)]
        flips = [[[0.0] * k for _ in range(k)] for _ in range(m)]
        for i, a, label in answers:
            for j in range(k):
                flips[a][j][label] += posterior[i][j]
        flips = [
            [[x / sum(row) if sum(row) else float(l == j) for l, x in enumerate(row)] for j, row in enumerate(of_one)]
            for of_one in flips
        ]
        joint = [[shares[j] for j in range(k)] for _ in range(n)]
        for i, a, label in answers:
            for j in range(k):
                joint[i][j] *= flips[a][j][label]
        history.append(sum(math.log(sum(row)) for row in joint))
        posterior = [[x / sum(row) for x in row] for row in joint]
    return np.array(posterior), np.array(flips), np.array(history)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_the_prior_it_is_dawid_and_skene_as_published(rng):
    _, _, items, people, labels = crowd(rng, 60, 6, 300)
    posterior, flips, history = slow_dawid_skene(items, people, labels, 15)
    result = dawid_skene(items, people, labels, pooled=False, max_iter=15, tol=0)
    np.testing.assert_allclose(result.posterior, posterior, atol=1e-9)
    np.testing.assert_allclose(result.objective, history, rtol=1e-12)
    turned = fit_crowd(
        read_annotations(items, people, labels).counts(),
        vote_shares(read_annotations(items, people, labels)),
        None,
        False,
        15,
        0,
    )
    np.testing.assert_allclose(turned.counts / turned.counts.sum(axis=2, keepdims=True), flips, atol=1e-9)


@pytest.mark.parametrize("turns", [pooled_turns, plain_turns])
@pytest.mark.parametrize("careful", [(8, 3), (2, 4), (0.5, 0.5)])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_objective_never_falls(turns, careful, n_classes, rng):
    _, _, items, people, labels = crowd(rng, 100, 12, 400, n_classes, careful)
    table = read_annotations(items, people, labels).counts()
    start = rng.dirichlet(np.ones(n_classes), size=table.shape[0])
    states = turns(table, start, None)
    objective = np.array([next(states).objective[0] for _ in range(60)])
    assert np.diff(objective[2:]).min() > -1e-8  # names of classes may still change at first
    assert objective[-1] > objective[2]


@pytest.mark.parametrize("method", [dawid_skene, shared_flips])
def test_the_bound_is_below_the_evidence_of_one_answer(method):
    # one item, one annotator, two classes: each answer has probability 1/2 whatever the matrices
    result = method([0, 1], ["a", "a"], ["x", "y"])
    assert np.isfinite(result.objective).all()
    np.testing.assert_allclose(result.posterior, result.posterior[::-1, ::-1], atol=1e-6)


def test_accuracies_are_recovered_and_intervals_cover(rng):
    n_classes = 3
    covered, votes, learnt = [], [], []
    for _ in range(10):
        truth, accuracy, items, people, labels = crowd(rng, 600, 40, 4000, n_classes)
        result = dawid_skene(items, people, labels)
        known = truth[result.items]
        votes.append(np.mean(majority_vote(items, people, labels).labels == known))
        learnt.append(np.mean(result.labels == known))
        covered += ((result.annotators.accuracy_low < accuracy) & (accuracy < result.annotators.accuracy_high)).tolist()
    assert np.mean(learnt) > np.mean(votes) + 0.001
    assert abs(np.mean(covered) - 0.9) < 5 * np.sqrt(0.09 / len(covered))


def test_flip_matrices_are_recovered(rng):
    truth = rng.integers(3, size=4000)
    noises = [
        FlipMatrix(rows)
        for rows in ([[0.9, 0.1, 0], [0, 0.9, 0.1], [0.1, 0, 0.9]], [[0.6, 0.2, 0.2], [0, 1, 0], [0, 0, 1]])
    ]
    noises += [FlipMatrix.symmetric(0.2, 3), FlipMatrix.symmetric(0.3, 3)]
    answers = np.column_stack([noise.corrupt(truth, rng) for noise in noises])
    result = dawid_skene(answers)
    for annotator, noise in zip(result.annotators, noises, strict=True):
        assert np.abs(annotator.flips - noise.matrix).max() < 0.05
    np.testing.assert_allclose(result.noise.matrix, np.mean([noise.matrix for noise in noises], axis=0), atol=0.03)


def test_someone_who_always_says_the_opposite_is_understood(rng):
    truth = rng.integers(2, size=500)
    answers = truth[:, None] ^ (rng.random((500, 4)) < [0.1, 0.1, 0.2, 0.95])
    result = dawid_skene(answers)
    assert result.annotators[3].accuracy < 0.15
    assert np.mean(result.labels == truth) > np.mean(majority_vote(answers).labels == truth)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_are_never_swapped(pooled, n_classes, rng):
    truth, _, items, people, labels = crowd(rng, 200, 10, 1500, n_classes)
    annotations = read_annotations(items, people, labels)
    start = np.roll(vote_shares(annotations), 1, axis=1)  # every class is called by the name of the next
    fit = fit_crowd(annotations.counts(), start, None, pooled)
    assert np.mean(fit.posterior.argmax(axis=1) == truth[annotations.items]) > 0.8


def test_one_answer_each_is_believed():
    result = dawid_skene(range(30), ["a"] * 10 + ["b"] * 10 + ["c"] * 10, [0, 1, 1, 0, 1, 1, 1, 0, 1, 1] * 3)
    assert result.labels.tolist() == [0, 1, 1, 0, 1, 1, 1, 0, 1, 1] * 3


def test_ties_favour_no_class_and_show():
    vote = majority_vote(np.array([[0, 1]] * 10))
    assert np.bincount(vote.labels).tolist() == [5, 5]
    np.testing.assert_array_equal(vote.posterior, 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_answers_may_come_later(method, rng):
    _, _, items, people, labels = crowd(rng, 200, 15, 1500)
    at_once = method(items, people, labels)
    first = method(items[:500], people[:500], labels[:500])
    later = first.update(items[500:], people[500:], labels[500:])
    assert later.items.tolist() == at_once.items.tolist()
    np.testing.assert_allclose(later.posterior, at_once.posterior, atol=0.02)
    assert np.mean(later.labels == at_once.labels) > 0.99
    np.testing.assert_array_equal(later.annotators.n_answers, at_once.annotators.n_answers)
    assert len(first.annotations.what) == 500  # what was known stays as it was


@pytest.mark.parametrize("method", METHODS)
def test_new_items_people_and_classes_may_appear(method):
    first = method(["i", "i", "j"], ["a", "b", "a"], ["x", "x", "z"])
    later = first.update(["h", "h", "i"], ["a", "c", "c"], ["y", "y", "x"])
    assert later.items.tolist() == ["h", "i", "j"]
    assert later.classes.tolist() == ["x", "y", "z"]
    assert later.labels.tolist() == ["y", "x", "z"]
    assert [annotator.name for annotator in later.annotators] == ["a", "b", "c"]


def test_going_on_takes_fewer_turns(rng):
    _, _, items, people, labels = crowd(rng, 500, 30, 3000)
    at_once = dawid_skene(items, people, labels)
    later = dawid_skene(items[:-5], people[:-5], labels[:-5]).update(items[-5:], people[-5:], labels[-5:])
    assert len(later.objective) < len(at_once.objective)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "answers",
    [
        [["x", "x"], ["x", None]],
        [["x", None], ["y", None]],
        [["x", "y"], [None, None], ["y", "y"]],
        [["x", "y"]],
        [["x", "y", "z"], ["u", "v", "w"]],
    ],
    ids=["one class", "someone without answers", "item without answers", "one item", "all different"],
)
def test_sparse_answers_give_sound_results(method, answers):
    result = method(answers)
    assert len(result.labels) == len(answers)
    assert len(result.annotators) == len(answers[0])
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    for annotator in result.annotators:
        assert np.isfinite(annotator.flips).all()
        np.testing.assert_allclose(annotator.flips.sum(axis=1), 1)
        assert 0 <= annotator.accuracy.low <= annotator.accuracy <= annotator.accuracy.high <= 1
    silent = [annotator for annotator in result.annotators if annotator.n_answers == 0]
    assert all(annotator.accuracy.high - annotator.accuracy.low > 0.3 for annotator in silent)


def test_results_can_be_pickled_and_put_into_frames(rng):
    _, _, items, people, labels = crowd(rng)
    result = pickle.loads(pickle.dumps(dawid_skene(items, people, labels)))
    frame = pd.DataFrame(result.annotators.columns())
    assert frame.columns.tolist() == ["name", "n_answers", "accuracy", "accuracy_low", "accuracy_high"]
    assert frame["n_answers"].sum() == len(labels)
    assert result.annotators.named(3).n_answers == np.sum(people == 3)
    assert result.annotators[-1].name == people.max()
    with pytest.raises(KeyError, match="'nobody'"):
        result.annotators.named("nobody")
    assert "20 annotators" in repr(result)
    assert "2000 answers" in repr(result.annotators)


def test_too_few_turns_warn(rng):
    _, _, items, people, labels = crowd(rng)
    with pytest.warns(ConvergenceWarning, match="after 2 turns"):
        dawid_skene(items, people, labels, max_iter=2)
    with pytest.raises(ValueError, match="max_iter is 0"):
        dawid_skene(items, people, labels, max_iter=0)


def rte():
    if not os.environ.get("NOISEWISE_DATA"):
        pytest.skip("needs NOISEWISE_DATA")
    try:
        return load_crowd("rte")
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_textual_entailment_by_164_annotators():
    items, people, labels, gold = tuple(rte())[:4]
    assert 0.895 <= np.mean(majority_vote(items, people, labels).labels == gold) <= 0.9
    assert 0.925 <= np.mean(dawid_skene(items, people, labels).labels == gold) <= 0.93
    assert 0.925 <= np.mean(dawid_skene(items, people, labels, pooled=False).labels == gold) <= 0.93
    assert np.mean(shared_flips(items, people, labels).labels == gold) == pytest.approx(0.886, abs=0.01)


@pytest.mark.slow
def test_the_pooled_prior_is_never_worse_than_the_vote_and_best_from_41_annotators():
    items, people, labels, gold = tuple(rte())[:4]
    rng = np.random.default_rng(0)
    gains = {}
    for n_people in (5, 10, 20, 41, 82, 123):
        scores = []
        for _ in range(100):
            kept = np.isin(people, rng.choice(164, n_people, replace=False))
            answers = items[kept], people[kept], labels[kept]
            results = [method(*answers) for method in METHODS]
            scores.append([np.mean(result.labels == gold[result.items]) for result in results])
        votes, pooled, shared = np.mean(scores, axis=0)
        gains[n_people] = pooled - votes
        if n_people >= 41:
            assert pooled > max(votes, shared) + 0.03
    assert min(gains[5], gains[10]) > -0.005
    assert gains[20] > 0.01


quiet = pytest.mark.filterwarnings("ignore:the estimated flip matrix", "ignore::sklearn.exceptions.SkipTestWarning")


def annotated(rng, y, rates, share=1.0):
    n_classes = y.max() + 1
    wrong = (y[:, None] + rng.integers(1, n_classes, size=(len(y), len(rates)))) % n_classes
    answers = np.where(rng.random(wrong.shape) < rates, wrong, y[:, None])
    return np.where(rng.random(wrong.shape) < share, answers, -1)


@pytest.fixture
def digits(rng):
    X, y = load_digits(return_X_y=True)
    kept = y < 4
    return X[kept], y[kept], annotated(rng, y[kept], [0.1, 0.3, 0.5, 0.6, 0.6], 0.4)


def test_features_help_the_annotators_and_annotators_the_classifier(digits):
    X, y, answers = digits
    model = CrowdClassifier(missing=-1).fit(X[::2], answers[::2])
    alone = dawid_skene(answers[::2], missing=-1)
    assert np.mean(model.labels_ == y[::2]) > np.mean(alone.labels == y[::2]) + 0.05
    voted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    voted.fit(X[::2], majority_vote(answers[::2], missing=-1).labels)
    assert model.score(X[1::2], y[1::2]) > voted.score(X[1::2], y[1::2]) + 0.01
    assert np.argmax(model.annotators_.accuracy) == 0
    given = answers[::2] >= 0
    right = np.sum((answers[::2] == y[::2, None]) & given, axis=0) / given.sum(axis=0)
    np.testing.assert_allclose(model.annotators_.accuracy, right, atol=0.06)


def test_long_and_wide_answers_give_the_same_model(digits):
    X, _, answers = digits
    wide = CrowdClassifier(missing=-1).fit(X, answers)
    rows, people = np.nonzero(answers >= 0)
    long = CrowdClassifier().fit(X, answers[rows, people], annotators=people, items=rows)
    np.testing.assert_allclose(long.posterior_, wide.posterior_, atol=1e-8)
    frame = pd.DataFrame(answers).replace(-1, np.nan)
    frame.columns = [str(person) for person in frame.columns]
    np.testing.assert_allclose(CrowdClassifier().fit(X, frame.iloc[:, ::-1]).posterior_, wide.posterior_, atol=1e-8)
    assert wide.annotators_.n_answers.tolist() == np.sum(answers >= 0, axis=0).tolist()


def test_one_label_a_row_by_known_people(rng):
    X, y = make_blobs(600, centers=[(-2, 0), (2, 0)], random_state=0)
    people = rng.choice(["careful", "careless"], size=600)
    observed = y ^ (rng.random(600) < np.where(people == "careful", 0.05, 0.4))
    model = CrowdClassifier().fit(X, observed, annotators=people)
    assert model.annotators_.named("careful").accuracy > 0.9
    assert model.annotators_.named("careless").accuracy < 0.7
    quality = model.label_quality(X, observed, annotators=people)
    wrong = observed != y
    assert quality[wrong].mean() < 0.3 < 0.8 < quality[~wrong].mean()
    told = np.full(2, "careful"), np.full(2, "careless")
    near = [[0.1, 0.0], [-0.1, 0.0]]
    assert (model.label_quality(near, [1, 0], told[0]) > model.label_quality(near, [1, 0], told[1])).all()
    with pytest.raises(ValueError, match="'nobody' gave no answer"):
        model.label_quality(near, [1, 0], ["careful", "nobody"])


def test_plain_labels_show_one_sided_noise(rng):
    X, y = load_breast_cancer(return_X_y=True)
    observed = FlipMatrix.binary(0.0, 0.3).corrupt(y, rng)
    model = CrowdClassifier().fit(X, observed)
    assert model.noise_.matrix[0, 1] < 0.03
    assert abs(model.noise_.matrix[1, 0] - 0.3) < 0.08
    naive = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, observed)
    assert model.score(X, y) > naive.score(X, y) + 0.02


def test_rows_without_answers_are_judged_by_their_features(rng):
    X, y = make_blobs(200, centers=[(-4, 0), (4, 0)], random_state=0)
    answers = np.column_stack([y, y]).astype(float)
    answers[::4] = np.nan
    model = CrowdClassifier().fit(X, answers)
    assert np.mean(model.labels_ == y) > 0.99
    assert model.classes_.tolist() == [0, 1]


def test_someone_without_answers_may_be_as_good_as_the_others_or_not(rng):
    X, y = make_blobs(200, centers=[(-4, 0), (4, 0)], random_state=0)
    answers = np.column_stack([annotated(rng, y, [0.1, 0.1]).astype(float), np.full(200, np.nan)])
    model = CrowdClassifier().fit(X, answers)
    known, silent = model.annotators_[0], model.annotators_[2]
    assert silent.n_answers == 0
    assert np.isfinite(silent.flips).all()
    assert silent.accuracy.low < known.accuracy < silent.accuracy.high
    assert silent.accuracy.high - silent.accuracy.low > 3 * (known.accuracy.high - known.accuracy.low)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=2, random_state=0),
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
    ids=["tree", "bayes", "pipeline"],
)
def test_any_classifier_with_weights_can_be_inside(estimator, rng):
    X, y = make_blobs(200, centers=[(-3, 0), (3, 0)], random_state=0)
    model = CrowdClassifier(estimator, cv=3, tol=0.02).fit(X, annotated(rng, y, [0.2, 0.3, 0.4]))
    assert model.score(X, y) > 0.95
    assert np.mean(model.labels_ == y) > 0.95


def test_sparse_rows_equal_dense_rows(rng):
    X, y = make_blobs(90, centers=3, random_state=1)
    answers = annotated(rng, y, [0.2, 0.3, 0.4])
    assert CrowdClassifier().fit(csr_array(X), answers).score(csr_array(X), y) > 0.9
    centred = X - X.mean(axis=0)
    dense, sparse = (
        CrowdClassifier(tol=1e-5, max_iter=500).fit(rows, answers) for rows in (centred, csr_array(centred))
    )
    np.testing.assert_allclose(sparse.posterior_, dense.posterior_, atol=1e-3)


def test_logistic_regression_on_posteriors_is_that_on_weighted_copies(rng):
    for n_classes in (2, 3):
        X = rng.normal(size=(80, 4)) * [1, 10, 0.1, 1] + 5
        posterior = rng.dirichlet(np.ones(n_classes), size=80)
        posterior[:5] = np.eye(n_classes)[0]
        copies = fit_soft(LogisticRegression(tol=1e-10, max_iter=10_000), X, posterior)
        ours = fit_soft(SoftLogisticRegression(tol=1e-9), X, posterior)
        np.testing.assert_allclose(ours.predict_proba(X), copies.predict_proba(X), atol=1e-5)
        again = fit_soft(ours, X, posterior[::-1])  # a start from elsewhere ends in the same place
        fresh = fit_soft(SoftLogisticRegression(tol=1e-9), X, posterior[::-1])
        np.testing.assert_allclose(again.predict_proba(X), fresh.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "y", "more", "message"),
    [
        ({"cv": 1}, [0, 1, 0, 1], {}, "cv is 1"),
        ({"max_iter": 0}, [0, 1, 0, 1], {}, "max_iter is 0"),
        ({"estimator": KNeighborsClassifier()}, [0, 1, 0, 1], {}, "takes no sample_weight"),
        ({"estimator": LinearSVC()}, [0, 1, 0, 1], {}, "no predict_proba"),
        ({}, [[0, 0], [0, 0], [0, 0], [0, None]], {}, "1 class only"),
        ({}, [[0, 0], [1, 0]], {}, "X has 4 rows, y has 2"),
        ({}, [0, 1, 1], {"annotators": ["a", "b"]}, "lengths 3, 2 and 3"),
        ({}, [0, 1], {"annotators": ["a", "b"], "items": [0, 4]}, "from 0 to 3"),
        ({}, [0, 1], {"annotators": ["a", "b"], "items": ["x", "y"]}, "numbers of rows"),
    ],
)
def test_bad_input_is_refused_clearly(options, y, more, message):
    with pytest.raises(ValueError, match=message):
        CrowdClassifier(**options).fit(np.arange(8.0).reshape(4, 2), y, **more)


def test_items_alone_have_one_nameless_annotator(rng):
    X, y = make_blobs(40, centers=[(-4, 0), (4, 0)], random_state=0)
    model = CrowdClassifier().fit(X, np.append(y, y[:5]), items=np.append(np.arange(40), np.arange(5)))
    assert model.annotators_.n_answers.tolist() == [45]
    with pytest.warns(ConvergenceWarning, match="after 1 turns"):
        CrowdClassifier(max_iter=1).fit(X, y)


def test_a_flat_list_of_labels_has_gaps_too():
    X, y = make_blobs(60, centers=[[-3, -3], [3, 3]], random_state=0)
    gappy = np.where(np.arange(60) % 7 == 0, -1, y)
    model = CrowdClassifier(missing=-1).fit(X, gappy)
    assert model.classes_.tolist() == [0, 1]
    assert (model.labels_ == y).all()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CrowdClassifier(missing=-1).fit(X, gappy[:50])


@pytest.mark.parametrize("people", [[("a", 1), ("b", 2)], ["a", 2]])
def test_annotators_of_any_name_are_found_again(people):
    X, y = make_blobs(60, centers=[[-3, -3], [3, 3]], random_state=0)
    model = CrowdClassifier().fit(X, np.repeat(y, 2), annotators=people * 60, items=np.repeat(np.arange(60), 2))
    assert model.label_quality(X[:2], y[:2], annotators=people).min() > 0.9
