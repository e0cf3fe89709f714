"""Rewards as the model takes them: in [0, 1], of any interval, costs or several outcomes, corrected for noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from noisewise._typing import Floats
from noisewise._validation import is_missing, listed
from noisewise.noise import FlipMatrix, GaussianNoise
from noisewise.online.actions.estimated_noise import NoiseEstimates, VarianceEstimates
from noisewise.online.actions.missing_rewards import MissingRewards
from noisewise.online.learners.decision import BOOLEAN_TYPES, NUMBER_TYPES

LARGEST_VARIANCE = 0.25  # of a reward in [0, 1]: that of a fair coin


class Channel(NamedTuple):
    """What noise does to a reward r in [0, 1]: observed is offset + signal * r on average; `weight` is information."""

    offset: float = 0.0
    signal: float = 1.0
    weight: float = 1.0
    bounded: bool = True  # whether what is observed lies in the interval of the rewards


def is_absent(given: Any) -> bool:
    """Whether a reward is missing: None, NaN or NA."""
    return given is None or (not isinstance(given, Mapping) and not hasattr(given, "__len__") and is_missing(given))


@dataclass(frozen=True)
class RewardScale:
    """The interval of the rewards, or of the costs; the weights of outcomes, if several are counted.

    >>> RewardScale(-1, 1).unit(0.5), RewardScale(0, 1, costs=True).unit(0.25)
    (0.75, 0.75)
    >>> RewardScale(0, 1, outcomes={"click": 0.2, "purchase": 0.8}).unit({"click": 1})
    0.2
    """

    low: float
    high: float
    costs: bool = False
    outcomes: Mapping[str, float] | None = None

    @classmethod
    def read(cls, rewards: Any, costs: bool, outcomes: Mapping[str, float] | None) -> RewardScale:
        """The scale that parameters of a learner describe."""
        ends = tuple(rewards) if isinstance(rewards, tuple | list) else ()
        if len(ends) != 2 or not all(map(_is_number, ends)) or not ends[0] < ends[1]:
            raise ValueError(f"rewards is {rewards!r:.60}; it is an interval such as (0, 1) or (-1, 1)")
        weights = outcomes.values() if isinstance(outcomes, Mapping) else ()
        if outcomes is not None and not (weights and all(map(_is_number, weights))):
            raise ValueError(f"outcomes is {outcomes!r:.60}; a weight for each is needed, as in {{'click': 0.2}}")
        return cls(float(ends[0]), float(ends[1]), bool(costs), outcomes)

    def unit(self, given: Any, bounded: bool = True) -> float | None:
        """A reward, a cost or counts of outcomes as a reward in [0, 1]; None if it is missing."""
        if is_absent(given):
            return None
        value, what = self.total(given), "cost" if self.costs else "reward"
        if bounded and not self.low <= value <= self.high:
            raise ValueError(f"the {what} is {value:g}; it lies between {self.low:g} and {self.high:g}")
        return float(self.units(value))

    def units(self, values: Any) -> Any:
        """Rewards or costs in [0, 1], of which more is better."""
        return ((self.high - values) if self.costs else (values - self.low)) / (self.high - self.low)

    def given(self, unit: Any) -> Any:
        """Scores in [0, 1] in the units of the rewards, or of the costs."""
        span = self.high - self.low
        return self.high - unit * span if self.costs else self.low + unit * span

    def total(self, given: Any) -> float:
        """A reward or a cost as a number; of counts of outcomes, their weighted sum."""
        if self.outcomes is None or not isinstance(given, Mapping):
            if not _is_number(given) and not isinstance(given, BOOLEAN_TYPES):
                raise ValueError(f"the reward is {given!r:.40}; a number is needed, or None where there is none")
            return float(given)
        unknown = [name for name in given if name not in self.outcomes]
        if unknown or not all(_is_number(count) or isinstance(count, BOOLEAN_TYPES) for count in given.values()):
            raise ValueError(
                f"the outcomes are {dict(given)!r:.60}; counts of {listed(list(self.outcomes))} are needed"
            )
        return float(sum(self.outcomes[name] * count for name, count in given.items()))


def channel_of(noise: Any, span: float) -> Channel:
    """What a noise does to rewards in [0, 1] that were given in an interval of this length.

    Flips exchange the ends of the interval, and mirror what lies between; where their rates differ, a reward between
    the ends counts as that mixture of both. Additive noise of some variance leaves the mean, and less information.

    >>> channel_of(FlipMatrix.binary(0.125, 0.25), span=1.0)[:2]
    (0.125, 0.625)
    """
    if noise is None:
        return Channel()
    if isinstance(noise, FlipMatrix) and noise.n_classes == 2:
        false_positive, false_negative = float(noise.matrix[0, 1]), float(noise.matrix[1, 0])
        return Channel(false_positive, 1 - false_positive - false_negative)
    if isinstance(noise, GaussianNoise) and noise.covariance.size == 1:
        variance = float(noise.covariance.item()) / span**2
        return Channel(weight=LARGEST_VARIANCE / (LARGEST_VARIANCE + variance), bounded=False)
    raise ValueError(
        f"the noise of rewards is {noise!r:.60}; FlipMatrix.binary(...) (flips) or GaussianNoise(variance) "
        "is needed, 'estimate' or 'additive'"
    )


class Reading(NamedTuple):
    """A reward as the regression takes it: the row times `scale` was worth `target`; and as it was given, in [0, 1]."""

    scale: float
    target: float
    unit: float


@dataclass(frozen=True)
class RewardReader:
    """Rewards as targets of the regression.

    `channels` is one for all, one for each group, or estimates of these. The target has the mean of the clean reward
    times the scale, so that rounds count by their information.
    """

    scale: RewardScale
    channels: Channel | dict[Any, Channel] | NoiseEstimates
    noise_by: str
    missing: str
    absent: MissingRewards = field(default_factory=MissingRewards)  # of "auto"

    @classmethod
    def of(cls, scale: RewardScale, noise: Any, noise_by: str, missing: str) -> RewardReader:
        """The reader that parameters of a learner describe."""
        if missing not in ("drop", "no", "auto"):
            raise ValueError(f"missing is {missing!r}; it is 'drop', 'no' or 'auto'")
        if not isinstance(noise_by, str):
            raise ValueError(f"noise_by is {noise_by!r:.40}; it is 'person', 'action' or the name of a feature")
        span = scale.high - scale.low
        if isinstance(noise, str) and noise == "estimate":
            return cls(scale, NoiseEstimates(), noise_by, missing)
        if isinstance(noise, str) and noise == "additive":
            return cls(scale, VarianceEstimates(), noise_by, missing)
        if isinstance(noise, Mapping):
            return cls(scale, {group: channel_of(one, span) for group, one in noise.items()}, noise_by, missing)
        return cls(scale, channel_of(noise, span), noise_by, missing)

    def read(self, reward: Any, group: Any) -> Reading | None:
        """One reward; None if it is missing, and missing ones are dropped."""
        channel = self._channel(group)
        unit = self.scale.unit(reward, channel.bounded)
        if unit is None:
            if self.missing == "drop" or (self.missing == "auto" and not self.absent.not_at_random):
                return None
            unit = 0.0
        root = sqrt(channel.weight)
        return Reading(root * channel.signal, root * (unit - channel.offset), unit)

    def read_all(self, rewards: Any, groups: Sequence[Any] | None) -> tuple[Floats, Floats]:
        """Scales and targets of many rewards; a scale of 0 where nothing is to be learnt."""
        plain = isinstance(self.channels, Channel) and self.scale.outcomes is None
        given = np.asarray(rewards) if plain else None
        if given is not None and given.dtype.kind in "fiub" and given.ndim == 1:
            return self._read_numbers(given.astype(np.float64), self._channel(None))
        read = [
            self.read(reward, None if groups is None else groups[number]) or NOTHING
            for number, reward in enumerate(rewards)
        ]
        made = np.array(read).reshape(-1, 3)
        return made[:, 0].copy(), made[:, 1].copy()

    def _read_numbers(self, given: Floats, channel: Channel) -> tuple[Floats, Floats]:
        """`read_all` at once, for numbers with the same noise."""
        absent = np.isnan(given)
        known = given[~absent]
        for extreme in (known.min(initial=inf), known.max(initial=-inf)) if len(known) else ():
            self.scale.unit(float(extreme), channel.bounded)
        units, root = self.scale.units(given), sqrt(channel.weight)
        if self.missing == "no":
            units[absent] = 0.0
        scales = np.where(np.isnan(units), 0.0, root * channel.signal)
        return scales, np.nan_to_num(root * (units - channel.offset))

    def _channel(self, group: Any) -> Channel:
        if isinstance(self.channels, Channel):
            return self.channels
        if isinstance(self.channels, NoiseEstimates):
            return Channel(*self.channels.line(group), self.channels.weight(group), self.channels.bounded)
        if group not in self.channels:
            known, what = listed(list(self.channels)), self.noise_by
            raise ValueError(f"the {what} is {group!r:.40}; noise is known of {known}, so one of these is needed")
        return self.channels[group]


NOTHING = Reading(0.0, 0.0, 0.0)


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBER_TYPES) and not isinstance(value, BOOLEAN_TYPES) and isfinite(value)
