"""
Deconvolution of a noisy sine
=============================

The position of each point has noise of standard deviation 0.3, a tenth of the period. Any smooth regression then learns
a flatter function: noise damps every frequency by a known factor, its characteristic function.
`DeconvolvedFourierRegressor` divides by it.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisewise import GaussianNoise
from noisewise.datasets import make_sine
from noisewise.features import DeconvolvedFourierRegressor

X, y = make_sine(3000, random_state=0)
noise = GaussianNoise(0.3**2)
copies = noise.copies(X, 2, rng=1)

models = {
    "noise ignored": DeconvolvedFourierRegressor(random_state=0).fit(copies[:, 0], y),
    "mean of two copies": DeconvolvedFourierRegressor(random_state=0).fit(
        copies.mean(axis=1), y
    ),
    "one copy, known noise": DeconvolvedFourierRegressor(noise, random_state=0).fit(
        copies[:, 0], y
    ),
    "two copies": DeconvolvedFourierRegressor(random_state=0).fit(
        copies[:, 0], y, copies=copies
    ),
}

# %%
# Mean squared errors on clean positions; the noise of the targets has a variance of 0.01, a lower bound.
X_test, y_test = make_sine(3000, random_state=2)
for name, model in models.items():
    print(f"{name:25} {np.mean((model.predict(X_test) - y_test) ** 2):.4f}")

# %%
# Two copies are enough to estimate the noise, too.
print(
    "standard deviation of the noise, from two copies:",
    np.sqrt(models["two copies"].noise_.matrix(1)).round(3),
)

# %%
# The true function and the estimates.
grid = np.linspace(-3, 3, 400)[:, None]
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.scatter(copies[:, 0, 0], y, s=4, color="lightgrey", label="noisy rows")
axes.plot(grid, np.sin(2 * grid), color="black", linestyle="--", label="true function")
for name, model in models.items():
    axes.plot(grid, model.predict(grid), label=name)
axes.set(xlabel="position", ylabel="value", xlim=(-3, 3), ylim=(-1.9, 1.4))
axes.legend(fontsize="small", ncols=3, loc="lower center", markerscale=3)
plt.show()
