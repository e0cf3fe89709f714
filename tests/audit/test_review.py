"""Review in rounds: rows to look at next, verdicts taken in, intervals after them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmark_scripts import benchmark
from noisewise import audit_labels
from noisewise.audit import audit_probabilities
from noisewise.audit.review import choose, systematic


def noisy(seed, n=1500, n_classes=4, hard=True):
    """Probabilities of a decent model, labels that people changed (more on hard rows), the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    logits = rng.standard_normal((n, n_classes)) + 3.0 * np.eye(n_classes)[truth]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    hardness = 1 - p[np.arange(n), truth] if hard else np.full(n, 0.3)
    changed = rng.random(n) < 0.5 * hardness + 0.03
    return p, np.where(changed, (truth + rng.integers(1, n_classes, n)) % n_classes, truth), truth


@pytest.fixture(scope="module")
def case():
    p, y, truth = noisy(0)
    return audit_probabilities(p, y), y, truth


def verdicts_of(rows, truth):
    return {int(row): truth[row] for row in rows}


def test_systematic_draws_include_each_item_as_often_as_its_size_says():
    sizes = np.array([0.5, 3.0, 1.0, 0.0, 40.0, 2.0])
    starts = np.arange(1000) / 1000
    drawn = np.array([np.isin(np.arange(6), systematic(sizes, 3, start)) for start in starts])
    assert (drawn.sum(axis=1) == 3).all()
    expected = np.append(2 * sizes[[0, 1, 2, 3]] / 6.5, [1.0, 2 * 2.0 / 6.5])[
        [0, 1, 2, 3, 4, 5]
    ]  # the fifth is certain
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.003)


def test_a_batch_has_the_likeliest_rows_and_others_along_the_whole_range(case):
    audit, *_ = case
    batch = audit.next(100)
    wrong = 1 - audit.probability
    assert len(set(batch)) == len(batch) == 100
    assert set(audit.order[:25]) <= set(batch)
    assert (wrong[batch.rows] < 0.1).sum() > 5
    assert ((wrong[batch.rows] > 0.2) & (wrong[batch.rows] < 0.8)).sum() > 10
    assert batch.expected_wrong == pytest.approx(wrong[batch.rows].sum())
    assert batch.left == pytest.approx(wrong.sum() - batch.expected_wrong)


def test_the_default_batch_is_always_the_same_and_a_seed_gives_another(case):
    audit, *_ = case
    assert list(audit.next(40)) == list(audit.next(40))
    assert list(audit.next(40, random_state=1)) == list(audit.next(40, random_state=1)) != list(audit.next(40))


def test_once_the_noise_is_identified_most_rows_are_the_likeliest():
    wrong = np.random.default_rng(0).random(1000)
    likeliest = np.argsort(-wrong)
    for n_reviewed, n_likeliest in ((0, 25), (100, 50), (150, 75), (9000, 75)):
        assert list(choose(wrong, 100, n_reviewed, 0.5)[:n_likeliest]) == list(likeliest[:n_likeliest])
        assert list(choose(wrong, 100, n_reviewed, 0.5)[: n_likeliest + 1]) != list(likeliest[: n_likeliest + 1])


@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_small_batches_have_as_many_of_the_likeliest_rows_as_large_ones(size):
    """Of 300 rows: a quarter of the first 150 and three quarters of the others."""
    wrong = np.random.default_rng(0).random(3000)
    left, n_likeliest = np.arange(3000), np.zeros(2)
    for n in range(0, 300, size):
        chosen = choose(wrong[left], size, n, 0.5)
        likeliest = np.argsort(-wrong[left], kind="stable")[:size]
        n_likeliest[int(n >= 150)] += np.sum(np.cumprod(chosen == likeliest))  # the leading ones
        left = np.delete(left, chosen)
    np.testing.assert_allclose(n_likeliest, [38, 112], atol=7)


def test_rows_drawn_one_at_a_time_are_spread_as_those_of_one_batch(case):
    audit, *_ = case
    wrong = 1 - audit.probability
    left, single = np.arange(len(wrong)), []
    for n in range(100):
        row = left[choose(wrong[left], 1, n, 0.5)]
        single += row.tolist()
        left = np.setdiff1d(left, row)
    batch = audit.next(100).rows
    edges = [0, 0.1, 0.5, 0.9, 1]
    counts = [np.histogram(wrong[rows], edges)[0] for rows in (single, batch)]
    np.testing.assert_allclose(*counts, atol=8)


def test_reviews_one_at_a_time_find_errors_as_a_batch_does(case):
    audit, y, truth = case
    later = audit
    for _ in range(40):
        later = later.update(verdicts_of(later.next(1), truth))
    found, in_batch = (np.sum((y != truth)[list(rows)]) for rows in (later.verdicts, audit.next(40)))
    assert found > 0.6 * in_batch
    assert later.expected_errors.low <= np.sum(y != truth) <= later.expected_errors.high


def test_the_first_row_of_a_review_is_the_likeliest(case):
    assert list(case[0].next(1)) == [case[0].order[0]]


def test_a_batch_larger_than_the_table_is_the_table(case):
    audit, *_ = case
    assert sorted(audit.next(5000)) == list(range(1500))
    assert audit.next(5000).left == pytest.approx(0, abs=1e-6)


def test_a_batch_stands_for_its_rows(case, tmp_path):
    audit, *_ = case
    batch = audit.next(7)
    audit.patch(tmp_path / "patch.csv", rows=batch)
    assert pl.read_csv(tmp_path / "patch.csv")["row"].to_list() == list(batch) == np.asarray(batch).tolist()


def test_verified_rows_are_known_and_the_posterior_adds_up(case):
    audit, y, truth = case
    later = audit.update(verdicts_of(audit.next(120), truth))
    rows = np.array(list(later.verdicts))
    np.testing.assert_array_equal(later.suggested[rows], truth[rows])
    np.testing.assert_array_equal(later.probability[rows], (y == truth)[rows])
    np.testing.assert_allclose(later.posterior.sum(axis=1), 1, atol=1e-5)
    known = np.sum((y != truth)[rows])
    assert float(later.expected_errors) == pytest.approx(np.sum(1 - later.probability), rel=1e-4)
    assert float(later.remaining) == pytest.approx(float(later.expected_errors) - known)
    assert later.remaining.low == pytest.approx(later.expected_errors.low - known)
    assert audit.review is None
    assert not audit.verdicts


def test_verdicts_in_rounds_are_the_verdicts_at_once(case):
    audit, _, truth = case
    first = audit.next(40)
    once = audit.update(verdicts_of(first, truth))
    second = once.next(40)
    assert not set(first) & set(second)
    twice, together = once.update(verdicts_of(second, truth)), audit.update(verdicts_of([*first, *second], truth))
    np.testing.assert_array_equal(twice.posterior, together.posterior)
    assert twice.expected_errors.interval == together.expected_errors.interval
    assert twice.notes == together.notes


def test_a_later_verdict_on_a_row_replaces_the_earlier_one(case):
    audit, *_ = case
    later = audit.update({3: 0, 4: 1}).update({3: 2})
    assert later.verdicts == {3: 2, 4: 1}


def test_rows_of_which_nobody_can_tell_stay_unknown_and_do_not_come_up_again(case, tmp_path):
    audit, _, truth = case
    first = list(audit.next(30))
    later = audit.update(verdicts_of(first[10:], truth) | dict.fromkeys(first[:10], "?"))
    assert sorted(later.undecided) == sorted(first[:10])
    assert set(first[:10]) <= set(later.unreviewed)
    assert not set(first) & set(later.next(1000))
    np.testing.assert_array_equal(later.posterior, audit.update(verdicts_of(first[10:], truth)).posterior)
    later.patch(tmp_path / "patch.csv", rows=first)
    assert audit.update(tmp_path / "patch.csv").undecided == later.undecided
    settled = later.update(verdicts_of(first[:10], truth))
    assert settled.undecided == ()
    assert len(settled.verdicts) == 30


def test_when_all_rows_are_reviewed_the_count_is_exact(case):
    audit, y, truth = case
    done = audit.update(verdicts_of(range(1500), truth))
    assert done.expected_errors.interval == (np.sum(y != truth),) * 2
    assert done.remaining.interval == (0, 0)
    assert len(done.next(10)) == len(done.picked) == len(done.rows(0.5)) == 0
    assert "all is reviewed" in done.progress
    np.testing.assert_array_equal(done.apply(), truth)


@pytest.mark.parametrize("hard", [True, False])
def test_150_verdicts_halve_the_interval_and_hold_the_truth(hard):
    held = []
    for seed in range(6):
        p, y, truth = noisy(seed, hard=hard)
        audit = audit_probabilities(p, y)
        later = audit.update(verdicts_of(audit.next(150), truth))
        held.append(later.expected_errors.low <= np.sum(y != truth) <= later.expected_errors.high)
        width_before, width = (np.ptp(one.expected_errors.interval) for one in (audit, later))
        assert width < 0.5 * width_before
    assert sum(held) >= 4  # nine of ten are expected


def test_flip_rates_after_a_review_are_nearer_to_those_of_the_truth(case):
    audit, y, truth = case
    later = audit.update(verdicts_of(audit.next(300), truth))
    joint = np.zeros((4, 4))
    np.add.at(joint, (truth, y), 1)
    rates = joint / joint.sum(axis=1, keepdims=True)
    assert np.abs(later.noise.matrix - rates).mean() < np.abs(audit.noise.matrix - rates).mean()
    low, high = later.noise_interval
    assert np.mean((low <= rates) & (rates <= high)) >= 0.75


def test_reviewed_rows_are_not_worth_another_look_and_verdicts_are_applied(case):
    audit, y, truth = case
    later = audit.update(verdicts_of(audit.next(100), truth))
    assert not set(later.picked) & set(later.verdicts)
    assert not set(later.rows(0.6)) & set(later.verdicts)
    rows = list(later.verdicts)
    np.testing.assert_array_equal(later.apply([])[rows], truth[rows])
    np.testing.assert_array_equal(np.delete(later.apply([]), rows), np.delete(y, rows))


def test_a_patch_written_after_a_review_holds_its_decisions(case, tmp_path):
    audit, _, truth = case
    later = audit.update(verdicts_of(audit.next(20), truth))
    later.patch(tmp_path / "patch.csv", rows=[*later.next(5), *later.verdicts])
    assert pl.read_csv(tmp_path / "patch.csv")["decision"].null_count() == 5
    again = audit.update(tmp_path / "patch.csv")
    np.testing.assert_array_equal(again.posterior, later.posterior)


def test_rows_are_ranked_as_before_where_there_is_one_reading():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 600)
    X = 3.0 * np.eye(3)[truth] + rng.standard_normal((600, 3))
    y = np.where(rng.random(600) < 0.2, (truth + 1) % 3, truth)
    audit = replace(audit_labels(X, y), readings={})
    later = audit.update(verdicts_of(audit.next(60), truth))
    rest = later.unreviewed
    clipped = np.clip(audit.probability[rest], 1e-4, 1 - 1e-4)
    order = np.argsort(clipped, kind="stable")
    assert (np.diff(later.probability[rest][order]) >= -1e-9).all()


def test_the_plan_says_what_is_left_after_each_batch(case):
    audit, *_ = case
    plan = audit.review_plan(budget=200, batches=3, backend="polars")
    assert plan["rows"].to_list() == [200, 400, 600]
    np.testing.assert_allclose(plan["expected_wrong"] + plan["left"], np.sum(1 - audit.probability))
    assert plan["left"].is_sorted(descending=True)
    assert plan["left"][0] == pytest.approx(audit.next(200).left)


def test_progress_says_when_to_stop(case):
    audit, y, truth = case
    assert audit.progress.startswith("no row was reviewed; about")
    some = audit.update(verdicts_of(audit.next(50), truth))
    n_wrong = np.sum((y != truth)[list(some.verdicts)])
    assert some.progress.startswith(
        f"50 of 1,500 rows were reviewed, {n_wrong} of them ({100 * n_wrong / 50:.0f} %) were wrong"
    )
    assert some.progress.endswith("go on")
    assert some.notes[-1] == some.progress


def test_a_review_in_rounds_ends_with_few_wrong_labels_left(case):
    audit, y, truth = case
    while audit.progress.endswith("go on") or not audit.verdicts:
        audit = audit.update(verdicts_of(audit.next(100), truth))
    left = np.sum((y != truth)[audit.unreviewed])
    assert "stop: of the next 50 rows fewer than 10 % are expected to be wrong" in audit.progress
    assert len(audit.verdicts) < 1000
    assert left < 0.2 * np.sum(y != truth)
    assert audit.remaining.low - 3 <= left <= audit.remaining.high + 3


def test_rows_and_labels_of_any_kind_are_reviewed():
    rng = np.random.default_rng(2)
    names = np.array(["ham", "spam"])
    truth = names[rng.integers(0, 2, 300)]
    frame = pl.DataFrame(
        {"length": rng.standard_normal(300) + 3 * (truth == "spam"), "kind": rng.choice(["a", "b"], 300)}
    )
    y = np.where(rng.random(300) < 0.15, names[(truth == "ham").astype(int)], truth)
    audit = audit_labels(frame, y, annotators=rng.choice(["ann", "bob"], 300))
    later = audit.update(pl.DataFrame({"row": list(audit.next(30)), "decision": truth[audit.next(30).rows]}))
    assert later.by_annotator()["labels"].sum() == 300
    assert later.by_class()["rows"].sum() == 300
    assert later.to_frame().height == 300


@pytest.mark.parametrize("budget", [0, -1, 2.5, "many"])
def test_a_budget_that_is_no_number_of_rows_is_refused(case, budget):
    with pytest.raises(ValueError, match=r"budget is .*; a whole number is needed"):
        case[0].next(budget)


def test_the_benchmark_prints_coverage_and_width(tmp_path, monkeypatch, capsys):
    pytest.importorskip("cleanlab", reason="benchmarks of the audit compare with it")
    p, y, truth = noisy(5, n=800)
    (tmp_path / "real_noise").mkdir()
    np.savez(tmp_path / "real_noise" / "toy.npz", p_one=p, y=y, truth=truth)
    monkeypatch.setenv("NOISEWISE_DATA", str(tmp_path))
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    benchmark("audit_review").main(["--draws", "3", "--sets", "breast_cancer", "--seeds", "0", "--verdicts", "60"])
    head, _, *lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line[0] == "|"]
    found = {line[0]: dict(zip(head[1:], map(float, line[1:]), strict=True)) for line in lines}
    assert {"toy, one", "tables, noise by class", "tables, clean", "all"} <= set(found)
    assert found["toy, one"]["runs"] == 3
    assert all(0 <= row["holds"] <= 1 and row["width / before"] > 0 for row in found.values())


def test_a_reviewer_who_cannot_tell_leaves_the_other_rows_as_they_are(case):
    audit = case[0]
    later = audit.update({3: "?"})
    assert later.undecided == (3,)
    assert 3 not in set(later.next(50))
    np.testing.assert_array_equal(later.probability, audit.probability)
    assert later.update({5: audit.classes[audit.observed[5]]}).undecided == (3,)
