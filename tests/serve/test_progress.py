"""Monitoring of a model: counters, learning curve and noise-corrected accuracy."""

import numpy as np
import pytest

from noisewise import load, save
from noisewise.serve.models.progress import MAX_POINTS, N_FEEDBACK, RECENT, Progress


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
    assert filled(50, [(0.0, 0.0)], 1.0, rng).accuracy()["value"] == pytest.approx(1)
