"""
Many annotators, some better than others
========================================

Twenty people label six hundred points of two classes, each of them a part. Some are careful, some guess, and one says
the opposite of what is true. A majority vote counts them all alike; Dawid-Skene finds out who is who from the answers;
CrowdClassifier looks at the points too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from noisewise.labels import CrowdClassifier, dawid_skene, krippendorff_alpha, majority_vote

rng = np.random.default_rng(0)
X, truth = make_blobs(600, centers=[(-1.5, 0), (1.5, 0)], random_state=0)
accuracy = np.concatenate([[0.1], np.full(9, 0.55), rng.uniform(0.6, 0.95, size=10)])
answers = np.where(rng.random((600, 20)) < accuracy, truth[:, None], 1 - truth[:, None])
answers[rng.random((600, 20)) < 0.8] = -1  # four answers in five were never given

vote = majority_vote(answers, missing=-1)
crowd = dawid_skene(answers, missing=-1)
model = CrowdClassifier(missing=-1).fit(X, answers)
print(f"agreement (Krippendorff's alpha): {krippendorff_alpha(answers, missing=-1)!r}")
for name, labels in [("majority", vote.labels), ("Dawid-Skene", crowd.labels), ("with features", model.labels_)]:
    print(f"{name:>14}: {np.mean(labels == truth):.1%} right")

# %%
# How good everybody is, with 90 % intervals. The vote thinks well of those who agree with it.

figure, axis = plt.subplots(figsize=(7, 4))
order = np.argsort(accuracy)
for shift, (name, people) in enumerate({"Dawid-Skene": crowd.annotators, "with features": model.annotators_}.items()):
    reach = np.abs(np.array([people.accuracy_low, people.accuracy_high])[:, order] - people.accuracy[order])
    axis.errorbar(np.arange(20) + 0.2 * shift, people.accuracy[order], reach, fmt="o", markersize=4, label=name)
axis.plot(np.arange(20), vote.annotators.accuracy[order], "x", color="grey", label="agreement with the vote")
axis.step(np.arange(20) + 0.1, accuracy[order], where="mid", color="black", linewidth=1, label="true accuracy")
axis.set(xlabel="annotator", ylabel="accuracy", xticks=[])
axis.legend()
figure.tight_layout()

# %%
# Answers come in over time: a result can be updated, and goes on from where it was.

rows, people = np.nonzero(answers >= 0)
arrival = rng.permutation(len(rows))
rows, people, labels = rows[arrival], people[arrival], answers[rows[arrival], people[arrival]]
seen = np.arange(600, len(rows), 300)
known = dawid_skene(rows[:600], people[:600], labels[:600])
curves = {"Dawid-Skene": [], "majority": []}
for start in seen:
    more = slice(start, start + 300)
    known = known.update(rows[more], people[more], labels[more])
    voted = majority_vote(rows[: start + 300], people[: start + 300], labels[: start + 300])
    curves["Dawid-Skene"].append(np.mean(known.labels == truth[known.items]))
    curves["majority"].append(np.mean(voted.labels == truth[voted.items]))

figure, axis = plt.subplots(figsize=(6, 3.5))
for name, curve in curves.items():
    axis.plot(np.minimum(seen + 300, len(rows)), curve, "o-", markersize=4, label=name)
axis.set(xlabel="answers so far", ylabel="items labelled right")
axis.legend()
figure.tight_layout()
