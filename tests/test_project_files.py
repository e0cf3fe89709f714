"""Files around the project (continuous integration, image, recipe, constraints) agree with pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def text(name):
    return (ROOT / name).read_text()


def packages(requirements):
    return {re.match(r"[\w-]+", one)[0].lower() for one in requirements}


def test_every_declared_python_is_tested():
    declared = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert re.search(r"python: \[(.*)\]", text(".github/workflows/test.yml"))[1] == ", ".join(
        f'"{one}"' for one in declared
    )


def test_the_recipe_has_the_dependencies_and_the_version_of_the_project():
    recipe = text("recipe/meta.yaml")
    listed = re.search(r"  run:\n(.*?)\n\n", recipe, re.DOTALL)[1]
    found = {line.strip(" -").replace(" ", "") for line in listed.splitlines()} - {
        f"python{PROJECT['requires-python']}"
    }
    assert found == {*PROJECT["dependencies"], *EXTRAS["cli"]}
    assert f'version = "{PROJECT["version"]}"' in recipe


def test_the_constraints_pin_what_the_service_needs_and_name_no_host():
    pinned = [line for line in text("constraints.txt").splitlines() if not line.startswith("#")]
    assert packages(pinned) >= packages([*PROJECT["dependencies"], *EXTRAS["cli"], *EXTRAS["serve"]])
    assert all(re.fullmatch(r"[\w-]+==[\w.]+( ; .*)?", line) for line in pinned)


def test_the_image_is_made_of_files_that_reach_it():
    copied = [
        name
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text("Dockerfile"), re.MULTILINE)
        for name in line.split()
    ]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    assert {f"!{name}" for name in copied} <= set(text(".dockerignore").splitlines())


@pytest.mark.parametrize("package", ["typer", "rich", "jinja2", "polars"])
def test_the_command_and_the_report_need_no_extra(package):
    assert package in packages(PROJECT["dependencies"])
