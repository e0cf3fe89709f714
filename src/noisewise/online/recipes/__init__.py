"""The named algorithms, each a policy, a signal and a rule; their docstrings have the references.

From labels (`OnlineClassifier`): `perceptron`, `mpa`, `mcw`, `mscw`, `arow`, `nherd`. From right/wrong feedback
(`BanditClassifier`): `banditron`, `bandit_pa`, `soba`, `confidit`, `linucb`, `ucwl`, and for noisy feedback `rcnbf`,
`rcine`, `corrected_ucwl`. Every feedback recipe takes `n_classes` or `classes=`, `noise=` (a `FlipMatrix` over wrong
and right, or one for each class, in order or by name) and `random_state=`, and corrects for the noise it is given.
"""

from __future__ import annotations

from noisewise.online.recipes.confident import confidit, corrected_ucwl, linucb, ucwl
from noisewise.online.recipes.exploring import bandit_pa, banditron, rcine, rcnbf, soba
from noisewise.online.recipes.from_labels import arow, mcw, mpa, mscw, nherd, perceptron

__all__ = [
    "arow",
    "bandit_pa",
    "banditron",
    "confidit",
    "corrected_ucwl",
    "linucb",
    "mcw",
    "mpa",
    "mscw",
    "nherd",
    "perceptron",
    "rcine",
    "rcnbf",
    "soba",
    "ucwl",
]
