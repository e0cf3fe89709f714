"""What make says and does before anything is installed: in a folder whose .venv is made of scripts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"
INHERITED = (
    "PYTHON",
    "DATA",
    "LABEL",
    "NOISEWISE_DATA",
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
)  # from a make that runs these tests
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def folder(tmp_path):
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / "pyproject.toml").touch()
    script(tmp_path / "other", "echo Python 3.12.1")
    script(tmp_path / "same", "echo Python 3.11.7")
    script(tmp_path / ".venv/bin/python", "echo Python 3.11.7")
    script(tmp_path / ".venv/bin/noisewise", "echo audited")
    for name in ("ready-pip", "ready-run"):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


def script(path, line):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def make(folder, *given):
    theirs = {name: value for name, value in os.environ.items() if name not in INHERITED}
    return subprocess.run(["make", "-s", *given], cwd=folder, env=theirs, capture_output=True, text=True)


def make_run(folder, *given):
    ran = make(folder, "run", *given)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "audited\n"
    return ran.stderr


@pytest.mark.parametrize("python", ["./other", "./absent"])
def test_another_python_than_that_of_the_environment_is_said_not_to_be_used(folder, python):
    told = make_run(folder, f"PYTHON={python}")
    assert told == f"PYTHON={python} is not used: .venv was made with Python 3.11.7; make clean, and it is made anew\n"


@pytest.mark.parametrize("given", [(), ("PYTHON=./same",)], ids=["none", "same"])
def test_no_python_or_the_same_is_nothing_to_talk_about(folder, given):
    assert make_run(folder, *given) == ""


def test_benchmarks_without_data_end_before_anything_is_installed(folder):
    ran = make(folder, "bench")
    assert ran.returncode != 0
    assert ran.stderr.startswith("make bench reads data sets that scikit-learn does not bring: set NOISEWISE_DATA=")
    assert not (folder / ".venv/ready-test").exists()


def test_benchmarks_bring_what_their_scripts_import(folder):
    wanted = make(folder, "-n", "bench", "NOISEWISE_DATA=data").stdout
    assert '".[serve,cluster,experiments]" --group test' in wanted
    assert '".[torch]" --group bench' in wanted
