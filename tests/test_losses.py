import numpy as np
import pytest
from scipy.special import eval_hermite, factorial

from noisewise.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared

LOSSES = [
    Squared(),
    Exponential(),
    SmoothedAbsolute(),
    SmoothedAbsolute(0.5),
    SmoothedHinge(),
    SmoothedHinge(0.7),
    Logistic(),
]
SIZES = np.linspace(0, 2, 41)


def power_series(coefficients, a):
    return np.polynomial.polynomial.polyval(a, coefficients)


def hinge(a):
    return np.maximum(0, 1 - a)


@pytest.mark.parametrize("loss", LOSSES)
def test_derivative_is_the_finite_difference_of_the_value(loss):
    a = np.linspace(-6, 6, 241)
    step = 1e-5
    difference = (loss.value(a + step) - loss.value(a - step)) / (2 * step)
    np.testing.assert_allclose(loss.derivative(a), difference, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_sixty_terms_sum_to_the_derivative(loss):
    a = np.linspace(-2, 2, 81)
    np.testing.assert_allclose(power_series(loss.taylor(60), a), loss.derivative(a), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_absolute_series_sums_the_sizes_of_the_coefficients(loss):
    np.testing.assert_allclose(
        loss.absolute_series(SIZES), power_series(np.abs(loss.taylor(150)), SIZES), rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_absolute_series_bounds_the_derivative(loss):
    a = np.linspace(-3, 3, 61)
    assert (np.abs(loss.derivative(a)) <= loss.absolute_series(np.abs(a)) * (1 + 1e-12)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_fewer_coefficients_are_the_first_of_more(loss):
    many = loss.taylor(9)
    for n in range(9):
        assert loss.taylor(n).shape == (n,)
        np.testing.assert_array_equal(loss.taylor(n), many[:n])


@pytest.mark.parametrize("loss", [*LOSSES, SmoothedAbsolute(20.0), SmoothedHinge(20.0)])
def test_losses_stay_sound_for_large_arguments(loss):
    a = np.array([-1e150, -1e4, -800.0, 800.0, 1e4, 1e150])
    assert not np.isnan(loss.value(a)).any()
    assert (loss.value(a) >= 0).all()
    assert not np.isnan(loss.derivative(a)).any()
    np.testing.assert_array_equal(loss.derivative(a), np.sort(loss.derivative(a)))  # convex: the derivative is monotone


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_values(loss):
    again = eval(repr(loss))
    assert again == loss
    assert hash(again) == hash(loss)
    assert isinstance(loss.value(0.5), float)
    assert loss.value([[0.5], [1.0]]).shape == (2, 1)


def test_margin_losses_fall_and_residual_losses_are_even():
    a = np.linspace(0.1, 3, 30)
    for loss in LOSSES:
        if loss.argument == "margin":
            assert (loss.derivative(a) < 0).all()
        else:
            np.testing.assert_allclose(loss.value(a), loss.value(-a))


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0, 26.0])
def test_smoothing_costs_little_and_only_from_above(sharpness):
    a = np.linspace(-5, 5, 2001)
    above_absolute = SmoothedAbsolute(sharpness).value(a) - np.abs(a)
    above_hinge = SmoothedHinge(sharpness).value(a) - hinge(a)
    most = 1 / (sharpness * np.sqrt(np.pi))
    assert above_absolute.min() >= -1e-12
    assert above_hinge.min() >= -1e-12
    assert above_absolute.max() == pytest.approx(most)
    assert above_hinge.max() == pytest.approx(most / 2)


def test_smoothed_hinge_keeps_its_relative_accuracy_far_beyond_the_margin():
    u = np.array([2.0, 5.0, 10.0])
    nodes, weights = np.polynomial.laguerre.laggauss(60)  # the loss is the integral of erfc(t) / 2 from u on
    integral = [(-SmoothedHinge().derivative(1 + x + nodes / x) * np.exp(nodes) @ weights) / x for x in u]
    np.testing.assert_allclose(SmoothedHinge().value(1 + u), integral, rtol=1e-10)


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 2.0])
def test_hinge_coefficients_are_hermite_polynomials(sharpness):
    k = np.arange(1, 30)
    expected = sharpness**k * eval_hermite(k - 1, sharpness) * np.exp(-(sharpness**2)) / (np.sqrt(np.pi) * factorial(k))
    np.testing.assert_allclose(SmoothedHinge(sharpness).taylor(30)[1:], expected, rtol=1e-9, atol=1e-15)


def test_powers_of_the_margin_less_one_are_not_powers_of_the_margin():
    printed = SmoothedAbsolute().taylor(60) / 2  # the series in powers of (a - 1)
    printed[0] = -0.5
    a = np.array([-1.5, 0.7, 2.0])
    np.testing.assert_allclose(power_series(printed, a - 1), SmoothedHinge().derivative(a), atol=1e-6)
    assert abs(power_series(printed, 0.7) - SmoothedHinge().derivative(0.7)) > 0.5


def test_printed_bounds_of_the_smoothed_losses_are_too_low():
    a = 2.0
    absolute = SmoothedAbsolute().absolute_series(a)
    printed_example_3 = 0.5 + (np.exp(a**2) - 1) / (a * np.sqrt(np.pi))
    printed_example_4 = 2 * np.exp(a**2 - 1) / (a * np.sqrt(np.pi))
    right = 2 * (np.exp(a**2) - 1) / (a * np.sqrt(np.pi))
    assert absolute == pytest.approx(18.56, abs=0.01)
    assert printed_example_3 == pytest.approx(15.62, abs=0.01)
    assert printed_example_4 == pytest.approx(11.33, abs=0.01)
    assert printed_example_4 < printed_example_3 < absolute < right


def test_exponential_loss_falls_with_the_margin():
    assert Exponential().value(1.0) < Exponential().value(-1.0)
    np.testing.assert_allclose(Exponential().taylor(4), [-1, 1, -1 / 2, 1 / 6])


def test_logistic_series_ends_at_pi():
    loss = Logistic()
    assert loss.radius == np.pi
    assert all(other.radius == np.inf for other in LOSSES if other != loss)
    inside, outside = (np.abs(loss.taylor(401)) * a ** np.arange(401) for a in (3.0, 3.3))
    assert inside[399] < 1e-6
    assert outside[399] > 1e6
    np.testing.assert_array_equal(loss.absolute_series([np.pi, 4.0, np.inf]), np.inf)
    np.testing.assert_allclose(loss.taylor(6), [-1 / 2, 1 / 4, 0, -1 / 48, 0, 1 / 480])


def test_hinge_series_beyond_floating_point_is_infinite():
    loss = SmoothedHinge(26.0)
    np.testing.assert_array_equal(loss.absolute_series([2.0, 1e6, np.inf]), np.inf)
    assert np.isfinite(loss.absolute_series(1.0))


@pytest.mark.parametrize("sharpness", [0.0, -1.0, np.nan, 27.0])
@pytest.mark.parametrize("kind", [SmoothedAbsolute, SmoothedHinge])
def test_impossible_sharpness_is_refused(kind, sharpness):
    with pytest.raises(ValueError, match="sharpness"):
        kind(sharpness)


@pytest.mark.parametrize("loss", LOSSES)
def test_absolute_series_refuses_negative_arguments(loss):
    with pytest.raises(ValueError, match="is for a >= 0"):
        loss.absolute_series([-1.0, 1.0])
