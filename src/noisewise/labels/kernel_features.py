"""Explicit features of a kernel: a kernel machine is a linear model in them.

With the eigendecomposition K = U diag(l) U' of the Gram matrix, a ridge on coefficients of the features U sqrt(l)
penalises f' K^-1 f, the norm of the function in the RKHS; of the features U l it penalises w'w, the norm of the dual
coefficients, as Bootkrajang and Kaban do (eq. 3). One decomposition serves every penalty and every start. Low-rank
features are those of Nystroem.

References
----------
.. [1] Williams, C. K. I., Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS 13.
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
EXACT_ROWS = 3000  # beyond, kernel machines take landmarks: a Gram matrix of so many rows takes 72 MB
SELECTION_ROWS = 700  # kernels and penalties are chosen on so many: an eigendecomposition takes about 0.1 s


class KernelRows:
    """Rows and a kernel on them: of this library, a function, a name of scikit-learn, or precomputed.

    Parameters
    ----------
    kernel : Kernel, function of (X, Z) that returns their Gram matrix, name of a scikit-learn kernel, or "precomputed"
    rows : array or CSR of shape (n, d); with "precomputed" the square Gram matrix of all rows
    """

    def __init__(self, kernel: Any, rows: Any) -> None:
        self.kernel = kernel
        self.rows = rows

    def gram(self, indices: Codes | None = None) -> Floats:
        """Gram matrix of the rows with these indices; of all by default."""
        if indices is None:
            indices = np.arange(self.rows.shape[0])
        if self.kernel == "precomputed":
            return np.asarray(self.rows[np.ix_(indices, indices)])
        return gram_matrix(self.kernel, self.rows[indices], None)

    def support(self, indices: Codes) -> Any:
        """What a fitted model keeps of these rows: themselves, or with "precomputed" their indices."""
        return indices if self.kernel == "precomputed" else self.rows[indices]


@dataclass(frozen=True)
class KernelFeatures:
    """Features of any row x, ``k(x, rows) @ projection - offset``.

    Attributes
    ----------
    kernel : Kernel, function, name, or "precomputed"
    rows : array or CSR of shape (m, d)
        Rows of the data, or their indices with "precomputed".
    projection : array of shape (m, rank)
    offset : array of shape (rank,)
    """

    kernel: Any
    rows: Any
    projection: Floats
    offset: Floats

    def __call__(self, X: Any) -> Floats:
        """The features of rows, a block at a time: the n_rows x m Gram matrix is never held whole."""
        features = np.empty((X.shape[0], self.projection.shape[1]))
        for part in blocks(X.shape[0]):
            np.matmul(gram_matrix(self.kernel, X[part], self.rows), self.projection, out=features[part])
        features -= self.offset
        return features


def gram_matrix(kernel: Any, X: Any, support: Any) -> Floats:
    """Gram matrix of X and `support`, by default X itself."""
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

    They are orthogonal over the weighted rows. A row of weight 2 counts as two, each with half of the dual coefficient
    w, so the norm of the dual coefficients is the sum of ``w^2 / weight``. A lower `rank` is the best approximation of
    the weighted Gram matrix.

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


def low_rank_features(rows: KernelRows, landmarks: Codes, norm: str) -> tuple[Floats, Floats]:
    """The Nystroem features of all rows and their projection, from the indices of the landmarks."""
    gram = rows.gram(landmarks)
    projection = inverse_root((gram + gram.T) / 2) if norm == "function" else np.eye(len(landmarks))
    return KernelFeatures(rows.kernel, rows.support(landmarks), projection, np.zeros(1))(rows.rows), projection
