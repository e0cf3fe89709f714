"""Prior of each item's true class from the scores of classifiers, calibrated by the labels of the annotators.

With g_m(i) the log-probabilities (or scores) that classifier m gives item i, out of fold, the prior is

    P(t_i | x_i) = (1 - w) softmax(sum_m a_m g_m(i) + b) + w / K.

Scales a, offsets b and the outlier weight w maximise the likelihood of the annotators' labels, with the confusion
matrices (EM): a classifier that the annotators contradict gets a scale near zero, as if it were a poor annotator, and
the prior is then the prevalence of the classes alone.

References
----------
.. [1] Raykar, V. C., Yu, S., Zhao, L. H., Valadez, G. H., Florin, C., Bogoni, L., Moy, L. (2010). Learning from
   crowds. Journal of Machine Learning Research 11.
.. [2] Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from noisewise._numerics.em import normalised_rows
from noisewise._typing import Floats
from noisewise.labels.crowd.annotations import Annotations
from noisewise.labels.crowd.annotators import Annotators
from noisewise.labels.crowd.collapsed import (
    Exponents,
    collapsed_steps,
    estimate_exponents,
    labels_of_items,
    logs_by_others,
)
from noisewise.labels.crowd.em import (
    PRIOR_ITEMS,
    CrowdFit,
    confusion_counts,
    dirichlet_prevalence,
    iterate,
    likelihood_columns,
    normalised,
    prior_pseudo_counts,
)

LEAST_PROBABILITY = 1e-5  # times 1 / n_classes, before the logarithm of a probability is taken
MOST_SCALE = 20.0
PRIOR_SCALE = 1.0  # precision of the scales around 1 / n_classifiers
OUTLIERS, OUTLIER_ITEMS = 0.02, 50.0  # beta prior of the outlier weight: its mean, and its weight in items
FIT_ITEMS = 8000  # the calibration is fitted to so many items, drawn at random
FIT_STEPS = 30  # of L-BFGS in each iteration of EM; the next one is warm-started
MAX_ITER, TOL = 300, 5e-4


class ItemEstimates(NamedTuple):
    """What labels and rows say together.

    `posterior` and `prior` are those of each item's true class, with and without its labels; `annotators` has the
    confusion matrices; `scales` say how far each classifier is trusted; `exponents` how far the evidence was
    discounted; `fit` is the model before the discount.
    """

    posterior: Floats
    prior: Floats
    annotators: Annotators
    scales: Floats
    exponents: Exponents
    fit: CrowdFit


class CalibratedScores:
    """Prior of each item's true class from classifiers' scores; called with posteriors, it refits the calibration."""

    def __init__(self, logits: list[NDArray[Any]]) -> None:
        self.logits = logits
        n_items, n_classes = logits[0].shape
        self.scales, self.offsets = np.full(len(logits), 1 / len(logits)), np.zeros(n_classes)
        self.outliers = OUTLIERS
        self._some = np.random.default_rng(0).permutation(n_items)[:FIT_ITEMS]
        self._few = [each[self._some].astype(np.float64) for each in logits]

    def probabilities(self) -> Floats:
        """The prior of every item, of shape (n_items, n_classes)."""
        return self._mixed(np.exp(log_softmax(self._scores(self.logits), axis=1)))

    def __call__(self, posterior: Floats) -> tuple[Floats, float, Floats]:
        """One EM step: who is an outlier, then scales and offsets; log prior, log density of the parameters, mean."""
        few, n_classes = posterior[self._some], posterior.shape[1]
        explained = np.exp(log_softmax(self._scores(self._few), axis=1))
        inliers = few * (1 - self.outliers) * explained / self._mixed(explained)
        self._refit(inliers)
        expected = len(few) - float(inliers.sum())
        self.outliers = (expected + OUTLIERS * OUTLIER_ITEMS) / (len(few) + OUTLIER_ITEMS)
        priors = OUTLIERS * np.log(self.outliers) + (1 - OUTLIERS) * np.log1p(-self.outliers)
        density = PRIOR_ITEMS / n_classes * float(log_softmax(self.offsets).sum()) + OUTLIER_ITEMS * float(priors)
        density -= PRIOR_SCALE / 2 * float(np.sum((self.scales - 1 / len(self.scales)) ** 2))
        prior = self.probabilities()
        return np.log(prior), density, prior.mean(axis=0)

    def _refit(self, targets: Floats) -> None:
        """Scales and offsets: cross-entropy to the targets, and to PRIOR_ITEMS pseudo-items evenly of all classes."""
        n_scales, n_classes = len(self.scales), targets.shape[1]
        counted = targets.sum(axis=1, keepdims=True)

        def loss(parameters: Floats) -> tuple[float, Floats]:
            scales, offsets = parameters[:n_scales], parameters[n_scales:]
            logs = log_softmax(sum(a * each for a, each in zip(scales, self._few)) + offsets, axis=1)
            even, away = log_softmax(offsets), scales - 1 / n_scales
            residual = counted * np.exp(logs) - targets
            value = -np.sum(targets * logs) - PRIOR_ITEMS / n_classes * even.sum() + PRIOR_SCALE / 2 * away @ away
            of_scales = [np.vdot(residual, each) for each in self._few] + PRIOR_SCALE * away
            of_offsets = residual.sum(axis=0) + PRIOR_ITEMS * (np.exp(even) - 1 / n_classes)
            return float(value) / len(targets), np.concatenate([of_scales, of_offsets]) / len(targets)

        bounds = [(0.0, MOST_SCALE)] * n_scales + [(None, None)] * n_classes
        start, options = np.concatenate([self.scales, self.offsets]), {"maxiter": FIT_STEPS}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        self.scales, self.offsets = found[:n_scales], found[n_scales:]

    def _scores(self, logits: list[NDArray[Any]]) -> Floats:
        return np.asarray(sum(a * each for a, each in zip(self.scales, logits)) + self.offsets)

    def _mixed(self, explained: Floats) -> Floats:
        return np.asarray((1 - self.outliers) * explained + self.outliers / explained.shape[1])


def estimate_items(
    annotations: Annotations, logits: list[NDArray[Any]], max_iter: int = MAX_ITER, tol: float = TOL
) -> ItemEstimates:
    """Confusion matrices, calibration of the classifiers' scores and posteriors of the true classes.

    `logits` are log-probabilities, or scores, of shape (n_items, n_classes), one array for each classifier, that did
    not see the item's own labels. Without any, all items have the same prior, as in `dawid_skene`.
    """
    table, shape = annotations.counts(), (len(annotations.items), len(annotations.classes))
    calibrated = CalibratedScores(logits or [np.zeros(shape)])
    # all annotators start from the prior: labels counted against themselves alone would show no flips
    alike = np.log(normalised_rows(prior_pseudo_counts(shape[1])))[None]
    likelihood = table @ likelihood_columns(np.repeat(alike, len(annotations.annotators), axis=0))
    start = normalised(likelihood + np.log(calibrated.probabilities()))[0]
    class_prior = calibrated if logits else dirichlet_prevalence
    fit = iterate(collapsed_steps(annotations, start, class_prior), start, max_iter, tol)
    counts = confusion_counts(table.T.tocsr(), fit.posterior)
    logs = logs_by_others(annotations, counts, fit.prior, fit.posterior)
    log_prior = np.broadcast_to(fit.log_prior, shape)
    exponents = estimate_exponents(annotations, logs, log_prior)
    prior = normalised(exponents.row * log_prior)[0]
    evidence = exponents.labels * (labels_of_items(annotations) @ logs)
    posterior = normalised(evidence + exponents.row * log_prior)[0]
    annotators = Annotators.from_posterior(annotations.annotators, table, posterior, fit.prior)
    return ItemEstimates(posterior, prior, annotators, calibrated.scales[: len(logits)], exponents, fit)


def log_probabilities(probabilities: NDArray[Any]) -> NDArray[Any]:
    """Their logarithm, none of them taken as zero."""
    return np.asarray(np.log(np.maximum(probabilities, LEAST_PROBABILITY / probabilities.shape[1])))
