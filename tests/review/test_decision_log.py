"""The log of decisions: it only grows, and a process that dies while it writes loses nothing that was stored."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from noisewise.review.decision_log import Decision, DecisionLog

ONE = Decision(5, "cat", "dog", "suggestion", "dog", "ann", "2026-01-01T00:00:00+00:00")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decisions.jsonl"


def test_the_last_decision_that_was_not_taken_back_stands(path):
    log = DecisionLog(path)
    assert log.standing(5) is None
    log.append(ONE)
    log.append(replace(ONE, action="keep", decision="cat"))
    assert log.standing(5).decision == "cat"
    log.append(replace(ONE, action="undo", decision=""))
    assert log.standing(5).decision == "dog"
    log.append(replace(ONE, action="undo", decision=""))
    log.append(replace(ONE, action="undo", decision=""))  # there is nothing left to take back
    assert log.standing(5) is None
    assert log.decided == {}
    assert log.version(5) == len(path.read_text().splitlines()) == 5


def test_two_processes_read_what_the_other_appends(path):
    first, second = DecisionLog(path), DecisionLog(path)
    first.append(ONE)
    second.append(replace(ONE, row=6, reviewer="bob", decision="größer"))
    first.refresh()
    assert first.entries == second.entries == DecisionLog(path).entries
    assert [first.last_of(name).row for name in ("ann", "bob")] == [5, 6]
    assert first.last_of("eve") is None


@pytest.mark.parametrize("tail", [b'{"row": 7, "obs', b"\xff\x00", b'{"row": 7}', json.dumps({"row": 1}).encode()])
def test_an_incomplete_last_line_is_skipped_and_the_next_one_is_whole(path, tail):
    DecisionLog(path).append(ONE)
    with path.open("ab") as file:
        file.write(tail)
    log = DecisionLog(path)
    assert log.entries == [ONE]
    log.append(replace(ONE, row=8))
    assert [entry.row for entry in DecisionLog(path).entries] == [5, 8]
    assert [entry.row for entry in log.entries] == [5, 8]


WRITER = """
import sys
from pathlib import Path
from noisewise.review.decision_log import Decision, DecisionLog
log = DecisionLog(Path(sys.argv[1]))
for row in range(len(log.entries), 10**6):
    log.append(Decision(row, "a" * 200, "b", "keep", "a", "ann", ""))
    print(row, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX")
def test_what_was_acknowledged_before_a_kill_is_there(path):
    acknowledged = -1
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(20):
            acknowledged = int(writer.stdout.readline())
        time.sleep(0.01)
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout if line.endswith("\n"))])
        writer.wait()
        writer.stdout.close()
        rows = [entry.row for entry in DecisionLog(Path(path)).entries]
        assert rows == list(range(len(rows)))
        assert len(rows) > acknowledged
