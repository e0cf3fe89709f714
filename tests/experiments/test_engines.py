"""Rows are the same, bit for bit, whoever runs the cells."""

import pytest

from noisewise.experiments import Experiment, RowStore, comparable, run
from noisewise.experiments.harness.engines import each
from noisewise.experiments.papers.gao.tasks import soft_chessboard

NOISES = [(0.3, 0.1), (0.2, 0.2)]


def cells():
    axes = {"noise": NOISES, "rows": [300, 400], "repeat": [0, 1]}
    return {"toy/figure-1": Experiment("figure-1", "", soft_chessboard, axes, lambda rows, printed: [])}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    run(cells(), RowStore(folder))
    return comparable(RowStore(folder).rows.values())


def rows_by(folder, **options):
    ran = run(cells(), RowStore(folder), **options)
    assert (ran.finished, ran.failed) == (8, {})
    return comparable(RowStore(folder).rows.values())


def test_local_processes_give_the_same_rows(alone, tmp_path):
    assert rows_by(tmp_path, jobs=2) == alone


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_started_here_gives_the_same_rows(alone, tmp_path):
    pytest.importorskip("distributed")
    assert rows_by(tmp_path, engine="dask", jobs=2) == alone


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_scheduler_that_runs_already_gives_the_same_rows(alone, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        assert rows_by(tmp_path, engine="dask", address=cluster.scheduler_address) == alone


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_ray_cluster_gives_the_same_rows(alone, tmp_path):
    pytest.importorskip("ray")
    assert rows_by(tmp_path, engine="ray", jobs=2) == alone


def test_unknown_engines_and_addresses_out_of_place_are_refused():
    with pytest.raises(ValueError, match="no engine 'spark'"):
        each(abs, [1], "spark")
    with pytest.raises(ValueError, match="belongs to the engines dask and ray"):
        each(abs, [1], address="tcp://somewhere:8786")
    assert list(each(abs, [], "dask")) == []
