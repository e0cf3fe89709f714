"""Trees through noise: a forest or boosting fitted to the posterior of the true label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._typing import Floats, RandomState
from noisewise._validation import check_weights, generator
from noisewise.labels.base import ROW_TYPES, NoisyLabelClassifier
from noisewise.labels.noise_argument import NoiseArgument, resolve_noise
from noisewise.labels.ridge.classifier import RobustRidgeClassifier
from noisewise.labels.stacking.pool import Pool, Reading
from noisewise.labels.stacking.readings import (
    importance_of_rows,
    read_by_forest,
    read_by_ridge,
    read_out_of_bag,
    read_out_of_fold,
)
from noisewise.labels.stacking.refits import fit_to_posterior, takes_soft_labels
from noisewise.labels.stacking.rows import CountedRows
from noisewise.labels.trees.soft_forest import fit_soft_forest


class RobustTreesClassifier(NoisyLabelClassifier):
    """Trees through noise: a forest, boosting or any other classifier, fitted to the posterior of the true label.

    The trees on the observed labels, out-of-bag (out of fold where there is no bag), and the robust ridge,
    leave-one-out, each estimate the noise and the true label of every row. They are stacked by the likelihood of the
    observed labels. Then the trees are fitted again, to the posterior of the true label instead of the label: an EM
    step between the noise and the trees. A wrong label that nothing speaks for has no weight in this fit, and its row
    still counts, with its probable class.

    Parameters
    ----------
    estimator : classifier whose fit takes sample_weight, optional
        Any with scikit-learn's interface: forests, gradient boosting, of LightGBM, XGBoost or CatBoost too. By
        default a forest of trees by turns from a random forest and from extremely randomised trees, fitted to soft
        labels directly; others get a copy of a row for each probable class, with weights.
    noise : None, FlipMatrix, "confident", "fisher", "ridge", function of (X, y), or object with ``estimate(X, y)``
        The noise transition matrix T, or how it is estimated; one meaning for all, see `noisewise.labels`. None, the
        default, estimates it with the model.
    n_estimators : int, default=200
        Number of trees of the default forest.
    n_jobs : int, optional
        Trees, or folds, fitted at a time.
    random_state : int, RandomState, Generator or None
        Draws the trees of the default forest. None gives the same draw every time.
    weighting : {"posterior", "importance"}, default="posterior"
        "importance" fits the default forest once, to observed labels, and its trees draw rows by importance weights
        P(true = k | x) / P(observed = k | x) at the observed class k, as the ridge estimates them
        (`ImportanceReweightedClassifier` does so for any other classifier).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    noise_ : FlipMatrix
        The noise, given or estimated.
    trees_ : fitted trees
        With `predict_proba` of the classes 0, 1, ... that have rows.
    true_label_posterior_ : array of shape (n_rows, n_classes)
        Posterior of the true class for the rows of `fit`, which the trees were fitted to.
    label_quality_ : array of shape (n_rows,)
        Probability that the observed label of each row of `fit` is the true one.

    Examples
    --------
    >>> from noisewise import FlipMatrix
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 5))
    >>> y = ((X[:, 0] > 0.4) & (X[:, 1] > 0.3)).astype(int)
    >>> observed = FlipMatrix.binary(false_positive=0.1, false_negative=0.4).corrupt(y, rng=0)
    >>> model = RobustTreesClassifier().fit(X, observed)
    >>> print(f"{(observed == y).mean():.2f} of the labels are right, {model.score(X, y):.2f} of the predictions")
    0.82 of the labels are right, 0.97 of the predictions

    References
    ----------
    .. [1] Breiman, L. (2001). Random forests. Machine Learning 45.
    .. [2] Geurts, P., Ernst, D., Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63.
    .. [3] Bootkrajang, J., Kaban, A. (2012). Label-noise robust logistic regression and its applications. ECML PKDD.
    .. [4] Yao, Y., Vehtari, A., Simpson, D., Gelman, A. (2018). Using stacking to average Bayesian predictive
       distributions. Bayesian Analysis 13.
    .. [5] Liu, T., Tao, D. (2016). Classification with noisy labels by importance reweighting. IEEE Transactions on
       Pattern Analysis and Machine Intelligence 38.
    """

    def __init__(
        self,
        estimator: Any = None,
        noise: NoiseArgument = None,
        n_estimators: int = 200,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        weighting: str = "posterior",
    ) -> None:
        self.estimator = estimator
        self.noise = noise
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.weighting = weighting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate noise and true labels, and fit the trees to these. A row of weight 2 counts as two rows."""
        X, codes = self._check_training(X, y, accept_sparse="csr", dtype=ROW_TYPES)
        weights = check_weights(sample_weight, X)
        noise = resolve_noise(self.noise, X, codes, len(self.classes_), weights)
        rows = CountedRows.of(X, codes, weights, self.classes_, noise)
        by_ridge = read_by_ridge(RobustRidgeClassifier(), rows)
        by_trees = read_by_trees(self, rows, by_ridge)
        pool = Pool.of([by_ridge, by_trees], rows.codes, rows.noise)
        again = takes_posterior(self)
        self.trees_, self.present_ = refit_trees(self, rows, pool.posterior) if again else by_trees.model, rows.present
        self.noise_ = noise or rows.noise_among_all(pool.noise)
        self.true_label_posterior_ = rows.posterior_of_rows(pool.posterior, X, codes, self.noise_, self._posterior)
        self.label_quality_ = self.true_label_posterior_[np.arange(len(codes)), codes]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class."""
        check_is_fitted(self)
        return self._posterior(validate_data(self, X, reset=False, accept_sparse="csr", dtype=ROW_TYPES))

    def _posterior(self, X: Any) -> Floats:
        found = np.zeros((X.shape[0], len(self.classes_)))
        found[:, self.present_] = self.trees_.predict_proba(X)
        return found


def takes_posterior(model: RobustTreesClassifier) -> bool:
    """Whether the trees are fitted again, to the posterior of the true label."""
    if model.weighting not in ("posterior", "importance"):
        raise ValueError(f"weighting is {model.weighting!r}; 'posterior' or 'importance' will do")
    return model.weighting == "posterior"


def read_by_trees(model: RobustTreesClassifier, rows: CountedRows, by_ridge: Reading | None = None) -> Reading:
    """The trees on observed labels: what they say of rows that they were not grown on."""
    if not takes_posterior(model):
        if model.estimator is not None:
            raise ValueError(
                "weighting 'importance' is for the default forest; ImportanceReweightedClassifier takes others"
            )
        by_ridge = by_ridge or read_by_ridge(RobustRidgeClassifier(), rows)
        weights = importance_of_rows(by_ridge, rows)
        return read_by_forest(rows, model.n_estimators, _stream(model, 2), model.n_jobs, weights)
    if model.estimator is None:
        return read_by_forest(rows, model.n_estimators, _stream(model, 0), model.n_jobs)
    if not is_classifier(model.estimator) or not takes_soft_labels(model.estimator):
        name = type(model.estimator).__name__
        raise ValueError(f"{name} is no classifier whose fit takes sample_weight; one is needed")
    parameters = model.estimator.get_params(deep=False)
    read = read_out_of_bag if parameters.get("bootstrap") and "oob_score" in parameters else read_out_of_fold
    return read(model.estimator, rows, model.n_jobs)


def refit_trees(model: RobustTreesClassifier, rows: CountedRows, posterior: Floats) -> Any:
    """The trees fitted to the posterior of the true label."""
    if model.estimator is None:
        return fit_soft_forest(rows.X, posterior, model.n_estimators, _stream(model, 1), model.n_jobs)[0]
    return fit_to_posterior(model.estimator, rows.X, posterior)


def _stream(model: RobustTreesClassifier, index: int) -> np.random.Generator:
    return generator(0 if model.random_state is None else model.random_state).spawn(3)[index]
