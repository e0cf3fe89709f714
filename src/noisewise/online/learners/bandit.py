"""Contextual bandit classification: learning from right/wrong feedback on the labels that were played."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from noisewise._loops import state as codes
from noisewise._loops.state import Log
from noisewise._typing import Floats, RandomState
from noisewise._validation import generator, known_classes
from noisewise.noise import FlipMatrix
from noisewise.online.learners import streams
from noisewise.online.learners.base import blank_log, loops, seeded_rng
from noisewise.online.learners.decision import Decision, History, new_decision, round_probabilities
from noisewise.online.learners.policies import Policy, UpperConfidence
from noisewise.online.learners.record import Lock
from noisewise.online.learners.rows import refuse_overflow, sparse_with_constant, unusable_row
from noisewise.online.learners.rules import Confidence, Rule
from noisewise.online.learners.signals import FEEDBACK_SIGNALS, signal_code
from noisewise.online.learners.validation import FeedbackLearner
from noisewise.online.rates import tracker, weighting
from noisewise.online.rates.feedback_codes import MISSING, check_missing, read_feedback, read_feedbacks
from noisewise.online.rates.flip_rates import Noise, flip_rates, rates_as_noise
from noisewise.online.rates.per_action import ActionRateTracker
from noisewise.online.rates.weighting import learn_weighted, run_weighted


class BanditClassifier(FeedbackLearner):
    """A classifier that learns from noisy right/wrong feedback on the labels it plays: policy x signal x rule.

    `noisewise.online.recipes` has the named algorithms. Rows may come as numpy, CSR, pandas or polars; float32 rows are
    learnt from in float32. Threads may share a learner: each call is atomic, in the order in which they come.

    Parameters
    ----------
    policy : policy, default=UpperConfidence()
        The exploration policy: how to act on scores.
    rule : rule, default=Confidence(0.75, C=0.125)
        The update rule: how far to move.
    signal : {"sign", "importance", "value", "importance_rival"}, default="sign"
        What a round contributes to each class: +-1 to the played one; feedback over its propensity; feedback to be
        regressed and corrected afterwards; importance against the best other class.
    n_classes, classes : int or list of hashables
        How many labels, named 0, 1, ..., or the labels themselves.
    noise : FlipMatrix over wrong (0) and right (1), or one for each class (in order, or by name in a dict), or None
        The noise transition matrix of the feedback. None: as `tracker` estimates it, or no noise without a tracker.
    covariance : {"diagonal", "full"}, default="diagonal"
        Covariance of the weights of a class, for the rules that keep one.
    scale_step : bool, default=False
        Whether the bound C of the step shrinks with the signal in the feedback (C times 1 - rho0 - rho1).
    tracker : RateTracker or another object with observe(X, actions, probabilities, feedback) and estimate(), or None
        Unless `noise` is given, a copy observes every `block`, classes as indices; its estimate is the noise from then.
    block : int, default=10_000
        Rounds between two estimates.
    missing : {"drop", "no", "auto"}, default="drop"
        How missing feedback (None) is read: not at all, so that feedback may still come; as "wrong"; or as its
        estimated meaning (linucb only).
    intercept : bool, default=False
        Whether a constant feature of 1 is added to every row, for classes whose scores are not 0 at the origin.
    random_state : int, Generator or None
        Seed of the policy's random state.

    Examples
    --------
    >>> from noisewise import FlipMatrix
    >>> from noisewise.online.recipes import linucb
    >>> learner = linucb(classes=["cat", "dog"], noise=FlipMatrix.binary(0.1, 0.2), random_state=0)
    >>> decision = learner.decide([1.0, 0.5])
    >>> decision.action, decision.probability
    ('cat', 1.0)
    >>> learner.learn(decision, feedback=1).predict([[1.0, 0.5]])
    array(['cat'], dtype='<U3')
    """

    def __init__(
        self,
        policy: Policy | None = None,
        rule: Rule | None = None,
        signal: str | Callable[..., Any] = "sign",
        n_classes: int | None = None,
        classes: Sequence[Any] | None = None,
        noise: Noise = None,
        covariance: str = "diagonal",
        scale_step: bool = False,
        tracker: Any = None,
        block: int = 10_000,
        missing: str = "drop",
        random_state: RandomState = None,
        intercept: bool = False,
    ) -> None:
        self.policy = policy
        self.rule = rule
        self.signal = signal
        self.n_classes = n_classes
        self.classes = classes
        self.noise = noise
        self.covariance = covariance
        self.scale_step = scale_step
        self.tracker = tracker
        self.block = block
        self.missing = missing
        self.random_state = random_state
        self.intercept = intercept
        self._lock = Lock()

    def decide(self, x: Any, actions: Iterable[Any] | None = None) -> Decision:
        """Play a label for one row, among `actions` if given; nothing is learnt yet."""
        some = None if actions is None else self._allowed(actions)  # first, as a learner starts with the first row
        lock = self._lock
        lock.acquire()  # in half the time of a with statement, here and in `learn`
        try:
            row = self._one_row(x)
            state, scratch, all_classes = self._arrays()
            allowed = all_classes if some is None else some
            if type(row) is tuple:
                parts = sparse_with_constant(row, self.n_features_in_, len(state.table))
                code, best, probability = loops().decide_sparse(*state, *parts, scratch, allowed)
            else:
                code, best, probability = loops().decide_dense(*state, row, scratch, allowed)
            if code < 0:
                raise unusable_row(row)
            maker = self._maker or self._sign()
            number = self.n_decisions_
            self.n_decisions_ = number + 1
            version = state.counters.item(codes.ROUNDS)
            decision = new_decision((self.classes_.item(code), probability, number, row, code, best, version, maker))
            if type(row) is not tuple:
                self._scored = decision
            return decision
        finally:
            lock.release()

    def learn(self, decision: Decision, feedback: Any, person: Hashable | None = None) -> BanditClassifier:
        """Learn whether a decision was right; late or out of order does not matter, twice is refused.

        So is a decision of another learner, as far as both are in memory: one made before its learner was saved or
        copied is identified by its id alone, because all copies have made it.

        `feedback` of None, NaN or NA is missing: where it is dropped, the decision stays open for feedback that may
        come. `person` is the annotator who gave it: linucb then estimates the flip rates of each annotator, and weights
        feedback by its information.
        """
        observed = read_feedback(feedback, self.missing)
        lock = self._lock
        lock.acquire()
        try:
            own = self.__dict__
            scored = decision is not None and decision is own.get("_scored")  # then there is nothing to check
            if scored:
                row, mark = decision.features, self._check_unlearnt(decision.id)
            else:
                row, mark = self._check_decision(decision)
            _, probability, _, _, code, best, _, _ = decision
            if person is not None or self.missing == "auto" or "weigher_" in own:
                learn_weighted(self, row, code, observed, person)
            elif observed != MISSING:
                self._learn_one(scored, row, code, best, probability, observed)
            if observed == MISSING and self.missing == "drop":
                return self
            self._mark_learnt(*mark)
            if "tracker_" in own:
                streams.remember(self, streams.as_rows(row, self.n_features_in_), [code], [observed], [probability])
            return self
        finally:
            lock.release()

    def report(self, backend: str | None = None) -> Any:
        """Estimates of the feedback noise, as a frame: flip rates with intervals, counts, whether they are used.

        A row for each action or annotator, or one row where a tracker estimates the same rates for all.
        """
        with self._lock:
            streams.refuse_early(self)
            return weighting.report_frame(self, backend)

    def play(self, X: Any, y: Any, noise: Noise = None, rng: RandomState = None) -> History:
        """Play and learn from a stream with true labels `y`, whose feedback is flipped by `noise` drawn from `rng`.

        The same as `decide` and `learn` row by row, in one compiled loop.
        """
        with self._lock, self._all_or_nothing():
            rows = self._rows(X)
            true = self._find(y, "label")
            check_consistent_length(rows, true)
            flips = flip_rates(noise, self.classes_)
            uniforms = np.zeros(0) if noise is None else generator(rng).random(len(true))
            log = blank_log(true, flips, uniforms)
            self._go(rows, log)
        return History(self.classes_[log.actions], log.feedback, log.actions != true, log.probabilities)

    def learn_logged(self, X: Any, actions: Any, feedback: Any, probabilities: Any = None) -> BanditClassifier:
        """Learn from the log of another policy, in order; `probabilities` are the propensities of its actions.

        They may be left out where none are known and the learner does not use them: linucb, confidit, ucwl, bandit_pa.
        """
        with self._lock, self._all_or_nothing():
            rows = self._rows(X)
            played, observed = self._find(actions, "action"), read_feedbacks(feedback, self.missing)
            check_consistent_length(rows, played, observed)
            if probabilities is None:
                self._refuse_unknown_propensities()
            propensities = round_probabilities(1.0 if probabilities is None else probabilities, len(observed))
            if self.missing != "auto" and (observed == MISSING).any():
                kept = observed != MISSING
                rows, played, observed, propensities = rows[kept], played[kept], observed[kept], propensities[kept]
            unknown, no_noise = np.full_like(played, -1), np.zeros((0, 2))
            self._go(rows, Log(unknown, no_noise, np.zeros(0), played, observed, propensities, given=True))
        return self

    def _refuse_unknown_propensities(self) -> None:
        weighted = self.counters_[codes.SIGNAL] in (codes.IMPORTANCE, codes.IMPORTANCE_RIVAL)
        tracked = hasattr(self, "tracker_") and not isinstance(self.tracker_, ActionRateTracker)
        if weighted or tracked:
            use = "divides feedback by its propensity" if weighted else "estimates flip rates from propensities"
            raise ValueError(
                f"this learner {use}; give probabilities=, or take linucb, confidit or ucwl, which need none"
            )

    def predict(self, X: Any) -> NDArray[Any]:
        """The label with the highest score, without exploration."""
        with self._lock:
            best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: Any) -> Floats:
        """Score of each class, of shape (n_rows, n_classes), corrected for the current noise."""
        with self._lock:
            return self._scores(X)

    @property
    def noise_(self) -> FlipMatrix | list[FlipMatrix]:
        """The feedback noise that is corrected for: one for all classes, or one for each."""
        known = getattr(self, "flip_rates_", None)
        return rates_as_noise(
            flip_rates(self.noise, known_classes(self.n_classes, self.classes)) if known is None else known
        )

    def use_noise(self, noise: Noise) -> BanditClassifier:
        """Correct for this noise from now on, in place of a tracker's estimates.

        None is no noise, until the next estimate of a tracker.
        """
        rates = flip_rates(noise, known_classes(self.n_classes, self.classes))
        if "weigher_" in self.__dict__ or self.missing == "auto":
            raise ValueError("this learner estimates the noise of its feedback itself; it can't be given another one")
        with self._lock:
            if hasattr(self, "table_"):
                self._use_rates(rates)
                if noise is not None:
                    streams.stop(self)
            else:
                self.noise = noise
        return self

    def _start(self, n_features: int, dtype: Any) -> None:
        """Arrays for the first row; nothing is stored if a parameter is wrong."""
        with self._all_or_nothing():
            classes = known_classes(self.n_classes, self.classes)
            rule = Confidence(0.75, C=0.125) if self.rule is None else self.rule
            signal = signal_code(self.signal, FEEDBACK_SIGNALS)
            check_missing(self.missing)
            rng_state, rates = seeded_rng(self.random_state), flip_rates(self.noise, classes)
            width = n_features + bool(self.intercept)
            self._begin(width, dtype, self._policy(), rule, signal, self.covariance, rates)
            self.parameters_[codes.SCALED] = self.scale_step
            self.classes_, self.rng_state_, self.n_features_in_ = classes, rng_state, n_features
            self.n_decisions_, self.learnt_ = 0, np.zeros(0, dtype=np.uint8)
            if self.missing == "auto":
                weighting.check_regression(self)
            if self.tracker is not None:
                tracker.check_tracker(self.tracker, len(classes))
                if self.noise is None:
                    streams.start(self)

    def _policy(self) -> Policy:
        return UpperConfidence() if self.policy is None else self.policy

    def _go(self, rows: Any, log: Log) -> None:
        if self.missing == "auto":
            refuse_overflow(rows.astype(self.table_.dtype, copy=False))
            run_weighted(self, rows, log)
        elif hasattr(self, "weigher_"):
            raise ValueError("this learner weights feedback by annotator; learn from decisions, with person=")
        elif not hasattr(self, "tracker_"):
            self._run(rows, log)
        else:
            refuse_overflow(rows.astype(self.table_.dtype, copy=False))
            streams.run(self, rows, log)
