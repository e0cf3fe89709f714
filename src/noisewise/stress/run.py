"""Stress test: accuracy on clean test rows as more and more noise corrupts the training rows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from noisewise._progress import Report, reporting, step
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_binary_or_more, encode_labels, generator
from noisewise._words import counted
from noisewise.noise import FlipMatrix, GaussianNoise
from noisewise.stress.methods import METHODS, Corrupted, Method
from noisewise.stress.result import StressResult
from noisewise.tables import TableEncoder

RATES = {  # fractions of flips; for features, standard deviations relative to those of the columns
    "labels": (0.0, 0.1, 0.2, 0.3, 0.4),
    "features": (0.0, 0.25, 0.5, 1.0, 1.5),
    "feedback": (0.0, 0.1, 0.2, 0.3, 0.4),
}
FLIPS = ("symmetric", "pair")
LEAST_ROWS = 4  # of a class, for a stratified split into 70 % and 30 %


def stress_test(
    X: Any,
    y: Any,
    kind: str = "labels",
    rates: Sequence[float] | None = None,
    *,
    flips: str = "symmetric",
    methods: dict[str, Method] | Sequence[str] | None = None,
    n_seeds: int = 5,
    max_rows: int | None = 2000,
    random_state: RandomState = 0,
    progress: bool | Report | None = None,
) -> StressResult:
    """Accuracy of several methods on clean test rows, at each rate of noise in the training rows of a table.

    Parameters
    ----------
    X, y : rows and labels, as for `audit_labels`
    kind : {"labels", "features", "feedback"}
        What is corrupted: a fraction of the labels; the numbers, by Gaussian noise in units of their standard
        deviation; or a fraction of the right/wrong feedback to online learners.
    rates : sequence of float, optional
        Rates of noise, the first usually 0.
    flips : {"symmetric", "pair"}
        Which label noise: symmetric (to any other class) or pair flips (always to the next class).
    methods : names of known methods, or a dict of functions from `Corrupted` rows to a fitted model, optional
    n_seeds : int
        Repetitions, each with its own split, noise and seeds; they give the intervals.
    max_rows : int, optional
        More rows are drawn from at random.
    progress : bool or callable, optional
        Whether to show progress on the screen; by default where a person looks on (a terminal, a notebook) and it takes
        more than two seconds. A function is called with the number of fits done and their total.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = stress_test(X, y, rates=[0, 0.3], methods=["k-NN", "RobustRidgeClassifier"], n_seeds=2)
    >>> result.to_frame("polars").columns
    ['method', 'rate', 'accuracy', 'low', 'high']
    """
    chosen = _chosen_methods(kind, methods)
    levels = tuple(float(rate) for rate in (RATES[kind] if rates is None else rates))
    if flips not in FLIPS:
        raise ValueError(f"flips is {flips!r}; it must be one of {', '.join(map(repr, FLIPS))}")
    if not levels or min(levels) < 0 or (kind != "features" and max(levels) >= 1):
        raise ValueError(
            "rates of noise lie at 0 or above, and below 1 for labels and feedback; one is needed at least"
        )
    if n_seeds < 2:
        raise ValueError(f"{n_seeds} seeds show no interval; two or more are needed")
    rng = generator(random_state)
    classes, codes = encode_labels(y)
    check_binary_or_more(classes)
    rows, codes, notes = _table(X, codes, max_rows, rng)
    accuracy = np.full((len(chosen), len(levels), n_seeds), np.nan)
    done, total = 0, accuracy.size
    with reporting(progress, f"stressing {kind}"):
        for repetition, seed in enumerate(rng.integers(2**31, size=n_seeds).tolist()):
            parts = train_test_split(rows, codes, test_size=0.3, stratify=codes, random_state=seed)
            for level, rate in enumerate(levels):
                corrupted = _corrupt(kind, parts[0], parts[2], rate, flips, seed)
                for method, fit in enumerate(chosen.values()):
                    accuracy[method, level, repetition] = _accuracy(fit, corrupted, parts[1], parts[3])
                    step(done := done + 1, total)
    return StressResult(kind, tuple(chosen), levels, accuracy, len(codes), tuple(notes), X)


def _chosen_methods(kind: str, methods: Any) -> dict[str, Method]:
    if kind not in METHODS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(map(repr, METHODS))}")
    if isinstance(methods, dict):
        return dict(methods)
    known = METHODS[kind]
    unknown = [name for name in methods or () if name not in known]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r} for noisy {kind}; there are {', '.join(known)}")
    return {name: known[name] for name in methods or known}


def _table(X: Any, codes: Codes, max_rows: int | None, rng: np.random.Generator) -> tuple[Any, Codes, list[str]]:
    """Encoded and standardised rows, at most `max_rows`, of classes large enough for a stratified split."""
    from sklearn.preprocessing import StandardScaler

    encoder = TableEncoder()
    rows = encoder.fit_transform(X)
    if rows.shape[0] != len(codes):
        raise ValueError(f"X has {rows.shape[0]} rows, y has {len(codes)} labels; they must be as many")
    notes = list(encoder.notes_)
    if max_rows is not None and len(codes) > max_rows:
        notes.append(f"{max_rows:,} of {len(codes):,} rows, drawn at random")
        drawn = rng.permutation(len(codes))[:max_rows]
        rows, codes = rows[drawn], codes[drawn]
    enough = np.bincount(codes)[codes] >= LEAST_ROWS
    if not enough.all():
        notes.append(f"{counted((~enough).sum(), 'row')} of classes with fewer than {LEAST_ROWS} rows left out")
        rows, codes = rows[enough], codes[enough]
    if len(np.unique(codes)) < 2:
        raise ValueError(f"two classes with {LEAST_ROWS} rows or more are needed")
    rows = StandardScaler(with_mean=not hasattr(rows, "tocsr")).fit_transform(rows)
    return rows, np.unique(codes, return_inverse=True)[1], notes


def _corrupt(kind: str, X: Any, y: Codes, rate: float, flips: str, seed: int) -> Corrupted:
    rng = np.random.default_rng([seed, round(1e6 * rate)])
    if kind == "labels":
        flip_matrix = _flips(rate, int(y.max()) + 1, flips)
        return Corrupted(X, flip_matrix.corrupt(y, rng), flip_matrix, seed)
    if kind == "feedback":
        return Corrupted(X, y, FlipMatrix.binary(rate, rate), seed)
    if hasattr(X, "tocsr"):
        raise ValueError("columns of text have no Gaussian noise; leave them out, or stress labels or feedback")
    measured = _is_measured(X)
    if not measured.any():
        raise ValueError("no column holds measured numbers; stress labels or feedback instead")
    noise = GaussianNoise(np.diag(rate**2 * measured))
    return Corrupted(noise.corrupt(X, rng), y, noise, seed)


def _flips(rate: float, n_classes: int, flips: str) -> FlipMatrix:
    if flips == "symmetric":
        return FlipMatrix.symmetric(rate, n_classes)
    return FlipMatrix((1 - rate) * np.eye(n_classes) + rate * np.roll(np.eye(n_classes), 1, axis=1))


def _is_measured(X: Floats) -> Floats:
    """One for columns of numbers, zero for indicator columns (one-hot categories, missing values)."""
    return np.array([float(len(np.unique(column[:200])) > 2) for column in X.T])


def _accuracy(fit: Method, corrupted: Corrupted, X: Any, y: Codes) -> float:
    """Accuracy on the test rows; NaN if the method can't be fitted to the training rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that do not converge: the accuracy shows it
        try:
            return float(np.mean(np.asarray(fit(corrupted).predict(X)) == y))
        except (ValueError, np.linalg.LinAlgError):
            return float("nan")
