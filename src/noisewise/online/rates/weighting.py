"""Answers that count by who gave them, or that did not come: learnt with a target and a weight each."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noisewise._frames import frame_like
from noisewise._loops import state as codes
from noisewise._loops.state import Log
from noisewise._validation import is_missing, one_column
from noisewise.online.learners.base import loops
from noisewise.online.learners.decision import check_feedbacks
from noisewise.online.learners.rows import adds_up, unusable_row
from noisewise.online.rates.feedback_table import NONE, WRONG
from noisewise.online.rates.missing_feedback import MissingTracker
from noisewise.online.rates.per_annotator import PeopleTracker
from noisewise.online.rates.refit import load_fit, weighted_step

WAYS = ("drop", "no", "auto")


def check_missing(missing: Any) -> None:
    """Refuse what is not a way to read missing feedback."""
    if missing not in WAYS:
        raise ValueError(f"missing is {missing!r}; it is 'auto', 'drop' or 'no'")


def read_answers(feedback: Any, missing: str) -> NDArray[np.int8]:
    """Wrong (0), right (1) or none (2) for each of many rounds; None, NaN and NA are no answer, as in `read_answer`."""
    given = np.asarray(feedback)
    if given.ndim != 1:
        return check_feedbacks(feedback)
    absent = np.array([is_missing(value) for value in given.tolist()], dtype=bool)
    if not absent.any():
        return check_feedbacks(feedback)
    answers = np.full(len(given), WRONG if missing == "no" else NONE, dtype=np.int8)
    answers[~absent] = check_feedbacks(given[~absent].tolist())
    return answers


def learn_weighed(learner: Any, row: Any, code: int, answer: int, person: Hashable | None) -> None:
    """Learn one answer with the target and weight that are believed of it; now and then judge all rounds again."""
    x = _dense(row, learner.n_features_in_)
    if not adds_up(x):
        raise unusable_row(x)
    try:
        hash(person)
    except TypeError:
        sentence = f"person is {person!r}; a name, a number or another value that does not change is needed"
        raise ValueError(sentence) from None
    if person is not None and is_missing(person):
        raise ValueError(f"person is {person!r}; name who answered, or give one name to all who are not known")
    tracker = _tracker(learner, person)
    if isinstance(tracker, PeopleTracker):
        if answer == NONE:
            return
        scores = x @ learner.table_[:, : len(learner.classes_)]
        target, importance = tracker.weigh(x, code, answer, person, scores)
    else:
        tracker._keep(x, code, answer)  # checked already
        target, importance = tracker.table.targets[code, answer], tracker.table.importance[code, answer]
    weighted_step(learner.table_, learner.sigma_, x, code, float(target), float(importance))
    learner.counters_[codes.ROUNDS] += 1
    learner.counters_[codes.UPDATES] += importance > 0
    if tracker.due:
        load_fit(learner.table_, learner.sigma_, tracker.refit())
        if isinstance(tracker, MissingTracker):
            learner.parameters_[codes.WIDTH] = learner.policy.width_in_std * float(np.mean(tracker.table.width))


def run_weighed(learner: Any, rows: Any, log: Log) -> None:
    """Play or relive a stream row by row, each answer weighed."""
    for i in range(rows.shape[0]):
        row = rows[i].toarray().ravel() if sp.issparse(rows) else rows[i]
        if not log.given:
            decision = learner.decide(row)
            right = decision.code == log.true[i]
            u = log.uniforms[i] if len(log.uniforms) else 0.5
            log.actions[i], log.probabilities[i] = decision.code, decision.probability
            log.feedback[i] = loops().observe(right, decision.code, log.noise, u)
            learner.counters_[codes.MISTAKES] += not right
        learn_weighed(learner, row, int(log.actions[i]), int(log.feedback[i]), None)


def report_frame(learner: Any, backend: str | None) -> Any:
    """What is believed of the answers, as a frame."""
    tracker = getattr(learner, "weigher_", None) or getattr(learner, "tracker_", None)
    found: Any = getattr(tracker, "report", None) or getattr(tracker, "estimate", None)
    found = found() if callable(found) else found
    if not hasattr(found, "columns"):
        raise ValueError(_nothing_to_report(tracker, learner))
    columns = found.columns()
    if "action" in columns:
        columns["action"] = learner.classes_[columns["action"]].tolist()
    return frame_like({name: one_column(values) for name, values in columns.items()}, backend=backend)


def _nothing_to_report(tracker: Any, learner: Any) -> str:
    if learner.missing == "auto":
        return "nothing is believed of the answers yet: they are judged for the first time after 500 rounds"
    if tracker is not None:
        return "the tracker says no more than its rates: tracker_.estimate() has them"
    if learner.noise is not None:
        return "nothing is estimated: the noise was given, and noise_ has it"
    return "nothing is believed of the answers: name a person in learn, or use rates='action' or missing='auto'"


def _tracker(learner: Any, person: Hashable | None) -> Any:
    tracker = getattr(learner, "weigher_", None)
    if person is not None and learner.missing == "auto":
        raise ValueError("missing='auto' reads answers alike, whoever gave them; leave it out, or name nobody")
    if tracker is None:
        check_regression(learner)
        if person is not None and learner.counters_[codes.ROUNDS]:
            raise ValueError("say who answers from the first answer on: earlier ones can't be told apart any more")
        kind = MissingTracker if person is None else PeopleTracker
        tracker = learner.weigher_ = kind(len(learner.classes_), float(learner.parameters_[codes.RIDGE]))
    if isinstance(tracker, PeopleTracker) == (person is None):
        raise ValueError("some answers name a person and some do not; name all of them or none")
    return tracker


def check_regression(learner: Any) -> None:
    """Weights make sense where feedback is regressed: linucb with a full covariance and no other correction."""
    regresses = learner.counters_[codes.SIGNAL] == codes.VALUE and learner.counters_[codes.COVARIANCE] == codes.FULL
    if not regresses or learner.tracker is not None or learner.flip_rates_.any():
        raise ValueError(
            "answers can be weighed by person, or read where they are missing, by linucb with a full covariance, "
            "without noise= and rates="
        )


def _dense(row: Any, n_features: int) -> NDArray[np.float64]:
    if not isinstance(row, tuple):
        return np.asarray(row, dtype=np.float64)
    x = np.zeros(n_features)
    x[row[0]] = row[1]
    return x
