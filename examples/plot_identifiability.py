"""
One noisy copy does not identify the model
==========================================

If nothing is known about the noise, one noisy copy of each row is not enough (Cesa-Bianchi, Shalev-Shwartz and Shamir,
Section VI). Two problems show it:

* problem A: x is 3 or -1 with probability 1/2 each, and is observed without noise;
* problem B: x is always 1, and noise makes it 3 or -1.

The target is 1 in both, the loss is squared. A single copy has the same distribution in both problems, but the best
weight is 0.2 in A and 1 in B: from one copy, every learner has a regret of at least 0.306 a round in one of them. A
second copy identifies the problem: in A it is the same value again.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisewise.datasets import CopyOracle
from noisewise.features import UnknownNoiseKernelRegressor
from noisewise.kernels import Linear


def three_or_minus_one(n, rng):
    return np.where(rng.random((n, 1)) < 0.5, 3.0, -1.0)


def ones(n, rng):
    return np.ones((n, 1))


def without_noise(row, n, rng):
    return np.repeat(row[None], n, axis=0)


def blurred(row, n, rng):
    return row + three_or_minus_one(n, rng) - 1


def one_copy_only(row, n, rng):
    """The same copy is used where another one is needed."""
    return np.repeat(blurred(row, 1, rng), n, axis=0)


# %%
# Each learner is online gradient descent with a linear kernel: one copy is stored, another one gives the residual. The
# figure shows the excess loss of its weight on clean rows over 8000 rounds.
PROBLEMS = {
    "problem A, two copies": (three_or_minus_one, without_noise, 5.0, 0.2),
    "problem B, two copies": (ones, blurred, 1.0, 1.0),
    "problem B, one copy used twice": (ones, one_copy_only, 1.0, 1.0),
}
rounds = 250 * 2 ** np.arange(6)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, (clean, noise, curvature, best) in PROBLEMS.items():
    model = UnknownNoiseKernelRegressor(Linear(), random_state=0)
    rng, excess = np.random.default_rng(1), []
    for n in np.diff(rounds, prepend=0):
        X = clean(n, rng)
        model.partial_fit(CopyOracle(X, np.ones(n), noise, rng))
        excess.append(curvature * (model.predict([[1.0]])[0] - best) ** 2)
    axes.plot(rounds, excess, marker="o", label=name)
    print(f"{name}: weight {model.predict([[1.0]])[0]:.3f}, best {best}")
axes.axhline(
    0.30557,
    linestyle="--",
    color="grey",
    label="lower bound from one copy, for the worse problem",
)
axes.set(
    xscale="log",
    xlabel="rounds",
    ylabel="excess loss on clean rows",
    ylim=(-0.03, 1.05),
)
axes.set_xticks(rounds, rounds)
axes.minorticks_off()
axes.legend(loc="upper left", fontsize="small", ncols=2)
plt.show()

# %%
# With one copy, the weight in problem B converges to 0.2, the best one of problem A, with an excess loss of 0.64: the
# data of both problems have the same distribution.
