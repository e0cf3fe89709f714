"""
Nearest neighbours under label noise
====================================

Three facts about nearest neighbours and wrong labels (Gao, Yang and Zhou, Figure 1), on a soft chessboard whose Bayes
error is 0.297:

- if one class is flipped more often than the other, plain neighbours converge to the wrong classifier, and the robust
  ones to the Bayes classifier;
- if both are flipped at the same rate, plain neighbours need no correction, only more voters;
- the error of a single neighbour stays above the Bayes error, however many rows there are.

The dotted line in each figure is the error of the Bayes classifier on the test rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisewise import FlipMatrix
from noisewise.datasets import make_sine_2d, sine_2d_posterior
from noisewise.labels import RobustKNeighborsClassifier

VOTERS = [1, 2, 4, 8, 15, 30, 60, 100, 150]
COLORS = ["tab:blue", "tab:orange", "tab:green"]
X_test, y_test = make_sine_2d(2000, random_state=100)
BAYES_ERROR = np.mean((sine_2d_posterior(X_test) > 0.5) != y_test)


def errors(noise, used, voters, n_rows=4000, seeds=2):
    """Test errors by number of voters; `used`: the noise given, None to estimate it."""
    runs = []
    for seed in range(seeds):
        X, y = make_sine_2d(n_rows, random_state=seed)
        observed = noise.corrupt(y, seed)
        known = used or RobustKNeighborsClassifier(100, 100).fit(X, observed).noise_
        models = [
            RobustKNeighborsClassifier(k, noise=known).fit(X, observed) for k in voters
        ]
        runs.append([1 - model.score(X_test, y_test) for model in models])
    return np.mean(runs, axis=0)


def new_axes(**labels):
    """Axes with a line at the Bayes error."""
    _, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.axhline(BAYES_ERROR, color="0.6", linestyle=":")
    axes.set(ylabel="error on true labels", **labels)
    return axes


# %%
# (a) Unequal rates. Dashed: plain neighbours, whose error converges to a value above the Bayes error. Solid: robust
# neighbours, with estimated rates.
axes = new_axes(title="(a) unequal rates", xlabel="voters")
for rate, color in zip([0.2, 0.3, 0.4], COLORS, strict=True):
    noise = FlipMatrix.binary(false_positive=0.1, false_negative=rate)
    axes.plot(VOTERS, errors(noise, FlipMatrix.none(2), VOTERS), "--", color=color)
    axes.plot(
        VOTERS,
        errors(noise, None, VOTERS),
        color=color,
        label=f"flipped: 0.1 and {rate}",
    )
axes.legend()
plt.show()

# %%
# (b) Equal rates: the correction changes nothing, and more voters are enough.
axes = new_axes(title="(b) equal rates", xlabel="voters")
for rate, color in zip([0.1, 0.2, 0.3], COLORS, strict=True):
    noise = FlipMatrix.symmetric(rate, 2)
    axes.plot(
        VOTERS,
        errors(noise, FlipMatrix.none(2), VOTERS),
        color=color,
        label=f"flipped: {rate}",
    )
axes.legend()
plt.show()

# %%
# (c) One neighbour: its error converges to rate + (1 - 2 rate) E[2 eta (1 - eta)], eta the true posterior (dashed).
eta = sine_2d_posterior(np.random.default_rng(0).random((100_000, 2)))
clean_limit = np.mean(2 * eta * (1 - eta))
sizes = [250, 500, 1000, 2000, 4000, 8000]
axes = new_axes(title="(c) one neighbour", xlabel="rows", xscale="log")
for rate, color in zip([0.1, 0.2, 0.3], COLORS, strict=True):
    noise = FlipMatrix.symmetric(rate, 2)
    found = [errors(noise, noise, [1], n_rows=n, seeds=3)[0] for n in sizes]
    axes.plot(sizes, found, color=color, label=f"flipped: {rate}")
    axes.axhline(rate + (1 - 2 * rate) * clean_limit, color=color, linestyle="--")
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
axes.legend(loc="lower left", bbox_to_anchor=(0, 0.1))
plt.show()
