"""
Two readings of a wrong label
=============================

Seen from rows and labels alone, annotators who err on hard rows look just like two classes that overlap. So the audit
asks what the labels are. *Outcomes* (illness, churn) are only hinted at by the row: near the boundary both labels
occur, and that is no error. *Judgements* (of pictures, texts, records) could be made by a careful annotator from the
row: a label that most of them would not give is wrong. The same labels are audited by both readings.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisewise import audit_labels

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(900, 2))
height = X[:, 1] - np.sin(2 * X[:, 0])
truth = (height > 0).astype(int)
# the nearer to the boundary, the more often wrong
hard = rng.random(900) < 0.5 * np.exp(-2 * np.abs(height))
labels = np.where(hard, 1 - truth, truth)

# %%
# Circled are the rows whose label is more likely wrong than right.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
grid = np.linspace(-2, 2, 200)
for axis, reading in zip(axes, ("outcomes", "judgements")):
    audit = audit_labels(X, labels, labels_are=reading)
    wrong = audit.probability < 0.5
    axis.scatter(*X.T, c=np.where(labels, "tab:blue", "tab:orange"), s=9)
    axis.scatter(
        *X[wrong].T, s=60, facecolors="none", edgecolors="black", linewidths=0.8
    )
    axis.plot(grid, np.sin(2 * grid), color="grey", linestyle="--", linewidth=1)
    low, high = audit.expected_errors.interval
    count = f"{audit.expected_errors:.0f} wrong ({low:.0f} to {high:.0f})"
    axis.set(title=f"labels are {reading}: {count}", xticks=[], yticks=[])
    print(f"{reading}: of {len(labels)} labels {count}")
plt.show()

# %%
# Here the labels are judgements, and so many are wrong:
print(f"{hard.sum()} labels were changed")
