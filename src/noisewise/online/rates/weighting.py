"""Feedback learnt as weighted targets: by annotator, or where feedback may be missing not at random."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._frames import frame_like
from noisewise._loops import state as codes
from noisewise._loops.state import Log
from noisewise._numerics.ridge import RidgeFit
from noisewise._typing import Floats
from noisewise._validation import is_missing, one_column
from noisewise.online.learners.base import loops
from noisewise.online.learners.rows import has_finite_squares, unusable_row
from noisewise.online.rates.feedback_codes import MISSING
from noisewise.online.rates.missing_feedback import MissingTracker
from noisewise.online.rates.per_annotator import PeopleTracker
from noisewise.online.rates.windows import WindowedRateTracker


def learn_weighted(learner: Any, row: Any, code: int, feedback: int, person: Hashable | None) -> None:
    """Learn feedback by its target and importance as now estimated; when a refit is due, from all rounds again."""
    x = _dense(row, learner.n_features_in_, len(learner.table_))
    if not has_finite_squares(x):
        raise unusable_row(x)
    try:
        hash(person)
    except TypeError:
        sentence = f"person is {person!r}; a name, a number or another value that does not change is needed"
        raise ValueError(sentence) from None
    if person is not None and is_missing(person):
        raise ValueError(f"person is {person!r}; name who gave the feedback, or give one name to all who are not known")
    tracker = _tracker(learner, person)
    if isinstance(tracker, PeopleTracker):
        if feedback == MISSING:
            return
        scores = x @ learner.table_[:, : len(learner.classes_)]
        target, importance = tracker.weigh(x, code, feedback, person, scores)
    else:
        tracker._keep(x, code, feedback)  # validated already
        target, importance = tracker.table.targets[code, feedback], tracker.table.importance[code, feedback]
    weighted_step(learner.table_, learner.sigma_, x, code, float(target), float(importance))
    learner.counters_[codes.ROUNDS] += 1
    learner.counters_[codes.UPDATES] += importance > 0
    if tracker.due:
        load_fit(learner.table_, learner.sigma_, tracker.refit())
        if isinstance(tracker, MissingTracker):
            learner.parameters_[codes.WIDTH] = learner.policy.width_in_std * float(np.mean(tracker.table.width))


def load_fit(table: NDArray[Any], sigma: Floats, fit: RidgeFit) -> None:
    """Continue from a regression: fill a learner's weights (features by actions, twice) and covariances with it."""
    n_actions = len(fit.weights)
    table[:, :n_actions] = fit.weights.T
    table[:, n_actions : 2 * n_actions] = fit.baseline.T
    sigma[...] = fit.inverses


def weighted_step(table: NDArray[Any], sigma: Floats, x: Floats, action: int, target: float, importance: float) -> None:
    """Recursive least squares: add one weighted round to the regression in these arrays (Sherman and Morrison)."""
    if importance <= 0:
        return
    gain = sigma[action] @ x
    step = gain / (1 / importance + x @ gain)
    for column, goal in ((action, target), (len(sigma) + action, 1.0)):
        table[:, column] += (goal - table[:, column] @ x) * step
    sigma[action] -= np.outer(step, gain)


def run_weighted(learner: Any, rows: Any, log: Log) -> None:
    """Play a stream, or replay a log, row by row with weighted feedback."""
    for i in range(rows.shape[0]):
        row = rows[i].toarray().ravel() if sp.issparse(rows) else rows[i]
        if not log.given:
            decision = learner.decide(row)
            right = decision.code == log.true[i]
            u = log.uniforms[i] if len(log.uniforms) else 0.5
            log.actions[i], log.probabilities[i] = decision.code, decision.probability
            log.feedback[i] = loops().observe(right, decision.code, log.noise, u)
            learner.counters_[codes.MISTAKES] += not right
        learn_weighted(learner, row, int(log.actions[i]), int(log.feedback[i]), None)


def report_frame(learner: Any, backend: str | None) -> Any:
    """Estimates of the feedback noise, as a frame."""
    tracker = getattr(learner, "weigher_", None) or getattr(learner, "tracker_", None)
    if isinstance(tracker, WindowedRateTracker):
        return tracker.report(backend)
    found: Any = getattr(tracker, "report", None) or getattr(tracker, "estimate", None)
    found = found() if callable(found) else found
    if not callable(getattr(found, "columns", None)):
        raise ValueError(_nothing_to_report(tracker, learner))
    columns = found.columns()
    if "action" in columns:
        columns["action"] = learner.classes_[columns["action"]].tolist()
    return frame_like({name: one_column(values) for name, values in columns.items()}, backend=backend)


def _nothing_to_report(tracker: Any, learner: Any) -> str:
    if learner.missing == "auto":
        return "nothing is estimated yet: missing feedback is tested for the first time after 500 rounds"
    if tracker is not None:
        return "the tracker has no report; tracker_.estimate() gives its rates"
    if learner.noise is not None:
        return "nothing is estimated: the noise was given, and noise_ has it"
    return "nothing is estimated: linucb estimates rates of persons named in learn, or by rates= or missing='auto'"


def _tracker(learner: Any, person: Hashable | None) -> Any:
    tracker = getattr(learner, "weigher_", None)
    if person is not None and learner.missing == "auto":
        raise ValueError("missing='auto' treats feedback alike, whoever gave it; leave out missing='auto' or person=")
    if tracker is None:
        check_regression(learner)
        if person is not None and learner.counters_[codes.ROUNDS]:
            raise ValueError("name who gives feedback from the first round on: earlier feedback has no annotator")
        kind = MissingTracker if person is None else PeopleTracker
        tracker = learner.weigher_ = kind(len(learner.classes_), float(learner.parameters_[codes.RIDGE]))
    if isinstance(tracker, PeopleTracker) == (person is None):
        raise ValueError("some feedback names a person and some does not; name all of them or none")
    return tracker


def check_regression(learner: Any) -> None:
    """Refuse learners without a regression to weight: linucb with a full covariance and no other correction has one."""
    regresses = learner.counters_[codes.SIGNAL] == codes.VALUE and learner.counters_[codes.COVARIANCE] == codes.FULL
    if not regresses or learner.tracker is not None or learner.flip_rates_.any():
        raise ValueError(
            "feedback can be weighted by person, or read where it is missing, by linucb with a full covariance, "
            "without noise= and rates="
        )


def _dense(row: Any, n_features: int, width: int) -> NDArray[np.float64]:
    """A row as a dense one, with the ones of an intercept."""
    x = np.ones(width)
    if isinstance(row, tuple):
        x[:n_features] = 0.0
        x[row[0]] = row[1]
    else:
        x[:n_features] = row
    return x
