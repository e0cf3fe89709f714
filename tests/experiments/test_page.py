"""Verdicts follow the stated rules, and pages hold every compared number."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import noisewise.experiments as library
import toy_paper
from noisewise.experiments import (
    Comparison,
    Entry,
    Figure,
    RowStore,
    Text,
    find_paper,
    paper_names,
    papers,
    printed_numbers,
)
from noisewise.experiments.harness.blocks import tally
from noisewise.experiments.harness.charts import Curve, bars, critical_difference, panels


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        (Entry((), ours=0.80, printed=0.85, std=0.05), "within the paper's std"),
        (Entry((), ours=0.79, printed=0.85, std=0.05, reason="few splits"), "differs: few splits"),
        (Entry((), ours=0.79, printed=0.85, std=0.05, verified=0.80, tolerance=0.01), "as verified, not as printed"),
        (Entry((), ours=0.79, printed=0.85, std=0.05, runs=4), "within the paper's std"),  # .05 * sqrt(2) = .071
        (Entry((), ours=0.79, printed=0.85, std=0.05, runs=40, reason="few columns"), "differs: few columns"),
        (Entry((), ours=0.313, error=0.005, verified=0.3, tolerance=0.01), "as verified"),  # .01 * sqrt(2) = .0141
        (Entry((), ours=0.316, error=0.5, verified=0.3, tolerance=0.01), "differs"),  # however large the error
        (Entry((), ours=0.31, error=0.5, verified=0.3, side="most"), "differs"),
        (
            Entry((), ours=0.86, printed=0.85, std=0.05, verified=0.8, side="most", reason="few splits"),
            "within the paper's std, but misses the verified number: few splits",
        ),
        (Entry((), ours=0.84, printed=0.85, printed_tolerance=0.02), "within tolerance"),
        (Entry((), ours=0.84, printed=0.85, std=0.02, verified=0.8, side="least"), None),
        (Entry((), ours=0.5, verified=0.4, tolerance=0.05, side="most"), "differs"),
        (Entry((), ours=0.3, verified=0.4, side="most"), "as verified"),
        (Entry((), ours=0.3, verified=0.4, side="least"), "differs"),
        (Entry((), ours=0.3), "—"),
        (Entry((), printed=0.3, reason="the set can't be had"), "not run: the set can't be had"),
        (Entry((), printed=0.3), "not run: not in this run"),
    ],
)
def test_verdicts_follow_the_rules(entry, verdict):
    assert entry.verdict == (verdict or "within the paper's std; as verified")


def test_numbers_too_small_for_the_digits_show_their_power_of_ten():
    entry = Entry(("a",), ours=0.00012, error=0.0, verified=0.5, tolerance=1e-9)
    (line,) = Comparison("", ["what"], [entry]).table().lines
    assert line == ["a", "0.500 ± 1.0e-09", "1.2e-04 ± 0.000", "-0.500", "differs"]


def test_a_tally_counts_what_ran_and_what_agrees():
    entries = [Entry((), ours=1.0, verified=1.0), Entry((), ours=2.0, verified=1.0), Entry((), verified=1.0)]
    alone = Entry((), ours=3.0)  # nothing to compare it with
    counts = tally([Comparison("", [], [*entries, alone]), Text("")])
    assert counts["ran"] == counts["agree"] + counts["differ"] + counts["unexplained"]
    assert (counts["cells"], counts["ran"], counts["verified"], counts["of verified"]) == (3, 2, 1, 2)
    assert (counts["agree"], counts["differ"], counts["unexplained"]) == (1, 0, 1)


def test_the_verified_number_decides_where_both_are_known_and_runs_are_shown():
    near_print = Entry(("a",), ours=0.86, printed=0.85, std=0.05, verified=0.8, side="most", runs=7)
    assert (near_print.agrees, replace(near_print, ours=0.7).agrees, replace(near_print, verified=None).agrees) == (
        False,
        True,
        True,
    )
    table = Comparison("", ["what"], [near_print, Entry(("b",))]).table()
    assert [line[table.header.index("runs")] for line in table.lines] == ["7", ""]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The sixth paper: its declaration and its printed numbers in a folder beside the others."""
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "printed.json").write_text('{"table-1": {"heads": 20000.0, "tails": 0.0}}')
    (folder / "declaration.py").write_text("from toy_paper import PAPER\n")
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path)])
    yield "toy"
    for name in ("toy", "toy.declaration"):
        sys.modules.pop(f"noisewise.experiments.papers.{name}", None)


def test_a_new_paper_is_one_folder(toy, tmp_path):
    assert toy in paper_names()
    paper, printed = find_paper(toy), printed_numbers(toy)
    store = RowStore(tmp_path / "rows")
    library.run(library.keyed(paper), store)
    parts = library.parts_of(paper, paper.experiments, store, printed)
    text, figures = library.to_markdown(paper, parts)
    heads = next(line for line in text.splitlines() if line.startswith("| heads"))
    tails = next(line for line in text.splitlines() if line.startswith("| tails"))
    assert "20000.000 ± 30.000" in heads
    assert tails.endswith("| differs |")
    assert "20 of the 20 cells of the full run, up to 5 repeats" in text
    assert "| all | 2 | 2 | 0 | 0 | 2 |" in text
    assert figures == {}
    page = json.loads(json.dumps(library.to_json(paper, parts)))
    (part,) = page["parts"]
    assert (page["summary"], part["name"]) == (library.summary(parts), "table-1")
    said, compared = part["blocks"]
    assert said["text"].startswith("20 of the 20 cells of the full run")
    assert [entry["labels"] for entry in compared["entries"]] == [["heads"], ["tails"]]
    assert [entry["verdict"] for entry in compared["entries"]] == ["differs", "differs"]


def test_pages_are_written_as_markdown_html_and_figures(tmp_path):
    drawing = panels({"a < b": {"one": Curve([1, 2], [3, 4])}}, "x", "y")
    parts = [(toy_paper.PAPER.experiments[0], [Text("a & b"), Figure("f", "a figure", drawing)])]
    paths = library.write(toy_paper.PAPER, parts, tmp_path / "pages")
    assert sorted(path.name for path in paths) == ["toy_paper-f.svg", "toy_paper.html", "toy_paper.md"]
    page = (tmp_path / "pages" / "toy_paper.html").read_text()
    assert "a &amp; b" in page
    assert page.count("<svg") == 1
    assert "![a figure](toy_paper-f.svg)" in (tmp_path / "pages" / "toy_paper.md").read_text()


def test_ticks_keep_their_digits_and_paths_are_short():
    drawing = panels({"a": {"one": Curve([0, 1], [0.62, 0.83])}}, "x", "y", limits=(0.62, 0.83))
    assert ">0.775</text>" in drawing
    assert not re.search(r'd="[^"]*\d\.\d{3}', drawing)


def test_figures_that_no_page_links_are_removed(tmp_path):
    (part,) = toy_paper.PAPER.experiments
    for names in (["one", "two"], ["two"]):
        blocks = [Figure(name, "a figure", panels({"a": {"b": Curve([1, 2], [3, 4])}}, "x", "y")) for name in names]
        library.write(toy_paper.PAPER, [(part, blocks)], tmp_path)
    assert [path.name for path in tmp_path.glob("*.svg")] == ["toy_paper-two.svg"]


def test_every_figure_beside_the_reproduced_pages_is_linked():
    folder = Path(__file__).parents[2] / "docs" / "papers" / "reproduced"
    linked = "".join(page.read_text(encoding="utf-8") for page in folder.glob("*.md"))
    assert [figure.name for figure in folder.glob("*.svg") if f"({figure.name})" not in linked] == []


PAGES = sorted((Path(__file__).parents[2] / "docs" / "papers" / "reproduced").glob("[!i]*.md"))  # but for the index


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_overview_of_a_reproduced_page_counts_its_verdicts(page):
    text = page.read_text(encoding="utf-8")
    overview = text.partition("| part |")[2].partition("\n\n")[0].splitlines()[2:]
    counts = [[int(cell) for cell in line.split("|")[2:7]] for line in overview]
    for compared, ran, agree, differ, unexplained in counts:
        assert compared >= ran == agree + differ + unexplained
    assert np.array_equal(counts[-1], np.sum(counts[:-1], axis=0))
    verdicts = re.findall(r"\| ([^|]+) \|$", text, re.MULTILINE)
    differ = sum(one.startswith("differs") or "but misses the verified number" in one for one in verdicts)
    assert differ == counts[-1][3] + counts[-1][4]


def test_one_table_alone_leaves_the_page_of_its_paper_as_it_is(tmp_path):
    one = toy_paper.PAPER.experiments[0]
    paper = library.Paper("toy_paper", "coins", [one, replace(one, name="table-2")])
    library.write(paper, [(part, [Text("all")]) for part in paper.experiments], tmp_path)
    library.write(paper, [(paper.experiments[1], [Text("one")])], tmp_path)
    texts = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert sorted(texts) == ["toy_paper-table-2.md", "toy_paper.md"]
    assert texts["toy_paper.md"].count("all\n") == 2
    assert texts["toy_paper.md"].endswith("Made by `noisewise reproduce toy_paper --write`.\n")
    assert texts["toy_paper-table-2.md"].endswith("Made by `noisewise reproduce toy_paper table-2 --write`.\n")


def test_drawings_are_the_same_every_time_and_small():
    scores = {"a": [0.9, 0.8, 0.95, 0.9, 0.85], "b": [0.8, 0.7, 0.9, 0.8, 0.8], "c": [0.5, 0.6, 0.4, 0.5, 0.5]}
    for draw in (
        lambda: panels({"p": {"one": Curve([1, 10], [0.5, 0.1]), "two": Curve([1, 10], [0.4, 0.2], "--")}}, "x", "y"),
        lambda: bars({"set": {"one": 1.0, "two": 2.0}}, "fraction"),
        lambda: critical_difference(scores),
    ):
        assert draw() == draw()
        assert len(draw()) < 100_000


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="did you mean 'gao'"):
        find_paper("gaoo")
    with pytest.raises(ValueError, match="there are figure-1"):
        find_paper("gao").find("table-9")
