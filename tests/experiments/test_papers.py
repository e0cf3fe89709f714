"""Every paper's declaration holds together, and its pages can be made from nothing and from a few rows."""

import json

import pytest
from typer.testing import CliRunner

from noisewise.cli import app
from noisewise.experiments import (
    Rows,
    RowStore,
    Text,
    find_paper,
    keyed,
    paper_names,
    parts_of,
    printed_numbers,
    run,
    to_markdown,
)
from noisewise.experiments.papers.agarwal import tables as feedback
from noisewise.experiments.papers.bootkrajang import tables as kernels
from noisewise.experiments.papers.cesa_bianchi import tables as noisy_features

PAPERS = paper_names()


@pytest.mark.parametrize("name", PAPERS)
def test_pages_without_any_rows_say_what_was_not_run(name, tmp_path):
    paper = find_paper(name)
    parts = parts_of(paper, paper.experiments, RowStore(tmp_path), printed_numbers(name), quick=True)
    text, _ = to_markdown(paper, parts)
    assert all(f"## {experiment.title}" in text for experiment in paper.experiments)


@pytest.mark.parametrize("name", PAPERS)
def test_quick_runs_have_cells_and_tasks_can_be_sent_to_others(name):
    for experiment in find_paper(name).experiments:
        assert bool(experiment.plan(quick=True)) == bool(experiment.axes)
        assert experiment.task.__qualname__ == experiment.task.__name__  # at the top of a module


def test_every_cell_of_the_printed_tables_is_there():
    gao, agarwal, kernels = (printed_numbers(name) for name in ("gao", "agarwal", "bootkrajang"))
    sizes = {"table-1": 13, "table-2": 13 * 4, "table-3": 13, "table-4": 13, "table-5": 26, "table-6": 10}
    assert {name: len(kernels[name]["rows"]) for name in sizes} == sizes
    assert [len(gao[name]["rows"]) for name in ("table-1", "table-2", "table-3")] == [20, 20 * 3 * 7, 20 * 3]
    assert [len(agarwal[name]["rows"]) for name in ("table-1", "table-2")] == [6 * 3, 6 * 2]


def test_printed_wins_and_losses_are_those_of_the_marks():
    table = printed_numbers("gao")["table-2"]
    for method, said in table["win/tie/loss of RNN"].items():
        marks = [row["than_rnn"] for row in table["rows"] if row["method"] == method]
        wins, _, losses = (int(count) for count in said.split("/"))
        assert abs(marks.count("worse") - wins) <= 6  # print's own counts and marks do not always agree
        assert abs(marks.count("better") - losses) <= 6


def test_a_few_cells_of_the_chessboard_are_as_theory_says(tmp_path):
    paper = find_paper("gao")
    (experiment,) = paper.find("figure-1")
    small = {"gao/figure-1": experiment}
    store = RowStore(tmp_path)
    cells = [cell for cell in experiment.cells(quick=True) if cell["noise"] == [0.3, 0.1]][:3]
    for cell in cells:
        result = experiment.task(cell)
        knn, rnn, printed = (result[name][7] for name in ("knn", "rnn", "rnn-printed"))
        assert rnn < knn < printed
    run(small, store, quick=True, minutes=-1)
    assert not store.rows
    assert keyed(paper, "figure-1") == small


def test_the_command_lists_and_runs_and_writes(tmp_path):
    runner = CliRunner()
    listed = json.loads(runner.invoke(app, ["reproduce", "list", "--json"]).stdout)
    assert set(listed) == set(PAPERS)
    options = ["--rows", str(tmp_path / "rows")]
    shown = runner.invoke(app, ["reproduce", "cesa-bianchi", "gradients", *options, "--json"])
    (part,) = json.loads(shown.stdout)["cesa_bianchi"]["parts"]
    (found,) = [block["entries"] for block in part["blocks"] if block["kind"] == "comparison"]
    assert len(found) == 8
    assert all(entry["verdict"] == "as verified" for entry in found)
    assert "8 cells run, 0 found finished" in shown.stderr
    again = runner.invoke(
        app, ["reproduce", "cesa-bianchi", "gradients", *options, "--write", "--out", str(tmp_path / "pages")]
    )
    assert "0 cells run, 8 found finished" in again.stderr
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == [
        "cesa_bianchi-gradients.html",
        "cesa_bianchi-gradients.md",
    ]


def test_the_command_says_whose_data_are_not_here(tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    result = CliRunner().invoke(app, ["reproduce", "gao", "table-2", "--rows", str(tmp_path / "rows")])
    assert result.exit_code == 0
    assert "heart, " in result.stderr
    assert "set NOISEWISE_DATA to a folder" in result.stderr


def test_minutes_below_zero_are_refused():
    result = CliRunner().invoke(app, ["reproduce", "cesa-bianchi", "gradients", "--minutes", "-1"])
    assert result.exit_code == 2
    assert "--minutes" in result.output


def test_folders_are_tried_before_anything_is_run(tmp_path):
    (tmp_path / "file").write_text("")
    rows, out = ["--rows", str(tmp_path / "rows")], ["--write", "--out", str(tmp_path / "file" / "pages")]
    for options in (["--rows", str(tmp_path / "file" / "rows")], [*rows, *out]):
        result = CliRunner().invoke(app, ["reproduce", "cesa-bianchi", "gradients", *options])
        assert isinstance(result.exception, OSError)
    assert not list((tmp_path / "rows").iterdir())


def test_the_command_refuses_what_it_does_not_know():
    for words in (["goa"], ["all", "table-2"], ["gao", "table-9"]):
        result = CliRunner().invoke(app, ["reproduce", *words])
        assert isinstance(result.exception, ValueError)


def kernel_rows(**measured):
    """Two runs of the printed rKLR on heart at 30 %, and two of KLR."""
    plain = {"dataset": "raetsch_heart", "noise": 0.3, "repeat": 0}
    return Rows(
        {**plain, "kind": kind, "method": method, **measured, "error": measured["error"] + (method == "klr-trusted")}
        for kind in ("symmetric", "asymmetric")
        for method in ("klr-trusted", "rklr-trusted")
    )


@pytest.mark.parametrize(("rate", "fitted"), [(0.0, True), (0.2, False)])
def test_a_flip_matrix_that_found_no_noise_is_named_as_the_reason(rate, fitted):
    rows = kernel_rows(error=90.0, false_positive=rate, false_negative=rate)
    compared, *_ = kernels.table_2(rows, printed_numbers("bootkrajang"))
    reasons = {entry.labels: entry.reason for entry in compared.entries if entry.ours is not None}
    assert ("flips are fitted" in reasons["Heart", "30%", "rKLR"]) is fitted
    assert "flips are fitted" not in reasons["Heart", "30%", "KLR"]


def test_reasons_of_the_kernel_paper_are_errors_by_kind_and_with_one_thing_otherwise():
    rows = kernel_rows(error=40.0)
    rows.records[0]["error"] = 50.0  # of KLR under symmetric noise
    other = {**rows.records[0], "method": "klr-trusted, zeta 1", "error": 25.0}
    compared, *_ = kernels.table_2(Rows([*rows, other]), printed_numbers("bootkrajang"))
    reasons = {entry.labels: entry.reason for entry in compared.entries}
    assert reasons["Heart", "30%", "KLR"] == "symmetric 50.0, one class 41.0; with zeta 1 25.0 (1 split)"
    assert reasons["Heart", "30%", "rKLR"].startswith("symmetric 40.0, one class 40.0; flips are fitted")
    assert reasons["Heart", "40%", "KLR"] == "not in this run"


def test_variants_are_in_the_full_run_of_the_kernel_paper_only():
    (table,) = find_paper("bootkrajang").find("table-3")
    full, quick = ({cell["method"] for cell in table.plan(quick)} for quick in (False, True))
    assert full - quick == {*kernels.VARIANTS["rklr-noisy"], *kernels.VARIANTS["rmklr-printed"]}


def test_p_values_stand_beside_the_side_that_print_has():
    table = kernels.p_values(kernel_rows(error=10.0), printed_numbers("bootkrajang")["table-2"]["rows"], "KLR", "rKLR")
    shown = {(name, noise): here for name, noise, _, here in table.lines}
    assert shown["Heart", "30%"].startswith("rKLR (")
    assert shown["Heart", "30%"].endswith("; 2 and 2 runs)")
    assert shown["Banana", "30%"] == ""


def test_papers_orders_are_run_where_they_can_be():
    (figure,) = find_paper("ngo").find("figure-2")
    runs = {(cell["dataset"], cell["method"]): cell["runs"] for cell in figure.plan()}
    assert (runs["usps", "ucwl"], runs["digits", "marow"], runs["mnist", "ucwl"]) == (20, 20, 5)
    assert ("mnist", "ucwl, full") not in runs


def test_learners_of_the_feedback_paper_are_compared_over_the_repeats_they_share():
    def row(method, repeat, error, noise=(0.15, 0.15)):
        return {"dataset": "digits", "method": method, "noise": list(noise), "repeat": repeat, "error": error}

    rows = Rows([row("rcnbf", 0, 0.3), row("rcnbf", 1, 0.1), row("bpa", 0, 0.2), row("rcine", 1, 0.2)])
    said = feedback.against_print(rows).text
    assert said.endswith("Not so here: RCNBF makes no fewer mistakes than BPA on digits at (0.15, 0.15).")
    better = Rows([*rows, row("bpa", 1, 0.4)])
    assert feedback.against_print(better).text.endswith("So it is in all that was run.")


def test_sets_and_methods_without_a_cell_are_named():
    rows = Rows([{"dataset": "usps", "method": method, "seconds_processor": 3.0} for method in feedback.METHODS[1:]])
    (said,) = feedback.not_run(rows, ["usps", "mnist"])
    assert said.text.startswith("Not in this run: mnist, banditron on usps. A cell takes up to 3 s")
    assert feedback.not_run(Rows([*rows, {"dataset": "usps", "method": "banditron"}]), ["usps"]) == []


def test_corrections_of_noisy_features_that_do_not_pay_are_named():
    def row(method, error):
        return {"dataset": "make_sine", "method": method, "error": error, "repeat": 0}

    plain = [row("kernel ridge, noisy", 0.08), row("kernel ridge, mean of 2", 0.05)]
    paying = Rows([*plain, row("algorithm 3", 0.04), row("deconvolved", 0.03)])
    assert not [block for block in noisy_features.p4(paying, {}) if isinstance(block, Text)]
    (said,) = [
        block.text
        for block in noisy_features.p4(Rows([*plain, row("algorithm 3", 0.06), row("deconvolved", 0.03)]), {})
        if isinstance(block, Text)
    ]
    assert "algorithm 3 on make_sine (kernel ridge, mean of 2)." in said
    losses = [{"method": "naive", "errors": [0.08]}, {"method": "hinge", "errors": [0.3, 0.17]}]
    assert "the hinge loss" in noisy_features.p5_labels(Rows(losses), {})[-1].text
    assert len(noisy_features.p5_labels(Rows([losses[0], {"method": "hinge", "errors": [0.07]}]), {})) == 1
