"""
How many neighbours to ask
==========================

Robust nearest neighbours have two numbers of voters: one to predict, and one to find the noise. This example shows the
accuracy on true labels for every pair, what three ways of choosing see in the noisy labels alone, and what each of
them reaches. All candidates share one search for neighbours.
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
# The truth, which nobody sees in practice: accuracy on true labels for every pair. Few voters to predict are
# unsteady; few voters to find the noise underestimate it, as some neighbourhood is pure by luck.
truth = np.empty((len(VOTERS), len(VOTERS)))
for j, anchors in enumerate(VOTERS):
    found = RobustKNeighborsClassifier(5, anchors).fit(X, observed).noise_
    for i, voters in enumerate(VOTERS[::2]):
        model = RobustKNeighborsClassifier(voters, noise=found).fit(X, observed)
        truth[2 * i : 2 * i + 2, j] = model.score(X_test[:1000], y_test[:1000])

# %%
# What can be seen: accuracy on the noisy labels, and the same corrected for the noise.
tables = {"true labels": truth}
models = {}
for criterion in ("noisy", "corrected"):
    models[criterion] = RobustKNeighborsClassifierCV(VOTERS, VOTERS, criterion=criterion).fit(X, observed)
    tables[f"{criterion} accuracy"] = models[criterion].cv_results_["mean_test_score"].reshape(truth.shape)

figure, axes = plt.subplots(1, 4, figsize=(14, 3.4), layout="constrained")
for axis, (name, table) in zip(axes, tables.items()):
    image = axis.imshow(table, origin="lower", extent=(2.5, 102.5, 2.5, 102.5), aspect="auto")
    axis.set(title=name, xlabel="voters to find the noise", ylabel="voters to predict")
    figure.colorbar(image, ax=axis)

# %%
# The default chooses no pair: it weights the numbers of voters by how well they predict the noisy labels (Brier
# score), and averages the noise.
models["brier"] = RobustKNeighborsClassifierCV(VOTERS, VOTERS).fit(X, observed)
axes[3].bar(VOTERS, models["brier"].voter_weights_, width=4)
axes[3].set(title="brier: weight of each number", xlabel="voters to predict")
plain = RobustKNeighborsClassifierCV(VOTERS, noise=FlipMatrix.none(2)).fit(X, observed)
print(f"{'uncorrected':11s} {plain.score(X_test, y_test):.3f}")
for criterion, model in models.items():
    print(f"{criterion:11s} {model.score(X_test, y_test):.3f}   {model.noise_}")
plt.show()
