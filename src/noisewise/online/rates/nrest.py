"""NREst (Agarwal and Manwani, Algorithm 3): flip rates of feedback from a classifier's scores of perfect examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.stats import t as student
from sklearn.base import clone

from noisewise._typing import Floats
from noisewise._validation import check_number
from noisewise.noise import (
    LEAST_POOLED_SIGNAL,
    RateEstimate,
    anchor_scores,
    check_log,
    check_n_classes,
    clipped_estimate,
    not_identified,
    rates_in_heads,
)
from noisewise.online.rates.refit import PlainState

PRINTED_QUANTILE = 0.89  # the paper's percentile in place of the argmax of Eq. 6
UNINFORMATIVE_SCORES = (
    "the rates are not identified: the classifier hardly tells right actions from wrong ones, for want of rounds, of "
    "information in the feedback, or of interactions between x and the action, which a linear model does not have"
)
NO_INTERVALS = (
    "the rates are not identified: those of played actions alone, as in the paper, have no intervals; "
    "counterfactual=True has them"
)
LARGEST_DIFFERENCE = 0.05  # of a rate from the feedback it stands for: twice the mean error of the paper's own table
LEAST_FEEDBACK = 10  # of each kind: fewer can't be split into training rows and those for early stopping


class NREst(PlainState):
    """Flip rates of right/wrong feedback, by any classifier of P(positive feedback | x, action).

    A perfect example of a class has a score of 1 - rho1 for its own class and of rho0 for the others (Theorem 5 of
    [1]_). Every action is scored for every x, played or not; over played actions only, as in the paper
    (``counterfactual=False``), the rates of a player who is right in nine of ten rounds are singular.
    `rates_from_moments` and `RateTracker` are faster and more accurate wherever the propensities are known.

    Parameters
    ----------
    n_classes : int
        Number of actions.
    classifier : classifier with predict_proba, optional
        Learns the feedback from rows of x and the one-hot action. Default: a scikit-learn network of two layers of 128;
        `PrintedNetwork` is the paper's (extra ``torch``). Each estimate trains it anew on the block, with early
        stopping: for ten thousand rounds that takes many seconds, on a busy machine a minute or more. Trees, as in the
        example, take a tenth of that or less, but their rates are mostly too far off, and the estimate then says so. A
        linear model or naive Bayes will not do: which action is right depends on x, and they have no interaction of x
        and action.
    quantile : float, optional
        Quantile of the scores that defines the perfect example of a class. Default: the middle of the class's
        fraction of the rounds, and 0.89 of the played rounds if not counterfactual.
    counterfactual : bool, default=True
        Whether actions that were not played are scored too.
    random_state : int, optional

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Algorithm 3, Eq. 6.
    .. [2] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural networks robust to label
       noise: a loss correction approach. CVPR, 1944-1952.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from noisewise.noise import FlipMatrix
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=3000)
    >>> X = np.eye(3)[y] + rng.normal(scale=0.1, size=(3000, 3))
    >>> actions = rng.integers(3, size=3000)
    >>> feedback = FlipMatrix.binary(0.1, 0.3).corrupt((actions == y).astype(int), rng)
    >>> nrest = NREst(3, ExtraTreesClassifier(50, min_samples_leaf=50, random_state=0))
    >>> nrest.observe(X, actions, np.full(3000, 1 / 3), feedback)
    >>> rates = nrest.estimate()
    >>> abs(rates.false_positive - 0.1) < 0.05, abs(rates.false_negative - 0.3) < 0.05
    (True, True)
    """

    def __init__(
        self,
        n_classes: int,
        classifier: Any = None,
        quantile: float | None = None,
        counterfactual: bool = True,
        random_state: int | None = 0,
    ) -> None:
        check_n_classes(n_classes)
        able = all(hasattr(classifier, name) for name in ("get_params", "predict_proba"))
        if classifier is not None and (not able or isinstance(classifier, type)):
            raise ValueError(f"classifier is {classifier!r:.60}; one with predict_proba is needed, such as a network")
        if quantile is not None:
            check_number("quantile", quantile, lambda q: 0 < q <= 1, "it must lie above 0 and at most at 1")
        self.n_classes = n_classes
        self.classifier = classifier
        self.quantile = quantile
        self.counterfactual = counterfactual
        self.random_state = random_state
        self.rows = np.zeros((0, 0))
        self.actions = np.zeros(0, dtype=np.intp)
        self.feedback = np.zeros(0)

    def observe(self, X: Any, actions: ArrayLike, probabilities: ArrayLike, feedback: ArrayLike) -> None:
        """The rounds of a block; those of the block before are forgotten, as in RCINE (Algorithm 2, step "Clear S")."""
        rows, played, observed, _ = check_log(X, actions, feedback, probabilities, self.n_classes)
        dense = rows.toarray() if sparse.issparse(rows) else rows
        lengths = np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-12)
        self.rows, self.actions, self.feedback = dense / lengths, played, observed

    def estimate(self) -> RateEstimate:
        """Train on the block, find its perfect examples, and read both rates off their scores.

        The intervals are those of a single class, by the standard deviation between classes: the errors of one
        classifier are correlated, so that their mean has no smaller one. An error common to all classes does not show
        there, so the rates are held against the feedback in rounds that a ridge regression finds wrong, or right, with
        high confidence: the intervals hold both, and where they differ by more than .05, as the rates of trees and of
        blocks below 2,000 rounds mostly do, nothing is identified; nor is it where the classifier hardly tells right
        actions from wrong ones. The paper's rule, one number for all, has no intervals.
        """
        if len(self.feedback) == 0:
            raise ValueError("no rounds observed yet; call `observe` first")
        rarer = int(min(self.feedback.sum(), (1 - self.feedback).sum()))
        if rarer < LEAST_FEEDBACK:
            few = "all feedback of the block is the same" if rarer == 0 else f"{rarer} rounds of the block differ"
            reason = f"the rates are not identified: {few}; {LEAST_FEEDBACK} of each kind are needed"
            return not_identified(float(len(self.feedback)), 0, reason)
        classifier = self._network()
        classifier.fit(_pairs(self.rows, self.actions, self.n_classes), self.feedback.astype(np.int64))
        if not self.counterfactual:
            return self._from_played(_score(classifier, _pairs(self.rows, self.actions, self.n_classes)))
        n_rounds = len(self.rows)
        pairs = (_pairs(self.rows, np.full(n_rounds, action), self.n_classes) for action in range(self.n_classes))
        scores = np.column_stack([_score(classifier, rows) for rows in pairs])
        anchors = np.mean([anchor_scores(scores, quantile) for quantile in self._quantiles()], axis=0)
        right = np.diag(anchors)
        wrong = (anchors.sum(axis=1) - right) / (self.n_classes - 1)
        (rho0, interval0), (rho1, interval1) = _mean_and_interval(wrong), _mean_and_interval(1 - right)
        reason = "" if rho0 + rho1 <= 1 - LEAST_POOLED_SIGNAL else UNINFORMATIVE_SCORES
        if not reason:
            heads = rates_in_heads(self.rows, self.actions, self.feedback, self.n_classes)
            interval0, interval1 = (
                (min(low, head.interval[0]), max(high, head.interval[1]))
                for (low, high), head in zip((interval0, interval1), heads)
            )
            if max(abs(rho0 - heads[0].mean), abs(rho1 - heads[1].mean)) > LARGEST_DIFFERENCE:
                reason = (
                    f"the rates are not identified: the classifier's, {rho0:.2f} and {rho1:.2f}, are not those of the "
                    f"feedback in rounds known to be wrong, {heads[0].mean:.2f}, or right, {heads[1].mean:.2f}; "
                    "another classifier, or rates_from_moments, may do"
                )
        intervals = ((0.0, 1.0), (0.0, 1.0)) if reason else (interval0, interval1)
        return clipped_estimate((rho0, rho1), intervals, float(len(self.feedback)), self.n_classes, reason)

    def _from_played(self, scores: Floats) -> RateEstimate:
        quantile = PRINTED_QUANTILE if self.quantile is None else self.quantile
        wrong, right = np.quantile(scores, [1 - quantile, quantile])
        anything = ((0.0, 1.0), (0.0, 1.0))
        return clipped_estimate(
            (float(wrong), float(1 - right)), anything, float(len(scores)), len(scores), NO_INTERVALS
        )

    def _quantiles(self) -> Floats:
        if self.quantile is not None:
            return np.array([self.quantile])
        return 1 - np.linspace(0.3, 0.7, 9) / self.n_classes  # the mean of nine quantiles has less variance than one

    def _network(self) -> Any:
        if self.classifier is not None:
            return clone(self.classifier)
        from sklearn.neural_network import MLPClassifier  # imports a good part of scikit-learn

        return MLPClassifier(
            (128, 128), batch_size=128, early_stopping=True, n_iter_no_change=5, random_state=self.random_state
        )


def _pairs(rows: Floats, actions: Any, n_classes: int) -> Floats:
    """Rows of x, each followed by its one-hot action."""
    return np.hstack([rows, np.eye(n_classes)[actions]])


def _score(classifier: Any, pairs: Floats) -> Floats:
    return np.asarray(classifier.predict_proba(pairs)[:, 1], dtype=np.float64)


def _mean_and_interval(values: Floats) -> tuple[float, tuple[float, float]]:
    mean = float(np.clip(values.mean(), 0, 1))
    half_width = float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1))
    return mean, (max(mean - half_width, 0.0), min(mean + half_width, 1.0))
