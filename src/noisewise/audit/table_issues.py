"""What else is odd about a table: outlying rows, near duplicates, rare classes, groups that are hard to predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from noisewise._typing import Codes, Floats
from noisewise._words import counted, percent
from noisewise.audit.folds import in_columns
from noisewise.tables import TableEncoder

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

MOST_ROWS = 20_000  # compared with each other; of more, so many are drawn at random
OUTLYING = 6.0  # median absolute deviations of the log distance to the neighbours, beyond the median
NEIGHBORS = 5
NEAR = 1e-3  # of the median distance to the nearest row
RARE_CLASS = 0.1  # of the rows of an average class
GROUPS = 8  # clusters in which the fraction of doubtful labels is compared
FEWEST_IN_GROUP = 20
SURELY_WRONG = 0.5  # probability above which a row counts no further: it must not hide a group, nor make one
LEAST_RATIO = 1.5  # of its expected errors and those of a typical group
STANDARD_ERRORS = 4.0  # above the average, from which a group is named


@dataclass(frozen=True)
class TableIssue:
    """One kind of oddity: its name, a sentence, and the rows."""

    kind: str
    sentence: str
    rows: tuple[Any, ...]


def table_issues(X: Any, audit: LabelAudit) -> list[TableIssue]:
    """Outlying rows, near duplicates (first of all those with different labels), rare classes, and hard groups.

    >>> from noisewise import audit_labels
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> X[7], y[7] = X[8], 1 - y[8]
    >>> [issue.rows for issue in table_issues(X, audit_labels(X, y)) if issue.kind == "duplicates with two labels"]
    [((7, 8),)]
    """
    rows = TableEncoder().fit_transform(in_columns(X))
    chosen = np.arange(rows.shape[0])
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(0).permutation(chosen)[:MOST_ROWS])
    scaled = _standardised(rows[chosen])
    distance, index = NearestNeighbors(n_neighbors=min(NEIGHBORS + 1, len(chosen))).fit(scaled).kneighbors(scaled)
    return [
        *_duplicates(distance, index, chosen, audit.observed),
        *_outliers(distance, chosen),
        *_rare_classes(audit),
        *_groups(scaled, chosen, audit),
    ]


def _standardised(rows: Any) -> Any:
    if sparse.issparse(rows):
        return rows
    std = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(std > 0, std, 1)


def _duplicates(distance: Floats, index: NDArray[Any], chosen: Codes, observed: Codes) -> list[TableIssue]:
    nearest = distance[:, 1:]
    near = nearest <= NEAR * float(np.median(nearest[:, 0]))
    pairs = {
        (min(i, j), max(i, j))
        for i, others, alike in zip(chosen, chosen[index[:, 1:]], near, strict=True)
        for j in others[alike]
        if i != j
    }
    different = tuple(sorted((int(i), int(j)) for i, j in pairs if observed[i] != observed[j]))
    equal = tuple(sorted((int(i), int(j)) for i, j in pairs if observed[i] == observed[j]))
    found = []
    if different:
        sentence = (
            f"{counted(len(different), 'pair')} of (nearly) equal rows with different labels: one of each is wrong"
        )
        found.append(TableIssue("duplicates with two labels", sentence, different))
    if equal:
        found.append(TableIssue("duplicates", f"{counted(len(equal), 'pair')} of rows that are (nearly) equal", equal))
    return found


def _outliers(distance: Floats, chosen: Codes) -> list[TableIssue]:
    far = np.log(distance[:, 1:].mean(axis=1) + 1e-12)
    middle = float(np.median(far))
    spread = 1.4826 * float(np.median(np.abs(far - middle)))
    rows = chosen[far > middle + OUTLYING * max(spread, 1e-3)]
    if not len(rows):
        return []
    order = np.argsort(-far[np.isin(chosen, rows)], kind="stable")
    return [
        TableIssue("outliers", f"{counted(len(rows), 'row', 'are')} unlike all others", tuple(rows[order].tolist()))
    ]


def _rare_classes(audit: LabelAudit) -> list[TableIssue]:
    counts = np.bincount(audit.observed, minlength=len(audit.classes))
    rare = np.flatnonzero(counts < RARE_CLASS * len(audit.observed) / len(audit.classes))
    if not len(rare):
        return []
    names = ", ".join(f"{audit.classes[k]!s} ({counts[k]})" for k in rare[:8])
    rows = tuple(np.flatnonzero(np.isin(audit.observed, rare)).tolist())
    return [TableIssue("class imbalance", f"few rows carry the labels {names}", rows)]


def _groups(scaled: Any, chosen: Codes, audit: LabelAudit) -> list[TableIssue]:
    """The cluster of rows in which labels are most doubtful, where that is more than chance."""
    from sklearn.cluster import KMeans

    if len(chosen) < 2 * GROUPS * FEWEST_IN_GROUP:
        return []
    group = KMeans(GROUPS, n_init=1, random_state=0).fit_predict(scaled)
    wrong = 1 - audit.probability[chosen]
    counts = np.bincount(group, minlength=GROUPS)
    mean = np.bincount(group, wrong, minlength=GROUPS) / np.maximum(counts, 1)
    ranks = rankdata(wrong) / len(wrong)
    excess = (np.bincount(group, ranks, minlength=GROUPS) / np.maximum(counts, 1) - 0.5) * np.sqrt(12 * counts)
    worst = int(np.argmax(np.where(counts >= FEWEST_IN_GROUP, excess, -np.inf)))
    others = wrong <= SURELY_WRONG
    usual = np.bincount(group[others], wrong[others], minlength=GROUPS) / np.maximum(
        np.bincount(group[others], minlength=GROUPS), 1
    )
    if excess[worst] < STANDARD_ERRORS or usual[worst] < LEAST_RATIO * np.median(usual):
        return []
    rates = f"{percent(mean[worst], 1)} against {percent(wrong.mean(), 1)}"
    sentence = f"labels of a group of {counts[worst]} rows are doubtful: {rates}"
    return [TableIssue("underperforming group", sentence, tuple(chosen[group == worst].tolist()))]
