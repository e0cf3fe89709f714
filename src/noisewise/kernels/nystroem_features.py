"""Nystroem features: any kernel through its values at some rows of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.nystroem import inverse_root
from noisewise._typing import Floats, RandomState
from noisewise._validation import generator
from noisewise.kernels.combine import Kernel
from noisewise.kernels.radial import Gaussian, median_width


class NystroemFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features whose inner products approximate a kernel, and equal it on the rows they were built from.

    Parameters
    ----------
    kernel : Kernel or None
        None means a Gaussian kernel of median width.
    n_components : int
        How many rows to build on, drawn without replacement; all of them if there are no more.
    random_state : int, generator or None

    Attributes
    ----------
    kernel_ : the kernel
    components_ : the rows built on
    component_indices_ : their places in the data
    normalization_ : inverse square root of their Gram matrix

    Examples
    --------
    >>> from noisewise.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    >>> features = NystroemFeatures(Linear(), n_components=2, random_state=0).fit_transform(X)
    >>> (features @ features.T).round(6)
    array([[1., 1., 2.],
           [1., 2., 3.],
           [2., 3., 5.]])
    """

    def __init__(self, kernel: Kernel | None = None, n_components: int = 100, random_state: RandomState = None) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NystroemFeatures:
        """Draw rows and decompose their Gram matrix."""
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        if self.n_components < 1:
            raise ValueError(f"n_components is {self.n_components}; at least one row is needed")
        rng = generator(self.random_state)
        self.kernel_ = Gaussian(median_width(rows, random_state=rng)) if self.kernel is None else self.kernel
        if not isinstance(self.kernel_, Kernel):
            raise TypeError(f"{self.kernel_!r} is not a kernel of noisewise.kernels; Gaussian(width) would do")
        n = min(self.n_components, rows.shape[0])
        self.component_indices_ = rng.choice(rows.shape[0], n, replace=False)
        self.components_ = rows[self.component_indices_]
        self.normalization_ = inverse_root(self.kernel_.gram(self.components_))
        self._n_features_out = n
        return self

    def transform(self, X: Any) -> Floats:
        """The features of each row, of shape (n_rows, n_components)."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(self.kernel_.gram(rows, self.components_) @ self.normalization_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def nystroem(kernel: Kernel, n_components: int = 100, random_state: RandomState = None) -> NystroemFeatures:
    """Nystroem features of any kernel, as a scikit-learn transformer."""
    return NystroemFeatures(kernel, n_components=n_components, random_state=random_state)
