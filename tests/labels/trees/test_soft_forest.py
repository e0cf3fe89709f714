import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeRegressor

from noisewise.labels.trees import soft_forest
from noisewise.labels.trees.soft_forest import SoftForest, fit_soft_forest


def soft_labels(n=150, n_classes=3, d=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)).astype(np.float32), rng.dirichlet(np.ones(n_classes), n)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_flat_tree_predicts_what_scikit_learns_tree_does(n_classes):
    X, targets = soft_labels(n_classes=n_classes)
    outputs = targets if n_classes > 2 else targets[:, 1:]
    trees = [DecisionTreeRegressor(max_features=2, random_state=seed).fit(X, outputs) for seed in range(3)]
    forest = SoftForest.merged([SoftForest.of(tree.tree_) for tree in trees])
    wanted = np.mean([tree.predict(X[:50] + 0.1).reshape(50, -1) for tree in trees], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X[:50] + 0.1)[:, -wanted.shape[1] :], wanted, atol=1e-6)


def test_out_of_bag_predictions_know_nothing_of_the_rows_own_label():
    X, _ = soft_labels(n=600)
    codes = np.random.default_rng(1).integers(2, size=600)  # labels that nothing predicts
    forest, out_of_bag = fit_soft_forest(X, np.eye(2)[codes], 60, np.random.default_rng(0))
    assert (forest.predict_proba(X).argmax(axis=1) == codes).mean() > 0.95
    assert abs((out_of_bag.argmax(axis=1) == codes).mean() - 0.5) < 5 * 0.5 / np.sqrt(600)


def test_copies_of_a_row_are_in_a_bag_together():
    X, _ = soft_labels(n=300)
    codes = np.random.default_rng(1).integers(2, size=300)
    X, targets, groups = np.tile(X, (3, 1)), np.eye(2)[np.tile(codes, 3)], np.tile(np.arange(300), 3)
    apart, together = (
        fit_soft_forest(X, targets, 60, np.random.default_rng(0), None, of_rows)[1].argmax(axis=1) == np.tile(codes, 3)
        for of_rows in (None, groups)
    )
    assert apart.mean() > 0.95
    assert abs(together.mean() - 0.5) < 5 * 0.5 / np.sqrt(300)


def test_rows_are_drawn_by_weight():
    X, _ = soft_labels(n=400)
    codes = np.random.default_rng(1).integers(2, size=400)
    forest, out_of_bag = fit_soft_forest(X, np.eye(2)[codes], 60, np.random.default_rng(0), weights=codes + 0.01)
    assert out_of_bag[:, 1].mean() > 0.95
    assert (forest.predict_proba(X)[:, 1] > 0.5).all()


def test_sparse_rows_give_the_trees_of_dense_ones():
    X, targets = soft_labels()
    X[np.abs(X) < 0.8] = 0
    dense, sparse = (fit_soft_forest(rows, targets, 10, np.random.default_rng(0)) for rows in (X, csr_array(X)))
    assert np.abs(dense[0].predict_proba(X) - sparse[0].predict_proba(csr_array(X))).mean() < 0.1
    np.testing.assert_array_equal(sparse[0].predict_proba(csr_array(X)), sparse[0].predict_proba(X))


def test_trees_are_the_same_for_any_number_of_jobs():
    X, targets = soft_labels()
    one, two = (fit_soft_forest(X, targets, 8, np.random.default_rng(0), n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one[0].predict_proba(X), two[0].predict_proba(X))
    np.testing.assert_array_equal(one[1], two[1])


def test_leaves_stay_within_their_memory(monkeypatch):
    monkeypatch.setattr(soft_forest, "MOST_LEAF_VALUES", 300)
    monkeypatch.setattr(soft_forest, "LEAST_TREE_ROWS", 5)
    X, targets = soft_labels()
    assert fit_soft_forest(X, targets, 10, np.random.default_rng(0))[0].values.size <= 300


def test_leaves_of_large_tables_hold_several_rows(monkeypatch):
    X, targets = soft_labels()
    detailed, _ = fit_soft_forest(X, targets, 10, np.random.default_rng(0))
    monkeypatch.setattr(soft_forest, "MANY_ROWS", len(X))
    coarse, _ = fit_soft_forest(X, targets, 10, np.random.default_rng(0))
    assert 3 * len(coarse.features) < len(detailed.features)


def test_trees_of_wide_tables_get_fewer_rows(monkeypatch):
    monkeypatch.setattr(soft_forest, "LEAST_TREE_ROWS", 5)
    monkeypatch.setattr(soft_forest, "MOST_TRIED", 20)
    X, targets = soft_labels()
    assert fit_soft_forest(X, targets, 10, np.random.default_rng(0))[0].values.shape[0] <= 10 * 20 / np.sqrt(X.shape[1])


def test_values_of_a_sparse_row_that_are_stored_in_parts_are_summed():
    X, targets = soft_labels()
    forest, _ = fit_soft_forest(X, targets, 10, np.random.default_rng(0))
    columns, starts = np.tile(np.repeat(np.arange(4), 2), len(X)), 8 * np.arange(len(X) + 1)
    halves = csr_array((np.repeat(X / 2, 2, axis=1).ravel(), columns, starts), X.shape)
    np.testing.assert_array_equal(forest.predict_proba(halves), forest.predict_proba(X))


@pytest.mark.parametrize(
    "children", [[[0, 2], [0, -1], [1, -1]], [[1, 3], [0, -1], [1, -1]], [[1, 2], [0, -1], [2, -1]]]
)
def test_nodes_that_form_no_tree_are_refused(children):
    parts = np.zeros(1, np.int64), np.array([0, -1, -1], np.int32), np.zeros(3)
    with pytest.raises(ValueError, match="do not form trees"):
        SoftForest(*parts, np.array(children, np.int32), np.eye(2, dtype=np.float32))


def test_too_few_columns_are_refused():
    X, targets = soft_labels()
    forest, _ = fit_soft_forest(X, targets, 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="rows have 1 columns"):
        forest.predict_proba(X[:, :1])
