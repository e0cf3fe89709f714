"""The base class of online learners: their state as arrays, and the calls of the compiled loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from noisewise._deprecation import renamed
from noisewise._loops import state as codes
from noisewise._loops.state import Log, State
from noisewise._typing import Codes, Floats, RandomState
from noisewise._validation import generator
from noisewise.online.learners.policies import Policy
from noisewise.online.learners.rows import (
    TOO_LARGE,
    check_rows,
    csr_parts,
    has_finite_squares,
    refuse_unusable,
    sparse_with_constant,
    unusable_row,
    with_constant,
    writable,
)
from noisewise.online.learners.rules import Rule
from noisewise.online.learners.signals import check_pair
from noisewise.online.rates.flip_rates import LEAST_CORRECTED_SIGNAL, corrected_scores

COVARIANCES = {"diagonal": codes.DIAGONAL, "full": codes.FULL}
LARGEST = 4 * 2**30  # bytes of full covariances, which every decision or update reads: a larger one would take seconds


@cache
def loops() -> Any:
    """The compiled loops, imported when the first one runs."""
    from noisewise._loops.interpreted import all_loops

    return all_loops()


class RoundLearner(BaseEstimator):
    """State arrays of a learner that goes one round at a time; everything it has learnt is in plain attributes."""

    reals_ = renamed("reals_", "parameters_")
    integers_ = renamed("integers_", "counters_")
    chance_ = renamed("chance_", "rng_state_")
    _not_saved_: tuple[str, ...] = ("_scored", "_cached")
    _scored: Any = None  # the last decision, as long as its dense row and scores are in the scratch buffer

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the attributes if input is refused before anything has been learnt."""
        before = dict(vars(self))
        rounds = before["counters_"][codes.ROUNDS] if "counters_" in before else 0
        try:
            yield
        except Exception:
            if "counters_" not in before or before["counters_"][codes.ROUNDS] == rounds:
                self.__dict__ = before
            raise

    def _begin(
        self, n_features: int, dtype: Any, policy: Policy, rule: Rule, signal: int, covariance: str, flip_rates: Floats
    ) -> None:
        """Allocate the arrays of a learner before its first round."""
        if covariance not in COVARIANCES:
            raise ValueError(f"covariance is {covariance!r}; it is 'diagonal' or 'full'")
        if not isinstance(policy, Policy):
            raise ValueError(f"policy is {policy!r:.60}; Greedy(), UniformExploration() or UpperConfidence() is needed")
        if not isinstance(rule, Rule):
            raise ValueError(f"rule is {rule!r:.60}; one such as Confidence() or Adaptive() is needed")
        settings = rule.parameters()
        kind = COVARIANCES[covariance] if settings.second_order else codes.IDENTITY
        if kind == codes.FULL and settings.joint:
            kind = codes.JOINT
        check_pair(signal, settings.rule, rule)
        shrink = settings.shrink
        if kind in (codes.FULL, codes.JOINT) or (signal != codes.SIGN and shrink == codes.ALONE):
            shrink = codes.DROP  # a full one has one update only; ALONE regresses signed feedback
        n_classes = len(flip_rates)
        n_columns = 2 * n_classes if signal == codes.VALUE else n_classes
        if kind in (codes.FULL, codes.JOINT):
            dtype = np.float64  # differences of nearly equal values
        kinds = [n_classes, n_columns, signal, settings.rule, settings.variant, kind, shrink, settings.project]
        self.counters_ = np.array([*kinds, 0, 0, 0], dtype=np.int64)
        self.parameters_ = np.zeros(codes.RATES + codes.PER_ACTION * n_classes)
        first = [policy.width_in_std, policy.exploration_rate, settings.step, settings.phi, settings.ridge]
        self.parameters_[: len(first)] = first
        self.sigma_ = _covariances(n_features, n_classes, kind, settings.variance)
        self.table_ = codes.new_table(n_features, n_columns, kind, dtype, settings.variance)
        self._use_rates(flip_rates)

    def _use_rates(self, flip_rates: Floats, uninformative: Any = False) -> None:
        """Correct for these flip rates (rho0, rho1 of each class) from now on; uninformative feedback is not used."""
        rho0, rho1 = flip_rates.T
        beta = 1 - rho0 - rho1
        uninformative = uninformative | (beta < LEAST_CORRECTED_SIGNAL)
        by_elimination = uninformative & ~uninformative.all()  # if there are informative classes
        self.flip_rates_ = flip_rates
        self._rates()[...] = np.column_stack([-rho0 / beta, (1 - rho0) / beta, rho0, beta, by_elimination])

    def _rates(self) -> Floats:
        """What the loops read of each class's flip rates: h(0), h(1), rho0, beta, whether uninformative; a view."""
        return self.parameters_[codes.RATES :].reshape(-1, codes.PER_ACTION)

    def _check_started(self) -> None:
        if not hasattr(self, "table_"):
            raise NotFittedError(f"this {type(self).__name__} has not learnt anything yet; show it rows first")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._not_saved_}

    def __setstate__(self, state: dict[str, Any]) -> None:
        mapped = "table_" in state and not state["table_"].flags.writeable  # by joblib, read-only
        super().__setstate__(deepcopy(state) if mapped else state)

    def _arrays(self) -> tuple[State, NDArray[np.float64], NDArray[np.bool_]]:
        """The state as a tuple, a scratch buffer for one row, and a mask that allows every class.

        Cached until an array is replaced: they are needed for every row. The caller may overwrite the row that was
        decided last, so its scores are no longer taken as valid.
        """
        own = self.__dict__
        own["_scored"] = None
        arrays: tuple[State, NDArray[np.float64], NDArray[np.bool_]] | None = own.get("_cached")
        if arrays is not None:
            table, sigma, parameters, counters, rng_state = arrays[0]
            if (
                table is own["table_"]
                and sigma is own["sigma_"]
                and parameters is own["parameters_"]
                and counters is own["counters_"]
                and rng_state is own["rng_state_"]
            ):
                return arrays
        state = State(self.table_, self.sigma_, self.parameters_, self.counters_, self.rng_state_)
        all_classes = np.ones(self.counters_[codes.CLASSES], dtype=np.bool_)
        n_gains = len(all_classes) if self.counters_[codes.COVARIANCE] == codes.JOINT else 1
        arrays = self._cached = state, codes.new_scratch(self.table_, n_gains), all_classes
        return arrays

    def _learn_one(self, scored: bool, row: Any, code: int, best: int, probability: float, feedback: int) -> None:
        """Learn from the feedback on one row; if `scored`, the row and its scores are in the scratch buffer."""
        state, scratch, _ = self._arrays()
        if scored:
            loops().learn_scored(*state, scratch, code, best, probability, feedback)
            return
        if type(row) is tuple:
            parts = sparse_with_constant(row, self.n_features_in_, len(self.table_))
            finite = loops().learn_sparse(*state, *parts, scratch, code, best, probability, feedback)
        else:
            finite = loops().learn_dense(*state, row, scratch, code, best, probability, feedback)
        if not finite:
            raise unusable_row(row)

    def _run(self, X: Any, log: Log) -> None:
        """Play or replay all rows; if one can't be learnt from, the state is restored."""
        state, *buffers = self._arrays()
        X = with_constant(X, len(self.table_))
        X = X.astype(self.table_.dtype, copy=False)  # another dtype only where a full covariance needs float64
        untouched = not self.counters_[codes.ROUNDS]  # every row of the table still equals the first
        checked = not untouched and X.size < self.table_.size  # checking first is then cheaper than a copy to restore
        if checked:
            refuse_unusable(X)
            checked = has_finite_squares(X)
        table = state.table[: 1 if untouched else None]
        before = [] if checked else [part.copy() for part in (table, *state[1:])]
        if sp.issparse(X):
            refused = loops().play_sparse(state, *csr_parts(X), log, *buffers)
        else:
            refused = loops().play_dense(state, writable(X), log, *buffers)
        if refused >= 0:
            for part, old in zip(state, before):
                part[...] = old
            refuse_unusable(X)
            raise ValueError(TOO_LARGE.format(row=refused))

    def _weights(self) -> NDArray[Any]:
        """Mean weights, of shape (n_features, n_columns)."""
        return codes.means(self.table_, int(self.counters_[codes.COLUMNS]), int(self.counters_[codes.COVARIANCE]))

    def _scores(self, X: Any) -> Floats:
        """Score of each class, corrected for the current flip rates."""
        self._check_started()
        rows = check_rows(self, X, reset=False)
        refuse_unusable(rows)
        n_features, weights = rows.shape[1], self._weights()
        scores = np.asarray(rows @ weights[:n_features], dtype=np.float64)
        scores += weights[n_features:].sum(axis=0)  # the intercepts, or nothing
        return self._corrected(scores) if self.counters_[codes.SIGNAL] == codes.VALUE else scores

    def _corrected(self, scores: Floats) -> Floats:
        """Regressions of feedback and of 1 (the columns of each class, last axis) as estimates of P(right | x)."""
        rates, n_classes = self._rates(), int(self.counters_[codes.CLASSES])
        rho0, beta, uninformative = rates[:, codes.RHO0], rates[:, codes.BETA], rates[:, codes.UNINFORMATIVE] > 0
        return corrected_scores(scores[..., :n_classes], scores[..., n_classes:], rho0, beta, uninformative)

    @property
    def kinds_(self) -> NDArray[np.int64]:
        """Configuration codes of the learner, as in `_loops.state`."""
        return self.counters_[: codes.ROUNDS]

    @property
    def counts_(self) -> NDArray[np.int64]:
        """Rounds, updates and mistakes so far."""
        return self.counters_[codes.ROUNDS :]

    @property
    def sums_(self) -> Floats:
        """The running sum of SOBA's update condition."""
        return self.parameters_[codes.RUNNING : codes.RATES]

    @property
    def n_updates_(self) -> int:
        """Rounds that changed the weights."""
        self._check_started()
        return int(self.counters_[codes.UPDATES])

    @property
    def n_rounds_(self) -> int:
        """Rounds learnt from."""
        self._check_started()
        return int(self.counters_[codes.ROUNDS])

    @property
    def mistakes_(self) -> int:
        """Rounds whose label was known and was not the one predicted or played."""
        self._check_started()
        return int(self.counters_[codes.MISTAKES])


def seeded_rng(random_state: RandomState) -> NDArray[np.uint64]:
    """The SFC64 state of a seed, or of a seed drawn from another random state."""
    seed = random_state
    if not (seed is None or isinstance(seed, int | np.integer)):
        seed = int(generator(seed).integers(2**63))
    if seed is not None and seed < 0:
        raise ValueError(f"random_state is {seed}; a seed is a whole number, 0 or more")
    return codes.new_rng(seed)


def _covariances(n_features: int, n_classes: int, kind: int, variance: float) -> Floats:
    n_blocks = {codes.FULL: n_classes, codes.JOINT: n_classes**2}.get(kind, 0)
    size, reason = 8 * n_blocks * n_features**2, "all of which a decision or an update reads"
    try:
        if size <= LARGEST:
            return codes.new_sigma(n_features, n_classes, kind, variance)
    except MemoryError:
        reason = "more than there is"
    whose = "for each of" if kind == codes.FULL else "and"
    raise ValueError(
        f"a full covariance of {n_features} features {whose} {n_classes} classes takes {size / 2**30:,.1f} GiB of "
        f"memory, {reason}; a diagonal one would do (covariance='diagonal', as ucwl has it), or fewer features"
    )


def blank_log(true: Codes, noise: Floats, uniforms: Floats) -> Log:
    """The empty log of a stream to be played."""
    n = len(true)
    return Log(true, noise, uniforms, np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int8), np.zeros(n), given=False)


def rank_actions(
    learner: Any,
    row: Floats,
    allowed: NDArray[np.bool_] | None,
    rng_state: NDArray[np.uint64],
    most: int | None = None,
) -> tuple[int, int, float, Codes | None, Floats, Floats]:
    """Decide for a dense row as ``learner.decide`` does, drawing from another SFC64 state; the learner is unchanged.

    Action, greedy action, propensity, actions that the scores are of (None for all), their scores, and what is added to
    each (the UCB bonus). Of more than `most` actions only the highest ones are scored, the played and the greedy one.
    The action is -1 if the scores are not finite.
    """
    _, scratch, all_classes = learner._arrays()
    state = State(learner.table_, learner.sigma_, learner.parameters_, learner.counters_, rng_state)
    allowed, kept = all_classes if allowed is None else allowed, None
    code, best, probability = loops().decide_dense(*state, row, scratch, allowed)
    if most is not None and len(all_classes) > most and code >= 0:
        highest = np.empty(most, dtype=np.intp)
        n_highest = loops().fill_highest(_upper_bounds(learner, scratch), allowed, highest)
        kept = np.array(sorted({*highest[:n_highest].tolist(), code, best}))
    return code, best, probability, kept, *_scores_and_bonuses(learner, scratch, kept)


def _upper_bounds(learner: Any, scratch: Floats) -> Floats:
    """What the actions have just been compared by, as `_loops.policies.fill_bounds` leaves it in the scratch buffer."""
    counters, (n_features, width) = learner.counters_, learner.table_.shape
    start = 2 * (n_features + codes.PADDING)
    filled = counters.item(codes.SIGNAL) == codes.VALUE or learner.parameters_.item(codes.WIDTH) > 0
    if filled or counters.item(codes.PROJECT):
        start += 2 * width
    return scratch[start : start + counters.item(codes.CLASSES)]


def _scores_and_bonuses(learner: Any, scratch: Floats, kept: Codes | None = None) -> tuple[Floats, Floats]:
    """What the compiled round has just compared, read from its scratch buffer; of some actions or of all."""
    counters, parameters = learner.counters_, learner.parameters_
    n_columns, n_actions = counters.item(codes.COLUMNS), counters.item(codes.CLASSES)
    means, variances = codes.scored(learner.table_, scratch)
    rates = learner._rates() if counters.item(codes.SIGNAL) == codes.VALUE else None
    if kept is not None and rates is not None and rates[:, codes.UNINFORMATIVE].any():  # they depend on all others
        scores, bonuses = _scores_and_bonuses(learner, scratch)
        return scores[kept], bonuses[kept]
    chosen: Any = slice(n_actions) if kept is None else kept
    variances = variances[chosen]
    if parameters.item(codes.WIDTH) > 0:
        bonuses = parameters.item(codes.WIDTH) * np.sqrt(np.maximum(variances, 0.0))
    else:
        bonuses = np.zeros(len(variances))
    if rates is None:
        means = means[:n_columns] if kept is None else means[kept]
        return means.clip(-1.0, 1.0) if counters.item(codes.PROJECT) else means.copy(), bonuses
    own = rates[chosen]
    uninformative = own[:, codes.UNINFORMATIVE] > 0
    bonuses = bonuses / own[:, codes.BETA]
    bonuses[uninformative] = 0.0
    levels = means[n_actions:n_columns][chosen]
    return corrected_scores(means[chosen], levels, own[:, codes.RHO0], own[:, codes.BETA], uninformative), bonuses
