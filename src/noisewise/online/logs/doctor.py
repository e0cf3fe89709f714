"""The log doctor: whether a log can be learnt from and policies valued with it, before anybody relies on it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from noisewise._typing import Floats
from noisewise._words import counted, some_of
from noisewise.online.logs.dsjson import iter_dsjson
from noisewise.online.logs.logged_round import LoggedRound
from noisewise.online.logs.text import numbered_lines
from noisewise.online.logs.vw import iter_vw

FORMATS = ("dsjson", "adf", "plain")
ANY_REWARD = (-1e300, 1e300)
SHOWN = 3  # examples of rounds that can't be read
HIGH_CONFIDENCE = 5.0  # standard errors, beyond which a difference is no accident
LARGEST_ERROR = 0.05  # of the mean importance weight, and of sums of probabilities

Numbered = tuple[str, list[str]]


@dataclass
class LogCheck:
    """What `check_log` found in a log: counts, a sentence for each problem, and notes on what may be as it should.

    Attributes
    ----------
    format : "dsjson", "adf" or "plain"
    rounds, unreadable, without_reward, duplicates : how many there are
    propensities, rewards : least and largest
    mean_rewards : of the first and the second half
    uniform_weight : mean importance weight of the uniform policy; 1 if propensities are right, None if not known
    problems, notes : sentences
    """

    format: str
    rounds: int = 0
    unreadable: int = 0
    without_reward: int = 0
    duplicates: int = 0
    propensities: tuple[float, float] | None = None
    rewards: tuple[float, float] | None = None
    mean_rewards: tuple[float, float] | None = None
    uniform_weight: float | None = None
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


def check_log(source: str | os.PathLike[str] | Iterable[str], format: str | None = None) -> LogCheck:
    """Check a log: propensities in (0, 1], chosen action present, rewards joined, duplicates, drift.

    Parameters
    ----------
    source : path of a file, packed as gz or not, or an iterable of lines
    format : "dsjson", "adf" or "plain" (both Vowpal Wabbit's text); by default found from the first lines

    Examples
    --------
    >>> check = check_log(["1:-1:0.5 | a", "2:0:1.5 | b", "1:0:0.5 | a", "2:0:0.5 | a"])
    >>> check.rounds, check.unreadable
    (3, 1)
    >>> check.problems
    ['1 of 4 rounds can not be read, such as line 2: a probability is 1.5; what was played had a probability above 0
     and at most 1']
    """
    lines = list(numbered_lines(source))
    kind = format or _format_of([line for _, line in lines if line.strip()])
    if kind not in FORMATS:
        raise ValueError(f"format is {kind!r}; it is 'dsjson', 'adf' or 'plain'")
    check, rounds, errors = LogCheck(kind), list[LoggedRound](), list[str]()
    for where, part in _parts(lines, kind):
        try:
            found = list(_read(part, kind))
        except ValueError as error:
            errors.append(f"{where}: {str(error).partition(': ')[2]}")
            continue
        rounds += found
        check.without_reward += not found
    check.rounds, check.unreadable = len(rounds), len(errors)
    n_all = check.rounds + check.unreadable + check.without_reward
    if not n_all:
        raise ValueError("the log has no rounds")
    if errors:
        check.problems.append(f"{len(errors)} of {n_all} rounds can not be read, such as {'; '.join(errors[:SHOWN])}")
    if check.without_reward:
        missing = f"{some_of(check.without_reward, n_all, 'round', 'have')} no reward: none came, or it was not joined"
        check.problems.append(missing)
    if rounds:
        _check_ids(check, rounds)
        _check_propensities(check, rounds)
        _check_rewards(check, rounds)
    return check


def _format_of(lines: list[str]) -> str:
    if not lines:
        raise ValueError("the log is empty")
    if lines[0].lstrip().startswith("{"):
        return "dsjson"
    if not any("|" in line for line in lines[:2]) and any(mark in lines[0] for mark in ",;\t"):
        raise ValueError(
            f"the log is a table that begins {lines[0]!r:.40}, not DSJSON or Vowpal Wabbit's text; FeedbackLog takes "
            "its columns, and write_vw(log, path, layout='adf') writes what can be checked"
        )
    heads = [line.partition("|")[0].split() for line in lines[:2]]  # of an action not played: nothing, or a tag
    shared = any(head[:1] == ["shared"] or all(word[0] == "'" for word in head) for head in heads)
    return "adf" if shared or lines[0].startswith("0:") else "plain"


def _parts(lines: list[tuple[str, str]], kind: str) -> Iterator[Numbered]:
    """The lines of each round, with where they begin."""
    block: list[str] = []
    first = ""
    for where, line in lines:
        if not line.strip():
            if block:
                yield first, block
            block = []
        elif kind == "adf":
            first = first if block else where
            block.append(line)
        else:
            yield where, [line]
    if block:
        yield first, block


def _read(part: list[str], kind: str) -> Iterator[LoggedRound]:
    if kind == "dsjson":
        return iter_dsjson(part, missing="skip", rewards=ANY_REWARD)
    return iter_vw(part, layout=kind, missing="skip", rewards=ANY_REWARD)


def _check_ids(check: LogCheck, rounds: list[LoggedRound]) -> None:
    counts = Counter(one.id for one in rounds if one.id is not None)
    check.duplicates = sum(counts.values()) - len(counts)
    if check.duplicates:
        name, times = counts.most_common(1)[0]
        check.problems.append(f"{counted(check.duplicates, 'repeated round')}; {name!r} comes {times} times")


def _check_propensities(check: LogCheck, rounds: list[LoggedRound]) -> None:
    propensities = np.array([one.probability for one in rounds])
    check.propensities = float(propensities.min()), float(propensities.max())
    if propensities.min() == 1:
        check.notes.append("every propensity is 1: other policies can't be valued from this log")
        return
    known = [np.array([choice.probability for choice in one.offered], dtype=np.float64) for one in rounds]
    known = [one for one in known if len(one) and not np.isnan(one).any()]  # rounds with those of all actions
    wrong = sum(abs(one.sum() - 1) > LARGEST_ERROR for one in known)
    if wrong:
        check.problems.append(f"in {counted(wrong, 'round')} the probabilities of all actions do not sum to 1")
    n_offered = np.array([len(one.offered) for one in rounds])
    if not n_offered.all():
        return
    weights = 1 / (n_offered * propensities)
    check.uniform_weight = float(weights.mean())
    averaged = f"the weights of a uniform policy average {check.uniform_weight:.2f}"
    expected, error = 1.0, _error(weights.std(), len(weights))
    if len(known) == len(rounds) and not wrong:  # then both are known: rare actions make the error large
        expected = float(np.mean([(one > 0).mean() for one in known]))
        error = _error(np.sqrt(np.mean([_variance_of_uniform_weight(one) for one in known])), len(known))
    if abs(check.uniform_weight - expected) > error and (len(known) == len(rounds) or check.uniform_weight > 1):
        check.problems.append(
            f"{averaged} instead of {expected:.2g}: the propensities are not those the actions were drawn with"
        )
    elif check.uniform_weight < 1 - LARGEST_ERROR and check.uniform_weight < 1 - _error(weights.std(), len(weights)):
        check.notes.append(
            f"{averaged} instead of 1: some actions are hardly ever played, so that policies which play them can't be "
            "valued; or the propensities are too high"
        )


def _variance_of_uniform_weight(propensities: Floats) -> float:
    """Variance of 1 / (n p) of an action that is drawn with probability p from n of them."""
    played = propensities[propensities > 0]
    n = len(propensities)
    return float((1 / played).sum() / n**2 - (len(played) / n) ** 2)


def _error(deviation: float, n_rounds: int) -> float:
    """How far the mean of so many rounds may be from its expectation."""
    return max(LARGEST_ERROR, HIGH_CONFIDENCE * float(deviation) / float(np.sqrt(n_rounds)))


def _check_rewards(check: LogCheck, rounds: list[LoggedRound]) -> None:
    rewards = np.array([one.feedback for one in rounds], dtype=np.float64)
    check.rewards = float(rewards.min()), float(rewards.max())
    if check.rewards[0] == check.rewards[1] and len(rewards) > 1:
        check.problems.append(f"every reward is {rewards[0]:g}: nothing can be learnt")
    halves = np.array_split(rewards, 2)
    if len(halves[1]) < 2:
        return
    check.mean_rewards = float(halves[0].mean()), float(halves[1].mean())
    if _differ(*halves):
        before, after = check.mean_rewards
        check.notes.append(f"the mean reward drifts, from {before:.3f} in the first half to {after:.3f} in the second")
    known = {name for one in rounds[: len(halves[0])] for name in one.features}
    new = Counter(name for one in rounds[len(halves[0]) :] for name in one.features if name not in known)
    if new and new.most_common(1)[0][1] > len(halves[1]) / 10:
        name, times = new.most_common(1)[0]
        check.notes.append(
            f"the contexts drift: {name!r} is in {counted(times, 'round')} of the second half, in none of the first"
        )


def _differ(first: Floats, second: Floats) -> bool:
    error = np.sqrt(first.var() / len(first) + second.var() / len(second))
    return bool(abs(first.mean() - second.mean()) > HIGH_CONFIDENCE * error)
