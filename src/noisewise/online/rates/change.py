"""Change of the noise rates: when rewards began to follow what is expected of them in another way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise._typing import Floats
from noisewise._validation import check_number
from noisewise.online.rates.refit import PlainState

ROUNDS, EXPECTED, SQUARES, OBSERVED, PRODUCTS, OBSERVED_SQUARES = range(6)  # sums of a block
MOST_BLOCKS = 128  # then neighbours are joined, and blocks are twice as long
LEAST_ROUNDS = 200  # before and after a change
THRESHOLD = (
    28.0  # of the test statistic: of simulated logs of 6,000 rounds without a change, one in 100 ever exceeds it
)
LEAST_DIFFERENCE = 0.08  # of the rewards, a standard deviation from the mean expectation: better learning makes less


class Change(NamedTuple):
    """A change of how rewards r follow what is expected of them, e: r is offset + signal * e on average.

    Flips at rates rho0 and rho1 make the offset rho0 and the signal 1 - rho0 - rho1, relative to the expectation.

    Attributes
    ----------
    round : the round from which on the second line holds
    before, after : (offset, signal)
    statistic : what the change explains, in units of the residual variance (chi-squared with two degrees of freedom)
    """

    round: int
    before: tuple[float, float]
    after: tuple[float, float]
    statistic: float

    def __str__(self) -> str:
        (offset, signal), (offset_after, signal_after) = self.before, self.after
        return (
            f"from round {self.round:,} on rewards follow {offset_after:.2f} + {signal_after:.2f} x what is expected, "
            f"before {offset:.2f} + {signal:.2f} x: their noise has changed, or what they depend on"
        )


class ChangeWatch(PlainState):
    """Finds the round at which rewards began to follow what a learner expects in another way.

    Rewards are regressed on expectations before and after every block of rounds; the split that explains most is the
    change, if it explains enough (the test of Chow [1]_, at its largest over the splits [2]_). What expects must not
    have learnt from the reward yet. A change of what people want looks like one of the noise: both move the line. A
    learner that plays little else than the best actions sees little of either, so that changes may be missed.

    Parameters
    ----------
    first_rounds : int, default=2000
        Rounds that are left out, in which a learner's expectations are poor.
    block : int, default=50
        Rounds of a block, at first.

    References
    ----------
    .. [1] Chow, G. C. (1960). Tests of equality between sets of coefficients in two linear regressions. Econometrica
       28(3), 591-605.
    .. [2] Andrews, D. W. K. (1993). Tests for parameter instability and structural change with unknown change point.
       Econometrica 61(4), 821-856.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> expected, rates = rng.random(4000), np.repeat([0.05, 0.3], 2000)
    >>> rewards = (rng.random(4000) < expected) ^ (rng.random(4000) < rates)
    >>> watch = ChangeWatch(first_rounds=0)
    >>> watch.observe(expected, rewards)
    >>> change = watch.change()
    >>> abs(change.round - 2000) <= 200, [round(signal, 1) for _, signal in (change.before, change.after)]
    (True, [0.9, 0.4])
    """

    def __init__(self, first_rounds: int = 2000, block: int = 50) -> None:
        check_number("first_rounds", first_rounds, lambda n: n == int(n) and n >= 0, "it is a number of rounds")
        check_number("block", block, lambda n: n == int(n) and n >= 1, "it is a number of rounds, 1 or more")
        self.first_rounds = int(first_rounds)
        self.block = int(block)
        self.n_rounds = 0
        self.sums = np.zeros((0, 6))
        self.open = np.zeros(6)

    def observe(self, expected: ArrayLike, observed: ArrayLike) -> None:
        """Add rounds: what was expected before they were learnt from, and the reward."""
        e, r = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (expected, observed))
        skipped = max(0, self.first_rounds - self.n_rounds)
        self.n_rounds += len(e)
        e, r = e[skipped:], r[skipped:]
        rows = np.stack([np.ones_like(e), e, e * e, r, e * r, r * r], axis=1)
        while len(rows):
            room = self.block - int(self.open[ROUNDS])
            self.open = self.open + rows[:room].sum(axis=0)
            rows = rows[room:]
            if self.open[ROUNDS] == self.block:
                self._close()

    def change(self) -> Change | None:
        """The largest change so far, if it is high-confidence and large enough; else None."""
        sums = self.sums  # another thread may replace them meanwhile
        before = np.cumsum(sums, axis=0)[:-1]
        if not len(before):
            return None
        total = sums.sum(axis=0)
        after = total - before
        enough = np.minimum(before[:, ROUNDS], after[:, ROUNDS]) >= LEAST_ROUNDS
        if not enough.any():
            return None
        apart = _lines(before)[2] + _lines(after)[2]
        together = _lines(total[None])[2]
        spread = np.maximum(apart / (total[ROUNDS] - 4), 1e-12)
        statistics = np.where(enough, (together - apart) / spread, 0.0)
        best = int(statistics.argmax())
        lines = [_lines(part[best][None]) for part in (before, after)]
        first, second = ((float(offset[0]), float(signal[0])) for offset, signal, _ in lines)
        mean, square = total[[EXPECTED, SQUARES]] / total[ROUNDS]
        around = mean + np.array([-1, 1]) * np.sqrt(max(0.0, square - mean**2))
        moved = np.abs(second[0] - first[0] + (second[1] - first[1]) * around).max()
        if statistics[best] < THRESHOLD or moved < LEAST_DIFFERENCE:
            return None
        return Change(self.first_rounds + int(before[best, ROUNDS]), first, second, float(statistics[best]))

    def _close(self) -> None:
        """Begin a new block; join neighbours if there are many."""
        self.sums, self.open = np.vstack([self.sums, self.open]), np.zeros(6)
        if len(self.sums) == MOST_BLOCKS:
            self.sums, self.block = self.sums[::2] + self.sums[1::2], 2 * self.block


def _lines(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Offset, slope and residual sum of squares of the regression in each row of sums."""
    n, e, squares, r, products, r_squares = sums.T
    mean, height = e / n, r / n
    variance = np.maximum(squares / n - mean**2, 0.0)
    together = products / n - mean * height
    slope = np.divide(together, variance, out=np.zeros_like(mean), where=variance > 1e-12)
    return height - slope * mean, slope, n * np.maximum(r_squares / n - height**2 - slope * together, 0.0)
