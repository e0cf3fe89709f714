"""Features that stand for a kernel: linear scores of them are all a kernel machine can say about the rows.

With the Gram matrix K = U diag(l) U' of the rows, features U sqrt(l) and a ridge on their coefficients penalise
f' K^-1 f, the norm of the function; features U l penalise w'w, the norm of the weights w of the kernels around the
rows, as the paper of Bootkrajang and Kaban does. One decomposition serves every penalty and every start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from noisewise._numerics.blocks import blocks
from noisewise._numerics.nystroem import inverse_root, spectrum
from noisewise._typing import Codes, Floats
from noisewise.kernels import Kernel

NORMS = ("function", "weights")


class KernelRows:
    """Rows and the kernel that compares them, whoever supplied it.

    Parameters
    ----------
    kernel : Kernel, function of (X, Z) that returns their Gram matrix, name of a scikit-learn kernel, or "precomputed"
    rows : array or CSR of shape (n, d); with "precomputed" the square Gram matrix of all rows
    """

    def __init__(self, kernel: Any, rows: Any) -> None:
        self.kernel = kernel
        self.rows = rows

    def gram(self, places: Codes | None = None) -> Floats:
        """Gram matrix of the rows at these places; of all by default."""
        if places is None:
            places = np.arange(self.rows.shape[0])
        if self.kernel == "precomputed":
            return np.asarray(self.rows[np.ix_(places, places)])
        return compare(self.kernel, self.rows[places], None)

    def support(self, places: Codes) -> Any:
        """What to keep of the rows at these places to compare others with: themselves, or the places."""
        return places if self.kernel == "precomputed" else self.rows[places]


@dataclass(frozen=True)
class KernelFeatures:
    """Features of any row x, ``k(x, rows) @ projection - offset``.

    Attributes
    ----------
    kernel : Kernel, function, name, or "precomputed"
    rows : array or CSR of shape (m, d)
        Rows of the data to compare with, or their places with "precomputed".
    projection : array of shape (m, rank)
    offset : array of shape (rank,)
    """

    kernel: Any
    rows: Any
    projection: Floats
    offset: Floats

    def __call__(self, X: Any) -> Floats:
        """The features of rows, a block at a time: what is rows x m is never held."""
        features = np.empty((X.shape[0], self.projection.shape[1]))
        for part in blocks(X.shape[0]):
            np.matmul(compare(self.kernel, X[part], self.rows), self.projection, out=features[part])
        features -= self.offset
        return features


def compare(kernel: Any, X: Any, support: Any) -> Floats:
    """Gram matrix between rows and a support; X again where it is None."""
    if isinstance(kernel, str) and kernel == "precomputed":
        return np.asarray(X[:, support])
    if isinstance(kernel, Kernel):
        gram = kernel.gram(X, support)
    elif isinstance(kernel, str):
        gram = pairwise_kernels(X, support, metric=kernel)
    elif callable(kernel):
        gram = kernel(X, X if support is None else support)
    else:
        raise ValueError(
            f"kernel is {kernel!r}; a kernel of noisewise.kernels, a function of (X, Z), a name such as 'rbf', "
            "or 'precomputed' would do"
        )
    return np.asarray(gram, dtype=np.float64)


def exact_features(gram: Floats, weights: Floats, norm: str, rank: int | None = None) -> tuple[Floats, Floats]:
    """Features of all rows, and the projection that gives those of others: ``gram(others, rows) @ projection``.

    They are orthogonal over the weighted rows. A row of weight 2 counts as two: the weight w around it stands for two
    halves, so the norm of the weights is the sum of ``w^2 / weight``. A lower rank is the best there is for these rows.

    >>> gram = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> features, projection = exact_features(gram, np.ones(2), "function")
    >>> (features @ features.T).round(9)
    array([[2., 1.],
           [1., 2.]])
    >>> np.allclose(gram @ projection, features)
    True
    """
    root = np.sqrt(weights)
    values, vectors = spectrum((gram + gram.T) / 2 * root * root[:, None], rank)
    scale = values if norm == "weights" else np.sqrt(values)
    return vectors * scale / root[:, None], root[:, None] * vectors * (scale / values)


def low_rank_features(rows: KernelRows, places: Codes, norm: str) -> tuple[Floats, Floats]:
    """The same through a few rows (Nystroem), in memory that grows with the rows times the few."""
    gram = rows.gram(places)
    projection = inverse_root((gram + gram.T) / 2) if norm == "function" else np.eye(len(places))
    return KernelFeatures(rows.kernel, rows.support(places), projection, np.zeros(1))(rows.rows), projection
