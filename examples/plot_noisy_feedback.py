"""
Learning curves under noisy feedback
====================================

Six settings of the feedback noise, five learners that observe nothing but right or wrong. The error of Banditron levels
off at a floor that depends on the noise; RCNBF with the true rates goes below it, but slowly; second-order learners are
far better. The correction of UCWL for the true rates adds variance: it is ahead only where feedback is
more often falsely positive than falsely negative (the last panel).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from noisewise import FlipMatrix
from noisewise.online import recipes

X, y = load_digits(return_X_y=True)
X = np.column_stack(
    [X / np.linalg.norm(X, axis=1, keepdims=True), np.full(len(X), 0.3)]
)
drawn = np.random.default_rng(0).integers(len(X), size=50_000)
X, y = np.ascontiguousarray(X[drawn]), y[drawn]

learners = {
    "Banditron": lambda noise: recipes.banditron(10, random_state=0),
    "RCNBF, rates known": lambda noise: recipes.rcnbf(
        10, gamma=0.1, noise=noise, random_state=0
    ),
    "bandit PA, capped": lambda noise: recipes.bandit_pa(10, C=0.02, random_state=0),
    "UCWL": lambda noise: recipes.ucwl(10),
    "corrected UCWL": lambda noise: recipes.corrected_ucwl(
        10, noise=noise, random_state=0
    ),
}
settings = [(0.0, 0.0), (0.15, 0.15), (0.25, 0.25), (0.4, 0.4), (0.2, 0.4), (0.4, 0.2)]

# %%
# Fraction of mistakes so far, on double logarithmic axes; rho0 is the rate of false positive feedback, rho1 that of
# false negative feedback.

rounds = np.arange(1, len(y) + 1)
shown = np.unique(np.geomspace(100, len(y), 60).astype(int)) - 1
figure, axes = plt.subplots(2, 3, figsize=(10, 6), sharex=True, sharey=True)
for axis, (rho0, rho1) in zip(axes.flat, settings, strict=True):
    noise = FlipMatrix.binary(false_positive=rho0, false_negative=rho1)
    for name, make in learners.items():
        mistakes = make(noise).play(X, y, noise=noise, rng=1).mistakes
        axis.loglog(rounds[shown], (np.cumsum(mistakes) / rounds)[shown], label=name)
    axis.set_title(f"rho0 = {rho0:g}, rho1 = {rho1:g}", fontsize=10)
    axis.grid(alpha=0.3)
axes[0, 0].legend(fontsize=8)
figure.supxlabel("rounds")
figure.supylabel("fraction of mistakes so far")
figure.tight_layout()
