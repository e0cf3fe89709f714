"""
One noisy copy is not enough
============================

Where nothing is known about the noise, no learner can make do with one noisy copy of each row. Two worlds show it:

* world A: x is 3 or -1, each half of the time, and is seen without noise;
* world B: x is always 1, and noise turns it into 3 or -1.

The target is 1 in both, the loss is squared. A single copy looks the same in both worlds, yet the best slope is 0.2 in
the one and 1 in the other: whatever a learner does from one copy, it is 0.306 a round worse than the best in one of
them, forever. A second copy tells them apart: in world A it is the same number again.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisewise.datasets import CopyOracle
from noisewise.features import UnknownNoiseKernelRegressor
from noisewise.kernels import Linear


def three_or_minus_one(n, rng):
    return np.where(rng.random((n, 1)) < 0.5, 3.0, -1.0)


def without_noise(row, n, rng):
    return np.repeat(row[None], n, axis=0)


def blurred(row, n, rng):
    return row + three_or_minus_one(n, rng) - 1


def one_copy_only(row, n, rng):
    """A learner with one copy can only use it again where it would need another."""
    return np.repeat(blurred(row, 1, rng), n, axis=0)


# %%
# Each learner is descent with a linear kernel: it keeps one copy, and takes the length of the gradient from another. We
# follow its slope over 8000 rounds, and what that slope costs on clean rows beyond the best one.
WORLDS = {
    "world A, two copies": (three_or_minus_one, without_noise, 5.0, 0.2),
    "world B, two copies": (lambda n, rng: np.ones((n, 1)), blurred, 1.0, 1.0),
    "world B, one copy used twice": (lambda n, rng: np.ones((n, 1)), one_copy_only, 1.0, 1.0),
}
rounds = 250 * 2 ** np.arange(6)
figure, axes = plt.subplots(figsize=(7, 4))
for name, (clean, noise, curvature, best) in WORLDS.items():
    model, rng, excess = UnknownNoiseKernelRegressor(Linear(), random_state=0), np.random.default_rng(1), []
    for n in np.diff(rounds, prepend=0):
        X = clean(n, rng)
        model.partial_fit(CopyOracle(X, np.ones(n), noise, rng))
        excess.append(curvature * (model.predict([[1.0]])[0] - best) ** 2)
    axes.plot(rounds, excess, marker="o", label=name)
    print(f"{name}: slope {model.predict([[1.0]])[0]:.3f}, best {best}")
axes.axhline(0.30557, linestyle="--", color="grey", label="no learner from one copy is below this in both")
axes.set(xscale="log", xlabel="rounds", ylabel="excess loss on clean rows")
axes.legend()
plt.show()

# %%
# With one copy, world B is taken for world A: the slope goes to 0.2, and costs 0.64 a round. That is not a weakness of
# this learner: it is the right answer in world A, where its data look the same.
