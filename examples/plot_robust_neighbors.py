"""
Nearest neighbours under label noise
====================================

Three facts about nearest neighbours and wrong labels (Gao, Yang and Zhou, Figure 1), on a soft chessboard whose best
possible error is 0.297:

- if one class is flipped more often than the other, plain neighbours converge to the wrong rule, and the robust ones
  to the right rule;
- if both are flipped at the same rate, plain neighbours need no correction, only more voters;
- a single neighbour never recovers, however many rows there are.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisewise import FlipMatrix
from noisewise.datasets import make_sine_2d, sine_2d_posterior
from noisewise.labels import RobustKNeighborsClassifier

BAYES = 0.5 - 2 / np.pi**2
VOTERS = [1, 2, 4, 8, 15, 30, 60, 100, 150]
X_test, y_test = make_sine_2d(2000, random_state=100)


def errors(noise, used, voters, n_rows=4000, seeds=2):
    """Test errors, one for each number of voters; `used` is the noise the model knows of, None to estimate it."""
    runs = []
    for seed in range(seeds):
        X, y = make_sine_2d(n_rows, random_state=seed)
        observed = noise.corrupt(y, seed)
        known = used or RobustKNeighborsClassifier(100, 100).fit(X, observed).noise_
        models = [RobustKNeighborsClassifier(k, noise=known).fit(X, observed) for k in voters]
        runs.append([1 - model.score(X_test, y_test) for model in models])
    return np.mean(runs, axis=0)


figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
colors = ["tab:blue", "tab:orange", "tab:green"]
for axis in axes:
    axis.axhline(BAYES, color="0.6", linestyle=":")
    axis.set_ylabel("error on true labels")

# %%
# (a) Unequal rates. Dashed: plain neighbours, whose error levels off too high. Solid: robust neighbours, which find
# the rates by themselves.
for rate, color in zip([0.2, 0.3, 0.4], colors, strict=True):
    noise = FlipMatrix.binary(false_positive=0.1, false_negative=rate)
    axes[0].plot(VOTERS, errors(noise, FlipMatrix.none(2), VOTERS), "--", color=color)
    axes[0].plot(VOTERS, errors(noise, None, VOTERS), color=color, label=f"flipped: 0.1 and {rate}")
axes[0].set(title="(a) unequal rates", xlabel="voters")
axes[0].legend()

# %%
# (b) Equal rates: the correction changes nothing, and more voters are all that is needed.
for rate, color in zip([0.1, 0.2, 0.3], colors, strict=True):
    noise = FlipMatrix.symmetric(rate, 2)
    axes[1].plot(VOTERS, errors(noise, FlipMatrix.none(2), VOTERS), color=color, label=f"flipped: {rate}")
axes[1].set(title="(b) equal rates", xlabel="voters")
axes[1].legend()

# %%
# (c) One neighbour: its error goes to rate + (1 - 2 rate) E[2 eta (1 - eta)], with eta the true posterior (dashed).
eta = sine_2d_posterior(np.random.default_rng(0).random((100_000, 2)))
spread = np.mean(2 * eta * (1 - eta))
sizes = [250, 500, 1000, 2000, 4000, 8000]
for rate, color in zip([0.1, 0.2, 0.3], colors, strict=True):
    noise = FlipMatrix.symmetric(rate, 2)
    found = [errors(noise, noise, [1], n_rows=n, seeds=3)[0] for n in sizes]
    axes[2].semilogx(sizes, found, color=color, label=f"flipped: {rate}")
    axes[2].axhline(rate + (1 - 2 * rate) * spread, color=color, linestyle="--")
axes[2].set(title="(c) one neighbour", xlabel="rows")
axes[2].set_xticks(sizes, sizes)
axes[2].minorticks_off()
axes[2].legend()
plt.show()
