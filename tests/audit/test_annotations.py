"""`audit_annotations`: consensus, quality of labels and annotators, questions; what may not matter, and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from noisewise import AnnotationAudit, audit_annotations
from noisewise.audit.questions import expected_gain
from noisewise.labels import dawid_skene


@pytest.fixture(scope="module")
def iris():
    """Rows, truth, and two labels an item by six annotators, from good to poor."""
    X, truth = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    items = np.repeat(np.arange(150), 2)
    annotators = np.concatenate([rng.choice(6, 2, replace=False) for _ in range(150)])
    wrong = rng.random(300) < 0.05 + 0.1 * annotators
    labels = np.where(wrong, (truth[items] + rng.integers(1, 3, 300)) % 3, truth[items])
    return X, truth, items, annotators, labels


@pytest.fixture(scope="module")
def probabilities(iris):
    X, truth = iris[:2]
    return LogisticRegression(max_iter=500).fit(X[::2], truth[::2]).predict_proba(X)


@pytest.fixture(scope="module")
def audit(iris) -> AnnotationAudit:
    X, _, *columns = iris
    return audit_annotations(*columns, X=X)


def test_the_consensus_is_right_and_poor_annotators_come_first(audit, iris):
    _, truth, items, annotators, labels = iris
    assert np.mean(audit.consensus == truth) > 0.94
    assert np.mean(audit.consensus == truth) > np.mean(dawid_skene(items, annotators, labels).labels == truth)
    wrong = labels != truth[items]
    right = 1 - np.bincount(annotators, wrong) / np.bincount(annotators)
    assert np.corrcoef(audit.annotators.accuracy, right)[0, 1] > 0.9
    assert audit.by_annotator("pandas")["accuracy"].is_monotonic_increasing
    assert audit.label_probability[wrong].mean() < 0.2 < 0.8 < audit.label_probability[~wrong].mean()
    assert audit.expected_errors.low <= wrong.sum() <= audit.expected_errors.high
    assert 0 < audit.expected_consensus_errors.low < audit.expected_consensus_errors < audit.expected_errors


def test_probabilities_of_one_model_and_of_several(iris, probabilities):
    _, truth, *columns = iris
    for given in (probabilities, [probabilities, probabilities**2 / np.sum(probabilities**2, axis=1, keepdims=True)]):
        found = audit_annotations(*columns, probabilities=given)
        assert np.mean(found.consensus == truth) > 0.94
        assert found.model_weights.sum() > 0.5


def test_without_rows_it_is_dawid_skene_with_less_confidence(iris):
    columns = iris[2:]
    found, wanted = audit_annotations(*columns), dawid_skene(*columns)
    assert np.mean(found.consensus == wanted.labels) > 0.95
    assert found.probability.mean() < wanted.posterior.max(axis=1).mean()
    assert found.model_weights.size == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_wrong_consensus_labels_holds_where_annotators_err_together(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=300)
    decoy = np.where(rng.random(300) < 0.4, (truth + rng.integers(1, 4, 300)) % 4, truth)  # of hard items
    items = np.repeat(np.arange(300), 10)
    annotators = np.concatenate([rng.choice(20, 10, replace=False) for _ in range(300)])
    labels = np.where(rng.random(3000) < 0.5, decoy[items], truth[items])
    labels = np.where(rng.random(3000) < 0.3, rng.integers(4, size=3000), labels)
    found = audit_annotations(items, annotators, labels)
    low, high = found.expected_consensus_errors.interval
    assert low <= np.sum(found.consensus != truth) <= high
    plain = dawid_skene(items, annotators, labels).posterior.max(axis=1)
    assert np.sum(1 - plain) < low  # independent annotators would not be wrong so often


def test_long_and_wide_tables_give_the_same(iris, probabilities):
    _, _, items, annotators, labels = iris
    wide = np.full((150, 6), np.nan)
    wide[items, annotators] = labels
    long = pl.DataFrame({"item": items, "annotator": annotators, "label": labels})
    wanted = audit_annotations(items, annotators, labels, probabilities=probabilities).posterior
    for given in (wide, pd.DataFrame(wide, index=np.arange(150)[::-1]), pl.DataFrame(wide, nan_to_null=True), long):
        found = audit_annotations(given, probabilities=probabilities).posterior
        np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_neither_order_nor_names_matter(iris, probabilities):
    _, _, items, annotators, labels = iris
    order = np.random.default_rng(1).permutation(len(items))
    wanted = audit_annotations(items, annotators, labels, probabilities=probabilities)
    names, kinds = np.array(["f", "e", "d", "c", "b", "a"]), np.array(["u", "v", "w"])
    rows = np.random.default_rng(2).permutation(150)  # items in another order, called by other names
    found = audit_annotations(
        [f"item {i}" for i in items[order]],
        names[annotators[order]],
        kinds[labels[order]],
        probabilities=probabilities[rows],
        classes=["u", "v", "w"],
        item_names=[f"item {i}" for i in rows],
    )
    np.testing.assert_allclose(found.posterior, wanted.posterior[rows], atol=1e-4)
    np.testing.assert_allclose(found.label_probability, wanted.label_probability[order], atol=1e-4)
    np.testing.assert_allclose(found.annotators.accuracy, wanted.annotators.accuracy[::-1], atol=1e-4)


def test_rows_come_as_arrays_frames_and_sparse_rows(iris, audit):
    X, truth, *columns = iris
    frame = pd.DataFrame(X).add_prefix("x").assign(grower=np.where(truth == 0, "north", "south"))
    for rows in (sp.csr_array(X), frame, X.tolist()):
        assert np.mean(audit_annotations(*columns, X=rows).consensus == truth) > 0.93
    by_model = audit_annotations(*columns, X=X, model=LogisticRegression(max_iter=500))
    assert np.mean(by_model.consensus == truth) > 0.93


def test_an_items_labels_do_not_move_its_own_prior(iris):
    X, _, items, annotators, labels = iris
    changed = labels.copy()
    changed[items == 20] = 2  # both labels of one item
    before, after = (audit_annotations(items, annotators, each, X=X) for each in (labels, changed))
    assert abs(after.prior[20] - before.prior[20]).max() < 0.01
    assert abs(after.posterior[20, 2] - before.posterior[20, 2]) > abs(after.prior[20, 2] - before.prior[20, 2])


def test_items_without_labels_have_the_posterior_of_their_rows(iris):
    X, _, items, annotators, labels = iris
    kept = items < 120
    found = audit_annotations(items[kept], annotators[kept], labels[kept], X=X)
    np.testing.assert_allclose(found.posterior[120:], found.prior[120:], atol=1e-12)
    assert found.n_labels[120:].sum() == 0
    assert np.isnan(found.agreement[120:]).all()
    assert found.next(1, backend="pandas")["item"][0] >= 120


def test_frames_have_a_row_for_each_item_label_and_annotator(audit, iris):
    labels = iris[4]
    items = audit.to_frame("pandas")
    assert items["probability"].is_monotonic_increasing
    assert set(items["item"]) == set(range(150))
    given = audit.by_label("polars")
    assert given.height == len(labels)
    assert given["probability"].is_sorted()
    assert sorted(given["label"].to_list()) == sorted(labels.tolist())
    assert audit.by_annotator("polars")["labels"].sum() == len(labels)
    assert set(audit.summary()) >= {"items", "labels", "expected_errors_interval", "model_weights"}
    assert "150 items, 6 annotators, 300 labels" in repr(audit)


def test_the_gain_of_a_question_is_that_of_enumeration():
    rng = np.random.default_rng(0)
    posterior, flips = rng.dirichlet(np.ones(3), size=20), rng.dirichlet(np.ones(3), size=3)
    for q, gain in zip(posterior, expected_gain(posterior, flips)):
        after = 0.0
        for label in range(3):
            joint = q * flips[:, label]
            after += joint.sum() * np.sum((joint / joint.sum()) ** 2)
        assert gain == pytest.approx(after - np.sum(q**2), abs=1e-10)


def test_questions_go_to_good_annotators_about_uncertain_items(audit, iris):
    _, _, items, annotators, _ = iris
    questions = audit.next(12, backend="pandas")
    assert len(set(questions["item"])) == 12
    assert questions["gain"].is_monotonic_decreasing
    assert questions["probability"].mean() < audit.probability.mean()
    asked = {*zip(items.tolist(), annotators.tolist())}
    assert not asked & {*zip(questions["item"], questions["annotator"])}
    accuracy = audit.annotators.accuracy
    assert accuracy[questions["annotator"]].mean() > accuracy.mean()
    assert audit.next(12, each=2, backend="pandas")["annotator"].value_counts().max() == 2
    assert set(audit.next(5, annotators=[4, 5], backend="pandas")["annotator"]) <= {4, 5}


def test_more_questions_than_items_are_cut(audit):
    assert len(audit.next(10_000, backend="pandas")) == 150


def test_the_report_shows_annotators_questions_and_items(audit, iris, tmp_path):
    audit.to_html(tmp_path / "audit.html", title="Irises")
    page = (tmp_path / "audit.html").read_text()
    assert "<title>Irises</title>" in page
    for heading in ("Annotators", "Whom to ask next", "Items whose consensus is least certain"):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("<tr>") > 100
    alone = audit_annotations(*iris[2:])
    alone.to_html(tmp_path / "alone.html")
    assert "rows were not used" in (tmp_path / "alone.html").read_text()


def test_labels_that_are_given_twice_are_noted(iris):
    _, _, *columns = iris
    assert audit_annotations(*columns).notes == ()
    (note,) = audit_annotations(*(np.concatenate([column, column[:40]]) for column in columns)).notes
    assert note.startswith("40 labels have the item, annotator and label of another")


def test_one_label_an_item_is_refused_without_rows(iris, probabilities):
    X, _, *columns = iris
    single = [column[::2] for column in columns]
    with pytest.raises(ValueError, match=r"one label at most.*X=.*probabilities= or a second label"):
        audit_annotations(*single)
    for rows in ({"X": X}, {"probabilities": probabilities}):
        assert len(audit_annotations(*single, **rows).items) == 150


def test_no_item_is_worth_a_look_where_all_annotators_agree(tmp_path):
    truth = np.random.default_rng(0).integers(3, size=200)
    audit = audit_annotations(np.repeat(truth[:, None], 6, axis=1))
    assert audit.expected_consensus_errors < 0.5
    assert len(audit.picked) == audit.summary()["picked"] == 0
    audit.to_html(tmp_path / "audit.html")
    assert "No item is worth a look." in (tmp_path / "audit.html").read_text()


WIDE = np.array([[0, 1], [1, 1], [0, 0]])
EVEN = np.full((3, 2), 0.5)


@pytest.mark.parametrize(
    ("given", "options", "sentence"),
    [
        (([0, 1], None, [0, 1]), {}, "annotators are missing"),
        (([0, 1], ["a"], [0, 1]), {}, "lengths 2, 1 and 2"),
        ((np.full((2, 2), np.nan),), {}, "no label at all"),
        ((np.zeros((3, 2)),), {}, "1 class"),
        (([0, 5], ["a", "b"], [0, 1]), {"X": np.eye(3)}, "item 5 has labels but no row"),
        ((WIDE,), {"probabilities": EVEN[:2]}, "has labels but no row"),
        ((WIDE,), {"probabilities": EVEN * 2}, "sum to 1"),
        ((WIDE,), {"probabilities": [EVEN, EVEN[:2]]}, "shapes"),
        ((WIDE,), {"probabilities": EVEN, "X": np.eye(4)}, "X has 4 rows, probabilities have 3"),
        ((WIDE,), {"probabilities": np.full((3, 4), 0.25), "classes": [0, 1]}, "2 classes and 4 columns"),
        ((WIDE,), {"item_names": ["a", "a", "b"]}, "a name twice"),
        ((WIDE,), {"item_names": [0, 1, 2], "X": np.eye(4)}, "3 item_names and 4 rows"),
        ((WIDE,), {"model": LogisticRegression()}, "model scores the rows of X"),
        ((WIDE,), {"X": np.eye(3), "model": KNeighborsClassifier()}, "takes no sample_weight"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(given, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit_annotations(*given, **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"budget": "x"}, "budget is 'x'"),
        ({"each": 0}, "each is 0"),
        ({"annotators": ["nobody"]}, "'nobody'"),
    ],
)
def test_bad_questions_are_refused_in_a_sentence(audit, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit.next(**options)


@pytest.mark.parametrize("columns", [["id", "who", "y"], ["id", "ann", "bob"]])
def test_a_column_that_holds_no_labels_is_no_annotator(columns):
    rng = np.random.default_rng(0)
    labels = rng.choice(["cat", "dog"], (40, 2))
    names = rng.choice(["ann", "bob"], 40)
    values = [[f"item {i}" for i in range(40)], names if "who" in columns else labels[:, 0], labels[:, 1]]
    with pytest.raises(ValueError, match="column 'id' shares no label with the others"):
        audit_annotations(pd.DataFrame(dict(zip(columns, values))))
