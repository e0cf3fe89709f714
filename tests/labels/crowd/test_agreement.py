import itertools

import numpy as np
import pytest

from noisewise.labels.crowd.agreement import SCALES, krippendorff_alpha

NA = None
# Krippendorff's own example (Computing Krippendorff's alpha-reliability, 2011): four observers, twelve units, gaps
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
    [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
]


@pytest.mark.parametrize(("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_published_example_with_gaps(scale, alpha):
    assert krippendorff_alpha(list(zip(*OBSERVERS, strict=True)), scale=scale) == pytest.approx(alpha, abs=5e-4)


def test_small_example_by_hand():
    # pairable: item 1 (a, a), item 2 (a, b), item 3 (b, b, b); item 4 has one label and does not count
    # observed disagreement 2/7; expected (3*4 + 4*3)/(7*6) = 4/7
    items, annotators = [1, 1, 2, 2, 3, 3, 3, 4], ["x", "y", "x", "y", "x", "y", "z", "x"]
    assert krippendorff_alpha(items, annotators, list("aaabbbba")) == pytest.approx(1 - (2 / 7) / (4 / 7))


def slow_alpha(votes):
    """Nominal alpha by going through all pairs of labels."""
    pairable = [row for row in votes if len(row) > 1]
    labels = [label for row in pairable for label in row]
    observed = sum(sum(a != b for a, b in itertools.permutations(row, 2)) / (len(row) - 1) for row in pairable) / len(
        labels
    )
    expected = sum(a != b for a, b in itertools.permutations(labels, 2)) / (len(labels) * (len(labels) - 1))
    return 1 - observed / expected


def test_alpha_equals_all_pairs(rng):
    labels = rng.integers(4, size=(30, 5))
    labels[rng.random((30, 5)) < 0.5] = -1
    expected = slow_alpha([[a for a in row if a >= 0] for row in labels.tolist()])
    assert krippendorff_alpha(labels, missing=-1) == pytest.approx(expected)


def test_interval_covers_as_often_as_it_says(rng):
    true = 0.64  # symmetric flips of 10 % of two even classes: (1 - 2 * 0.1) ** 2
    covered = []
    for _ in range(300):
        y = rng.integers(2, size=100)
        labels = y[:, None] ^ (rng.random((100, 3)) < 0.1)
        low, high = krippendorff_alpha(labels).interval
        covered.append(low < true < high)
    assert abs(np.mean(covered) - 0.9) < 5 * np.sqrt(0.09 / 300)


def test_perfect_agreement_is_one_and_guessing_near_zero(rng):
    y = rng.integers(3, size=500)
    assert krippendorff_alpha(np.column_stack([y, y])) == 1
    guesses = krippendorff_alpha(rng.integers(3, size=(2000, 3)))
    assert abs(guesses) < 5 / np.sqrt(2000 * 3 * 2)


@pytest.mark.parametrize("scale", SCALES)
def test_two_classes_agree_alike_on_every_scale(scale, rng):
    labels = rng.integers(2, size=(40, 3))
    assert krippendorff_alpha(labels, scale=scale) == pytest.approx(krippendorff_alpha(labels))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2, 3], ["a", "b", "c"], ["x", "y", "x"]), {}, "no item has two labels"),
        (([1, 1, 2, 3], ["a", "b", "c", "c"], ["x", "x", "y", "z"]), {}, "all labels are 'x'"),
        (([1, 1], ["a", "b"], ["x", "y"]), {"scale": "interval"}, "needs numbers"),
        (([1, 1], ["a", "b"], ["x", "y"]), {"scale": "ratio"}, "scale is 'ratio'"),
        (([1, 1], ["a"], ["x", "y"]), {}, "lengths"),
    ],
)
def test_what_has_no_agreement_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        krippendorff_alpha(*arguments, **options)
