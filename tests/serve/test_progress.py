"""Monitoring of a model: counters, learning curve and noise-corrected accuracy."""

import numpy as np
import pytest

from noisewise import load, save
from noisewise.serve.models.feedback_counts import MAX_POINTS, N_FEEDBACK, RECENT
from noisewise.serve.models.progress import Progress


def filled(n, rates, truth, rng, n_features=3):
    progress = Progress(2, n_features)
    for moment in range(n):
        rho0, rho1 = rates[moment % len(rates)]
        right = rng.random() < truth
        observed = bool(rng.random() < (1 - rho1 if right else rho0))
        progress.add_decision(moment % 2, float(moment))
        progress.add_feedback(np.ones(n_features), moment % 2, 0.5, observed, (rho0, rho1), float(moment))
    return progress


def test_accuracy_is_corrected_for_the_rates_of_each_round(rng):
    found = filled(RECENT, [(0.02, 0.02), (0.3, 0.3), (0.8, 0.8), (0.97, 0.03)], 0.7, rng).accuracy()
    standard_error = (found["high"] - found["low"]) / 2 / 1.96
    assert abs(found["value"] - 0.7) < 5 * standard_error
    assert standard_error < 0.03


def test_intervals_have_their_coverage(rng):
    held = 0
    for _ in range(200):
        found = filled(100, [(0.1, 0.3)], 0.6, rng).accuracy()
        held += found["low"] <= 0.6 <= found["high"]
    assert held >= 175  # 95 % of 200, less five standard deviations


def test_the_learning_curve_is_bounded_and_keeps_its_sums(rng):
    progress = filled(6000, [(0.1, 0.1)], 0.8, rng)
    assert len(progress.learning_curve) <= MAX_POINTS
    assert progress.learning_curve[:, N_FEEDBACK].sum() == 6000
    points = progress.history()
    assert points[-1]["answers"] == points[-1]["decisions"] == 6000
    assert [point["time"] for point in points] == sorted(point["time"] for point in points)


def test_progress_goes_on_from_a_file(tmp_path, rng):
    progress = filled(700, [(0.1, 0.2)], 0.8, rng)
    save(progress, tmp_path / "progress", extra=[Progress])
    again = load(tmp_path / "progress", extra=[Progress])
    for one in (progress, again):
        for moment in range(400):
            one.add_feedback(np.full(3, moment / 400), 0, 0.5, moment % 3 == 0, (0.1, 0.2), 1e4 + moment)
    assert again.history() == progress.history()
    assert again.estimate == progress.estimate


def test_rates_of_wide_rows_are_not_tracked(rng):
    assert filled(600, [(0.1, 0.1)], 0.8, rng, n_features=300).estimate is None


def test_uninformative_feedback_gives_no_accuracy(rng):
    assert Progress(2, 3).accuracy() is None
    assert filled(50, [(0.5, 0.5)], 0.8, rng).accuracy() is None
    assert filled(4, [(0.0, 0.0)], 1.0, rng).accuracy()["value"] == pytest.approx(1)


def one_sided(n, right, answered_every, then=(), first=()):
    found = Progress(3, 2)
    for value in first:
        found.add_feedback(np.ones(2), 0, 1.0, value, (0.0, 0.0), 0.0)
    for index in range(n):
        found.add_decision(index % 3, float(index))
        if index % answered_every == 0:
            found.add_feedback(np.ones(2), index % 3, 1.0, right, (0.0, 0.0), float(index))
    for value in then:
        found.add_feedback(np.ones(2), 0, 1.0, value, (0.0, 0.0), 0.0)
    return found


def test_feedback_of_one_kind_gives_no_accuracy_and_is_said():
    for right in (True, False):
        found = one_sided(60, right, 3)
        assert found.accuracy() is None
        assert ("positive" if right else "negative") in found.one_kind()
        assert one_sided(60, right, 3, then=[not right]).one_kind() is None


def test_positive_feedback_alone_misleads_only_where_decisions_have_none():
    assert one_sided(60, True, 3).is_misleading
    assert "for 67 % of the decisions none" in one_sided(60, True, 3).one_kind()
    assert not one_sided(60, True, 1).is_misleading
    assert not one_sided(60, False, 3).is_misleading
    assert not one_sided(12, True, 3).is_misleading  # four rounds
    assert one_sided(600, True, 3, first=[False] * 5).is_misleading  # negative feedback came first, and no more
