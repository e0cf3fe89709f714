"""
Two bananas and one-sided label noise
=====================================

Four in ten points of the lower banana have the label of the upper one; no label of the upper banana is wrong. Such
noise does not average out: it shifts the boundary of kernel logistic regression. Robust models estimate the flip rates
together with the boundary, and correct it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from noisewise import FlipMatrix
from noisewise.labels import (
    FlipMatrixDisplay,
    LabelQualityDisplay,
    RobustKernelLogisticRegression,
    RobustVotingClassifier,
)

# class 0 is the upper banana, 1 the lower one
X, y = make_moons(500, noise=0.25, random_state=0)
noise = FlipMatrix.binary(false_positive=0.0, false_negative=0.4)
observed = noise.corrupt(y, rng=0)
X_test, y_test = make_moons(5000, noise=0.25, random_state=1)

clean = RobustVotingClassifier(noise=FlipMatrix.none(2)).fit(X, y)
no_noise = FlipMatrix.none(2)
models = {
    "kernel logistic regression": RobustKernelLogisticRegression(noise=no_noise),
    "robust kernel logistic regression": RobustKernelLogisticRegression(),
    "Gaussian process and Fisher, both robust": RobustVotingClassifier(),
}
for model in models.values():
    model.fit(X, observed)

# %%
# Colours are the observed labels, rings mark those that were flipped (unknown to the models). The dashed line is the
# boundary learnt from true labels.

grid = np.stack(
    np.meshgrid(np.linspace(-1.9, 2.9, 120), np.linspace(-1.4, 1.9, 100)), axis=-1
)
flipped = observed != y


def contour(axis, model, **style):
    probability = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    axis.contour(*grid.transpose(2, 0, 1), probability, levels=[0.5], **style)


figure, axes = plt.subplots(1, 3, figsize=(13, 4), sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    axis.scatter(*X.T, c=observed, cmap="coolwarm", s=10, alpha=0.7)
    axis.scatter(
        *X[flipped].T, s=34, facecolors="none", edgecolors="black", linewidths=0.6
    )
    contour(axis, clean, colors="grey", linestyles="dashed")
    contour(axis, model, colors="black", linewidths=2)
    axis.set(
        title=f"{name}\n{1 - model.score(X_test, y_test):.1%} error on true labels",
        xticks=[],
        yticks=[],
    )

# %%
# The flip matrix that the last model estimates, and the probabilities that labels are right. The second figure is for
# rows that were not used in the fit.

X_new, y_new = make_moons(500, noise=0.25, random_state=2)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
robust = models["Gaussian process and Fisher, both robust"]
FlipMatrixDisplay.from_estimator(robust, ax=axes[0])
LabelQualityDisplay.from_estimator(
    robust, X_new, noise.corrupt(y_new, rng=2), ax=axes[1]
)
plt.show()
