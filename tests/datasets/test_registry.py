import io
import os
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from noisewise import datasets
from noisewise.datasets.catalogue import ENTRIES, find_entry

FILED = [entry for entry in ENTRIES if not entry.bundled]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home of its own, no data folder, and no network."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.delenv("NOISEWISE_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", _no_network)
    return tmp_path / "home"


def _no_network(**options):
    raise URLError("no network")


def _file(folder, name, value, rows=4):
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / name, X=np.full((rows, 2), value), y=np.arange(rows, dtype=np.uint8))


def _openml(entry, labels=None, columns=None):
    """What OpenML would send for an entry: the right shape, and classes of the right sizes in the order of labels."""
    labels = [str(code) for code in range(len(entry.counts))] if labels is None else labels
    target = np.repeat(np.array(labels, dtype=object), entry.counts)
    data = np.random.default_rng(0).random((entry.rows, columns or entry.columns))
    return Bunch(data=data, target=target, categories={}, feature_names=[f"column{i}" for i in range(data.shape[1])])


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.bundled], ids=lambda entry: entry.name)
def test_bundled_sets_need_nothing_and_are_as_listed(home, entry):
    data = datasets.load(entry.name)
    assert data.X.shape == (entry.rows, entry.columns)
    assert data.source == "scikit-learn"
    if entry.classes:
        np.testing.assert_array_equal(np.unique(data.y, return_counts=True)[1], entry.counts)


def test_a_set_unpacks_and_keeps_its_name(home):
    X, y = datasets.load("iris")
    assert X.dtype == np.float64
    assert y.dtype == np.intp
    assert datasets.load("IRIS").name == "iris"
    assert datasets.load("iris", dtype=np.float32).X.dtype == np.float32


def test_the_folder_comes_before_the_cache_and_the_cache_before_openml(home, tmp_path, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: _openml(find_entry("banana")))
    assert datasets.load("banana").source == "OpenML 1460"
    _file(home / "noisewise", "raetsch_banana.npz", 2.0)
    assert datasets.load("banana").X[0, 0] == 2.0
    _file(tmp_path / "mine", "raetsch_banana.npz", 1.0)
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path / "mine"))
    X, y = datasets.load("banana")
    assert X[0, 0] == 1.0
    assert y.dtype == np.intp
    assert datasets.load("banana").source == str(tmp_path / "mine" / "raetsch_banana.npz")


def test_a_bundled_set_is_not_looked_for_in_the_folder(home, tmp_path, monkeypatch):
    _file(tmp_path / "mine", "iris.npz", 1.0)
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path / "mine"))
    assert len(datasets.load("iris").X) == 150


def test_a_set_from_openml_is_kept_and_not_asked_for_again(home, monkeypatch):
    asked = []

    def fetch(**options):
        asked.append(options["data_id"])
        return _openml(find_entry("vehicle"))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    first, again = datasets.load("vehicle"), datasets.load("vehicle")
    assert asked == [54]
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert again.source == str(home / "noisewise" / "vehicle.npz")
    assert os.listdir(home / "noisewise") == ["vehicle.npz"]


def test_a_cache_that_cannot_be_written_costs_a_warning_only(home, monkeypatch):
    home.mkdir()
    (home / "noisewise").write_text("a file where the folder should be")
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: _openml(find_entry("vehicle")))
    with pytest.warns(RuntimeWarning, match="could not be kept"):
        data = datasets.load("vehicle")
    assert data.X.shape == (846, 18)


def test_nothing_half_written_is_left_when_storing_fails(home, monkeypatch):
    def fail(*arrays, **named):
        raise OSError("disk full")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: _openml(find_entry("vehicle")))
    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.warns(RuntimeWarning, match="disk full"):
        datasets.load("vehicle")
    assert os.listdir(home / "noisewise") == []


def test_classes_from_openml_are_known_by_their_size(home, monkeypatch):
    entry = find_entry("shuttle")
    labels = ["7", "6", "1", "3", "5", "4", "2"]
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: _openml(entry, labels))
    np.testing.assert_array_equal(np.bincount(datasets.load("shuttle").y), entry.counts)


def test_classes_of_equal_size_keep_the_order_of_their_labels(home, monkeypatch):
    entry = find_entry("fashion_mnist")
    small = Bunch(data=np.zeros((10, 784)), categories={}, feature_names=[str(i) for i in range(784)])
    small.target = np.array([str(code) for code in (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)], dtype=object)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: small)
    monkeypatch.setattr("noisewise.datasets.registry.find_entry", lambda name: _with_counts(entry, (1,) * 10))
    assert datasets.load("fashion_mnist").y.tolist() == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]


def _with_counts(entry, counts):
    from dataclasses import replace

    return replace(entry, counts=counts)


def test_raetsch_labels_from_openml_are_signs(home, monkeypatch):
    entry = find_entry("raetsch_heart")
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: _openml(entry, ["present", "absent"]))
    X, y = datasets.load("raetsch_heart")
    assert ((y == -1).sum(), (y == 1).sum()) == (150, 120)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_rows_with_gaps_are_dropped_and_numbers_filed_as_categories_come_back(home, monkeypatch):
    entry = find_entry("breast_cancer_wisconsin")
    bunch = _openml(entry)
    bunch.data[:, 3] = np.arange(len(bunch.data)) % 3
    bunch.categories["column3"] = ["10", "2", "7"]
    gap = np.full((16, 9), 1.0)
    gap[:, 3] = np.nan
    bunch.data, bunch.target = np.vstack([gap, bunch.data]), np.hstack([np.array(["0"] * 16), bunch.target])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: bunch)
    X, y = datasets.load("breast_cancer_wisconsin")
    assert X.shape == (683, 9)
    assert X[:4, 3].tolist() == [10, 2, 7, 10]
    assert y.sum() == 239


def test_mushroom_is_one_bit_for_each_value_without_stalk_root(home, monkeypatch):
    entry = find_entry("mushroom")
    bunch = _openml(entry, ["e", "p"], columns=3)
    bunch.feature_names = ["odor", "stalk-root", "ring"]
    rows = np.arange(entry.rows)
    bunch.data = np.column_stack([rows % 100, np.full(entry.rows, np.nan), 2 * (rows % 12)]).astype(float)
    bunch.categories = {"odor": list("abc"), "stalk-root": list("ab"), "ring": list("ab")}
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: bunch)
    X, y = datasets.load("mushroom")
    assert X.shape == (8124, 112)
    np.testing.assert_array_equal(X.sum(axis=1), 2)
    assert y.sum() == 3916


@pytest.mark.parametrize("change", ["columns", "counts", "target"])
def test_another_version_of_a_set_is_refused(home, monkeypatch, change):
    bunch = _openml(find_entry("vehicle"), columns=17 if change == "columns" else None)
    if change == "counts":
        bunch.target[0] = "3"
    if change == "target":
        bunch.target = None
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: bunch)
    with pytest.raises(FileNotFoundError, match=r"OpenML 54 .*NOISEWISE_DATA to a folder with vehicle.npz"):
        datasets.load("vehicle")
    assert not (home / "noisewise").exists()


def test_without_network_the_error_says_what_to_do(home):
    with pytest.raises(FileNotFoundError, match=r"no network.*NOISEWISE_DATA to a folder with raetsch_banana.npz"):
        datasets.load("banana")


@pytest.mark.parametrize("entry", [entry for entry in FILED if entry.openml is None], ids=lambda entry: entry.name)
def test_sets_without_a_verified_id_never_ask_openml(home, monkeypatch, entry):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: pytest.fail("asked"))
    with pytest.raises(FileNotFoundError, match=f"folder with {entry.file} holding the arrays X and y"):
        datasets.load(entry.name)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("twonorm", r"datasets.make_twonorm\(7400\)"),
        ("ringnorm", r"datasets.make_ringnorm\(7400\)"),
        ("waveform", r"datasets.make_waveform\(5000, binary=True\)"),
    ],
)
def test_missing_synthetic_sets_name_their_generator(home, name, call):
    with pytest.raises(FileNotFoundError, match=call):
        datasets.load(name)


def test_a_misspelt_name_gets_the_nearest_names(home):
    with pytest.raises(ValueError, match=r"no data set is called 'bananna'; did you mean 'banana'"):
        datasets.load("bananna")
    with pytest.raises(ValueError, match=r"'qqqq'; datasets.names\(\) lists all"):
        datasets.load("qqqq")


def test_a_data_folder_that_is_none_is_reported(home, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="which is not a folder"):
        datasets.load("banana")


def test_damaged_and_foreign_files_are_reported(home, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path))
    path = tmp_path / "letter.npz"
    path.write_bytes(b"not a zip at all")
    with pytest.raises(ValueError, match=r"can't be read as an \.npz file"):
        datasets.load("letter")
    np.savez(path, features=np.zeros((2, 2)), y=np.zeros(2))
    with pytest.raises(ValueError, match="must hold the arrays X, y"):
        datasets.load("letter")
    np.savez(path, X=np.zeros((2, 2)), y=np.zeros(3))
    with pytest.raises(ValueError, match="one label a row"):
        datasets.load("letter")
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match=r"can't be read as an \.npz file"):
        datasets.load("letter")


def test_every_name_is_listed_once_with_its_sources():
    listed = {listing.name: listing for listing in datasets.names()}
    assert len(listed) == len(ENTRIES) == len(datasets.names())
    assert listed["banana"][1:4] == (5300, 2, 2)
    assert listed["banana"].sources == ("raetsch_banana.npz", "OpenML 1460")
    assert listed["heart"].sources == ("heart.npz", "OpenML 53")
    assert listed["diabetes_progression"].classes == 0
    assert "gao-robust-knn" in listed["letter"].papers


def test_raetsch_sets_can_be_loaded_by_their_prefixed_names():
    assert find_entry("raetsch_banana") is find_entry("banana")
    assert find_entry("raetsch-heart") is not find_entry("heart")
    assert sum(entry.raetsch for entry in ENTRIES) == 13


def test_crowd_labels_come_from_the_folder(home, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"crowd_rte.npz holding the arrays items, annotators, labels and gold"):
        datasets.load_crowd("rte")
    with pytest.raises(ValueError, match=r"no crowd set is called 'rta'; did you mean 'rte'"):
        datasets.load_crowd("rta")
    arrays = {"items": [0, 0, 1], "annotators": [0, 1, 1], "labels": [1, 0, 1], "gold": [1, 1]}
    np.savez(tmp_path / "crowd_rte.npz", **{key: np.array(value, dtype=np.uint8) for key, value in arrays.items()})
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path))
    crowd = datasets.load_crowd("rte")
    for found, key in zip(crowd, arrays, strict=True):
        assert found.tolist() == arrays[key]
        assert found.dtype == np.intp


def test_importing_datasets_brings_in_no_more_of_scikit_learn_and_pandas_than_the_input_checks():
    script = (
        "import sys, noisewise._validation; before = set(sys.modules); import noisewise.datasets;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "assert not new & {'sklearn', 'pandas', 'numba', 'polars', 'pyarrow'}, new;"
        "assert 'sklearn.datasets' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
