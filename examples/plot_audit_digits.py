"""
Which digits are wrongly labelled?
==================================

One label in five of scikit-learn's handwritten digits is changed at random. The audit ranks all rows by the probability
that their label is right; which ones were changed is not known to it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from noisewise import FlipMatrix, audit_labels

X, truth = load_digits(return_X_y=True)
observed = FlipMatrix.symmetric(0.2, n_classes=10).corrupt(truth, rng=0)
audit = audit_labels(X, observed)
print(f"{audit.expected_errors:.0f} labels are expected to be wrong")
print(f"{np.sum(observed != truth)} were changed")

# %%
# The twelve rows most likely to be wrong, with the observed label and the suggested one.

figure, axes = plt.subplots(2, 6, figsize=(9, 3.6))
for axis, row in zip(axes.flat, audit.order, strict=False):
    axis.imshow(X[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{observed[row]} or {audit.suggested[row]}?", fontsize=10)
    axis.axis("off")
figure.tight_layout()

# %%
# Number of changed labels found by inspecting the worst rows first.

wrong = (observed != truth)[audit.order]
figure, axis = plt.subplots(figsize=(6, 3.5))
best = np.minimum(np.arange(len(wrong) + 1), wrong.sum())
axis.plot(best, color="0.8", linewidth=6, label="best possible")
axis.plot(np.arange(1, len(wrong) + 1), np.cumsum(wrong), label="audit")
axis.set(xlabel="rows inspected, worst first", ylabel="wrong labels found")
axis.legend()
figure.tight_layout()
