import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback_logs import COSTS, assert_same, dense, offered_log, parsed_label, refusal, some_log, vw_labels, written
from noisewise.online.logs.logged_round import Choice, LoggedRound
from noisewise.online.logs.vw import iter_vw, read_vw, write_vw


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("sparse", [False, True])
def test_plain_text_round_trips_exactly(cost, sparse):
    log = some_log(sparse=sparse)
    read = read_vw(written(write_vw, log, cost=cost), cost=cost, classes=log.classes, features=4)
    assert_same(read, log)


@pytest.mark.parametrize("cost", COSTS)
def test_blocks_round_trip_exactly(cost):
    log = offered_log()
    read = read_vw(written(write_vw, log, layout="adf", cost=cost), layout="adf", cost=cost)
    assert_same(read, log, offered=False)
    without = [tuple(choice._replace(probability=None) for choice in one) for one in log.offered]
    assert read.offered == without


def test_a_log_where_all_was_offered_becomes_blocks_with_the_labels_as_features():
    log = some_log(classes=(0, 1, 2))
    read = read_vw(written(write_vw, log, layout="adf"), layout="adf", classes=[0, 1, 2], features=4)
    assert_same(read, log, offered=False)
    assert read.offered[0] == tuple(Choice(label, {f"action^{label}": 1.0}) for label in (0, 1, 2))


def test_the_manual_s_own_lines_are_read():
    lines = ["1:1:0.4 | a c  ", "3:0:0.2 | b d", "", "4:1:0.5 | a b c", "2:1:0.3 | b c", "3:1:0.7 | a d"]
    log = read_vw(lines, cost="1-reward")
    assert log.actions.tolist() == [1, 3, 4, 2, 3]
    assert log.classes.tolist() == [1, 2, 3, 4]
    assert log.feedback.tolist() == [0, 1, 0, 0, 0]
    assert log.probabilities.tolist() == [0.4, 0.2, 0.5, 0.3, 0.7]
    assert log.feature_names == ["a", "c", "b", "d"]
    assert dense(log.X)[2].tolist() == [1, 1, 1, 0]


def test_namespaces_weights_words_tags_and_repeats_are_read():
    line = "1 2:-1:0.5 3 'ev|user:2 age:1.5 city:rome\t|| plain plain:2 zero:0 a^b |user age"
    one = next(iter_vw([line]))
    assert one.features == {"user^age": 4.0, "user^city:rome": 2.0, "plain": 3.0, "^a^b": 1.0}
    assert (one.action, one.feedback, one.id) == (2, 1, "ev")
    assert [choice.action for choice in one.offered] == [1, 2, 3]
    assert next(iter_vw(written(write_vw, [one._replace(features={"user^city:rome": 1.0, "^a^b": 2.5})]))) == (
        one._replace(features={"user^city:rome": 1.0, "^a^b": 2.5})
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2:-1:0 | a", "line 2: a probability is 0"),
        ("2:-1:1.5 | a", "line 2: a probability is 1.5"),
        ("2:-1:nan | a", "line 2: the probability is 'nan'"),
        ("2:1:0.5 | a", "line 2: the cost is 1.0; .* pass cost='1-reward'"),
        ("2:0.5:0.5 | a", "line 2: the cost is 0.5"),
        ("2:x:0.5 | a", "line 2: the cost is 'x'"),
        ("2:-1 | a", "line 2: the label is '2:-1'; action:cost:probability"),
        ("0:-1:0.5 | a", "line 2: the action is 0"),
        ("9:-1:0.5 | a", "line 2: the action is 9; .* from 1 to 3"),
        ("x:-1:0.5 | a", "line 2: the action is 'x'"),
        ("1:-1:0.5 2:0:0.5 | a", "line 2: more than one action"),
        ("| a", 'line 2: there is no action:cost:probability: .* missing="skip"'),
        ("2:-1:0.5| a", "line 2: '2:-1:0.5' touches the bar"),
        ("2:-1:0.5 | a:nan", "line 2: feature 'a' is nan"),
        ("2:-1:0.5 | a:1:2", "line 2: 'a:1:2' is not a feature"),
        ("2:-1:0.5 | :1", "line 2: ':1' is not a feature"),
        ("2:-1:0.5 |n:x a", "line 2: the weight of namespace 'n' is 'x'"),
        ("2:-1:0.5 |n^m a", "line 2: namespace .* contains"),
        ("shared | a", "line 2: .* belongs to layout"),
    ],
)
def test_bad_lines_say_where_and_what(line, message):
    with pytest.raises(ValueError, match=message):
        read_vw(["1:-1:0.5 | a", line], classes=["a", "b", "c"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["shared | a", "| x"], "line 1: there is no action:cost"),
        (["shared | a"], "line 1: the round has no actions"),
        (["| x", "0:-1:0.5 | y", "shared | a", "| x"], "line 1: .shared. is only for the first line"),
        (["", "0:-1:0.5 | x", "1:0:0.5 | y"], "line 2: more than one action"),
        (["| x", "0:-1:0.5 | y:inf"], "line 2: feature 'y' is inf"),
    ],
)
def test_bad_blocks_say_where_and_what(lines, message):
    with pytest.raises(ValueError, match=message):
        read_vw(lines, layout="adf")


def test_rounds_without_feedback_are_skipped_on_request():
    assert [one.action for one in iter_vw(["| a", "2:-1:0.5 | a", "1 2 | b"], missing="skip")] == [2]
    assert [one.action for one in iter_vw(["| a", "", "| b", "0:0:1 | c"], layout="adf", missing="skip")] == [2]


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (LoggedRound({"a b": 1.0}, 1, 1, 0.5), "round 1: feature 'a b' can't be written"),
        (LoggedRound({"a:2": 1.0}, 1, 1, 0.5), "round 1: feature 'a:2' can't be written"),
        (LoggedRound({"a:b": 2.0}, 1, 1, 0.5), "round 1: feature 'a:b' can't be written"),
        (LoggedRound({"a": math.nan}, 1, 1, 0.5), "round 1: feature 'a' can't be written"),
        (LoggedRound({"n m^a": 1.0}, 1, 1, 0.5), "round 1: namespace 'n m'"),
        (LoggedRound({}, "x", 1, 0.5), "round 1: the action is 'x'; .* classes="),
        (LoggedRound({}, 1, 1, 0.5, id="a b"), "round 1: 'a b' can't be written as a tag"),
        (LoggedRound({}, 1, 1, 0.5, (Choice(1, {"f": 1.0}),)), "round 1: the actions have features"),
        (LoggedRound({}, 1, 1, 0.5, dropped=0.9), "round 1: .* dropped with probability 0.9, .* log.repeated"),
    ],
)
def test_what_text_can_t_hold_is_refused(one, message):
    with pytest.raises(ValueError, match=message):
        write_vw([one], io.StringIO())


def test_unknown_options_are_refused_at_once():
    for options, message in (
        ({"layout": "ccb"}, "layout"),
        ({"cost": "reward"}, "cost"),
        ({"missing": "no"}, "missing"),
    ):
        with pytest.raises(ValueError, match=message):
            iter_vw([], **options)
    with pytest.raises(ValueError, match="no rounds"):
        read_vw([])


PRINTED = st.characters(codec="utf-8", exclude_characters=" \t\r\n|:^", exclude_categories=["Cc", "Cs"])
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\r\n|:^", exclude_categories=["Cc", "Cs"]), min_size=1
)
VALUES = st.floats(allow_nan=False, allow_infinity=False, width=64).filter(bool)
ROUNDS = st.builds(
    LoggedRound,
    st.dictionaries(st.one_of(NAMES, st.builds("{}^{}".format, NAMES, NAMES)), VALUES, max_size=4),
    st.integers(1, 9),
    st.integers(0, 1),
    st.floats(1e-9, 1.0),
    st.just(()),
    st.one_of(st.none(), NAMES),
    st.just(0.0),
)


@given(st.lists(ROUNDS, max_size=4), st.sampled_from(COSTS))
@settings(max_examples=60, deadline=None)
def test_any_rounds_survive_plain_text(rounds, cost):
    file = io.StringIO()
    write_vw(rounds, file, cost=cost)
    assert list(iter_vw(file.getvalue().split("\n"), cost=cost)) == rounds


@given(st.text(max_size=40), st.sampled_from(["plain", "adf"]))
@settings(max_examples=80, deadline=None)
def test_any_text_is_read_or_refused_with_its_line(text, layout):
    message = refusal(lambda: list(iter_vw([text], layout=layout)))
    assert not message or message.startswith("line 1: ")


@pytest.mark.parametrize("cost", COSTS)
def test_vowpal_wabbit_reads_plain_text_as_it_was_meant(cost):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    log = some_log(n_rounds=15, ids=[f"r{number}" for number in range(15)])
    workspace = vowpalwabbit.Workspace("--cb 3 --quiet --noconstant")
    costs = {"-reward": -log.feedback, "1-reward": 1 - log.feedback}[cost]
    for number, line in enumerate(written(write_vw, log, cost=cost)):
        labels, n_features = vw_labels(workspace, line)
        assert parsed_label(labels[0]) == (log.codes[number] + 1, costs[number], log.probabilities[number])
        assert n_features[0] == np.count_nonzero(log.X[number])
    workspace.finish()


def test_vowpal_wabbit_reads_blocks_as_they_were_meant():
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    workspace = vowpalwabbit.Workspace("--cb_adf --quiet --noconstant")
    blocks = "\n".join(written(write_vw, offered_log(), layout="adf")).split("\n\n")
    parsed = [vw_labels(workspace, block.strip("\n").split("\n")) for block in blocks if block.strip()]
    first, second = (labels[1:] for labels, _ in parsed)
    assert first[0] == second[1] == ""
    assert parsed_label(first[1]) == (0, -1.0, 0.5)
    assert parsed_label(second[0]) == (0, 0.0, 1 / 3)
    assert [n_features for _, n_features in parsed] == [[2, 1, 0], [1, 2, 0]]  # shared line, then actions
    plain = "\n".join(written(write_vw, some_log(n_rounds=3), layout="adf")).split("\n\n")
    assert all(len(vw_labels(workspace, block.strip("\n").split("\n"))[0]) == 4 for block in plain if block.strip())
    workspace.finish()
