import numpy as np
import pytest
from scipy.integrate import simpson
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel

from noisewise.kernels import Binomial, ConicSum, Exponential, Gaussian, Linear, Polynomial

DOT_KERNELS = [
    Linear(),
    Polynomial(1, constant=0),
    Polynomial(3, constant=0),
    Polynomial(4),
    Polynomial(2, constant=0.5),
    Exponential(),
    Binomial(1.5),
    Binomial(0.3),
    ConicSum([Linear(), Exponential()], [0.5, 2.0]),
]


@pytest.mark.parametrize("kernel", DOT_KERNELS)
def test_power_series_sums_to_the_kernel(kernel):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.4, 0.4, (8, 3))
    beta = kernel.taylor(60)
    np.testing.assert_allclose(kernel.gram(X), np.polynomial.polynomial.polyval(X @ X.T, beta), rtol=1e-12)
    assert (beta >= 0).all()


@pytest.mark.parametrize("kernel", DOT_KERNELS)
def test_fewer_coefficients_are_the_first_of_more(kernel):
    for n in range(8):
        np.testing.assert_array_equal(kernel.taylor(n), kernel.taylor(8)[:n])


def test_coefficients_are_derivatives_at_zero():
    for kernel in (Polynomial(3), Exponential(), Binomial(1.5)):
        angles = np.linspace(0, 2 * np.pi, 401)
        circle = 0.5 * np.exp(1j * angles)
        values = {Polynomial(3): (circle + 1) ** 3, Exponential(): np.exp(circle), Binomial(1.5): (1 - circle) ** -1.5}
        cauchy = [simpson((values[kernel] / circle**k).real, x=angles) / (2 * np.pi) for k in range(6)]
        np.testing.assert_allclose(kernel.taylor(6), cauchy, atol=1e-6)


def test_printed_sign_of_the_binomial_kernel_has_negative_coefficients():
    signs = (-1.0) ** np.arange(4)  # of (1 + t)^-power
    np.testing.assert_allclose(Binomial(1.5).taylor(4) * signs, [1, -1.5, 1.875, -2.1875])
    x = np.linspace(-0.9, 0.9, 12)[:, None]
    assert np.linalg.eigvalsh((1 + x @ x.T) ** -1.5).min() < -0.1
    assert np.linalg.eigvalsh(Binomial(1.5).gram(x)).min() > -1e-10


def test_linear_and_polynomial_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    np.testing.assert_allclose(Linear().gram(X, Z), linear_kernel(X, Z))
    np.testing.assert_allclose(Polynomial(3).gram(X, Z), polynomial_kernel(X, Z, degree=3, gamma=1, coef0=1))
    np.testing.assert_allclose(
        Polynomial(2, constant=0).gram(X, Z), polynomial_kernel(X, Z, degree=2, gamma=1, coef0=0), atol=1e-14
    )


@pytest.mark.parametrize("rows", [[[1.0, 0.0]], [[0.9, 0.9]], [[-2.0, 1.0]]])
def test_binomial_kernel_refuses_rows_outside_the_unit_ball(rows):
    with pytest.raises(ValueError, match="largest norm"):
        Binomial(1.0).gram(rows)
    with pytest.raises(ValueError, match="largest norm"):
        Binomial(1.0).gram(rows, np.negative(rows))


def test_exponential_kernel_refuses_to_overflow():
    with pytest.raises(ValueError, match="overflows"):
        Exponential().gram([[30.0]])


@pytest.mark.parametrize("make", [lambda: Polynomial(0), lambda: Polynomial(1.5), lambda: Polynomial(2, constant=-1)])
def test_polynomials_that_are_not_kernels_are_refused(make):
    with pytest.raises(ValueError, match=r"degree|constant"):
        make()


def test_a_sum_with_a_radial_kernel_has_no_power_series():
    with pytest.raises(TypeError, match="Gaussian"):
        (Linear() + Gaussian(1.0)).taylor(3)
