"""Cells are run once, survive a kill, and do not depend on who runs them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toy_paper
from noisewise.experiments import Cell, Experiment, Rows, RowStore, comparable, named, rows_of, run
from noisewise.experiments.harness import provenance
from noisewise.experiments.harness.page import what_ran
from noisewise.experiments.harness.provenance import code_of
from noisewise.experiments.papers.gao.tasks import accuracy
from noisewise.experiments.papers.ngo.tasks import one_pass

HERE = Path(__file__).parents[1]


def only(**options):
    return {"toy/table-1": toy_paper.declare(**options)}


def test_a_cell_is_named_by_its_description_in_any_order():
    one, other = Cell("a.b", {"x": 1, "y": (2, 3)}), Cell("a.b", {"y": [2, 3], "x": 1})
    assert one.id == other.id
    assert one == other
    assert len({one.id, Cell("a.c", {"x": 1, "y": [2, 3]}).id, Cell("a.b", {"x": 1, "y": [2, 4]}).id}) == 3
    assert Cell("a.b", {"x": 1}, revision=2).id != Cell("a.b", {"x": 1}).id


def test_nothing_is_run_twice(tmp_path):
    first = run(only(), RowStore(tmp_path))
    again = run(only(), RowStore(tmp_path))
    assert (first.finished, first.found) == (20, 0)
    assert (again.finished, again.found) == (0, 20)


def test_adding_a_method_runs_only_that_method(tmp_path):
    run(only(), RowStore(tmp_path))
    store = RowStore(tmp_path)
    before = comparable(store.rows.values())
    more = run(only(weights=(1, 2, 3)), store)
    assert (more.finished, more.found) == (10, 20)
    assert {row["settings"]["weight"] for row in store.rows.values() if (row["id"], row["result"]) not in before} == {3}


def test_two_experiments_share_their_cells(tmp_path):
    other = Experiment("figure-1", "the same", toy_paper.coin, toy_paper.declare().axes, toy_paper.show)
    ran = run({**only(), "toy/figure-1": other}, RowStore(tmp_path))
    assert ran.finished == 20


def test_quick_runs_less_and_the_full_run_goes_on_from_there(tmp_path):
    assert run(only(), RowStore(tmp_path), quick=True).finished == 4
    assert run(only(), RowStore(tmp_path)).finished == 16


def test_rows_carry_versions_and_times_apart_from_results(tmp_path):
    store = RowStore(tmp_path)
    run(only(repeats=1), store)
    row = next(iter(store.rows.values()))
    assert set(row["result"]) == {"mean"}
    assert {"seconds", "seconds_processor", "seconds_drawn"} == set(row["times"])
    assert {"noisewise", "numpy", "python"} <= set(row["versions"])


def test_rows_of_other_code_are_told_and_run_again_only_when_asked(tmp_path, monkeypatch):
    run(only(), RowStore(tmp_path))
    now = code_of(toy_paper.coin)
    monkeypatch.setattr("noisewise.experiments.harness.runner.code_of", lambda task: "other")
    ran = run(only(), RowStore(tmp_path))
    assert (ran.finished, ran.found, ran.by_other_code) == (0, 20, 20)
    again = run(only(), RowStore(tmp_path), fresh=True)
    assert (again.finished, again.found, again.by_other_code) == (20, 0, 0)
    assert {row["code"] for row in RowStore(tmp_path).rows.values()} == {"other"} != {now}
    assert run(only(), RowStore(tmp_path), fresh=True).finished == 0


def test_of_two_rows_of_a_cell_the_last_made_counts_in_whichever_file_it_is(tmp_path):
    for name, made, error in (("b", 1.0, 0.5), ("a", 2.0, 0.25), ("c", None, 0.75)):
        row = {"id": "x", "result": {"error": error}} | ({} if made is None else {"made": made})
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
    assert RowStore(tmp_path).rows["x"]["result"] == {"error": 0.25}


def test_code_counts_what_a_task_reaches_and_not_its_comments(tmp_path, monkeypatch):
    library = tmp_path / "library"
    shutil.copytree(provenance.ROOT, library, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(provenance, "ROOT", library)

    def digests():
        provenance._read.cache_clear()
        provenance._digest.cache_clear()
        return code_of(accuracy), code_of(one_pass)

    neighbors, online = digests()
    with (library / "labels" / "neighbors" / "votes.py").open("a") as file:
        file.write("\n# a comment\n")
    assert digests() == (neighbors, online)
    with (library / "labels" / "neighbors" / "votes.py").open("a") as file:
        file.write("\nNEW = 1\n")
    assert digests()[0] != neighbors  # imported inside a function, through two packages
    assert digests()[1] == online
    with (library / "_loops" / "rounds.py").open("a") as file:
        file.write("\nNEW = 1\n")
    assert digests()[1] != online
    provenance._read.cache_clear()
    provenance._digest.cache_clear()


def test_a_torn_last_line_is_dropped_and_its_cell_run_again(tmp_path):
    run(only(), RowStore(tmp_path))
    whole = comparable(RowStore(tmp_path).rows.values())
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-40])
    store = RowStore(tmp_path)
    assert len(store.rows) == 19
    assert run(only(), store).finished == 1
    assert comparable(RowStore(tmp_path).rows.values()) == whole


@named("test_run.failing")
def failing(cell):
    if cell["repeat"] == 1:
        raise ValueError("no such luck")
    return {"mean": 0.0}


def test_a_cell_that_fails_is_told_and_the_others_run(tmp_path):
    experiment = Experiment("table-1", "", failing, {"repeat": [0, 1, 2]}, toy_paper.show)
    ran = run({"toy/table-1": experiment}, RowStore(tmp_path))
    assert ran.finished == 2
    assert list(ran.failed.values()) == ["ValueError: no such luck"]


def test_no_cell_starts_after_the_time_is_up(tmp_path):
    ran = run(only(), RowStore(tmp_path), minutes=-1)
    assert (ran.finished, ran.failed) == (0, {})


def test_first_repeats_come_first():
    repeats = [cell["repeat"] for cell in toy_paper.declare().cells()]
    assert repeats == sorted(repeats)


def test_progress_counts_up_to_the_total(tmp_path):
    seen = []
    run(only(), RowStore(tmp_path), on_row=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 20) for number in range(21)]


def test_sets_that_are_not_here_are_named_and_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    experiment = Experiment("t", "", failing, {"dataset": ["iris", "mnist", "acoustic"], "repeat": [0]}, toy_paper.show)
    assert experiment.absent() == ["acoustic", "mnist"]
    assert [cell["dataset"] for cell in experiment.cells()] == ["iris"]
    (tmp_path / "mnist.npz").write_bytes(b"")
    assert experiment.absent() == ["acoustic"]


def test_pages_name_only_sets_without_rows_as_not_here(monkeypatch, tmp_path):
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    experiment = Experiment("t", "", failing, {"dataset": ["mnist", "acoustic"], "repeat": [0]}, toy_paper.show)
    ran = [{"dataset": "mnist", "repeat": 0, "by_present_code": True, "seconds_processor": 1.0}]  # on another machine
    assert "Not run, because the data are not here: acoustic. 1 s" in what_ran(experiment, Rows(ran), quick=False)


def test_rows_are_picked_by_settings_and_averaged():
    rows = Rows([{"noise": [0.1, 0.2], "repeat": r, "error": e, "curve": [e, 1]} for r, e in ((1, 3.0), (0, 1.0))])
    assert rows.where(noise=(0.1, 0.2)).values("error").tolist() == [1.0, 3.0]
    assert rows.mean("error") == 2.0
    assert rows.standard_error("error") == pytest.approx(1.0)
    assert rows.mean_curve("curve").tolist() == [2.0, 1.0]
    assert rows.where(noise=(0.2, 0.1)).mean("error") is None
    fewer = Rows([{"repeat": 1, "error": 5.0}, {"repeat": 2, "error": 7.0}])
    assert [one.tolist() for one in rows.paired(fewer, "error")] == [[3.0], [5.0]]


SCRIPT = """
import sys; sys.path.insert(0, {here!r})
import toy_paper
from noisewise.experiments import RowStore, run
run({{"toy/table-1": toy_paper.declare(pause=0.05)}}, RowStore({folder!r}))
"""


def test_killed_half_way_and_started_again_it_ends_with_the_same_rows(tmp_path):
    code = SCRIPT.format(here=str(HERE), folder=str(tmp_path / "killed"))
    running = subprocess.Popen([sys.executable, "-c", code])
    while _lines(tmp_path / "killed") < 5:
        assert running.poll() is None
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    done = _lines(tmp_path / "killed")
    assert 5 <= done < 20
    rest = run(only(pause=0.05), RowStore(tmp_path / "killed"))
    assert rest.finished >= 20 - done
    run(only(pause=0.05), RowStore(tmp_path / "undisturbed"))
    killed, undisturbed = (RowStore(tmp_path / name).rows.values() for name in ("killed", "undisturbed"))
    assert comparable(killed) == comparable(undisturbed)


def _lines(folder):
    return sum(file.read_bytes().count(b"\n") for file in folder.glob("*.jsonl"))


def test_rows_of_an_experiment_come_flat(tmp_path):
    store = RowStore(tmp_path)
    run(only(), store, quick=True)
    rows = rows_of(toy_paper.declare(), store, quick=True)
    assert len(rows) == 4
    assert rows.unique("side") == json.loads(json.dumps(rows.unique("side")))
    assert rows.where(side="heads", weight=2).mean("mean") == 2 * rows.where(side="heads", weight=1).mean("mean")
