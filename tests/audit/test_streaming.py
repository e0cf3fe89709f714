"""Rows that stay in their file, here or on a cluster, give the same audit as rows in memory."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from noisewise import audit_labels
from noisewise._numerics.blocks import BLOCK, map_blocks
from noisewise.audit import streaming
from noisewise.audit.cluster import OnCluster, dask_client
from noisewise.datasets import TableEncoder


def table(n, text=False, seed=0):
    """A mixed table of three classes, a tenth of its labels wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    X = rng.normal(size=(3, 4))[truth] * 1.5 + rng.normal(size=(n, 4))
    columns = {f"x{j}": X[:, j] for j in range(4)}
    columns["gaps"] = [None if gap else value for gap, value in zip(rng.random(n) < 0.1, X[:, 0].tolist())]
    columns["kind"] = np.where(rng.random(n) < 0.2, "other", np.array(["p", "q", "r"])[truth])
    columns["same"] = ["s"] * n
    if text:
        columns["words"] = [f"number {i} of {'ab'[t % 2]} words" for i, t in enumerate(truth)]
    return pl.DataFrame(columns), np.where(rng.random(n) < 0.1, (truth + 1) % 3, truth)


@pytest.fixture
def small_partitions(monkeypatch):
    """Partitions of one block, so that little data has several."""
    monkeypatch.setattr(streaming.StreamedRows.__init__, "__defaults__", (map, BLOCK))


def test_the_streamed_audit_is_the_same(tmp_path, small_partitions):
    frame, y = table(BLOCK + 900)
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=1700)
    streamed = audit_labels(pl.scan_parquet(tmp_path / "rows.parquet"), y)
    whole = audit_labels(frame, y)
    np.testing.assert_allclose(streamed.posterior, whole.posterior, rtol=0, atol=1e-6)
    np.testing.assert_allclose(streamed.noise.matrix, whole.noise.matrix, rtol=0, atol=1e-6)
    assert streamed.expected_errors.interval == pytest.approx(whole.expected_errors.interval)
    assert streamed.notes == whole.notes
    for audit in (streamed, whole):
        audit.to_label_studio(tmp_path / "tasks.json", rows=[5, 3])
        tasks = json.loads((tmp_path / "tasks.json").read_text())
        assert [task["data"]["x0"] for task in tasks] == frame["x0"][[5, 3]].to_list()
    streamed.to_html(tmp_path / "streamed.html")
    whole.to_html(tmp_path / "whole.html")
    assert (tmp_path / "streamed.html").read_text() == (tmp_path / "whole.html").read_text()
    assert isinstance(streamed.to_frame(), pl.DataFrame)


@pytest.mark.parametrize("text", [False, True])
def test_rows_come_in_the_blocks_of_rows_in_memory(small_partitions, text):
    frame, y = table(BLOCK + 70, text)
    encoder = TableEncoder().fit(frame)
    rows = encoder.transform(frame)
    streamed = streaming.StreamedRows(frame.lazy(), encoder, len(y))
    assert streamed.shape == rows.shape
    for own, other in zip(map_blocks(streamed, _pair, y), map_blocks(rows, _pair, y), strict=True):
        np.testing.assert_array_equal(dense(own[0]), dense(other[0]))
        np.testing.assert_array_equal(own[1], other[1])
    indices = np.array([BLOCK + 3, 0, BLOCK - 1, 17])
    np.testing.assert_array_equal(dense(streamed[indices]), dense(rows[indices]))


def dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else rows


def _pair(rows, labels):
    return rows, labels


def test_what_needs_all_rows_says_so():
    frame, y = table(60)
    with pytest.raises(ValueError, match="folds need all rows in memory"):
        audit_labels(frame.lazy(), y, model=LogisticRegression())
    with pytest.raises(ValueError, match="60 rows, y has 59"):
        audit_labels(frame.lazy(), y[:-1])
    with pytest.raises(ValueError, match="pass a lazy frame"):
        audit_labels(frame, y, client=object())
    dask_frame = pytest.importorskip("dask.dataframe").from_pandas(frame.to_pandas(), npartitions=2)
    with pytest.raises(ValueError, match="a lazy frame of dask has no fixed order of rows"):
        audit_labels(dask_frame, y)


def test_progress_counts_columns_and_partitions(small_partitions):
    frame, _ = table(BLOCK + 70)
    told = []
    run = streaming.with_progress(map, frame.lazy(), lambda done, total: told.append((done, total)))
    list(run(_pair, [1, 2], [3, 4]))
    assert [done for done, _ in told] == [1, 2]
    assert streaming.with_progress(map, frame, told.append) is map


def test_an_address_without_a_scheduler_gets_a_sentence():
    pytest.importorskip("dask.distributed", reason="dask is an extra")
    with pytest.raises(ValueError, match="no Dask scheduler responds"), dask_client("nonsense://here"):
        pass


class Immediate:
    """A client whose workers are here."""

    def scatter(self, things, broadcast, hash):
        return things

    def submit(self, function, *arguments, pure):
        return type("Future", (), {"result": lambda self: function(*arguments)})()


def test_a_cluster_maps_in_order():
    assert list(OnCluster(Immediate())(divmod, [7, 8, 9], [2, 2, 2])) == [(3, 1), (4, 0), (4, 1)]


@pytest.mark.slow
def test_the_audit_on_a_local_cluster_is_the_same(tmp_path):
    pytest.importorskip("dask.distributed", reason="dask is an extra")
    frame, y = table(2 * BLOCK + 500)
    (tmp_path / "parts").mkdir()
    for number, start in enumerate(range(0, len(y), 3000)):
        frame[start : start + 3000].write_parquet(tmp_path / "parts" / f"{number}.parquet")
    lazy = pl.scan_parquet(tmp_path / "parts" / "*.parquet")
    with threadpool_limits(1), dask_client(n_workers=2) as client:  # as many threads as a worker has: else sums differ
        whole = audit_labels(frame, y)
        assert len(client.scheduler_info()["workers"]) == 2
        with dask_client(client.scheduler.address) as second:
            distributed = audit_labels(lazy, y, client=second)
    np.testing.assert_allclose(distributed.posterior, whole.posterior, rtol=0, atol=1e-6)
    assert distributed.expected_errors.interval == pytest.approx(whole.expected_errors.interval)
    assert distributed.notes == whole.notes
