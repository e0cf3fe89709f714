"""The papers that can be reproduced: every folder of `experiments.papers` with a `declaration` is one."""

from __future__ import annotations

import json
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import noisewise.experiments.papers as package
from noisewise.experiments.harness.spec import Experiment, Paper


def paper_names() -> list[str]:
    """Names of the papers.

    >>> "gao" in paper_names()
    True
    """
    return sorted({found.parent.name for root in package.__path__ for found in Path(root).glob("*/declaration.py")})


def find_paper(name: str) -> Paper:
    """A paper by its name, with or without underscores."""
    plain = name.replace("-", "_")
    if plain not in paper_names():
        near = get_close_matches(plain, paper_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(paper_names())}"
        raise ValueError(f"there is no paper {name!r}; {hint}")
    paper = import_module(f"{package.__name__}.{plain}.declaration").PAPER
    assert isinstance(paper, Paper)
    return paper


def printed_numbers(name: str) -> dict[str, Any]:
    """What the paper prints, from `printed.json` beside its declaration; empty without such a file."""
    plain = name.replace("-", "_")
    path = Path(str(import_module(f"{package.__name__}.{plain}").__file__)).parent / "printed.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def keyed(paper: Paper, name: str | None = None) -> dict[str, Experiment]:
    """A paper's experiments as "paper/name", or the one of that name."""
    return {f"{paper.name}/{experiment.name}": experiment for experiment in paper.find(name)}
