"""Kernel approximation: random Fourier features of radial kernels, Nystroem features of any kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise._numerics.distances import inner_products
from noisewise._numerics.nystroem import inverse_root
from noisewise._typing import Floats, RandomState
from noisewise._validation import generator
from noisewise.kernels.base import Kernel
from noisewise.kernels.radial import Gaussian, Radial, median_width


def draw_frequencies(kernel: Radial, n_columns: int, n: int, rng: RandomState = None) -> Floats:
    """`n` frequencies from the kernel's spectral density, as columns: normal, of variance 2u for a mixture rate u.

    >>> draw_frequencies(Gaussian(width=2.0), n_columns=3, n=5, rng=0).shape
    (3, 5)
    """
    rng = generator(rng)
    rates = kernel.draw_rates(n, rng)
    return np.asarray(rng.standard_normal((n_columns, n)) * np.sqrt(2 * rates))


class _KernelTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Parameters and checks of both approximations."""

    def __init__(self, kernel: Kernel | None = None, n_components: int = 100, random_state: RandomState = None) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def _check_training(self, X: Any) -> tuple[Any, np.random.Generator]:
        """Rows and the random state; sets `kernel_`, by default a Gaussian of median width."""
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        if self.n_components < 1:
            raise ValueError(f"n_components is {self.n_components}; at least one is needed")
        rng = generator(self.random_state)
        self.kernel_: Any = Gaussian(median_width(rows, random_state=rng)) if self.kernel is None else self.kernel
        return rows, rng

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class FourierFeatures(_KernelTransformer):
    """Features sqrt(2/n) cos(w.x + b) whose inner products estimate a radial kernel without bias.

    Parameters
    ----------
    kernel : Gaussian, Laplacian, RationalQuadratic or None
        None means a Gaussian kernel of median width.
    n_components : int
        Number of features; the error of the kernel falls as ``1 / sqrt(n_components)``.
    random_state : int, generator or None

    Attributes
    ----------
    kernel_ : the kernel
    random_weights_ : array of shape (n_columns, n_components), the frequencies w
    random_offset_ : array of shape (n_components,), the phases b

    References
    ----------
    .. [1] Rahimi, A., Recht, B. (2007). Random features for large-scale kernel machines. NeurIPS 20.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]])
    >>> features = FourierFeatures(Gaussian(1.0), n_components=20_000, random_state=0).fit_transform(X)
    >>> (features @ features.T).round(1)
    array([[1. , 0.4],
           [0.4, 1. ]])
    """

    def fit(self, X: Any, y: Any = None) -> FourierFeatures:
        """Draw frequencies and phases; X gives the number of columns (and the median distance, without a kernel)."""
        rows, rng = self._check_training(X)
        if not isinstance(self.kernel_, Radial):
            raise TypeError(
                f"{self.kernel_!r} is not a radial kernel; Fourier features serve Gaussian, Laplacian and "
                "RationalQuadratic, NystroemFeatures any kernel"
            )
        self.random_weights_ = draw_frequencies(self.kernel_, rows.shape[1], self.n_components, rng)
        self.random_offset_ = rng.uniform(0, 2 * np.pi, self.n_components)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Floats:
        """The features of each row, of shape (n_rows, n_components)."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        angles = inner_products(rows, self.random_weights_.T)
        angles += self.random_offset_
        np.cos(angles, out=angles)
        angles *= np.sqrt(2 / self.n_components)
        return angles


def fourier_features(kernel: Radial, n_components: int = 100, random_state: RandomState = None) -> FourierFeatures:
    """Random Fourier features of a radial kernel, as a scikit-learn transformer."""
    return FourierFeatures(kernel, n_components=n_components, random_state=random_state)


class NystroemFeatures(_KernelTransformer):
    """Features whose inner products approximate a kernel, and equal it on the landmarks (the rows built on).

    With the landmarks' Gram matrix K and kernel values k(x) at them, the features are ``K^(-1/2) k(x)``.

    Parameters
    ----------
    kernel : Kernel or None
        None means a Gaussian kernel of median width.
    n_components : int
        Number of landmarks, drawn without replacement; all rows if there are no more.
    random_state : int, generator or None

    Attributes
    ----------
    kernel_ : the kernel
    components_ : the landmarks
    component_indices_ : their row indices in the data
    normalization_ : inverse square root of their Gram matrix

    References
    ----------
    .. [1] Williams, C. K. I., Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS 13.

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

    def fit(self, X: Any, y: Any = None) -> NystroemFeatures:
        """Draw landmarks and decompose their Gram matrix."""
        rows, rng = self._check_training(X)
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


def nystroem(kernel: Kernel, n_components: int = 100, random_state: RandomState = None) -> NystroemFeatures:
    """Nystroem features of any kernel, as a scikit-learn transformer."""
    return NystroemFeatures(kernel, n_components=n_components, random_state=random_state)
