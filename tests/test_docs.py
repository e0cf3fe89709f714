"""Every Python block of the README and the documentation runs and is narrow; the API page is complete."""

import importlib
import inspect
import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import noisewise

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^```(?:python|py|console|text|ini|json|yaml|toml)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
WIDTH = 88  # columns: what a page shows without a scroll bar


@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_block_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_frames_are_those_of_the_installation_unless_pandas_is_imported(page):
    code = "\n".join(BLOCK.findall(page.read_text()))
    assert "import pandas" in code or not re.search(r"as_frame=True|from_pandas|to_pandas", code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_fits_the_page(page):
    lines = [line for block in CODE.findall(page.read_text()) for line in block.splitlines()]
    assert not [line for line in lines if len(line) > WIDTH]


def _is_api(thing):
    return inspect.isclass(thing) or inspect.isfunction(thing)


def _public(module):
    """Public classes and functions of a module and its public submodules, by name."""
    names = getattr(module, "__all__", None) or [
        name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__
    ]
    for name in names:
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            yield from _public(thing)
        elif _is_api(thing) and not name.startswith("_"):
            yield f"{module.__name__}.{name}", thing


def test_the_api_page_lists_every_public_name():
    without = set() if find_spec("torch") else {"noisewise.torch"}  # an extra
    listed, module = {}, ""
    for line in (ROOT / "docs" / "api.md").read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif module not in without and re.fullmatch(r"   [A-Za-z][\w.]*", line):
            path, _, name = f"{module}.{line.strip()}".rpartition(".")
            listed[f"{path}.{name}"] = getattr(importlib.import_module(path), name)  # an old name would warn
    packages = [one.name for one in pkgutil.iter_modules(noisewise.__path__) if not one.name.startswith("_")]
    packages.remove("cli")  # commands, described by `noisewise --help`
    modules = [importlib.import_module(name) for name in {f"noisewise.{one}" for one in packages} - without]
    missing = [name for one in [noisewise, *modules] for name, thing in _public(one) if thing not in listed.values()]
    assert not missing
    assert all(_is_api(thing) for thing in listed.values())
