"""A network trained through label noise: the noise estimated out of fold, the loss corrected for it, stopped early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.em import symmetric_matrix
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_number, generator
from noisewise.labels import NoisyLabelClassifier
from noisewise.noise import FlipMatrix, flips_of, labels_at_anchors, read_judgements, read_noise
from noisewise.torch.noisy import NoisyCrossEntropy
from noisewise.torch.training import BehindNoise, MeanNetwork, Trained, Training, some_rows
from noisewise.torch.transition import shrunk

HIDDEN = 128  # units in each of the two hidden layers of the default network
CLEARLY = 2.0  # standard errors by which one network must explain held-out labels better than another
LEAST_PROBABILITY = 1e-12  # before its logarithm is taken
PASSES = 2  # over the rows with the flip matrix learnt on: the second starts where the first has led


class NetworkClassifier(NoisyLabelClassifier):
    """A network that learns the true labels from noisy ones; needs the ``torch`` extra.

    Networks that did not see a row give its out-of-fold probabilities; the observed labels of the rows most typical of
    each class are a first estimate of the noise. With the loss corrected for it (`NoisyCrossEntropy`) the network is
    trained, and the estimate with it, twice. A plain network is trained beside. Its probabilities are read through the
    noise and averaged with those of the others, or it is kept alone, where it explains held-out labels clearly better.
    So is a network behind symmetric noise, one rate instead of a matrix, unless held-out labels speak against it.
    Every training stops early, on the corrected likelihood of held-out rows.

    Parameters
    ----------
    network : function, optional
        Returns a new torch module for a number of classes; the module gives logits. By default two hidden layers of
        128 units over flattened rows.
    noise : None, FlipMatrix, "learn" or "judgements"
        - None: flips by class, estimated.
        - FlipMatrix: used as given; no folds are needed.
        - "learn": the matrix is a parameter that is learnt with the network, with the volume regulariser.
        - "judgements": noise may depend on the row; the network is trained on the posteriors of the true labels under
          the judgement reading (see `audit_probabilities`).
    folds : int
        How many networks give the out-of-fold probabilities.
    epochs : int
        Passes over the rows, at most.
    patience : int
        Passes without a better likelihood before training stops.
    batch_size : int
    learning_rate : float
        Of Adam.
    held_out : float
        Fraction of the rows that early stopping looks at.
    device : str
        Where torch computes.
    random_state : int, numpy generator or None
    verbose : bool
        Print a line for each epoch.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    network_ : torch module
    noise_ : FlipMatrix
    out_of_fold_ : array of shape (n, n_classes), or None
        Probabilities of the observed labels by networks that did not see the row: for `audit_probabilities`.
    history_ : list of float
        Corrected negative log-likelihood of the held-out rows after each epoch.

    References
    ----------
    .. [1] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural networks robust to label
       noise: a loss correction approach. CVPR.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from noisewise import FlipMatrix, audit_probabilities
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = FlipMatrix.symmetric(0.3, n_classes=10).corrupt(truth, rng=0)
    >>> network = NetworkClassifier(folds=2, epochs=10, learning_rate=0.003, random_state=0).fit(X / 16, y)
    >>> bool(network.score(X / 16, truth) > 0.9)
    True
    >>> audit = audit_probabilities(network.out_of_fold_, y)
    """

    def __init__(
        self,
        network: Callable[[int], torch.nn.Module] | None = None,
        noise: FlipMatrix | Literal["learn", "judgements"] | None = None,
        folds: int = 3,
        epochs: int = 30,
        patience: int = 5,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        held_out: float = 0.1,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: bool = False,
    ) -> None:
        self.network = network
        self.noise = noise
        self.folds = folds
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.held_out = held_out
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> NetworkClassifier:
        """Estimate the noise and train the network; X has a row for each label, of any number of dimensions."""
        training = self._training()
        X, codes = self._check_training(X, y, dtype=np.float32, allow_nd=True)
        rng = generator(self.random_state)
        rows, labels = torch.as_tensor(X), torch.as_tensor(codes, dtype=torch.int64)
        self.out_of_fold_: NDArray[np.float32] | None = None
        with torch.random.fork_rng():  # layers and dropout draw from torch's own random state
            torch.manual_seed(int(rng.integers(2**31)))
            held_out = some_rows(len(codes), self.held_out, rng)

            def train(criterion: Any, labels: Any = labels) -> Trained:
                return training.run(self._new_network(), criterion, rows, labels, held_out, rng)

            if self.noise is None or self.noise == "judgements":
                self.out_of_fold_ = p = self._out_of_fold(training, rows, codes, rng)
            if self.noise is None:
                judged = held_out if len(held_out) else np.arange(len(codes))

                def losses(network: Any, noise: FlipMatrix) -> Floats:
                    return _log_losses(training.predict(network, rows[judged]) @ noise.matrix, codes[judged])

                trained, self.noise_ = _explain(train, losses, labels_at_anchors(p, codes))
            elif self.noise == "judgements":
                outcome = read_noise(p.astype(np.float64), codes)
                posterior = read_judgements([p], codes, outcome).posterior
                self.noise_ = flips_of(posterior, codes)[0]
                trained = train(torch.nn.CrossEntropyLoss(), torch.as_tensor(posterior))
            else:
                criterion = NoisyCrossEntropy(len(self.classes_) if self.noise == "learn" else self.noise)
                trained = train(criterion)
                self.noise_ = criterion.noise
        self.network_, self.history_ = trained.network, trained.history
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the true label, one column a class."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32, allow_nd=True)
        return self._training().predict(self.network_, torch.as_tensor(X)).astype(np.float64)

    def _training(self) -> Training:
        """How networks are trained, from parameters that are checked."""
        if not (isinstance(self.noise, FlipMatrix) or self.noise in (None, "learn", "judgements")):
            raise ValueError(f"noise is {self.noise!r}; None, a FlipMatrix, 'learn' or 'judgements' would do")
        for name in ("epochs", "patience", "batch_size"):
            check_number(name, getattr(self, name), lambda value: value >= 1, "1 or more")
        check_number("folds", self.folds, lambda value: value >= 2, "2 or more")
        check_number("held_out", self.held_out, lambda value: 0 < value < 1, "between 0 and 1")
        check_number("learning_rate", self.learning_rate, lambda value: 0 < value < np.inf, "above 0")
        return Training(
            self.epochs, self.patience, self.batch_size, self.learning_rate, self.device, bool(self.verbose)
        )

    def _out_of_fold(
        self, training: Training, rows: Any, codes: Codes, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """Probabilities of the observed classes, by networks that did not see the row."""
        splitter = StratifiedKFold if np.bincount(codes).min() >= self.folds else KFold
        found = np.empty((len(codes), len(self.classes_)), dtype=np.float32)
        labels = torch.as_tensor(codes, dtype=torch.int64)
        seed = int(rng.integers(2**31))
        for fitted, test in splitter(self.folds, shuffle=True, random_state=seed).split(codes, codes):
            held_out = some_rows(len(fitted), self.held_out, rng)
            plain = torch.nn.CrossEntropyLoss()
            trained = training.run(self._new_network(), plain, rows[fitted], labels[fitted], held_out, rng)
            found[test] = training.predict(trained.network, rows[test])
        return found

    def _new_network(self) -> Any:
        if self.network is not None:
            return self.network(len(self.classes_))
        layers = torch.nn.Flatten(), torch.nn.LazyLinear(HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, HIDDEN)
        return torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(HIDDEN, len(self.classes_)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _explain(
    train: Callable[[Any], Trained], losses: Callable[[Any, FlipMatrix], Floats], first: Floats
) -> tuple[Trained, FlipMatrix]:
    """Networks with a flip matrix that is learnt on from `first`, or a plain one if held-out labels speak for it.

    Where one rate explains the held-out labels about as well as all the flips learnt, a network behind symmetric noise
    is averaged with the others. Symmetric noise does not mislead a plain network either, which has its part too.
    """
    none = FlipMatrix.none(len(first))
    plain = train(NoisyCrossEntropy(none))
    noise = shrunk(first)  # it is only a start
    corrected = []
    for _ in range(PASSES):
        criterion = NoisyCrossEntropy(noise, learn=True)
        corrected.append(train(criterion))
        noise = criterion.noise
    mean = MeanNetwork([one.network for one in corrected])
    of_mean = losses(mean, noise)
    if _clearly_above(of_mean, losses(plain.network, none)):
        return plain, none
    symmetric = shrunk(symmetric_matrix(len(first), 1 - float(np.diag(noise.matrix).mean())))
    even = train(NoisyCrossEntropy(symmetric)).network
    networks = [mean]
    if not _clearly_above(losses(even, symmetric), of_mean):
        networks, noise = [mean, even], symmetric
    return Trained(MeanNetwork([*networks, BehindNoise(plain.network, noise)]), corrected[-1].history), noise


def _clearly_above(losses: Floats, others: Floats) -> bool:
    """Whether losses of the same rows are higher on average, by more standard errors than chance explains."""
    excess = losses - others
    return bool(excess.mean() > CLEARLY * excess.std() / np.sqrt(len(excess)))


def _log_losses(p: Floats, codes: Codes) -> Floats:
    """Minus the log-probability of each label."""
    return np.asarray(-np.log(np.maximum(p[np.arange(len(codes)), codes], LEAST_PROBABILITY)))
