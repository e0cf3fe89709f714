import gzip
import json
from dataclasses import replace

import pytest

from feedback_logs import assert_same, some_log
from noisewise.online.logs.dsjson import iter_dsjson, read_dsjson, write_dsjson
from noisewise.online.logs.feedback_log import FeedbackLog
from noisewise.online.logs.logged_round import LoggedRound
from noisewise.online.logs.open_bandit import from_open_bandit
from noisewise.online.logs.vw import iter_vw, read_vw, write_vw
from noisewise.online.recipes import linucb


@pytest.mark.parametrize("name", ["log.vw", "log.vw.gz"])
def test_files_are_read_line_by_line_packed_or_not(tmp_path, name):
    log = some_log()
    write_vw(log, tmp_path / name)
    assert_same(read_vw(str(tmp_path / name), classes=log.classes, features=4), log)
    first = (tmp_path / name).read_bytes()
    write_vw(log, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_stream_is_not_read_ahead():
    def endless():
        while True:
            yield "1:-1:0.5 | a\n"

    assert next(iter_vw(endless())).action == 1


def test_damaged_files_are_refused_by_name(tmp_path):
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(b"1:-1:0.5 | a\n" * 2_000)[:-20])
    with pytest.raises(ValueError, match=r"log.gz, after line \d+: the gz file is cut short"):
        list(iter_vw(packed))
    latin = tmp_path / "latin.vw"
    latin.write_bytes("1:-1:0.5 | caf\u00e9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin.vw, after line 0: this is not UTF-8"):
        list(iter_vw(latin))


def test_what_is_no_file_is_not_written_to():
    with pytest.raises(ValueError, match=r"to a path or an open file, not to \[\]"):
        write_vw("log.vw", [])
    with pytest.raises(ValueError, match="to a path or an open file, not to 3"):
        write_dsjson([], 3)


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    target = tmp_path / "log.vw"
    target.write_text("old")
    with pytest.raises(ValueError, match="round 2"):
        write_vw([LoggedRound({}, 1, 1, 0.5), LoggedRound({}, "x", 1, 0.5)], target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["log.vw"]


def test_vowpal_wabbit_reads_whole_files_packed_or_not_with_the_same_loss(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    log, losses = some_log(n_rounds=37), {}
    for name in ("plain.vw", "plain.vw.gz", "blocks.vw", "events.json", "events.json.gz"):
        kind = name.partition(".")[0]
        if kind == "events":
            write_dsjson(log, tmp_path / name)
        else:
            write_vw(log, tmp_path / name, layout="plain" if kind == "plain" else "adf")
        arguments = {"plain": "--cb 3", "blocks": "--cb_adf", "events": "--cb_adf --dsjson"}[kind]
        workspace = vowpalwabbit.Workspace(f"{arguments} --quiet -d {tmp_path / name}")
        workspace.run_parser()
        assert workspace.get_weighted_examples() == 37
        losses[name] = workspace.get_sum_loss()
        workspace.finish()
    assert losses["plain.vw"] == losses["plain.vw.gz"]
    assert losses["blocks.vw"] == pytest.approx(losses["events.json"], rel=1e-5)  # the same rounds in two formats
    assert losses["events.json"] == losses["events.json.gz"]


EVENT = {"_label_cost": -1, "_label_probability": 0.5, "_labelIndex": 0, "a": [1, 2], "p": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("read", "line"),
    [
        (iter_vw, "1:-1:0.5 | a:1e999"),
        (iter_vw, "1:-1:0.5 |n:1e300 a:1e300"),
        (iter_vw, "1:-1:0.5 | a:1e308 a:1e308"),
        (iter_vw, "99999999999999999999:-1:0.5 | a"),
        (iter_dsjson, json.dumps({**EVENT, "c": {"x": 10**400, "_multi": [{}, {}]}})),
        (iter_dsjson, json.dumps({**EVENT, "_label_probability": 10**400, "c": {"_multi": [{}, {}]}})),
        (iter_dsjson, json.dumps({**EVENT, "c": {"l": [{"x": 1e308}, {"x": 1e308}], "_multi": [{}, {}]}})),
        (iter_dsjson, json.dumps({**EVENT, "a": [1, 1], "c": {"_multi": [{}, {}]}})),
        (iter_dsjson, json.dumps({**EVENT, "p": [0.5, -5], "c": {"_multi": [{}, {}]}})),
        (iter_dsjson, '{"c": ' + "[" * 100_000),
    ],
)
def test_numbers_too_large_and_probabilities_that_cannot_be_are_refused_with_their_line(read, line):
    with pytest.raises(ValueError, match="line 1: "):
        next(read([line]))


def test_names_too_long_to_be_columns_are_names():
    log = read_vw(["1:-1:0.5 | 99999999999999999999:2", "2:0:0.5 | 1"])
    assert log.feature_names == ["99999999999999999999", "1"]


def test_numbers_too_large_to_be_columns_are_names_and_survive_a_round_trip(tmp_path):
    log = read_vw(["1:-1:0.5 | 999999999999:2 3", "2:0:0.5 | 3"])
    assert log.X.shape == (2, 2)
    assert log.feature_names == ["999999999999", "3"]
    assert (
        linucb(classes=log.classes).learn_logged(log.X, log.actions, log.feedback, log.probabilities).n_features_in_
        == 2
    )
    write_vw(log, tmp_path / "log.vw")
    assert_same(read_vw(tmp_path / "log.vw"), log)
    assert read_vw(["1:-1:0.5 | 16777215:2"]).X.shape == (1, 2**24)
    assert read_vw(["1:-1:0.5 | 16777216:2"]).X.shape == (1, 1)


def test_slates_of_actions_are_refused():
    logged = {"n_actions": 3, "context": [[1.0]], "action": [[2]], "reward": [1], "pscore": [0.5]}
    with pytest.raises(ValueError, match="not a slate"):
        from_open_bandit(logged)


@pytest.mark.parametrize("write", [write_vw, write_dsjson])
def test_a_feature_that_would_be_read_under_another_name_is_refused(write, tmp_path):
    log = FeedbackLog([[1.0, 2.0]], ["b"], [1], [0.5], classes=["a", "b"], feature_names=["^age", "age"])
    with pytest.raises(ValueError, match=r"'\^age' begins with \^, and would be read as 'age'"):
        write(log, tmp_path / "log")
    fine = replace(log, feature_names=["^a^ge", "user^age"])
    write(fine, tmp_path / "log")
    read = read_vw if write is write_vw else read_dsjson
    assert_same(read(tmp_path / "log", classes=log.classes, features=fine.feature_names), fine, offered=False)
