"""`LabelAudit`: the result of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._files import write_whole
from noisewise._frames import frame_like
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import find_labels, listed
from noisewise.audit.export import write_argilla, write_label_studio, write_patch
from noisewise.audit.ordered import order_summary
from noisewise.audit.review import Batch, Review, next_batch, progress_sentence, review_summary, updated
from noisewise.audit.review import batches as plan_batches
from noisewise.audit.summaries import (
    NORMAL_95,
    chosen_rows,
    columns_by_annotator,
    columns_by_class,
    columns_of_rows,
    rows_worth_a_look,
)
from noisewise.noise import Estimate, FlipMatrix

if TYPE_CHECKING:
    from noisewise.audit.posterior import LabelsAre, Reading

LEAST_UNPROVEN = 0.8  # probability that a row's own label is wrong, from which it is shown though no noise is proven


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """Result of a label audit: the posterior of every row's true label, and the noise in the labels.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    observed : array of shape (n,)
        Observed labels, as indices into `classes`.
    posterior : array of shape (n, n_classes)
        P(true label | row, observed label) [EM responsibilities].
    noise : FlipMatrix
        Noise transition matrix T, given or estimated.
    noise_spread : array of shape (n_classes, n_classes)
        Standard deviation of each flip rate; zero for a given noise.
    expected_errors : Estimate
        Expected number of wrong labels; `.interval` gives a 90 % interval.
    notes : tuple of str
        What was done to the columns, and classes too small to judge.
    annotators : array of shape (n,), optional
        Who gave each label.
    labels_are : "judgements", "outcomes" or None
        How "wrong" was read; None: as judgements, with an interval that spans both readings.
    readings : mapping of "judgements" and "outcomes" to Reading
        What each reading gives: posterior, noise, noise_std, expected_errors; `read_as` gives the whole audit by one of
        them. Empty where only one was computed, and after a review: its verdicts tell how many labels are wrong.
    review : Review, optional
        The verdicts that `update` took in, and the audit before them.
    images : array of shape (n,), optional
        The picture of every row: a path, a Pillow picture or an array.
    ordered : bool
        Whether `classes` are in an order, from low to high.
    kept : array of int, optional
        Where rows without a label were left out: the row in X, as it was given, of every row of the audit.
    predicted : frame, optional
        Predicted labels of rows without a label: row in X, label, probability.
    """

    X: Any = field(repr=False)
    classes: NDArray[Any]
    observed: Codes = field(repr=False)
    posterior: NDArray[np.floating[Any]] = field(repr=False)
    noise: FlipMatrix
    noise_spread: Floats = field(repr=False)
    expected_errors: Estimate
    notes: tuple[str, ...] = ()
    annotators: NDArray[Any] | None = field(default=None, repr=False)
    labels_are: LabelsAre | None = "outcomes"
    readings: Mapping[str, Reading] = field(default_factory=dict, repr=False)
    review: Review | None = None
    images: NDArray[Any] | None = field(default=None, repr=False)
    ordered: bool = False
    kept: Codes | None = field(default=None, repr=False)
    predicted: Any = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        X: Any,
        classes: NDArray[Any],
        observed: Codes,
        readings: Mapping[str, Reading],
        labels_are: LabelsAre | None,
        notes: tuple[str, ...],
        annotators: NDArray[Any] | None,
    ) -> LabelAudit:
        """The audit by one of the readings, or by judgements with an interval that spans both."""
        chosen = readings[labels_are or "judgements"]
        expected = chosen.expected_errors
        if labels_are is None:
            lows, highs = zip(*(reading.expected_errors.interval for reading in readings.values()))
            expected = Estimate(float(expected), min(lows), max(highs))
        posterior, noise, std = chosen.posterior, chosen.noise, chosen.noise_std
        shown = readings if len(readings) > 1 else {}
        return cls(X, classes, observed, posterior, noise, std, expected, notes, annotators, labels_are, shown)

    def read_as(self, labels_are: LabelsAre) -> LabelAudit:
        """The same audit by one of its `readings`: probabilities, suggestions, picks, flip matrix and interval."""
        if labels_are not in self.readings:
            there = listed(list(self.readings)) or "none, after a review or where one alone was computed"
            raise ValueError(f"labels_are is {labels_are!r}; the readings of this audit are {there}")
        reading = self.readings[labels_are]
        return replace(
            self,
            posterior=reading.posterior,
            noise=reading.noise,
            noise_spread=reading.noise_std,
            expected_errors=reading.expected_errors,
            labels_are=labels_are,
        )

    @cached_property
    def probability(self) -> Floats:
        """For each row, the probability that its observed label is right."""
        return self.posterior[np.arange(len(self.observed)), self.observed].astype(np.float64)

    @cached_property
    def suggested(self) -> NDArray[Any]:
        """For each row, the most probable true label."""
        return np.asarray(self.classes[np.argmax(self.posterior, axis=1)])

    @cached_property
    def suggested_probability(self) -> Floats:
        """For each row, the probability that the suggested label is the true one."""
        return np.asarray(self.posterior.max(axis=1), dtype=np.float64)

    @cached_property
    def order(self) -> Codes:
        """Rows by ascending probability that their label is right."""
        return np.argsort(self.probability, kind="stable")

    @cached_property
    def picked(self) -> Codes:
        """Rows worth a look, worst first: the number of rows with the highest expected F1 score.

        None where less than half a wrong label is expected.
        Where labels are outcomes and the interval of the number of wrong labels includes zero, noise is not proven:
        then only the rows whose own label is wrong with a probability of 80 % or more. `rows(precision)` gives others.
        """
        wrong = 1 - self.probability[self.unreviewed]
        chosen = rows_worth_a_look(wrong)
        if self.labels_are == "outcomes" and self.expected_errors.low <= 0:
            chosen = chosen[wrong[chosen] >= LEAST_UNPROVEN]
        return self.unreviewed[chosen]

    @cached_property
    def verdicts(self) -> dict[int, Any]:
        """The reviewed rows and their true labels."""
        verdicts = {} if self.review is None else self.review.verdicts
        return {row: self.classes[code] for row, code in verdicts.items()}

    @property
    def undecided(self) -> tuple[int, ...]:
        """The rows of which a reviewer could not tell; `next` leaves them out."""
        return () if self.review is None else self.review.undecided

    @cached_property
    def unreviewed(self) -> Codes:
        """The rows without a verdict."""
        return np.setdiff1d(np.arange(len(self.observed)), np.array(list(self.verdicts), dtype=np.intp))

    @property
    def remaining(self) -> Estimate:
        """Expected number of wrong labels among the rows without a verdict; `.interval` gives a 90 % interval."""
        return self.expected_errors if self.review is None else self.review.remaining

    @property
    def progress(self) -> str:
        """How far the review is: rows reviewed, how many were wrong, how many are left, and when to stop."""
        return progress_sentence(self)

    def next(self, budget: int = 50, random_state: RandomState = None) -> Batch:
        """The rows to review next: some likeliest wrong, to be mended, others drawn so that they identify the noise.

        Up to 150 verdicts three quarters of the rows are drawn, with probabilities proportional to sqrt(P (1 - P)) for
        P the probability that a label is wrong; later a quarter. With None as `random_state` the same rows every time.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.integers(0, 2, 400)
        >>> X = np.column_stack([4.0 * truth, np.zeros(400)]) + rng.standard_normal((400, 2))
        >>> y = np.where(rng.random(400) < 0.1, 1 - truth, truth)
        >>> from noisewise import audit_labels
        >>> audit = audit_labels(X, y)
        >>> batch = audit.next(60)
        >>> later = audit.update({row: truth[row] for row in batch})
        >>> len(later.verdicts), bool(later.expected_errors.low <= np.sum(y != truth) <= later.expected_errors.high)
        (60, True)
        """
        return next_batch(self, budget, random_state)

    def review_plan(self, budget: int = 50, batches: int = 10, backend: str | None = None) -> Any:
        """How much is left after each of the next batches: rows reviewed, wrong ones found, wrong ones left."""
        plan = plan_batches(self, budget, batches)
        columns = {
            "batch": np.arange(1, len(plan) + 1),
            "rows": np.cumsum([len(batch) for batch in plan]),
            "expected_wrong": np.cumsum([batch.expected_wrong for batch in plan]),
            "left": np.array([batch.left for batch in plan]),
        }
        return self._frame(columns, backend)

    def update(self, reviewed: Any) -> LabelAudit:
        """The audit with the verdicts of reviewers taken in: their rows are known, all others estimated again.

        Parameters
        ----------
        reviewed : mapping, frame, path or list of dict
            Row to true label; or a frame or file with columns `row` and `decision` (patch.csv, filled in; a blank
            means not reviewed, "?" can't tell); or the JSON export of Label Studio.

        Returns
        -------
        LabelAudit
            Probabilities of the other rows, flip matrix, number of errors and its interval, recalibrated by the
            verdicts, which tell how many labels are wrong whatever reading holds. Verdicts of several rounds add up.
        """
        return updated(self, reviewed)

    def rows(self, precision: float = 0.8) -> Codes:
        """The most rows, worst first, of which a fraction of at least `precision` is expected to be wrong."""
        if not 0 < precision <= 1:
            raise ValueError(f"precision is {precision}; it must lie above 0 and at most at 1")
        order = self.unreviewed[np.argsort(self.probability[self.unreviewed], kind="stable")]
        expected = np.cumsum(1 - self.probability[order]) / np.arange(1, len(order) + 1)
        return order[: np.searchsorted(-expected, -precision, side="right")]

    @property
    def noise_interval(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the 90 % credible interval of each flip rate."""
        half_width = NORMAL_95 * self.noise_spread
        return np.clip(self.noise.matrix - half_width, 0, 1), np.clip(self.noise.matrix + half_width, 0, 1)

    def apply(self, rows: Any = None) -> NDArray[Any]:
        """The labels, replaced by the verdicts of reviewed rows and the suggestions in `rows` (those worth a look).

        `rows` are numbers of rows or a mask of all rows, here and below.
        """
        chosen = chosen_rows(self, rows)
        labels = self.classes[self.observed]
        for changed in (chosen, list(self.verdicts)):
            labels[changed] = self.suggested[changed]
        return np.asarray(labels)

    def to_frame(self, backend: str | None = None) -> Any:
        """All rows, worst first: row, observed, suggested, probability (that the observed label is right).

        Of ordered classes, `steps` is how far the suggested label is above the observed one, or below it.
        Where the rows are pictures in files, `image` is the path.
        `backend` is "pandas" or "polars"; by default that of the data, or else what is installed.
        """
        columns = columns_of_rows(self, self.order)
        if self.images is not None and isinstance(self.images[0], str):
            columns["image"] = self.images[self.order]
        return self._frame(columns, backend)

    def reliability(self, backend: str | None = None) -> Any:
        """Whether the probabilities hold, on labels of held-out rows (cross-fitted).

        Calibration and noise are fitted to one half of the rows and predict the observed labels of the other half. By
        band of the predicted probability of a label: cases (pairs of a row and a label), the mean prediction, how often
        it was the label, and a 90 % interval of that.
        """
        from noisewise.audit.reliability import held_out_bands

        columns = held_out_bands(self)
        if columns is None:
            raise ValueError("rows are too few, or classes too many, or labels were read as judgements alone")
        return self._frame(columns, backend)

    def by_class(self, backend: str | None = None) -> Any:
        """By label: rows that carry it, expected wrong ones, their fraction and their most frequent true label."""
        return self._frame(columns_by_class(self), backend)

    def by_annotator(self, backend: str | None = None) -> Any:
        """For each annotator, worst first: labels given, expected wrong ones, their fraction and its 90 % interval."""
        if self.annotators is None:
            raise ValueError("the annotators are not known; pass annotators= to audit_labels")
        return self._frame(columns_by_annotator(self), backend)

    def _frame(self, columns: dict[str, Any], backend: str | None) -> Any:
        return frame_like(columns, nw.from_native(self.X, pass_through=True), backend)

    def patch(self, path: Any, rows: Any = None) -> None:
        """Write the rows worth a look for review, with a column `decision`: CSV, JSON or Excel, by the path's ending.

        Decisions that an earlier file of this name holds are kept; if they are about other labels, it is not written.
        """
        write_patch(self, Path(path), chosen_rows(self, rows))

    def to_label_studio(self, path: Any, rows: Any = None) -> None:
        """Write the rows worth a look as Label Studio tasks, the suggestions as predictions."""
        write_label_studio(self, path, chosen_rows(self, rows))

    def to_argilla(self, path: Any, rows: Any = None) -> None:
        """Write the rows worth a look as Argilla records (a text field `row`, a question `label`), with suggestions."""
        write_argilla(self, path, chosen_rows(self, rows))

    def to_html(self, path: Any, title: str = "Label audit", truth: Any = None, precision: float | None = None) -> None:
        """Write a report: one file that opens in any browser, without a network.

        `truth` (true labels, where they are known, as in a demonstration) adds precision and recall;
        `precision` selects the rows worth a look by `rows(precision)`.
        """
        from noisewise.audit.report import report_page

        write_whole(report_page(self, title, truth, precision), path)

    def show(self, height: int = 700) -> None:
        """Show the report: in a notebook below the cell, elsewhere in the browser."""
        from noisewise.audit.report import report_page, show_page

        show_page(report_page(self, "Label audit"), height)

    def _repr_html_(self) -> str:
        from noisewise.audit.report import summary_html

        return summary_html(self)

    def found(self, truth: Any, rows: Any = None) -> dict[str, int]:
        """Against known true labels: how many labels are wrong, and how many of these rows the audit found.

        With n wrong labels, "found" are among the n least probable labels, "right" among `rows` (by default those worth
        a look).
        """
        wrong = find_labels(truth, self.classes) != self.observed
        n_wrong = int(wrong.sum())
        found, right = wrong[self.order[:n_wrong]].sum(), wrong[chosen_rows(self, rows)].sum()
        return {"wrong": n_wrong, "found": int(found), "right": int(right)}

    def summary(self) -> dict[str, Any]:
        """The headline numbers, as plain values for JSON."""
        low, high = self.expected_errors.interval
        return {
            "rows": len(self.observed),
            "classes": [str(name) for name in self.classes],
            "expected_errors": round(float(self.expected_errors), 1),
            "expected_errors_interval": [round(low, 1), round(high, 1)],
            "labels_are": self.labels_are,
            "readings": {
                name: {
                    "expected_errors": round(float(reading.expected_errors), 1),
                    "expected_errors_interval": [round(end, 1) for end in reading.expected_errors.interval],
                }
                for name, reading in self.readings.items()
            },
            "picked": len(self.picked),
            "flip_matrix": self.noise.matrix.round(4).tolist(),
            "notes": list(self.notes),
        } | self._more()

    def _more(self) -> dict[str, Any]:
        """Headline numbers of ordered classes, and of a review."""
        found: dict[str, Any] = {"mistakes": order_summary(self)} if self.ordered else {}
        return found if self.review is None else found | {"review": review_summary(self)}
