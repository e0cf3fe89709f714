"""The program as a whole: quick to start, and one sentence for bad input."""

import subprocess
import sys
from io import StringIO

import pytest

from noisewise.cli.talk import working


def test_version_and_help_are_printed(run, tmp_path):
    assert run("--version", cwd=tmp_path).stdout.strip().count(".") == 2
    assert "audit" in run("--help", cwd=tmp_path).stdout


def test_the_module_runs_as_a_program(tmp_path):
    command = [sys.executable, "-m", "noisewise.cli", "audit", "nowhere.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "noisewise: there is no file 'nowhere.csv'\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("noisewise audit iris.csv --label sp", "species"),
        ("noisewise audit iris.parquet --seed 1 --annotator g", "grower"),
        ("noisewise audit iris.csv --model RobustR", "RobustRidgeClassifier"),
        ("noisewise stress iris.csv --ki", "--kind"),
    ],
)
def test_tab_offers_columns_and_classifiers(run, iris, monkeypatch, words, offered):
    monkeypatch.setenv("_NOISEWISE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert offered in run(cwd=iris).stdout.split()


def test_a_polite_kill_leaves_nothing_behind(iris):
    command = [sys.executable, "-m", "noisewise.cli", "audit", "iris.csv", "--label", "species", "--out", "there"]
    process = subprocess.Popen(command, cwd=iris, stderr=subprocess.PIPE, text=True)
    assert "auditing" in process.stderr.readline()
    process.terminate()
    assert process.wait() == 143
    process.stderr.close()
    assert not (iris / "there").exists()


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_sees_progress(monkeypatch, colour):
    monkeypatch.setenv("TERM", "xterm")
    (monkeypatch.delenv if colour else monkeypatch.setenv)("NO_COLOR", *([False] if colour else ["1"]))
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with working("counting sheep") as progress:
        progress(3, 4)
    assert "counting sheep" in terminal.getvalue()
    assert ("\x1b[3" in terminal.getvalue()) == colour


def test_a_pipe_sees_one_line(capsys):
    with working("counting sheep") as progress:
        progress(3, 4)
    assert capsys.readouterr().err == "counting sheep ...\n"
