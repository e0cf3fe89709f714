"""Review in rounds: which rows to look at next, what verdicts say of the others, and when to stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import check_number, generator
from noisewise._words import percent, some_of
from noisewise.audit.summaries import count_with_interval
from noisewise.audit.verdicts import read_verdicts
from noisewise.noise import Estimate, Recalibration, flips_of, recalibrate

if TYPE_CHECKING:
    from noisewise.audit.result import LabelAudit

GOLDEN = (np.sqrt(5) - 1) / 2  # its multiples, modulo 1, are spread evenly however many there are (Weyl, 1916)
DRAWN = 0.75  # fraction of a batch drawn along P(wrong), to identify the noise; the others are the likeliest wrong
IDENTIFIED = 150  # verdicts, from which on the fraction drawn is 1 - DRAWN
STOP = 0.1  # expected fraction of wrong labels in the next rows below which a review mends little
AHEAD = 50  # rows that this is said of


@dataclass(frozen=True)
class Batch:
    """Rows to review next, likeliest wrong first; an array of row numbers wherever one is taken.

    Attributes
    ----------
    rows : array of int
    probability_wrong : array of float, as long as `rows`
    expected_wrong : float
        Wrong labels among them that a review is expected to mend.
    left : float
        Wrong labels expected among the rows that are then still not reviewed.
    """

    rows: Codes
    probability_wrong: Floats = field(repr=False)
    expected_wrong: float
    left: float

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The row numbers."""
        return np.array(self.rows, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Review:
    """Verdicts taken in by an audit, and the audit before them.

    Attributes
    ----------
    before : LabelAudit
    verdicts : mapping of int to int
        Row to the index of its true label in `classes`.
    undecided : tuple of int
        Rows of which the reviewer could not tell.
    remaining : Estimate
        Wrong labels among the rows without a verdict.
    """

    before: LabelAudit = field(repr=False)
    verdicts: Mapping[int, int] = field(repr=False)
    undecided: tuple[int, ...] = field(repr=False)
    remaining: Estimate


def next_batch(audit: LabelAudit, budget: int, random_state: RandomState = None) -> Batch:
    """The batch of `LabelAudit.next`."""
    return batches(audit, budget, 1, random_state)[0]


def batches(audit: LabelAudit, budget: int, n_batches: int, random_state: RandomState = None) -> list[Batch]:
    """The next batches, each as if the verdicts before it changed no probability."""
    for name, value in (("budget", budget), ("batches", n_batches)):
        check_number(name, value, lambda n: n >= 1 and n == int(n), "a whole number is needed, one or more")
    wrong = 1 - audit.probability
    start = 0.5 if random_state is None else float(generator(random_state).random())
    open_rows = audit.unreviewed
    n_reviewed, left, chosen = len(audit.verdicts), float(wrong[open_rows].sum()), []
    open_rows = np.setdiff1d(open_rows, audit.undecided)
    for _ in range(int(n_batches)):
        picked = choose(wrong[open_rows], int(budget), n_reviewed, start)
        rows = open_rows[picked]
        left -= float(wrong[rows].sum())
        chosen.append(Batch(rows, wrong[rows], float(wrong[rows].sum()), max(left, 0.0)))
        open_rows, n_reviewed = np.delete(open_rows, picked), n_reviewed + len(rows)
    return chosen


def choose(wrong: Floats, budget: int, n_reviewed: int, start: float) -> Codes:
    """Positions of the rows to review, likeliest wrong first: the likeliest, and others drawn along P(wrong).

    Those are drawn systematically with probabilities proportional to sqrt(P (1 - P)), the allocation that estimates
    the number of wrong labels best (Neyman, 1934); `start`, from 0 to 1, is where the first one of a review falls.
    How many, and where, continues from the rows reviewed before: one at a time they are as in one batch.

    >>> choose(np.array([0.9, 0.0, 0.5, 0.6, 0.1]), 3, 0, 0.5)
    array([0, 3, 2])
    """
    order = np.argsort(-wrong, kind="stable")
    if budget >= len(order):
        return order
    n_before = drawn_of(n_reviewed)
    n_drawn = drawn_of(n_reviewed + budget) - n_before
    likeliest, others = np.split(order, [budget - n_drawn])
    p = np.clip(wrong[others], 1e-4, 1 - 1e-4)
    drawn = others[systematic(np.sqrt(p * (1 - p)), n_drawn, (start + n_before * GOLDEN) % 1)]
    return np.concatenate([likeliest, drawn])


def drawn_of(n_reviewed: int) -> int:
    """How many of the first rows of a review are drawn; the others are the likeliest, first of all.

    >>> [drawn_of(n) for n in (1, 2, 3, 4, 5, 150, 154)]
    [0, 1, 2, 3, 3, 112, 113]
    """
    early = min(n_reviewed, IDENTIFIED)
    return int(DRAWN * early + (1 - DRAWN) * (n_reviewed - early))


def systematic(sizes: Floats, n: int, start: float) -> Codes:
    """Positions of n different items, drawn in order with probabilities proportional to their sizes, at most 1.

    >>> systematic(np.array([1.0, 1.0, 1.0, 1.0, 9.0]), 3, 0.5)
    array([1, 3, 4])
    """
    inclusion = np.zeros(len(sizes))
    free = np.ones(len(sizes), dtype=bool)
    while free.any():
        inclusion[free] = (n - np.sum(~free)) * sizes[free] / sizes[free].sum()
        certain = free & (inclusion >= 1)
        if not certain.any():
            break
        inclusion[certain], free = 1.0, free & ~certain
    return np.searchsorted(np.cumsum(inclusion) - 1e-9, np.arange(n) + start)


def updated(audit: LabelAudit, reviewed: Any) -> LabelAudit:
    """The audit of `LabelAudit.update`; a row's later verdict replaces an earlier one."""
    before = audit if audit.review is None else audit.review.before
    decisions: dict[int, int | None] = dict.fromkeys(audit.undecided)
    decisions.update({} if audit.review is None else audit.review.verdicts)
    decisions = dict(sorted((decisions | read_verdicts(reviewed, audit)).items()))
    verdicts = {row: code for row, code in decisions.items() if code is not None}
    undecided = tuple(row for row in decisions if row not in verdicts)
    if not verdicts:  # a reviewer who can't tell says nothing of other rows
        return replace(before, review=Review(before, {}, undecided, before.expected_errors))
    rows, truth = np.array(list(verdicts)), np.array(list(verdicts.values()))
    wrong = truth != before.observed[rows]
    found = recalibrate(_scores(before), rows, wrong)
    posterior = _recalibrated(before.posterior, before.observed, found.probability_wrong)
    posterior[rows] = np.eye(len(before.classes))[truth]
    noise, std = flips_of(posterior, before.observed)
    n_wrong, (low, high) = int(wrong.sum()), found.n_wrong.interval
    result = replace(
        before,
        posterior=posterior,
        noise=noise,
        noise_spread=_with_count_error(noise.matrix, std, found, n_wrong),
        expected_errors=Estimate(n_wrong + found.n_wrong, n_wrong + low, n_wrong + high),
        readings={},
        review=Review(before, verdicts, undecided, found.n_wrong),
    )
    return replace(result, notes=(*before.notes, progress_sentence(result)))


def _scores(audit: LabelAudit) -> list[Floats]:
    """P(wrong) of every row by each reading there is."""
    every = np.arange(len(audit.observed))
    posteriors = [reading.posterior for reading in audit.readings.values()] or [audit.posterior]
    return [1 - posterior[every, audit.observed].astype(np.float64) for posterior in posteriors]


def _recalibrated(posterior: NDArray[Any], observed: Codes, wrong: Floats) -> NDArray[Any]:
    """Posteriors whose observed labels are wrong with these probabilities, the other labels in the same proportions."""
    every = np.arange(len(observed))
    others = posterior.copy()
    others[every, observed] = 0
    total = others.sum(axis=1)
    others[total <= 0] = 1
    others[every, observed] = 0
    others *= (wrong / others.sum(axis=1))[:, None]
    others[every, observed] = 1 - wrong
    return others


def _with_count_error(matrix: Floats, std: Floats, found: Recalibration, n_wrong: int) -> Floats:
    """Standard deviation of the flip rates: sampling, and the error of the number of wrong labels they sum to."""
    relative = found.std / max(float(found.n_wrong) + n_wrong, 1.0)
    flipped = np.where(np.eye(len(matrix), dtype=bool), 1 - matrix, matrix)
    return np.asarray(np.sqrt(std**2 + (relative * flipped) ** 2))


def is_done(audit: LabelAudit) -> bool:
    """Whether so few of the next rows are expected to be wrong that going on would mend little."""
    ahead = audit.unreviewed[np.argsort(audit.probability[audit.unreviewed])[:AHEAD]]
    return bool(np.sum(1 - audit.probability[ahead]) < STOP * len(ahead)) or not len(ahead)


def progress_sentence(audit: LabelAudit) -> str:
    """How many rows were reviewed and wrong, how many wrong labels are left, and whether to go on."""
    n, n_reviewed = len(audit.observed), len(audit.verdicts)
    if not n_reviewed:
        return f"no row was reviewed; about {count_with_interval(audit.expected_errors)} of {n:,} labels are wrong"
    n_wrong = _n_wrong(audit)
    done = _found(n, n_reviewed, n_wrong)
    if n_reviewed == n:
        return f"{done}; all is reviewed"
    go_on = (
        f"stop: of the next {AHEAD} rows fewer than {percent(STOP)} are expected to be wrong"
        if is_done(audit)
        else "go on"
    )
    return f"{done}; about {count_with_interval(audit.remaining)} wrong labels are left among the others; {go_on}"


def review_sentence(n: int, n_reviewed: int, n_wrong: int, left: float) -> str:
    """How many rows were reviewed and wrong, and how many wrong ones are left, for tags and numbers."""
    if not n_reviewed:
        return f"no row was reviewed; about {left:,.0f} of {n:,} are wrong"
    found = _found(n, n_reviewed, n_wrong)
    return f"{found}; about {left:,.0f} wrong ones are left among the others"


def _found(n: int, n_reviewed: int, n_wrong: int) -> str:
    verb = "was" if n_wrong == 1 else "were"
    rate = percent(n_wrong / n_reviewed)
    return f"{some_of(n_reviewed, n, 'row', 'were')} reviewed, {n_wrong:,} of them ({rate}) {verb} wrong"


def review_summary(audit: LabelAudit) -> dict[str, Any]:
    """The numbers of `progress_sentence`, as plain values for JSON."""
    return {
        "reviewed": len(audit.verdicts),
        "wrong": _n_wrong(audit),
        "remaining": round(float(audit.remaining), 1),
        "remaining_interval": [round(end, 1) for end in audit.remaining.interval],
        "stop": is_done(audit),
    }


def _n_wrong(audit: LabelAudit) -> int:
    """Reviewed rows whose observed label is not the verdict."""
    return int(np.sum(audit.probability[list(audit.verdicts)] == 0))
