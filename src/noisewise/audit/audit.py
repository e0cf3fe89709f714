"""`audit_labels`: rows whose labels are probably wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np

from noisewise._progress import Report, reporting
from noisewise._typing import Codes, RandomState
from noisewise._validation import check_binary_or_more, encode_labels, is_missing, one_column
from noisewise._words import counted
from noisewise.audit.cluster import OnCluster
from noisewise.audit.folds import Folds, in_columns, rows_of, takes_own_columns
from noisewise.audit.inputs import check_length, check_names, notes_on_probabilities, pairing_notes, refuse_amounts
from noisewise.audit.label_names import label_notes, merge_labels, merge_sentence
from noisewise.audit.missing import predict_labels
from noisewise.audit.ordered import in_order
from noisewise.audit.posterior import LabelsAre, Reading, chosen_reading, judge_rows
from noisewise.audit.result import LabelAudit
from noisewise.audit.streaming import Runner, StreamedRows, n_rows_of
from noisewise.audit.summaries import alike_classes, small_classes
from noisewise.embeddings import default_text_encoder
from noisewise.labels import OrderedRidgeClassifier, RobustRidgeClassifier
from noisewise.noise import FlipMatrix
from noisewise.tables import TableEncoder

Missing = Literal["skip", "predict"]


def audit_labels(
    X: Any,
    y: Any,
    model: Any = None,
    noise: FlipMatrix | None = None,
    annotators: Any = None,
    *,
    labels_are: LabelsAre | None = None,
    groups: Any = None,
    cv: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    encoder: Any = None,
    ordered: Any = None,
    merge: bool = False,
    missing: Missing | None = None,
    random_state: RandomState = None,
    client: Any = None,
    progress: bool | Report | None = None,
) -> LabelAudit:
    """Find the rows whose labels are probably wrong.

    Every row is scored by a model that was fitted without its label (leave-one-out, or out of fold). The scores are
    calibrated and corrected for the noise in the labels the model was fitted to, which gives the posterior of the
    true label, P(true = k | x, observed = j) proportional to P(true = k | x) T[k, j], with T the noise transition
    matrix. Confident learning [1]_ thresholds the out-of-fold scores instead.

    So labels are read as *outcomes* that the row only hints at (illness, churn): classes overlap, and only flips beyond
    that are errors. If they are *judgements* that a careful annotator could make from the row (pictures, texts,
    records), truth is what most of them would say, and errors may depend on the row. Which reading holds cannot be told
    from the data; both are computed, unless one is chosen.

    Parameters
    ----------
    X : array, SciPy sparse, pandas or polars frame of shape (n, d); or n texts
        Mixed frames too: categories, dates and text are encoded, missing values filled in; `notes` says how.
        A lazy polars frame (`polars.scan_parquet`) is read in partitions, never as a whole; the result is the same.
    y : array of shape (n,)
        Observed labels, of any kind; strings, numbers, ...
    model : scikit-learn classifier, optional
        Gives out-of-fold probabilities. By default `RobustRidgeClassifier`, which scores rows leave-one-out, together
        with a forest where that predicts the observed labels better (`notes` says so; given as `model`, the ridge
        judges alone). Pipelines
        and classes that are not scikit-learn's get the rows of a frame, and texts, as they are given; where they can't
        be fitted to them, and for all other models, the rows are encoded.
    noise : FlipMatrix, optional
        The noise transition matrix T, if known (classes in sorted order). By default it is estimated.
    annotators : array of shape (n,), optional
        Who gave each label; `by_annotator` then gives error rates by annotator.
    labels_are : "judgements", "outcomes" or None
        None: rows are ranked and picked as judgements, and the interval of the number of errors spans both readings;
        as outcomes where `noise` is given. "outcomes" alone takes about half the time.
    groups : array of shape (n,), optional
        Rows of one group (a patient, a user) never judge each other: they are held out together, in folds.
    cv : int, splitter or iterable, optional
        Folds, as scikit-learn takes them. Repeated folds show how far the model itself errs; rows of no test fold (the
        first ones in time) are not judged.
    sample_weight : array of shape (n,), optional
        Passed to `model.fit`.
    n_jobs : int, optional
        Folds fitted at a time.
    encoder : optional
        Embeds columns of text, see `noisewise.embeddings.embed_texts`: by default WordLlama where it is installed, else
        words are hashed, as with "words".
    ordered : list of classes from low to high, or True for numbers, optional
        The classes have an order (grades, severities). Rows are then scored out of fold by one number and thresholds
        on it, unless a model is given, and far mistakes are told from near ones.
    merge : bool
        Whether labels that differ in case, spaces or a misspelt letter are merged first, as by `merge_labels`.
    missing : "skip", "predict" or None
        What is done with rows whose label is missing (None, NaN): they are left out, and `kept` says which rows are
        audited; with "predict" their labels are in `predicted`. With None they are refused.
    random_state : int, RandomState, Generator or None
        For the landmarks of the default model; None gives the same landmarks every time.
    client : dask.distributed.Client, optional
        Its workers read and score a lazy frame, partition by partition; they need access to its file.
    progress : bool or callable, optional
        Whether to show progress on the screen; by default where a person looks on (a terminal, a notebook) and it takes
        more than two seconds. A function is called with the steps done, and of how many.

    Returns
    -------
    LabelAudit

    References
    ----------
    .. [1] Northcutt, C., Jiang, L., Chuang, I. (2021). Confident learning: estimating uncertainty in dataset labels.
       Journal of Artificial Intelligence Research 70.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> wrong = np.random.default_rng(0).choice(len(y), 100, replace=False)
    >>> y[wrong] = (y[wrong] + 1) % 10
    >>> audit = audit_labels(X, y)
    >>> worst = audit.to_frame().head(100)
    >>> bool(np.isin(worst["row"], wrong).mean() > 0.95)  # of the 100 worst rows nearly all were changed
    True
    """
    run = map if client is None else OnCluster(client)
    held_out = {"groups": groups, "cv": cv, "sample_weight": sample_weight, "n_jobs": n_jobs}
    labels = {"ordered": ordered, "merge": merge, "missing": missing}
    settings = Settings(
        model, noise, annotators, labels_are, **held_out, encoder=encoder, random_state=random_state, **labels
    )
    with reporting(progress, "auditing labels"):
        return run_audit(X, y, settings, run)


@dataclass(frozen=True)
class Settings:
    """The arguments of `audit_labels` after rows and labels."""

    model: Any = None
    noise: FlipMatrix | None = None
    annotators: Any = None
    labels_are: LabelsAre | None = None
    groups: Any = None
    cv: Any = None
    sample_weight: Any = None
    n_jobs: int | None = None
    encoder: Any = None
    random_state: RandomState = None
    ordered: Any = None
    merge: bool = False
    missing: Missing | None = None

    def of_rows(self, kept: Codes) -> Settings:
        """The settings for some of the rows."""
        arrays = {"annotators": self.annotators, "groups": self.groups, "sample_weight": self.sample_weight}
        given = {name: rows_of(one_column(values), kept) for name, values in arrays.items() if values is not None}
        return replace(self, **given, missing=None)


def run_audit(X: Any, y: Any, settings: Settings, run: Runner = map) -> LabelAudit:
    """The audit; where X is a lazy frame, `run` maps over its partitions."""
    if settings.merge:
        labels, merged = merge_labels(one_column(y).tolist())
        found = run_audit(X, labels, replace(settings, merge=False), run)
        return replace(found, notes=(*([f"merged {merge_sentence(merged)}"] if merged else []), *found.notes))
    if settings.missing is not None:
        return _of_labelled(X, y, settings, run)
    reading = chosen_reading(settings.labels_are, settings.noise)
    refuse_amounts(one_column(y))
    classes, observed = encode_labels(y)
    check_binary_or_more(classes)
    if settings.ordered is not None:
        low_to_high = in_order(settings.ordered, classes)
        classes, observed = classes[low_to_high], np.argsort(low_to_high)[observed]
    if len(classes) > max(2, len(observed) / 3):
        raise ValueError(
            f"y has {len(classes)} distinct labels in {len(observed)} rows; classes with three rows or more on average "
            "can be audited"
        )
    names = None if settings.annotators is None else np.asarray(settings.annotators)
    if names is not None and names.shape != observed.shape:
        raise ValueError(
            f"annotators has shape {names.shape}; one name for each of the {len(observed)} labels is needed"
        )
    folds = Folds.of(observed, settings.cv, settings.groups, settings.sample_weight, settings.n_jobs)
    table = in_columns(X)
    readings, notes = _judged(X, table, observed, len(classes), settings, reading, folds, run)
    notes = (
        *pairing_notes(X, y),
        *notes_on_probabilities(X, observed, len(classes)),
        *notes,
        *alike_classes(classes),
        *label_notes(classes[observed].tolist()),
        *small_classes(classes, observed),
        *dict.fromkeys(note for judged in readings.values() for note in judged.notes),
    )
    found = LabelAudit.of(table, classes, observed, readings, reading, notes, names)
    return found if settings.ordered is None else replace(found, ordered=True)


def _of_labelled(X: Any, y: Any, settings: Settings, run: Runner) -> LabelAudit:
    """The audit of the rows that have a label, with predicted labels of the others, if wanted."""
    if settings.missing not in get_args(Missing):
        raise ValueError(f"missing is {settings.missing!r}; 'skip', 'predict' or None would do")
    if hasattr(X, "collect"):
        raise ValueError("rows of a lazy frame can't be left out; collect it first")
    labels = one_column(y).tolist()
    there = np.array([not is_missing(label) for label in labels], dtype=bool)
    kept = np.flatnonzero(there)
    found = run_audit(rows_of(X, kept), [labels[row] for row in kept], settings.of_rows(kept), run)
    if there.all():
        return found
    predicted = predict_labels(X, labels) if settings.missing == "predict" else None
    note = f"{counted(np.sum(~there), 'row', 'have')} no label, left out: `kept` has the row in X of every audited one"
    return replace(found, kept=kept, predicted=predicted, notes=(note, *found.notes))


def _judged(
    X: Any,
    table: Any,
    observed: Codes,
    n_classes: int,
    settings: Settings,
    reading: LabelsAre | None,
    folds: Folds,
    run: Runner,
) -> tuple[dict[str, Reading], tuple[str, ...]]:
    """The readings, from the rows as they were given where the model takes them so, else from the encoded rows."""
    model, noise, failed = settings.model, settings.noise, None
    if model is not None and takes_own_columns(model, X):
        check_length(len(X) if isinstance(X, list) else X.shape[0], observed)
        try:
            return judge_rows(X, observed, n_classes, model, noise, reading, folds), ()
        except Exception as error:  # whatever a pipeline made for encoded rows raises
            failed = error
    if model is None and settings.ordered is not None and n_classes > 2:
        model = OrderedRidgeClassifier(settings.random_state)
    robust = (model is None or isinstance(model, RobustRidgeClassifier)) and not folds.asked
    if robust and folds.sample_weight is not None:
        raise ValueError("sample_weight is passed to model.fit; give a model= with it")
    text_encoder = default_text_encoder() if settings.encoder is None else settings.encoder
    encoder, rows = _encoded(table, robust, run, text_encoder)
    check_length(rows.shape[0], observed)
    chosen = RobustRidgeClassifier(noise=noise, random_state=settings.random_state) if model is None else model
    try:
        readings = judge_rows(rows, observed, n_classes, chosen, noise, reading, folds, trees=model is None)
    except ValueError as error:
        raise (failed or error) from None
    note = () if failed is None else (f"the model can't be fitted to the rows as given ({failed}): they were encoded",)
    return readings, (*note, *encoder.notes_)


def _encoded(X: Any, robust: bool, run: Runner, text_encoder: Any) -> tuple[TableEncoder, Any]:
    """The encoded rows: an array, or `StreamedRows` for a lazy frame."""
    check_names(X)
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        if run is not map:
            raise ValueError("a cluster reads its rows from a file; pass a lazy frame, polars.scan_parquet(path), as X")
        encoder = TableEncoder(text_encoder)
        return encoder, encoder.fit_transform(X)
    if not frame.implementation.is_polars():
        raise ValueError(
            f"a lazy frame of {frame.implementation.value} has no fixed order of rows; collect it, or use "
            "polars.scan_parquet"
        )
    if not robust:
        raise ValueError(
            "folds need all rows in memory; collect the lazy frame, or leave model and ordered out to stream it"
        )
    encoder = TableEncoder(text_encoder).fit(X, run=run)
    return encoder, StreamedRows(X, encoder, n_rows_of(X), run)
