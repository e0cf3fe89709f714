"""`noisewise log check`."""

import json


def lines(*probabilities):
    events = [
        {
            "_label_cost": -(number % 2),
            "_label_probability": probability,
            "_labelIndex": 0,
            "EventId": str(number),
            "c": {"_multi": [{}, {}]},
        }
        for number, probability in enumerate(probabilities)
    ]
    return "".join(json.dumps(event) + "\n" for event in events)


def test_a_sound_log_is_summarised(run, tmp_path):
    (tmp_path / "log.json").write_text(lines(0.5, 0.5, 0.5, 0.5))
    done = run("log", "check", "log.json", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "4 rounds in dsjson",
        "propensities from 0.5 to 0.5",
        "rewards from 0 to 1",
        "mean reward 0.5 in the first half, 0.5 in the second",
    ]
    assert "no problems found" in done.stderr


def test_problems_set_the_exit_code(run, tmp_path):
    (tmp_path / "log.json").write_text(lines(0.5, 0.5, 2.0, 0.5))
    done = run("log", "check", "log.json", cwd=tmp_path)
    assert done.returncode == 1
    assert "problem: 1 of 4 rounds can not be read, such as log.json, line 3: a probability is 2" in done.stdout
    found = json.loads(run("log", "check", "log.json", "--json", cwd=tmp_path).stdout)
    assert (found["rounds"], found["unreadable"]) == (3, 1)


def test_what_is_no_log_is_refused(run, tmp_path):
    (tmp_path / "empty").write_text("")
    assert run("log", "check", "empty", cwd=tmp_path).stderr == "noisewise: the log is empty\n"
    assert run("log", "check", "absent", cwd=tmp_path).returncode == 2
