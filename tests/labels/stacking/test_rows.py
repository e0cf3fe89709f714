import numpy as np

from noisewise.labels.stacking.rows import CountedRows


def rows_of(X, codes):
    X = np.asarray(X, dtype=float).reshape(len(codes), -1)
    return CountedRows.of(X, np.asarray(codes), np.ones(len(codes)), np.unique(codes), None)


def test_folds_hold_as_many_rows_of_every_class():
    rows = rows_of(np.random.default_rng(0).normal(size=60), np.repeat([0, 1, 2], [30, 20, 10]))
    counts = np.bincount(5 * rows.codes + rows.folds(5)).reshape(3, 5)
    np.testing.assert_array_equal(counts, [[6] * 5, [4] * 5, [2] * 5])


def test_copies_are_in_one_fold_whatever_their_labels():
    rng = np.random.default_rng(0)
    rows = rows_of(np.tile(rng.normal(size=(50, 2)), (3, 1)), rng.integers(2, size=150))
    for fold in range(5):
        own = rows.folds(5) == fold
        assert not set(rows.X[own, 0]) & set(rows.X[~own, 0])
        assert 20 <= own.sum() <= 40


def test_rows_of_a_coarse_table_are_no_copies():
    rng = np.random.default_rng(0)
    rows = rows_of(rng.integers(2, size=(100, 2)), rng.integers(2, size=100))
    assert len(np.unique(rows.groups)) == 100


def test_a_class_of_one_row_and_its_copies_is_missed_without_their_fold():
    X, codes = np.random.default_rng(0).normal(size=40), np.repeat([0, 1, 2], [20, 17, 3])
    assert rows_of(X, codes).has_all_classes_without(5)
    X[-3:] = 9.0
    assert not rows_of(X, codes).has_all_classes_without(5)
