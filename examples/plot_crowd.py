"""
Annotators of different accuracy
================================

Twenty annotators label six hundred points of two classes, each of them a part. Some are accurate, some guess, and one
is mostly wrong. A majority vote gives all of them the same weight; Dawid-Skene estimates a confusion matrix of each
annotator from the labels; CrowdClassifier uses the features of the points too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from noisewise.labels import (
    CrowdClassifier,
    dawid_skene,
    krippendorff_alpha,
    majority_vote,
)

rng = np.random.default_rng(0)
X, truth = make_blobs(600, centers=[(-1.5, 0), (1.5, 0)], random_state=0)
accuracy = np.concatenate([[0.1], np.full(9, 0.55), rng.uniform(0.6, 0.95, size=10)])
given = np.where(rng.random((600, 20)) < accuracy, truth[:, None], 1 - truth[:, None])
given[rng.random((600, 20)) < 0.8] = -1  # four labels in five are missing

vote = majority_vote(given, missing=-1)
crowd = dawid_skene(given, missing=-1)
model = CrowdClassifier(missing=-1).fit(X, given)
print(f"agreement (Krippendorff's alpha): {krippendorff_alpha(given, missing=-1)!r}")
consensus = {"majority": vote.labels, "Dawid-Skene": crowd.labels}
consensus["with features"] = model.labels_
for name, labels in consensus.items():
    print(f"{name:>14}: {np.mean(labels == truth):.1%} right")

# %%
# The estimated accuracy of each annotator, with 90 % intervals. Agreement with the vote is biased.

figure, axis = plt.subplots(figsize=(7, 4))
order = np.argsort(accuracy)
estimates = {"Dawid-Skene": crowd.annotators, "with features": model.annotators_}
for shift, (name, found) in enumerate(estimates.items()):
    ends = np.array([found.accuracy_low, found.accuracy_high])
    half_widths = np.abs(ends - found.accuracy)[:, order]
    at, style = np.arange(20) + 0.2 * shift, {"fmt": "o", "markersize": 4}
    axis.errorbar(at, found.accuracy[order], half_widths, **style, label=name)
agreement = vote.annotators.accuracy[order]
axis.plot(agreement, "x", color="grey", label="agreement with the vote")
style = {"where": "mid", "color": "black", "linewidth": 1}
axis.step(np.arange(20) + 0.1, accuracy[order], **style, label="true accuracy")
axis.set(xlabel="annotator", ylabel="accuracy", xticks=[])
axis.legend()
figure.tight_layout()

# %%
# Labels arrive over time: a result can be updated, and EM continues from its parameters.

rows, annotators = np.nonzero(given >= 0)
arrival = rng.permutation(len(rows))
rows, annotators = rows[arrival], annotators[arrival]
labels = given[rows, annotators]
starts = np.arange(600, len(rows), 300)
known = dawid_skene(rows[:600], annotators[:600], labels[:600])
learning_curves = {"Dawid-Skene": [], "majority": []}
for start in starts:
    more = slice(start, start + 300)
    known = known.update(rows[more], annotators[more], labels[more])
    voted = majority_vote(
        rows[: start + 300], annotators[: start + 300], labels[: start + 300]
    )
    learning_curves["Dawid-Skene"].append(np.mean(known.labels == truth[known.items]))
    learning_curves["majority"].append(np.mean(voted.labels == truth[voted.items]))

figure, axis = plt.subplots(figsize=(6, 3.5))
for name, accuracies in learning_curves.items():
    axis.plot(
        np.minimum(starts + 300, len(rows)), accuracies, "o-", markersize=4, label=name
    )
axis.set(xlabel="labels so far", ylabel="items labelled right")
axis.legend()
figure.tight_layout()
