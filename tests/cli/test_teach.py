"""The command `noisewise teach`."""

import subprocess
import sys

from typer.testing import CliRunner

import noisewise.teach.server as served
from noisewise.cli import app


def test_a_lesson_is_served_and_its_file_named(monkeypatch, tmp_path):
    monkeypatch.setattr(served.LessonServer, "serve_forever", lambda self: None)
    done = CliRunner().invoke(app, ["teach", "circle", "line", "--no-browser", "-o", str(tmp_path / "lesson.jsonl")])
    assert done.exit_code == 0, done.output
    assert "0 rounds so far" in done.stderr
    assert "http://127.0.0.1:" in done.stderr


def test_one_name_is_refused_with_a_sentence():
    done = subprocess.run([sys.executable, "-m", "noisewise.cli", "teach", "one"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "two or more different ones are needed" in done.stderr


def test_the_simulated_teacher_prints_a_table(monkeypatch):
    import noisewise.teach

    asked = []

    def found(data):
        asked.append(data)
        return [
            {"learner": "ucwl", "teacher errs": error, "first": 0.5, "last": 0.25, "all": 0.375} for error in (0, 0.1)
        ]

    monkeypatch.setattr(noisewise.teach, "simulate_teacher", found)
    done = CliRunner().invoke(app, ["teach", "--simulate", "--data", "optdigits"])
    assert asked == ["optdigits"]
    assert done.stdout.splitlines() == [
        "| learner | 0 % | 10 % |",
        "|---|---|---|",
        "| ucwl | 0.500 / 0.250 / 0.375 | 0.500 / 0.250 / 0.375 |",
    ]
