"""
The number of neighbours
========================

Robust nearest neighbours have two numbers of voters: one to predict, and one to estimate the noise. This example shows
the accuracy on true labels for every pair, what three criteria of model selection measure on the noisy labels alone,
and the accuracy of each choice. All candidates use one search for neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from noisewise import FlipMatrix
from noisewise.labels import RobustKNeighborsClassifier, RobustKNeighborsClassifierCV

noise = FlipMatrix.binary(false_positive=0.1, false_negative=0.4)
X, y = make_moons(600, noise=0.35, random_state=0)
X_test, y_test = make_moons(4000, noise=0.35, random_state=1)
observed = noise.corrupt(y, 0)
VOTERS = np.arange(5, 101, 5)

# %%
# The accuracy on true labels for every pair, which is unknown in practice. Few voters to predict have a high variance;
# few voters to estimate the noise underestimate it, as some neighbourhoods have one label only at random.
truth = np.empty((len(VOTERS), len(VOTERS)))
for j, anchors in enumerate(VOTERS):
    found = RobustKNeighborsClassifier(5, anchors).fit(X, observed).noise_
    for i, voters in enumerate(VOTERS[::2]):
        model = RobustKNeighborsClassifier(voters, noise=found).fit(X, observed)
        truth[2 * i : 2 * i + 2, j] = model.score(X_test[:1000], y_test[:1000])

# %%
# What can be measured: accuracy on the noisy labels, and the same corrected for the noise. The default criterion
# selects no pair: it weights the numbers of voters by the Brier score on the noisy labels, and averages the noise.
tables, models = {"true labels": truth}, {}
for criterion in ("noisy", "corrected"):
    models[criterion] = RobustKNeighborsClassifierCV(
        VOTERS, VOTERS, criterion=criterion
    ).fit(X, observed)
    tables[f"{criterion} accuracy"] = (
        models[criterion].cv_results_["mean_test_score"].reshape(truth.shape)
    )
models["brier"] = RobustKNeighborsClassifierCV(VOTERS, VOTERS).fit(X, observed)

figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for axis, (name, table) in zip(axes.flat, tables.items(), strict=False):
    image = axis.imshow(
        table, origin="lower", extent=(2.5, 102.5, 2.5, 102.5), aspect="auto"
    )
    axis.set(
        title=name, xlabel="voters to estimate the noise", ylabel="voters to predict"
    )
    figure.colorbar(image, ax=axis)
axes[1, 1].bar(VOTERS, models["brier"].voter_weights_, width=4)
axes[1, 1].set(
    title="weights by the Brier score", xlabel="voters to predict", ylabel="weight"
)
plt.show()

# %%
# The accuracy of each choice on true labels.
plain = RobustKNeighborsClassifierCV(VOTERS, noise=FlipMatrix.none(2)).fit(X, observed)
print(f"{'uncorrected':11s} {plain.score(X_test, y_test):.3f}")
for criterion, model in models.items():
    print(f"{criterion:11s} {model.score(X_test, y_test):.3f}   {model.noise_}")
