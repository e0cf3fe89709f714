"""Collapsed Dawid-Skene: labels left out one by one, what exponents learn, and confidence where labels are few."""

import numpy as np
import pytest

from noisewise.labels.crowd.annotations import Annotations, read_annotations
from noisewise.labels.crowd.collapsed import (
    LABEL_GRID,
    LABEL_STD,
    ROW_GRID,
    ROW_STD,
    Exponents,
    estimate_exponents,
    labels_of_items,
    logs_by_others,
    predictive_log_likelihood,
)
from noisewise.labels.crowd.em import confusion_counts, fit_dawid_skene, prior_pseudo_counts
from noisewise.labels.crowd.row_prior import estimate_items


def crowd(hard=0.0, n_items=500, n_annotators=40, per_item=5, n_classes=4, seed=0) -> tuple[np.ndarray, Annotations]:
    """Truth and labels; a fraction of the items is hard: all annotators are drawn to the same wrong class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    decoy = np.where(rng.random(n_items) < hard, (truth + rng.integers(1, n_classes, n_items)) % n_classes, truth)
    items = np.repeat(np.arange(n_items), per_item)
    annotators = np.concatenate([rng.choice(n_annotators, per_item, replace=False) for _ in range(n_items)])
    drawn = np.where(rng.random(len(items)) < 0.5, decoy[items], truth[items])
    wrong = rng.random(len(items)) < rng.uniform(0.1, 0.5, n_annotators)[annotators]
    return truth, read_annotations(items, annotators, np.where(wrong, rng.integers(n_classes, size=len(items)), drawn))


def fitted(annotations):
    """Logs of the labels by the others, and the log prior of each item."""
    fit = estimate_items(annotations, []).fit
    counts = confusion_counts(annotations.counts().T.tocsr(), fit.posterior)
    log_prior = np.broadcast_to(fit.log_prior, fit.posterior.shape)
    return logs_by_others(annotations, counts, fit.prior, fit.posterior), log_prior


def test_rates_of_a_label_are_those_counted_without_it():
    _, annotations = crowd(n_items=20, n_annotators=4, per_item=2, n_classes=3)
    posterior = np.random.default_rng(1).dirichlet(np.ones(3), size=20)
    prior = prior_pseudo_counts(3)
    counts = confusion_counts(annotations.counts().T.tocsr(), posterior)
    logs = logs_by_others(annotations, counts, prior, posterior)
    given = [*zip(annotations.item_codes, annotations.annotator_codes, annotations.label_codes)]
    for left_out, (_, annotator, label) in enumerate(given):
        others = prior.copy()
        for index, (item, who, said) in enumerate(given):
            if who == annotator and index != left_out:
                others[:, said] += posterior[item]
        np.testing.assert_allclose(np.exp(logs[left_out]), others[:, label] / others.sum(axis=1), rtol=1e-10)


def test_the_predictive_likelihood_is_that_of_every_label_by_itself():
    _, annotations = crowd(n_items=30)
    logs, log_prior = fitted(annotations)
    others = (labels_of_items(annotations) @ logs)[annotations.item_codes] - logs
    exponents, wanted = Exponents(0.8, 0.6), 0.0
    for index, item in enumerate(annotations.item_codes):
        q = np.exp(0.8 * log_prior[item])
        for other in np.flatnonzero(annotations.item_codes == item):
            q = q * np.exp(0.6 * logs[other]) if other != index else q
        wanted += np.log(q @ np.exp(logs[index]) / q.sum())
    found = predictive_log_likelihood(others, logs, log_prior[annotations.item_codes], exponents)
    assert found == pytest.approx(wanted, rel=1e-10)


def test_annotators_who_err_on_the_same_items_are_discounted():
    for hard, low, high in ((0.0, 0.65, 0.71), (0.4, 0.2, 0.4)):
        _, annotations = crowd(hard, n_items=300, n_annotators=20, per_item=10)
        assert low < estimate_exponents(annotations, *fitted(annotations)).labels < high


def test_confidence_is_closer_to_the_truth_than_that_of_dawid_skene_where_labels_are_few():
    for seed in range(3):
        truth, annotations = crowd(n_items=150, n_annotators=60, per_item=3, n_classes=8, seed=seed)
        plain = fit_dawid_skene(annotations.counts(), annotations.vote_proportions(), None).posterior
        counts = []
        for posterior in (estimate_items(annotations, []).posterior, plain):
            wrong = np.mean(posterior.argmax(axis=1) != truth)
            counts.append(np.mean(1 - posterior.max(axis=1)) / wrong)
        assert abs(np.log(counts[0])) < abs(np.log(counts[1]))


def test_the_exponents_of_hardly_any_labels_are_those_before_any():
    exponents = estimate_items(read_annotations([0, 1, 1], ["a", "b", "c"], [0, 1, 1]), []).exponents
    for found, grid, std in zip(exponents, (ROW_GRID, LABEL_GRID), (ROW_STD, LABEL_STD)):
        weights = np.exp(-((np.log(np.array(grid) / grid[-1]) / std) ** 2) / 2)
        assert found == pytest.approx(np.average(grid, weights=weights), abs=0.05)
