"""The log doctor finds what is wrong with a log, and nothing where nothing is."""

import json

import numpy as np
import pytest

from noisewise.online import Choice, LoggedRound, check_log, write_dsjson, write_vw


def rounds(n=2000, seed=0, reward=0.3):
    """Rounds of a policy that plays the first of three actions with probability .6, the others with .2."""
    rng = np.random.default_rng(seed)
    propensities = (0.6, 0.2, 0.2)
    made = []
    for number in range(n):
        played = int(rng.choice(3, p=propensities))
        offered = tuple(Choice(f"a{k}", {"x": float(k + 1)}, propensities[k]) for k in range(3))
        context = {"age": float(rng.integers(1, 9))}
        made.append(
            LoggedRound(
                context, f"a{played}", float(rng.random() < reward), propensities[played], offered, f"e{number}"
            )
        )
    return made


def written(made, tmp_path, kind="dsjson"):
    path = tmp_path / "log"
    write_dsjson(made, path) if kind == "dsjson" else write_vw(made, path, layout="adf")
    return path


@pytest.mark.parametrize("kind", ["dsjson", "adf"])
def test_a_sound_log_has_no_problems(kind, tmp_path):
    check = check_log(written(rounds(), tmp_path, kind))
    assert (check.format, check.rounds, check.problems, check.notes) == (kind, 2000, [], [])
    assert check.propensities == (0.2, 0.6)
    assert check.rewards == (0.0, 1.0)
    assert check.uniform_weight == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("kind", ["dsjson", "adf"])
def test_duplicates_are_counted(kind, tmp_path):
    made = rounds(50)
    assert check_log(written([*made, made[3], made[3]], tmp_path, kind)).duplicates == 2


def test_wrong_propensities_are_found(tmp_path):
    wrong = [one._replace(probability=1 / 3) for one in rounds()]
    right = [one._replace(probability=0.9 if one.action == "a0" else 0.05) for one in rounds()]
    assert check_log(written(wrong, tmp_path, "adf")).problems == []  # they average 1
    assert "average" in check_log(written(right, tmp_path, "adf")).problems[0]
    assert "do not sum to 1" in check_log(written(_halved(rounds(100)), tmp_path)).problems[0]


def drawn(propensities, stated, n=2000):
    """Rounds whose actions are drawn with some probabilities, and logged with others."""
    rng = np.random.default_rng(3)
    offered = tuple(Choice(f"a{k}", {"x": float(k)}, stated[k]) for k in range(3))
    actions = rng.choice(3, size=n, p=propensities).tolist()
    return [LoggedRound({"u": 1.0}, f"a{k}", float(rng.random() < 0.5), stated[k], offered) for k in actions]


@pytest.mark.parametrize("kind", ["dsjson", "adf"])
def test_rarely_played_actions_are_noted_and_no_problem(kind, tmp_path):
    propensities = (1 - 2e-9, 1e-9, 1e-9)  # as of a policy that has learnt which one is best
    check = check_log(written(drawn(propensities, propensities), tmp_path, kind))
    assert check.problems == []
    assert "hardly ever played" in check.notes[0]


def test_propensities_that_are_too_high_are_found_where_all_are_known(tmp_path):
    even = [1 / 3, 1 / 3, 1 / 3]
    made = [one._replace(probability=0.9, offered=_played_at(one, 0.9)) for one in drawn(even, even)]
    assert "are not those the actions were drawn with" in check_log(written(made, tmp_path)).problems[0]


def _played_at(one, probability):
    rest = (1 - probability) / 2
    return tuple(
        choice._replace(probability=probability if choice.action == one.action else rest) for choice in one.offered
    )


def _halved(made):
    return [one._replace(offered=tuple(choice._replace(probability=0.1) for choice in one.offered)) for one in made]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"_label_probability": 0}, "a probability is 0"),
        ({"_label_probability": 1.5}, "a probability is 1.5"),
        ({"_labelIndex": 7, "_label_Action": 8}, "action 8 was played, of 3"),
        ({"_label_cost": "x"}, "_label_cost is 'x'"),
    ],
)
def test_rounds_that_can_not_be_read_are_counted_and_shown(change, sentence, tmp_path):
    lines = written(rounds(20), tmp_path).read_text().splitlines()
    lines[4] = json.dumps({**json.loads(lines[4]), **change})
    check = check_log(lines)
    assert (check.rounds, check.unreadable) == (19, 1)
    assert "1 of 20 rounds can not be read, such as line 5" in check.problems[0]
    assert sentence in check.problems[0]


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_table_is_no_log_and_what_makes_one_of_it_is_said(between, tmp_path):
    rows = [("x", "action", "probability", "reward"), ("0.1", "red", "0.5", "1")]
    (tmp_path / "clicks.csv").write_text("\n".join(between.join(row) for row in rows))
    with pytest.raises(ValueError, match=r"is a table that begins 'x.*FeedbackLog takes its columns"):
        check_log(tmp_path / "clicks.csv")


def test_rewards_that_were_not_joined_are_counted(tmp_path):
    lines = written(rounds(20), tmp_path).read_text().splitlines()
    event = json.loads(lines[0])
    del event["_label_cost"]
    check = check_log([json.dumps(event), *lines[1:]])
    assert check.without_reward == 1
    assert "1 of 20 rounds has no reward" in check.problems[0]


def test_drift_is_noted(tmp_path):
    later = [one._replace(features={**one.features, "new": 1.0}, id=f"l{one.id}") for one in rounds(reward=0.6)]
    check = check_log(written(rounds() + later, tmp_path))
    assert check.problems == []
    assert "the mean reward drifts, from 0.291" in check.notes[0]
    assert "'new' is in 2,000 rounds of the second half" in check.notes[1]


def test_logs_from_which_nothing_can_be_learnt(tmp_path):
    certain = [one._replace(probability=1.0, offered=(), feedback=1.0) for one in rounds(9)]
    write_vw(certain, tmp_path / "log", classes=["a0", "a1", "a2"])
    check = check_log(tmp_path / "log")
    assert check.format == "plain"
    assert "every propensity is 1" in check.notes[0]
    assert "every reward is 1" in check.problems[0]
    with pytest.raises(ValueError, match="the log is empty"):
        check_log([])
    with pytest.raises(ValueError, match="format is 'csv'"):
        check_log(["x"], format="csv")
