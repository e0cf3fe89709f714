"""`AnnotationAudit`: the result of an audit of labels by several annotators."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from noisewise._files import write_whole
from noisewise._frames import frame_like
from noisewise._typing import Codes, Floats
from noisewise.audit.questions import choose_questions
from noisewise.audit.summaries import NORMAL_95, rows_worth_a_look
from noisewise.labels import Annotations, Annotators, ItemEstimates
from noisewise.noise import Estimate

# Error of the expected numbers that does not shrink with the number of items, as a standard deviation of their
# logarithm: how far errors of annotators and classifier go together is known no better.
CONSENSUS_ERROR, LABEL_ERROR = 0.5, 0.1
ROUNDING = 0.5  # items


@dataclass(frozen=True, eq=False, repr=False)
class AnnotationAudit:
    """Consensus labels of items, and the quality of every consensus label, single label and annotator.

    Attributes
    ----------
    items : array of shape (n_items,)
        In the order of the rows, or sorted where there are none; items without labels included.
    classes : array of shape (n_classes,)
    posterior : array of shape (n_items, n_classes)
        P(true label | row, all labels of the item).
    prior : array of shape (n_items, n_classes)
        P(true label | row), from a classifier that did not see the item's labels.
    annotators : Annotators
        A sequence with name, number of labels, accuracy with interval and confusion matrix of each.
    model_weights : array
        Scale of each classifier's log-probabilities in the prior, zero for one that says nothing; empty without any.
    notes : tuple of str
    """

    X: Any
    annotations: Annotations
    estimates: ItemEstimates
    notes: tuple[str, ...] = field(default=())

    @property
    def items(self) -> NDArray[Any]:
        """The items."""
        return self.annotations.items

    @property
    def classes(self) -> NDArray[Any]:
        """The labels there are."""
        return self.annotations.classes

    @property
    def posterior(self) -> Floats:
        """P(true label | row, all labels of the item)."""
        return self.estimates.posterior

    @property
    def prior(self) -> Floats:
        """P(true label | row), without the item's labels."""
        return self.estimates.prior

    @property
    def annotators(self) -> Annotators:
        """What is known of each annotator."""
        return self.estimates.annotators

    @property
    def model_weights(self) -> Floats:
        """Scale of each classifier's log-probabilities in the prior."""
        return self.estimates.scales

    @cached_property
    def consensus_codes(self) -> Codes:
        """The consensus labels as indices into `classes`."""
        return np.asarray(self.posterior.argmax(axis=1))

    @property
    def consensus(self) -> NDArray[Any]:
        """The most probable true label of each item."""
        return np.asarray(self.classes[self.consensus_codes])

    @cached_property
    def probability(self) -> Floats:
        """For each item, the probability that its consensus label is right."""
        return np.asarray(self.posterior.max(axis=1))

    @cached_property
    def label_probability(self) -> Floats:
        """For each label given, in the order given and without missing ones, the probability that it is right."""
        return np.asarray(self.posterior[self.annotations.item_codes, self.annotations.label_codes])

    @cached_property
    def n_labels(self) -> Codes:
        """Number of labels of each item."""
        return np.bincount(self.annotations.item_codes, minlength=len(self.items))

    @cached_property
    def agreement(self) -> Floats:
        """For each item, the fraction of its labels that agree with the consensus; NaN without labels."""
        agreeing = self.annotations.votes()[np.arange(len(self.items)), self.consensus_codes]
        return np.where(self.n_labels > 0, agreeing / np.maximum(self.n_labels, 1), np.nan)

    @cached_property
    def order(self) -> Codes:
        """Items by ascending probability that their consensus label is right."""
        return np.argsort(self.probability, kind="stable")

    @property
    def picked(self) -> Codes:
        """Items worth a look, worst first: the number with the highest expected F1 score of wrong consensus labels.

        None where less than half a wrong consensus label is expected.
        """
        return rows_worth_a_look(1 - self.probability)

    @cached_property
    def expected_errors(self) -> Estimate:
        """Expected number of wrong labels among all that were given; `.interval` gives a 90 % interval."""
        right = self.annotations.votes()
        mean_right = np.sum(self.posterior * right, axis=1)
        variance = float(np.sum(self.posterior * right**2) - np.sum(mean_right**2))
        n_labels = len(self.annotations.label_codes)
        return _estimate(n_labels - float(mean_right.sum()), variance, LABEL_ERROR, n_labels)

    @cached_property
    def expected_consensus_errors(self) -> Estimate:
        """Expected number of wrong consensus labels; `.interval` gives a 90 % interval."""
        wrong = 1 - self.probability
        return _estimate(float(wrong.sum()), float(np.sum(wrong * (1 - wrong))), CONSENSUS_ERROR, len(wrong))

    def to_frame(self, backend: str | None = None) -> Any:
        """All items, least certain first: item, consensus, probability (that it is right), labels, agreement.

        `backend` is "pandas" or "polars"; by default that of the data, or else what is installed.
        """
        columns = {
            "item": self.items,
            "consensus": self.consensus,
            "probability": self.probability,
            "labels": self.n_labels,
            "agreement": self.agreement,
        }
        return self._frame({name: values[self.order] for name, values in columns.items()}, backend)

    def by_label(self, backend: str | None = None) -> Any:
        """All labels given, worst first: item, annotator, label, consensus, probability (that the label is right)."""
        given, order = self.annotations, np.argsort(self.label_probability, kind="stable")
        columns = {
            "item": self.items[given.item_codes],
            "annotator": given.annotators[given.annotator_codes],
            "label": self.classes[given.label_codes],
            "consensus": self.consensus[given.item_codes],
            "probability": self.label_probability,
        }
        return self._frame({name: values[order] for name, values in columns.items()}, backend)

    def by_annotator(self, backend: str | None = None) -> Any:
        """All annotators, worst first: labels, accuracy with its 90 % interval, agreement, most frequent error.

        `agreement` is the fraction of labels equal to the consensus; the most frequent error is given by `true_label`
        and `given_label`.
        """
        return self._frame(self.columns_of_annotators(), backend)

    def next(
        self, budget: int = 10, annotators: Any = None, each: int | None = None, backend: str | None = None
    ) -> Any:
        """Which items to ask about next, and whom: the questions after which consensus labels are right most often.

        Parameters
        ----------
        budget : int, default=10
            Number of questions; each item is asked about once.
        annotators : sequence, optional
            Names of those who can be asked; by default all. Nobody is asked about an item twice.
        each : int, optional
            Most questions for one annotator.
        backend : "pandas" or "polars", optional

        Returns
        -------
        frame
            item, annotator, consensus, probability (that it is right), gain: the expected rise of the probability of
            the true label, most first.
        """
        rows, who, gains = choose_questions(self, budget, annotators, each)
        columns = {
            "item": self.items[rows],
            "annotator": self.annotators.names[who],
            "consensus": self.consensus[rows],
            "probability": self.probability[rows],
            "gain": gains,
        }
        return self._frame(columns, backend)

    def to_html(self, path: Any, title: str = "Audit of annotations") -> None:
        """Write a report: one file that opens in any browser, without a network."""
        from noisewise.audit.report import annotations_page

        write_whole(annotations_page(self, title), path)

    def show(self, height: int = 700) -> None:
        """Show the report: in a notebook below the cell, elsewhere in the browser."""
        from noisewise.audit.report import annotations_page, show_page

        show_page(annotations_page(self, "Audit of annotations"), height)

    def _repr_html_(self) -> str:
        from noisewise.audit.report import annotations_html

        return annotations_html(self)

    def summary(self) -> dict[str, Any]:
        """The headline numbers, as plain values for JSON."""
        counts = {"expected_errors": self.expected_errors, "expected_consensus_errors": self.expected_consensus_errors}
        numbers = {name: round(float(count), 1) for name, count in counts.items()}
        intervals = {f"{name}_interval": [round(end, 1) for end in count.interval] for name, count in counts.items()}
        return {
            "items": len(self.items),
            "labels": len(self.annotations.label_codes),
            "annotators": len(self.annotators),
            "classes": [str(name) for name in self.classes],
            **numbers,
            **intervals,
            "picked": len(self.picked),
            "model_weights": self.model_weights.round(3).tolist(),
            "notes": list(self.notes),
        }

    def columns_of_annotators(self) -> dict[str, NDArray[Any]]:
        """Columns of `by_annotator`."""
        given, known = self.annotations, self.annotators
        agrees = given.label_codes == self.consensus_codes[given.item_codes]
        n_labels = np.bincount(given.annotator_codes, minlength=len(known))
        agreement = np.bincount(given.annotator_codes, agrees, minlength=len(known)) / np.maximum(n_labels, 1)
        joint = known.flips * self.posterior.mean(axis=0)[:, None]
        np.einsum("ajj->aj", joint)[:] = -1  # the diagonal
        true, said = np.unravel_index(joint.reshape(len(known), -1).argmax(axis=1), joint.shape[1:])
        columns = {
            "annotator": known.names,
            "labels": n_labels,
            "accuracy": known.accuracy,
            "low": known.accuracy_low,
            "high": known.accuracy_high,
            "agreement": agreement,
            "true_label": self.classes[true],
            "given_label": self.classes[said],
        }
        order = np.argsort(known.accuracy, kind="stable")
        return {name: values[order] for name, values in columns.items()}

    def _frame(self, columns: dict[str, Any], backend: str | None) -> Any:
        return frame_like(columns, nw.from_native(self.X, pass_through=True), backend)

    def __repr__(self) -> str:
        size = f"{len(self.items)} items, {len(self.annotators)} annotators, {len(self.annotations.label_codes)} labels"
        wrong = f"{self.expected_consensus_errors!r} wrong consensus labels, {self.expected_errors!r} wrong labels"
        return f"<AnnotationAudit: {size}; {wrong}>"


def _estimate(count: float, variance: float, relative: float, most: int) -> Estimate:
    """A number of errors with its interval, log-normal around it."""
    std = np.sqrt(variance + ROUNDING**2) / max(count, ROUNDING)
    factor = float(np.exp(NORMAL_95 * np.hypot(std, relative)))
    return Estimate(count, count / factor, min(max(count, ROUNDING) * factor, most))
