import io
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback_logs import COSTS, assert_same, offered_log, parsed_label, refusal, some_log, vw_labels, written
from noisewise.online.logs.dsjson import iter_dsjson, read_dsjson, write_dsjson
from noisewise.online.logs.logged_round import Choice, LoggedRound


@pytest.mark.parametrize("cost", COSTS)
def test_dsjson_round_trips_exactly(cost):
    log = offered_log()
    assert_same(read_dsjson(written(write_dsjson, log, cost=cost), cost=cost), log)


def test_dsjson_of_a_log_where_all_was_offered():
    log = some_log(sparse=True, ids=[str(number) for number in range(40)])
    read = read_dsjson(written(write_dsjson, log), classes=log.classes, features=4)
    assert_same(read, log, offered=False)


PERSONALIZER = {
    "_label_cost": -1,
    "_label_probability": 0.8166667,
    "_label_Action": 2,
    "_labelIndex": 1,
    "o": [{"v": 1.0, "EventId": "e1", "ActionTaken": False}],
    "Timestamp": "2021-02-04T16:31:29.2460000Z",
    "Version": "1",
    "EventId": "e1",
    "a": [2, 3, 1],
    "c": {
        "_synthetic": False,
        "User": {"_age": 0, "vip": True, "guest": False, "visits": 4},
        "Geo": {"country": "Italy", "at": {"lat": 41.9}},
        "numbers": [4, 5.5],
        "FromUrl": [{"time": "noon"}, {"time": "noon"}],
        "nothing": None,
        "_multi": [{"_tag": "x", "i": {"constant": 1}, "j": [{"title": 0.5}]}, {"_tag": "y"}, {"_tag": "z"}],
    },
    "p": [0.8166667, 0.1, 0.0833333],
    "VWState": {"m": "N/A"},
}


def test_a_personalizer_line_is_read():
    one = next(iter_dsjson([json.dumps(PERSONALIZER)]))
    assert (one.action, one.feedback, one.probability, one.id) == ("y", 1, 0.8166667, "e1")
    assert one.features == {
        "User^vip": 1.0,
        "User^visits": 4,
        "Geo^country=Italy": 1.0,
        "Geo.at^lat": 41.9,
        "numbers^0": 4,
        "numbers^1": 5.5,
        "FromUrl^time=noon": 2.0,
    }
    assert one.offered == (
        Choice("x", {"i^constant": 1, "j^title": 0.5}, 0.0833333),
        Choice("y", {}, 0.8166667),
        Choice("z", {}, 0.1),
    )
    assert next(iter_dsjson(written(write_dsjson, [one]))) == one


def test_actions_without_tags_are_their_positions():
    event = {**PERSONALIZER, "c": {"_multi": [{"i": {"a": 1}}, {}, {}]}}
    assert next(iter_dsjson([json.dumps(event)])).action == 2
    assert next(iter_dsjson([json.dumps(event)], classes=["p", "q", "r"])).action == "q"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"_label_probability": 0}, "line 1: a probability is 0"),
        ({"_label_cost": -0.5}, "line 1: the cost is -0.5"),
        ({"_label_cost": "x"}, "line 1: _label_cost is 'x'"),
        ({"_label_cost": 1}, "line 1: the cost is 1; .* pass cost='1-reward'"),
        ({"_labelIndex": 0}, "line 1: .* agree"),
        ({"_labelIndex": 3, "_label_Action": 4}, "line 1: action 4 was played, of 3"),
        ({"_labelIndex": 0.5, "_label_Action": 1.5}, "line 1: action 1.5"),
        ({"a": 3}, "line 1: a is 3, not a list"),
        ({"p": ["x"]}, "line 1: p is 'x', not a number"),
        ({"c": {"a": 1}}, "line 1: _multi"),
        ({"c": {"_slots": [], "_multi": [{}]}}, "line 1: _slots"),
        ({"c": {"a": math.nan, "_multi": [{}, {}]}}, "line 1: feature 'a' is nan"),
        ({"c": None}, 'line 1: there is no decision .* missing="skip"'),
        ({"pdrop": -0.1}, "line 1: a round was dropped with probability -0.1"),
        ({"pdrop": 1}, "line 1: a round was dropped with probability 1.0 .* below 1"),
        ({"pdrop": ""}, "line 1: pdrop is '', not a number"),
        ({"pdrop": True}, "line 1: pdrop is True, not a number"),
        ({"_skipLearn": "true"}, "line 1: _skipLearn is 'true'; it is true or false"),
        ({"_skipLearn": 0}, "line 1: _skipLearn is 0; it is true or false"),
    ],
)
def test_bad_events_say_where_and_what(change, message):
    with pytest.raises(ValueError, match=message):
        read_dsjson([json.dumps({**PERSONALIZER, **change})])


def test_what_is_no_event_is_refused_or_skipped():
    with pytest.raises(ValueError, match="line 1: this is not JSON"):
        read_dsjson(["{"])
    with pytest.raises(ValueError, match="line 1: a line must hold an object"):
        read_dsjson(["[1]"])
    dangling = json.dumps({"RewardValue": 1.0, "EventId": "late"})
    assert len(list(iter_dsjson([dangling, "", json.dumps(PERSONALIZER)], missing="skip"))) == 1


THINNED = [
    {},
    {"_skipLearn": True},
    {"pdrop": 0.5, "_skipLearn": False},
    {"pdrop": 0.75},
    {"pdrop": 0},
    {"pdrop": None},
]


def thinned_lines():
    return [json.dumps({**PERSONALIZER, **more}) for more in THINNED]


def test_events_with_skip_learn_are_left_out_with_or_without_feedback():
    hidden = json.dumps({"_skipLearn": True, "EventId": "never shown", "c": PERSONALIZER["c"]})
    assert len(read_dsjson([hidden, json.dumps(PERSONALIZER), hidden])) == 1
    with pytest.raises(ValueError, match="no rounds"):
        read_dsjson([hidden])


def test_a_round_stands_for_those_that_were_dropped_before_and_after_writing():
    with pytest.warns(UserWarning, match="2 of 5 rounds stand for others .* log.repeated"):
        log = read_dsjson(thinned_lines())
    assert log.dropped.tolist() == [0, 0.5, 0.75, 0, 0]
    assert log.weights.tolist() == [1, 2, 4, 1, 1]
    with pytest.warns(UserWarning, match="2 of 5"):
        again = read_dsjson(written(write_dsjson, log))
    assert_same(again, log)
    whole = read_dsjson(thinned_lines()[:1])
    assert whole.dropped is None
    assert not any("pdrop" in line for line in written(write_dsjson, whole))


def test_vowpal_wabbit_counts_skipped_and_dropped_events_alike(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    rounds = list(iter_dsjson(thinned_lines()))
    (tmp_path / "log.json").write_text("\n".join(thinned_lines()) + "\n")
    write_dsjson(rounds, tmp_path / "again.json")
    for name in ("log.json", "again.json"):
        workspace = vowpalwabbit.Workspace(f"--cb_adf --dsjson --quiet -d {tmp_path / name}")
        workspace.run_parser()
        assert workspace.get_weighted_examples() == sum(1 / (1 - one.dropped) for one in rounds) == 9
        workspace.finish()


@pytest.mark.parametrize("features", [{"_a": 1.0}, {"a": 1.0, "a^b": 2.0}, {"a^b": 2.0, "a": 1.0}, {"a": math.inf}])
def test_what_json_can_t_hold_is_refused(features):
    with pytest.raises(ValueError, match="round 1"):
        write_dsjson([LoggedRound(features, "x", 1, 0.5, (Choice("x"),))], io.StringIO())


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)


@given(st.sampled_from([*PERSONALIZER, "pdrop", "_skipLearn", "_multi", "User"]), JSON)
@settings(max_examples=80, deadline=None)
def test_any_event_is_read_or_refused_with_its_line(key, value):
    event = {**PERSONALIZER, "c": dict(PERSONALIZER["c"])}
    (event["c"] if key in ("_multi", "User") else event)[key] = value
    message = refusal(lambda: list(iter_dsjson([json.dumps(event)])))
    assert not message or message.startswith("line 1: ")


def test_vowpal_wabbit_reads_dsjson_as_it_was_meant():
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    workspace = vowpalwabbit.Workspace("--cb_explore_adf --dsjson --quiet --noconstant")
    parsed = [vw_labels(workspace, line) for line in written(write_dsjson, offered_log())]
    first, second = (labels[1:] for labels, _ in parsed)
    assert first[0] == second[1] == ""
    assert parsed_label(first[1]) == (2, -1.0, 0.5)
    assert parsed_label(second[0]) == (1, 0.0, 1 / 3)
    for line in written(write_dsjson, some_log(n_rounds=5)):
        assert len(vw_labels(workspace, line)[0]) == 4
    workspace.finish()
