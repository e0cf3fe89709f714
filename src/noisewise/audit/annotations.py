"""`audit_annotations`: true labels of items that several annotators labelled, with what their rows say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise._progress import Report, reporting
from noisewise._typing import RandomState
from noisewise._validation import check_binary_or_more, one_column
from noisewise._words import counted
from noisewise.audit.annotation_result import AnnotationAudit
from noisewise.audit.given_probabilities import read_probabilities
from noisewise.audit.summaries import alike_classes
from noisewise.labels import (
    Annotations,
    estimate_items,
    indices_of,
    log_probabilities,
    read_annotations,
    read_wide,
    row_scores,
)
from noisewise.tables import TableEncoder

LEAST_LABELS = 5  # of a column, of which one at least must be used in another column too


def audit_annotations(
    items: Any,
    annotators: Any = None,
    labels: Any = None,
    *,
    X: Any = None,
    probabilities: Any = None,
    model: Any = None,
    classes: Any = None,
    item_names: Any = None,
    missing: Any = None,
    random_state: RandomState = None,
    progress: bool | Report | None = None,
) -> AnnotationAudit:
    """Consensus labels, their quality, and that of every label and annotator, from annotations and the items' rows.

    One model: the true label t of an item has a prior from its row x, each annotator a a confusion matrix T_a, and

        P(t | x, labels) is proportional to P(t | x)^r  prod_a T_a[t, label_a]^s.

    The prior is a calibration of a classifier's out-of-fold probabilities; calibration, confusion matrices and the
    hierarchical prior of these are estimated together by the likelihood of the labels, so that a poor classifier counts
    for little. r and s discount the evidence, because classifier and annotators err on the same hard rows: they are
    those with which each label is best predicted by the item's row and its other labels. CROWDLAB [1]_ averages
    classifier and annotators by weights instead.

    Parameters
    ----------
    items, annotators, labels : sequences of the same length
        One entry for each label given. An item is a row of `X` and of `probabilities`, counted from 0, or one of
        `item_names`. Or `items` alone: a frame with columns item, annotator and label; or a wide table, a row for each
        item and a column for each annotator, in which labels may be missing.
    X : array, SciPy sparse, pandas or polars frame with a row for each item, optional
        Scored leave-one-out by the ridge of `RobustRidgeClassifier`, which learns from the labels of the other items,
        or out of fold by `model`; with `probabilities` they are only shown in the report. Items without labels are
        scored too.
    probabilities : array of shape (n_items, n_classes), or a list of such arrays, optional
        Out-of-fold probabilities of any model, or of several. Without them and X all items have the same prior, and
        some items must have two labels: what is wrong shows where labels differ.
    model : classifier that takes `sample_weight`, optional
        Scores the rows of X instead of the ridge.
    classes : sequence, optional
        The labels in the order of the columns of `probabilities`; needed where it can't be told.
    item_names : sequence, optional
        The item of each row of X and `probabilities`.
    missing : label, optional
        A label that stands for a missing one, besides None and NaN.
    random_state : int, RandomState, Generator or None
        Draws landmarks or folds. None gives the same draw every time.
    progress : bool or callable, optional
        Whether to show progress on the screen; by default where a person looks on (a terminal, a notebook) and it takes
        more than two seconds. A function is called with the steps done, and of how many.

    Returns
    -------
    AnnotationAudit

    References
    ----------
    .. [1] Goh, H. W., Tkachenko, U., Mueller, J. (2022). CROWDLAB: supervised learning to infer consensus labels and
       quality scores for data with multiple annotators. NeurIPS Human in the Loop Learning Workshop.
    .. [2] Raykar, V. C., Yu, S., Zhao, L. H., Valadez, G. H., Florin, C., Bogoni, L., Moy, L. (2010). Learning from
       crowds. Journal of Machine Learning Research 11.
    .. [3] Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM
       algorithm. Applied Statistics 28.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, truth = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> items, annotators = np.repeat(np.arange(150), 2), rng.integers(6, size=300)
    >>> wrong = rng.random(300) < 0.05 + 0.1 * annotators
    >>> labels = np.where(wrong, rng.integers(3, size=300), truth[items])
    >>> audit = audit_annotations(items, annotators, labels, X=X)
    >>> bool(np.mean(audit.consensus == truth) > 0.95)
    True
    >>> questions = audit.next(5)  # which items to ask about, and whom
    """
    annotations, arrays, notes = _read(items, annotators, labels, missing, probabilities, classes)
    notes += _note_on_repeated(annotations)
    if item_names is None and not (X is None and not arrays):
        item_names = np.arange(_n_rows(X, arrays))
    if item_names is not None:
        annotations = _in_order(annotations, one_column(item_names))
    check_binary_or_more(annotations.classes)
    n_items = len(annotations.items)
    if (X is not None or arrays) and _n_rows(X, arrays) != n_items:
        raise ValueError(f"there are {n_items} item_names and {_n_rows(X, arrays)} rows; they must be as many")
    if model is not None and (X is None or arrays):
        raise ValueError("model scores the rows of X; pass X, and no probabilities")
    if X is None and not arrays:
        _check_some_have_two_labels(annotations)
    with reporting(progress, f"auditing {n_items:,} items"):
        logits = [log_probabilities(each) for each in arrays]
        if X is not None and not logits:
            encoder = TableEncoder()
            logits = [row_scores(encoder.fit_transform(X), annotations.votes(), model, random_state)]
            notes += tuple(encoder.notes_)
        estimates = estimate_items(annotations, logits)
    return AnnotationAudit(X, annotations, estimates, (*notes, *alike_classes(annotations.classes)))


def _read(
    items: Any, annotators: Any, labels: Any, missing: Any, probabilities: Any, classes: Any
) -> tuple[Annotations, list[NDArray[Any]], tuple[str, ...]]:
    """The labels as codes, in the order of the columns of the arrays of probabilities where there are any."""
    wide = annotators is None and labels is None and not _is_long(items)
    read = read_wide(items, missing, numbered=True) if wide else read_annotations(items, annotators, labels, missing)
    if wide:
        _check_columns_share_labels(read)
    if probabilities is None:
        return read, [], ()
    given = read.classes[read.label_codes]
    arrays, names, codes, notes = read_probabilities(probabilities, given, classes)
    if len({len(each) for each in arrays}) > 1:
        raise ValueError("the arrays of probabilities have different numbers of rows; one for each item is needed")
    return replace(read, classes=names, label_codes=codes), arrays, notes


def _note_on_repeated(read: Annotations) -> tuple[str, ...]:
    """A note on labels that are given twice: second judgements count, copies of a line should not."""
    codes, shape = (read.item_codes, read.annotator_codes, read.label_codes), (len(read.items), len(read.annotators))
    n_repeated = len(codes[0]) - len(np.unique(np.ravel_multi_index(codes, (*shape, len(read.classes)))))
    if not n_repeated:
        return ()
    return (
        f"{counted(n_repeated, 'label', 'have')} the item, annotator and label of another: each counts as a judgement; "
        "leave copies of a line out",
    )


def _check_some_have_two_labels(read: Annotations) -> None:
    """Refuse labels that nothing can be compared with."""
    if np.bincount(read.item_codes).max() < 2:
        raise ValueError(
            "every item has one label at most, and there are no rows: nothing tells which labels are wrong; rows (X=), "
            "probabilities= or a second label of some items would do"
        )


def _check_columns_share_labels(read: Annotations) -> None:
    """Refuse a wide table with a column that holds something else than labels: identifiers, names of annotators."""
    counts = np.zeros((len(read.annotators), len(read.classes)), dtype=np.intp)
    np.add.at(counts, (read.annotator_codes, read.label_codes), 1)
    shared = (counts > 0).sum(axis=0) > 1
    odd = (counts.sum(axis=1) >= LEAST_LABELS) & (counts[:, shared].sum(axis=1) == 0)
    if odd.any() and len(counts) > 1:
        raise ValueError(
            f"column {str(read.annotators[np.argmax(odd)])!r} shares no label with the others; a wide table has a "
            "column of labels for each annotator, and three columns are called item, annotator and label"
        )


def _is_long(items: Any) -> bool:
    """Whether a frame has the columns item, annotator and label."""
    columns = {str(name).lower().rstrip("s") for name in getattr(items, "columns", ())}
    return {"item", "annotator", "label"} <= columns


def _n_rows(X: Any, arrays: list[NDArray[Any]]) -> int:
    if not arrays:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if X is not None and _n_rows(X, []) != len(arrays[0]):
        raise ValueError(f"X has {_n_rows(X, [])} rows, probabilities have {len(arrays[0])}; they must be as many")
    return len(arrays[0])


def _in_order(annotations: Annotations, names: NDArray[Any]) -> Annotations:
    """The same labels with the items in the order of the rows."""
    if len(set(names.tolist())) < len(names):
        raise ValueError("item_names holds a name twice; every row is an item of its own")
    try:
        order = indices_of(annotations.items, names)
    except KeyError as error:
        raise ValueError(
            f"item {error.args[0]!r} has labels but no row; items are rows counted from 0, to {len(names) - 1}, or "
            "item_names= says which row is which"
        ) from None
    return replace(annotations, items=names, item_codes=order[annotations.item_codes])
