"""The classifier to begin with: robust learners stacked by likelihood, and fitted again to the pooled posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._typing import Floats, RandomState
from noisewise._validation import check_binary_or_more, check_weights, encode_labels
from noisewise.labels.base import ROW_TYPES, NoisyLabelClassifier
from noisewise.labels.fisher.classifier import RobustKernelFisherClassifier
from noisewise.labels.gaussian_process.classifier import RobustGaussianProcessClassifier
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.labels.progress import CallbackSupport, Progress, shown, with_callbacks
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.stacking.cost import announce
from noisewise.labels.stacking.pool import Pool, Reading
from noisewise.labels.stacking.readings import FOLDS, read_by_ridge, read_out_of_fold, trial_weight
from noisewise.labels.stacking.refits import fit_to_posterior, takes_soft_labels
from noisewise.labels.stacking.rows import CountedRows
from noisewise.labels.trees.boosting import BoostedTrees
from noisewise.labels.trees.classifier import RobustTreesClassifier, read_by_trees, refit_trees, takes_posterior
from noisewise.tables import TableEncoder

FEW_ROWS, FEW_LABELS = 1_500, 15_000  # rows, and rows times classes, up to which kernel methods take seconds
BOOSTED_CLASSES, BOOSTED_COLUMNS = 30, 5_000  # classes, and classes times columns, up to which boosting takes seconds
# Stacking weight beside the others of learners fitted to halves of the rows; with less they are not worth their time.
LEAST_WEIGHTS = {BoostedTrees: 0.1, RobustGaussianProcessClassifier: 0.2}
SECOND_ROUND = 0.75  # of the prediction; the rest is the stack of the first
# Times the stacking weight in the second round. Forests suffer from wrong labels most, and gain most. Fisher's
# discriminant is not fitted again, and its flip rates are its own: it counts as far as the others leave labels open.
FOREST_GAIN, FISHER_GAIN = 3.0, 6.0


class RobustClassifier(CallbackSupport, NoisyLabelClassifier):
    """The classifier to begin with for noisy labels: stacked learners, fitted again to the true labels they infer.

    In a first round every learner reads each row from a fit without it (ridge leave-one-out, trees out-of-bag, others
    out of fold): how probable its observed label is, and what the true one may be. The learners are stacked by the
    likelihood of the observed labels through their flip matrices, the one criterion that noisy labels allow. In a
    second round those that take weights are fitted again, to the pooled posterior of the true label; where that is
    uncertain, Fisher's discriminant, which has flip rates of its own, has a part in it too. The prediction is a mean of
    both rounds, in each by the stacking weights. Nothing needs tuning.

    Parameters
    ----------
    estimators : sequence of classifiers, optional
        Classifiers of `noisewise.labels`, or any others with scikit-learn's interface and `predict_proba`. By default
        RobustRidgeClassifier and RobustTreesClassifier; for up to 1,500 rows RobustKernelFisherClassifier and the
        importance-reweighted forest; and where, fitted to halves of the rows, they have a part in predicting the labels
        of the other halves, gradient boosting and, for up to 1,500 rows, RobustGaussianProcessClassifier.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it with the model.
    n_jobs : int, optional
        Trees, or folds, fitted at a time.
    random_state : int, RandomState, Generator or None
        Draws landmarks and the trees of forests. None gives the same draw every time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The noise, given or estimated.
    estimators_ : list of classifiers
        The learners of the first round, for the classes 0, 1, ... that have rows.
    weights_ : array
        Their stacking weights.
    refits_ : list of classifiers
        Those of the second round: fitted again, and Fisher's discriminant as it is.
    refit_weights_ : array
        Their stacking weights, that of a forest three times and of Fisher's discriminant up to six times, by the
        entropy of `true_label_posterior_`; the sum is one again.
    true_label_posterior_ : array of shape (n_rows, n_classes)
        Posterior of the true class for the rows of `fit`, given the row and its observed label, out of sample.
    label_quality_ : array of shape (n_rows,)
        Probability that the observed label of each row of `fit` is the true one.
    encoder_ : TableEncoder
        What made numbers of a frame with other columns, and imputed missing values.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from noisewise import FlipMatrix
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> observed = FlipMatrix.binary(false_positive=0.1, false_negative=0.35).corrupt(y, rng=0)
    >>> model = RobustClassifier().fit(X, observed)
    >>> bool((observed == y).mean() < 0.8), model.score(X, y) > 0.95
    (True, True)

    References
    ----------
    .. [1] Yao, Y., Vehtari, A., Simpson, D., Gelman, A. (2018). Using stacking to average Bayesian predictive
       distributions. Bayesian Analysis 13.
    .. [2] Wolpert, D. H. (1992). Stacked generalization. Neural Networks 5.
    """

    def __init__(
        self,
        estimators: Sequence[Any] | None = None,
        noise: NoiseArgument = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimators = estimators
        self.noise = noise
        self.n_jobs = n_jobs
        self.random_state = random_state

    @shown
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Read the rows by every learner, stack them, and fit them again. A row of weight 2 counts as two rows."""
        X = self._encode_training(X)
        self.classes_, codes = encode_labels(y)
        check_consistent_length(X, codes)
        check_binary_or_more(self.classes_)
        weights = check_weights(sample_weight, X)
        noise = resolve_noise(self.noise, X, codes, len(self.classes_), weights)
        rows = CountedRows.of(X, codes, weights, self.classes_, noise)
        self.present_ = rows.present
        pool = self._fit_members(rows)
        self.noise_ = noise or rows.noise_among_all(pool.noise)
        self.true_label_posterior_ = rows.posterior_of_rows(pool.posterior, X, codes, self.noise_, self._posterior)
        self.label_quality_ = self.true_label_posterior_[np.arange(len(codes)), codes]
        return self

    def _fit_members(self, rows: CountedRows) -> Pool:
        """Both rounds."""
        members = self._members(rows)
        progress = Progress(self, len(members) + sum(map(_takes_posterior, members)))
        readings: list[Reading] = []
        kept = []
        for member in members:
            if self.estimators is None:
                _tell_noise(member, rows, readings)
            if self.estimators is not None or _is_promising(member, rows, readings):
                kept.append(member)
                readings.append(_read(member, rows, readings, self.n_jobs))
            progress.step()
        pool = Pool.of(readings, rows.codes, rows.noise)
        self.estimators_, self.weights_ = [reading.model for reading in readings], pool.weights
        self._fit_again(kept, rows, pool, progress)
        progress.end()
        return pool

    def _fit_again(self, members: Sequence[Any], rows: CountedRows, pool: Pool, progress: Progress) -> None:
        """The second round: fits to the posterior of the true label, and Fisher's discriminant as it is."""
        again = [i for i, member in enumerate(members) if _takes_posterior(member)]
        self.refits_ = []
        for i in again:
            self.refits_.append(_refit(members[i], rows, pool.posterior))
            progress.step()
        as_it_is = [i for i, member in enumerate(members) if again and isinstance(member, RobustKernelFisherClassifier)]
        self.refits_ += [self.estimators_[i] for i in as_it_is]
        second = again + as_it_is
        weights = pool.weights[second] * [_gain(members[i], pool) for i in second]
        self.refit_weights_ = weights / weights.sum()

    def _members(self, rows: CountedRows) -> list[Any]:
        """The learners: those given, or the default ones of this many rows."""
        if self.estimators is None:
            return self._default_members(rows)
        if not len(self.estimators) or not all(
            is_classifier(member) and hasattr(member, "predict_proba") for member in self.estimators
        ):
            raise ValueError(
                "estimators must hold one classifier with predict_proba or more, such as "
                "[RobustRidgeClassifier(), HistGradientBoostingClassifier()]"
            )
        return [clone(member) for member in self.estimators]

    def _default_members(self, rows: CountedRows) -> list[Any]:
        """Those whose time is in proportion to this many rows, columns and classes."""
        (n, n_columns), n_classes = rows.X.shape, len(rows.present)
        ridge = RobustRidgeClassifier(random_state=self.random_state)
        trees = RobustTreesClassifier(n_jobs=self.n_jobs, random_state=self.random_state)
        members = [ridge, trees]
        few = n <= FEW_ROWS and n * n_classes <= FEW_LABELS
        if all(map(rows.has_all_classes_without, (FOLDS, 2))):
            if few:
                members.append(RobustKernelFisherClassifier())
            if n_classes <= min(BOOSTED_CLASSES, BOOSTED_COLUMNS / n_columns) and not issparse(rows.X):
                members.append(BoostedTrees())
            if few:
                members.append(RobustGaussianProcessClassifier(random_state=self.random_state))
        if few:
            members.append(clone(trees).set_params(weighting="importance"))
        announce(n, n_columns, n_classes, trees.n_estimators, self.n_jobs)
        return members

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class: the mean of both rounds."""
        check_is_fitted(self)
        return self._posterior(self._encode(X))

    def _posterior(self, X: Any) -> Floats:
        mean = _weighted(self.weights_, self.estimators_, X)
        if self.refits_:
            again = _weighted(self.refit_weights_, self.refits_, X)
            mean = (1 - SECOND_ROUND) * mean + SECOND_ROUND * again
        found = np.zeros((X.shape[0], len(self.classes_)))
        found[:, self.present_] = mean
        return found

    def _encode_training(self, X: Any) -> Any:
        """Rows as numbers, without gaps; sets `encoder_` and what scikit-learn keeps about X."""
        if _is_mixed(X):
            validate_data(self, X, skip_check_array=True)
        else:
            X = validate_data(self, X, accept_sparse="csr", dtype=ROW_TYPES, ensure_all_finite="allow-nan")
        self.encoder_ = TableEncoder().fit(X)
        return self.encoder_.encode(X)

    def _encode(self, X: Any) -> Any:
        if self.encoder_.columns_ is not None:
            return self.encoder_.transform(X)
        finite: Any = True if self.encoder_.gaps_ is None else "allow-nan"
        rows = validate_data(self, X, reset=False, accept_sparse="csr", dtype=ROW_TYPES, ensure_all_finite=finite)
        return self.encoder_.encode(rows)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _is_mixed(X: Any) -> bool:
    """Whether X is a frame with a column that is not of numbers."""
    frame = nw.from_native(X, pass_through=True)
    return isinstance(frame, nw.DataFrame) and not all(
        dtype.is_numeric() or dtype == nw.Boolean for dtype in frame.schema.dtypes()
    )


def _weighted(weights: Floats, models: Sequence[Any], X: Any) -> Floats:
    """Weighted mean of what the models predict."""
    return np.asarray(sum(weight * model.predict_proba(X) for weight, model in zip(weights, models)))


def _tell_noise(member: Any, rows: CountedRows, readings: Sequence[Reading]) -> None:
    """Give the Gaussian process of several classes the noise read so far, or each fit has Fisher's estimate it."""
    if isinstance(member, RobustGaussianProcessClassifier) and len(rows.present) > 2:
        member.set_params(noise=Pool.of(readings, rows.codes, rows.noise).noise)


def _is_promising(member: Any, rows: CountedRows, readings: Sequence[Reading]) -> bool:
    """Whether a default learner is worth its time: those of six fits or more have to show it on halves of the rows."""
    if type(member) not in LEAST_WEIGHTS:
        return True
    return trial_weight(member, rows, readings) >= LEAST_WEIGHTS[type(member)]


def _read(member: Any, rows: CountedRows, readings: Sequence[Reading], n_jobs: int | None) -> Reading:
    """A learner's reading of the rows, in the cheapest way that leaves each row out; what is read already may help."""
    if isinstance(member, RobustRidgeClassifier):
        return read_by_ridge(member, rows)
    if isinstance(member, RobustTreesClassifier):
        by_ridge = next((one for one in readings if isinstance(one.model, RobustRidgeClassifier)), None)
        return read_by_trees(member, rows, by_ridge)
    return read_out_of_fold(member, rows, n_jobs)


def _takes_posterior(member: Any) -> bool:
    """Whether a learner is fitted again: those that model noise by other means than weights are not."""
    if isinstance(member, RobustTreesClassifier):
        return takes_posterior(member)
    noisy = isinstance(member, NoisyLabelClassifier) and not isinstance(member, RobustRidgeClassifier)
    return not noisy and takes_soft_labels(member)


def _gain(member: Any, pool: Pool) -> float:
    """Factor of a learner's stacking weight in the second round."""
    if isinstance(member, RobustKernelFisherClassifier):
        return FISHER_GAIN * pool.uncertainty
    return FOREST_GAIN if isinstance(member, RobustTreesClassifier) else 1.0


def _refit(member: Any, rows: CountedRows, posterior: Floats) -> Any:
    if isinstance(member, RobustTreesClassifier):
        return refit_trees(member, rows, posterior)
    return fit_to_posterior(member, rows.X, posterior)
