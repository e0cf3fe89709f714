import numpy as np
import pytest
from scipy.special import expit

from noisewise.noise import FlipMatrix
from noisewise.online.rates.margin_curve import N_BINS, bin_by_margin, rates_by_margin, signed_margins
from noisewise.online.recipes import linucb


def rounds_of(rates, n, rng, slope=6.0, centre=0.5):
    """Margins, feedback and groups of n rounds, whose probability of being right is a curve of the margin."""
    groups = rng.integers(len(rates), size=n)
    margins = rng.normal(centre, 0.5, size=n)
    right = rng.random(n) < expit(slope * margins)
    flipped = rng.random(n) < np.asarray(rates)[groups, right.astype(int)]
    return margins, (right != flipped).astype(float), groups


def held(found, rates):
    return (found.limits[0] <= np.transpose(rates)) & (np.transpose(rates) <= found.limits[1])


def found_in(rates, n, rng, shared, **kind):
    return rates_by_margin(bin_by_margin(*rounds_of(rates, n, rng, **kind), len(rates), shared), shared)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("slope", "centre"), [(20.0, 0.5), (9.0, 0.5), (6.0, 1.0)])
def test_intervals_hold_the_rates(shared, slope, centre):
    rng, inside = np.random.default_rng(int(slope) + shared), []
    for _ in range(10):
        rates = rng.uniform(0, 0.35, size=(6, 2))
        found = found_in(rates, 9_000, rng, shared, slope=slope, centre=centre)
        assert not found.reason
        assert (np.ptp(found.limits, axis=0)[1] < 0.2).all()
        inside.append(held(found, rates))
    assert np.mean(inside) >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / np.size(inside))


@pytest.mark.parametrize("rates", [(0.5, 0.49), (0.98, 0.01), (0.01, 0.98), (0.3, 0.68)])
def test_intervals_of_an_action_whose_feedback_says_nothing_hold_its_rates(rates):
    inside = []
    for seed in range(6):
        found = found_in([rates, (0.1, 0.2)], 8_000, np.random.default_rng(seed), shared=False, slope=9.0)
        inside.append(held(found, [rates, (0.1, 0.2)]))
        assert (np.ptp(found.limits, axis=0) < 0.45).all()
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize("shared", [False, True])
def test_where_many_best_guesses_are_wrong_rho1_has_an_upper_limit_only(shared):
    rng = np.random.default_rng(8)
    rates = rng.uniform(0.05, 0.35, size=(6, 2))
    found = found_in(rates, 12_000, rng, shared, slope=2.0)
    assert "can't be told from wrong guesses" in found.reason
    assert found.wrong_guesses > 0.15
    assert (found.limits[0, 1] == 0).all()
    assert (rates[:, 1] <= found.limits[1, 1]).all()
    assert (found.limits[1] < 1).all()


def test_rates_of_annotators_who_give_the_opposite_feedback_are_found():
    rates, rng, inside = np.array([[0.1, 0.1], [0.1, 0.1], [0.9, 0.95], [0.2, 0.1]]), np.random.default_rng(9), []
    for _ in range(10):
        found = found_in(rates, 16_000, rng, shared=True, slope=9.0)
        inside.append(held(found, rates))
        assert found.rates == pytest.approx(rates.T, abs=0.1)
    assert np.mean(inside) >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / np.size(inside))


@pytest.mark.parametrize("rounds", [60, 3_000])
def test_an_interval_of_an_annotator_who_is_always_positive_or_always_right_reaches_the_end(rounds):
    rates, rng = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.2, 0.1]]), np.random.default_rng(12)
    margins, feedback, groups = rounds_of(rates, 12_000, rng, slope=9.0)
    chosen = (groups == 3) | (np.cumsum(groups[:, None] == range(4), axis=0)[np.arange(12_000), groups] <= rounds)
    found = rates_by_margin(bin_by_margin(margins[chosen], feedback[chosen], groups[chosen], 4, True), shared=True)
    assert held(found, rates)[:, :3].all()
    assert (np.ptp(found.limits, axis=0)[1] < 0.3).all()


@pytest.mark.parametrize("shared", [False, True])
def test_rounds_that_do_not_follow_a_curve_have_wider_intervals(shared):
    rates, rng = np.full((4, 2), 0.1), np.random.default_rng(10)
    margins, feedback, groups = rounds_of(rates, 12_000, rng)
    smooth = rates_by_margin(bin_by_margin(margins, feedback, groups, 4, shared), shared)
    lumps = np.floor(margins * 5) % 2 == 0  # at every second margin, nothing is right
    feedback[lumps] = rng.random(lumps.sum()) < 0.1
    lumpy = rates_by_margin(bin_by_margin(margins, feedback, groups, 4, shared), shared)
    assert (np.ptp(lumpy.limits, axis=0)[0] > np.ptp(smooth.limits, axis=0)[0]).all()


def test_an_action_hardly_played_may_have_any_rates_and_one_never_best_any_rho1():
    margins, feedback, groups = rounds_of(np.full((3, 2), 0.1), 6_000, np.random.default_rng(11))
    never_best = (groups == 1) & (margins > 0)
    few = (groups == 2) & (np.cumsum(groups == 2) > 40)
    chosen = ~never_best & ~few
    found = rates_by_margin(bin_by_margin(margins[chosen], feedback[chosen], groups[chosen], 3))
    assert (found.limits[1] - found.limits[0] == 1).T.tolist() == [[False, False], [False, True], [True, True]]


def test_annotators_beyond_those_who_decide_on_the_curve_have_intervals_too():
    rng = np.random.default_rng(12)
    rates = rng.uniform(0, 0.35, size=(40, 2))
    inside = held(found_in(rates, 40_000, rng, shared=True), rates)
    assert inside.mean() >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / inside.size)


def test_bins_hold_every_round_of_their_group():
    margins, feedback, groups = rounds_of(np.full((3, 2), 0.1), 1_000, np.random.default_rng(13))
    for shared in (False, True):
        bins = bin_by_margin(margins, feedback, groups, 4, shared)
        assert bins.shape == (4, N_BINS, 3)
        assert bins[:, :, 2].sum(axis=1).tolist() == np.bincount(groups, minlength=4).tolist()
        assert bins[:, :, 1].sum() == feedback.sum()
        assert (bins[:, :, 0] * bins[:, :, 2]).sum() == pytest.approx(margins.sum())
    own = bin_by_margin(margins, feedback, groups, 4)[:3, :, 2]
    assert np.ptp(own, axis=1).max() <= 1
    assert np.ptp(bins[:, :, 2].sum(axis=0)) <= 1


def test_margins_are_those_to_the_best_other_action():
    scores = np.random.default_rng(14).normal(size=(50, 4))
    actions = np.arange(50) % 4
    others = [max(row[a] for a in range(4) if a != action) for row, action in zip(scores, actions)]
    assert signed_margins(scores, actions) == pytest.approx(scores[np.arange(50), actions] - others)


def test_a_report_says_that_overlap_hides_the_rates_and_how_large_they_are_at_most():
    rng = np.random.default_rng(15)
    y = rng.integers(4, size=8_000)
    X = np.column_stack([np.eye(4)[y] + rng.normal(size=(8_000, 4)), np.full(8_000, 0.3)])
    learner = linucb(4, rates="action", random_state=0)
    learner.play(X, y, noise=FlipMatrix.binary(0.1, 0.1), rng=0)
    assert "_by_margin" not in vars(learner.tracker_.report)  # intervals take no time while it plays
    report = learner.report("pandas")
    assert not report["identified"].any()
    assert report["reason"].str.contains("can't be told from wrong guesses").all()
    assert (report["false_negative_low"] == 0).all()
    assert (report["false_negative_high"] > 0.1).all()
    assert (report["false_positive_high"] < 1).all()
