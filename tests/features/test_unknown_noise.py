"""Algorithm 4: equal to its literal form, learns from noise of any distribution, asks for the copies it needs."""

import time

import numpy as np
import pytest

from noisewise import GaussianNoise, losses
from noisewise.datasets import CopyOracle
from noisewise.features.maps import descent
from noisewise.features.unknown_noise import UnknownNoiseKernelClassifier, UnknownNoiseKernelRegressor
from noisewise.kernels import Binomial, Exponential, Gaussian, Linear, Polynomial
from noisewise.noise.unbiased import random_degree


class Literal:
    """Algorithm 4 line by line: every inner product by its subroutine, every norm by its double sum."""

    def __init__(self, kernel, loss, estimator, p, step, ball, seed):
        self.gaussian = isinstance(kernel, Gaussian)
        self.kernel, self.loss, self.estimator, self.p = kernel, loss, estimator, p
        self.step, self.ball, self.rng = step, ball, np.random.default_rng(seed)
        order = np.arange(61)
        factorials = np.cumprod(np.maximum(order, 1.0))
        self.beta = (2 / kernel.width**2) ** order / factorials if self.gaussian else kernel.taylor(61)
        self.size_series = (-1 / kernel.width**2) ** order / factorials if self.gaussian else None
        self.gamma = loss.taylor(61)
        self.maps, self.alpha, self.products, self.path = [], np.zeros(0), np.zeros((0, 0)), []

    def weight(self, n):
        return self.p ** (n + 1) / (self.p - 1) if self.estimator == "geometric" else self.p**n

    def terms(self, degree):
        return [degree] if self.estimator == "geometric" else range(degree + 1)

    def series(self, coefficients, factors):
        return sum(coefficients[n] * self.weight(n) * np.prod(factors[:n]) for n in self.terms(len(factors)))

    def degree(self, coefficients):
        """A random degree; None where the term is zero for all copies, so that none are asked for."""
        n = int(random_degree(self.rng, self.p, 1)[0])
        if self.estimator == "geometric":
            return n if coefficients[n] else None
        return min(n, np.flatnonzero(coefficients).max())

    def map_estimate(self, oracle):
        if not self.gaussian:
            n = self.degree(self.beta)
            return (0.0, oracle.copies(0)) if n is None else (1.0, oracle.copies(n))
        pairs, n = self.degree(self.size_series), self.degree(self.beta)
        copies = oracle.copies(2 * pairs + n)
        factors = [copies[2 * j] @ copies[2 * j + 1] for j in range(pairs)]
        return self.series(self.size_series, factors), copies[2 * pairs :]

    def prod(self, one, other):
        (a, x), (b, z) = one, other
        total = 0.0
        for n in set(self.terms(len(x))) & set(self.terms(len(z))):
            total += self.beta[n] * self.weight(n) ** 2 * np.prod([x[j] @ z[j] for j in range(n)])
        return a * b * total

    def mult(self, one, x):
        size, vectors = one
        own = np.exp(-x @ x / self.kernel.width**2) if self.gaussian else 1.0
        return (
            size
            * own
            * sum(
                self.beta[n] * self.weight(n) * np.prod([vectors[j] @ x for j in range(n)])
                for n in self.terms(len(vectors))
            )
        )

    def play(self, oracle):
        for y in oracle:
            new = self.map_estimate(oracle)
            exact = self.estimator == "roulette" and isinstance(self.loss, losses.Squared)  # one factor, exact
            factors, n_factors = [], 1 if exact else self.degree(self.gamma)
            for _ in range(n_factors or 0):
                other = self.map_estimate(oracle)
                value = sum(a * self.prod(old, other) for a, old in zip(self.alpha, self.maps))
                factors.append(y * value if self.loss.argument == "margin" else value - y)
            length = 0.0 if n_factors is None else self.series(self.gamma, factors)
            length = 2 * factors[0] if exact else length
            length *= y if self.loss.argument == "margin" else 1.0
            row = np.array([self.prod(old, new) for old in [*self.maps, new]])
            self.products = np.block([[self.products, row[:-1, None]], [row[None, :]]])
            self.maps.append(new)
            self.alpha = np.append(self.alpha, -self.step * length)
            norm = self.alpha @ self.products @ self.alpha
            if norm > self.ball**2:
                self.alpha = self.alpha * np.sqrt(self.ball**2 / norm)
            self.path.append(self.alpha)
        return self

    def average(self, x, power=3.0):
        weights = np.arange(1.0, len(self.path) + 1) ** power
        mean = sum(w * np.pad(alpha, (0, len(self.path) - len(alpha))) for w, alpha in zip(weights, self.path))
        return sum(a * self.mult(one, x) for a, one in zip(mean / weights.sum(), self.maps))


def rounds(n, margin, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 0]
    return CopyOracle(X, np.where(y > 0, 1.0, -1.0) if margin else y, GaussianNoise(0.1), rng=seed)


@pytest.mark.parametrize("tensors", ["dense", "deep"])
@pytest.mark.parametrize("estimator", ["geometric", "roulette"])
@pytest.mark.parametrize(
    ("kernel", "loss"),
    [
        (Polynomial(3), losses.Squared()),
        (Exponential(), losses.Exponential()),
        (Gaussian(2.0), losses.SmoothedHinge()),
        (Gaussian(2.0), losses.SmoothedAbsolute()),
    ],
    ids=repr,
)
def test_fast_and_literal_coefficients_are_equal(kernel, loss, estimator, tensors, monkeypatch):
    if tensors == "deep":  # products of stored vectors in all but the lowest degrees
        monkeypatch.setattr(descent, "LARGE_TENSOR", 2)
    n, margin = 200, loss.argument == "margin"
    literal = Literal(kernel, loss, estimator, 2.0, step=0.05, ball=0.6, seed=7).play(rounds(n, margin))
    kind = UnknownNoiseKernelClassifier if margin else UnknownNoiseKernelRegressor
    fast = kind(kernel, loss, estimator, 2.0, step=0.05, ball=0.6, random_state=7).partial_fit(rounds(n, margin))
    norms = [a @ literal.products[: len(a), : len(a)] @ a for a in literal.path]
    assert np.sum(np.isclose(norms, 0.36)) > 5  # the ball was met
    assert (fast.state_["counts"][1] > 20) == (tensors == "deep")
    np.testing.assert_allclose(fast.dual_coef_[:, 0], literal.alpha, rtol=0, atol=1e-12 * np.abs(literal.alpha).max())
    X = np.array([[0.3, -0.4], [1.0, 0.5]])
    values = fast.decision_function(X) if margin else fast.predict(X)
    np.testing.assert_allclose(values, [literal.average(x) for x in X], rtol=1e-9, atol=1e-12)


def test_the_printed_projection_leaves_the_ball():
    n, bound = 4.0, 1.0  # squared norm and its bound
    assert n * (np.sqrt(bound / n)) ** 2 == bound
    assert n * (np.sqrt(bound) / n) ** 2 == pytest.approx(0.25)
    assert 100.0 * (np.sqrt(25.0) / 100.0) ** 2 == pytest.approx(0.25)


def test_norms_stay_in_the_ball():
    model = UnknownNoiseKernelRegressor(Exponential(), step=0.5, ball=0.3, random_state=0).partial_fit(
        rounds(500, False)
    )
    assert model.state_["norm"][0] <= 0.09 * (1 + 1e-12)


def test_a_scale_that_gets_small_is_moved_into_the_coefficients():
    model = UnknownNoiseKernelRegressor(Polynomial(2), step=5.0, ball=1e-3, random_state=0).partial_fit(
        rounds(3000, False)
    )
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.predict(np.ones((1, 2)))).all()
    assert model.state_["scale"][0] > 1e-100


def two_values(n, rng):
    return np.where(rng.random(n) < 0.5, 3.0, -1.0)


def same_copy(row, n, rng):
    return np.repeat(row[None], n, axis=0)


def blurred_one(row, n, rng):
    return two_values(n, rng)[:, None] + row - 1


def learnt_weight(X, draw):
    oracle = CopyOracle(X[:, None], np.ones(len(X)), draw, rng=1)
    return UnknownNoiseKernelRegressor(Linear(), random_state=0).partial_fit(oracle).predict([[1.0]])[0]


def test_two_copies_identify_the_distribution_and_one_does_not(rng):
    """Section VI: rows 3 and -1 without noise, or a row 1 with noise; single copies have the same distribution."""
    n = 4000
    assert 5 * (learnt_weight(two_values(n, rng), same_copy) - 0.2) ** 2 < 0.1
    assert (learnt_weight(np.ones(n), blurred_one) - 1) ** 2 < 0.1
    one_copy = learnt_weight(two_values(n, rng), same_copy)  # what one copy of each blurred 1 looks like
    assert (one_copy - 1) ** 2 == pytest.approx(0.64, rel=0.15)


def quadratic(n, rng):
    X = rng.uniform(-1, 1, (n, 3))
    return X, X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 0.5 * X[:, 0]


@pytest.mark.parametrize("distribution", ["normal", "laplace", "mixed"])
def test_learns_from_noise_of_any_distribution(distribution, rng):
    X, y = quadratic(6000, rng)

    def draw(row, n, rng):
        if distribution == "mixed":  # another standard deviation in every row
            return row + rng.normal(size=(n, 3)) * (0.2 + 0.4 * np.abs(row))
        return row + (rng.normal(0, 0.4, (n, 3)) if distribution == "normal" else rng.laplace(0, 0.3, (n, 3)))

    model = UnknownNoiseKernelRegressor(random_state=0).partial_fit(CopyOracle(X, y, draw, rng=0))
    assert model.score(X, y) > 0.9
    assert model.n_queries_ == 4 * len(X)


def test_copies_as_arrays_equal_an_oracle_of_them(rng):
    X, y = quadratic(300, rng)
    copies = GaussianNoise(0.05).copies(X, 4, rng)
    by_fit = UnknownNoiseKernelRegressor(Polynomial(2), step=0.01).fit(copies[:, 0], y, copies=copies[:, 1:])
    moved = (copies - by_fit.centre_) / by_fit.scale_
    by_oracle = UnknownNoiseKernelRegressor(Polynomial(2), step=0.01).partial_fit(CopyOracle(None, y, moved))
    np.testing.assert_allclose(by_fit.dual_coef_, by_oracle.dual_coef_, rtol=1e-12)


def test_streams_may_be_cut(rng):
    X, y = quadratic(400, rng)
    whole = UnknownNoiseKernelRegressor(Exponential(), random_state=3).partial_fit(CopyOracle(X, y, same_copy))
    parts = UnknownNoiseKernelRegressor(Exponential(), random_state=3)
    for part in (slice(0, 150), slice(150, 400)):
        parts.partial_fit(CopyOracle(X[part], y[part], same_copy))
    np.testing.assert_array_equal(whole.dual_coef_, parts.dual_coef_)
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))


@pytest.mark.parametrize(
    "loss",
    [losses.Squared(), losses.Exponential(), losses.SmoothedHinge(), losses.SmoothedAbsolute(), losses.Logistic()],
)
def test_all_losses_classify(loss, rng):
    X = rng.uniform(-1, 1, (2500, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    model = UnknownNoiseKernelClassifier(loss=loss, p=1.5, ball=2.0, random_state=0)
    model.partial_fit(CopyOracle(X, y, GaussianNoise(0.05), rng=2), classes=["other", "same"])
    assert model.score(X, y) > 0.8


def test_more_than_two_classes(rng):
    X = rng.uniform(-1, 1, (2000, 2))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [-0.2, 0.6])
    model = UnknownNoiseKernelClassifier(random_state=0).partial_fit(CopyOracle(X, y, GaussianNoise(0.02), rng=2))
    assert model.decision_function(X).shape == (2000, 3)
    assert model.score(X, y) > 0.75


def test_noisy_targets_may_be_fresh_for_every_factor(rng):
    X, y = quadratic(200, rng)

    class Oracle(CopyOracle):
        def targets(self, n):
            asked.append(n)
            return self.y[self._row] + 0.1 * np.ones(n)

    asked = []
    shifted = UnknownNoiseKernelRegressor(loss=losses.SmoothedAbsolute(), random_state=0)
    shifted.partial_fit(Oracle(X, y, same_copy))
    plain = UnknownNoiseKernelRegressor(loss=losses.SmoothedAbsolute(), random_state=0)
    plain.partial_fit(CopyOracle(X, y + 0.1, same_copy))
    np.testing.assert_allclose(shifted.dual_coef_, plain.dual_coef_)
    assert sum(asked) > 200


class Broken:
    """An oracle that returns something else."""

    def __init__(self, returned):
        self.returned = returned

    def __iter__(self):
        return iter([0.5, 0.1, 0.2])

    def copies(self, n):
        return self.returned(n)


@pytest.mark.parametrize(
    ("oracle", "error", "sentence"),
    [
        (CopyOracle(None, [0.0, 1.0], np.zeros((2, 3, 2))), RuntimeError, "ran dry"),
        (CopyOracle(np.zeros((0, 2)), [], GaussianNoise(1.0)), ValueError, "showed no row"),
        (Broken(lambda n: np.zeros((n + 1, 2))), ValueError, r"have shape \(4, 2\), but the oracle gave \(5, 2\)"),
        (Broken(lambda n: np.full((n, 2), np.nan)), ValueError, "NaN or infinity"),
    ],
)
def test_oracles_that_fail_are_named(oracle, error, sentence):
    with pytest.raises(error, match=sentence):
        UnknownNoiseKernelRegressor().partial_fit(oracle)


def test_copies_that_do_not_match_are_refused(rng):
    with pytest.raises(ValueError, match=r"copies have shape \(9, 2, 2\), and X has \(10, 2\)"):
        UnknownNoiseKernelRegressor().fit(rng.normal(size=(10, 2)), np.zeros(10), copies=np.zeros((9, 2, 2)))
    with pytest.raises(RuntimeError, match="ran dry: 3 were supplied"):
        UnknownNoiseKernelRegressor().fit(rng.normal(size=(9, 2)), np.zeros(9), copies=rng.normal(size=(9, 2, 2)))


def test_noisy_rows_are_predicted_by_the_mean_target_of_rows_like_them(rng):
    X = rng.normal(size=(6000, 1)) + 2
    oracle = CopyOracle(X, X[:, 0], GaussianNoise(1.0), rng=0)
    model = UnknownNoiseKernelRegressor(Polynomial(1), random_state=0).partial_fit(oracle)
    rows = np.array([[0.0], [2.0], [4.0]])
    np.testing.assert_allclose(model.predict(rows), [0, 2, 4], atol=0.3)
    np.testing.assert_allclose(model.predict(rows, noisy=True), [1, 2, 3], atol=0.3)  # half way to the mean


def test_series_without_a_finite_variance_are_refused(rng):
    X = 3 * rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    with pytest.raises(ValueError, match=r"p times the mean square of the margins .* below 9\.87"):
        UnknownNoiseKernelClassifier(Polynomial(2), losses.Logistic(), step=0.5, ball=50.0, random_state=0).partial_fit(
            CopyOracle(X, y, same_copy)
        )
    with pytest.raises(ValueError, match="p times the mean squared length of the copies"):
        UnknownNoiseKernelClassifier(Binomial(1.0), random_state=0).partial_fit(CopyOracle(X, y, same_copy))


@pytest.mark.parametrize("parameter", [{"step": 0.0}, {"ball": -1.0}, {"averaging": -1.0}, {"p": 1.0}])
def test_impossible_parameters_are_refused(parameter):
    with pytest.raises(ValueError, match=next(iter(parameter))):
        UnknownNoiseKernelRegressor(**parameter).fit(np.eye(3), np.arange(3.0))


def test_sixteen_thousand_rounds_take_seconds(rng):
    X, y = quadratic(16_000, rng)
    model = UnknownNoiseKernelRegressor(Exponential(), random_state=0).fit(X[:100], y[:100])  # compiles
    start = time.process_time()
    model.partial_fit(CopyOracle(X, y, GaussianNoise(0.05), rng=0))
    assert time.process_time() - start < 5


STEPS = {"geometric": [3e-5, 1e-4, 3e-4], "roulette": [1e-4, 3e-4, 1e-3], "auto": [1e-3, 3e-3, 1e-2]}


def excess_risks(estimator, n, seeds, noise):
    """Protocol P5: excess risk on clean rows with the best step of a grid, mean over repetitions."""
    risks = np.zeros((len(seeds), 3))
    for i, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        X, y = p5(n, rng)
        test, truth = p5(4000, rng)
        for j, step in enumerate(STEPS[estimator]):
            oracle = CopyOracle(X, y, GaussianNoise(noise**2), rng=seed)
            model = UnknownNoiseKernelRegressor(
                Polynomial(2), None, estimator, 2.0, step=step, ball=2.0, random_state=seed
            )
            with np.errstate(all="ignore"):
                risks[i, j] = np.mean((model.partial_fit(oracle).predict(test) - truth) ** 2)
    return risks.mean(axis=0).min()


def p5(n, rng):
    X = rng.uniform(-1, 1, (n, 3))
    y = 1.5 * X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.8 * X[:, 0] - 0.4 * X[:, 1]
    return X, 0.882 * y  # variance 0.47


def least_squares_risk(n, m, seeds, noise):
    """The same for least squares on the mean of m copies."""
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    risks = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = p5(n, rng)
        test, truth = p5(4000, rng)
        noisy = GaussianNoise(noise**2).copies(X, m, rng).mean(axis=1)
        model = make_pipeline(PolynomialFeatures(2), LinearRegression()).fit(noisy, y)
        risks.append(np.mean((model.predict(test) - truth) ** 2))
    return np.mean(risks)


@pytest.mark.slow
def test_protocol_5_comes_out_in_order():
    n, seeds, noise = 20_000, range(2), 0.5
    naive, mean_2, mean_4 = (least_squares_risk(n, m, seeds, noise) for m in (1, 2, 4))
    np.testing.assert_allclose([naive, mean_2, mean_4], [0.187, 0.095, 0.040], rtol=0.1)
    literal, roulette, full = (excess_risks(e, n, seeds, noise) for e in ("geometric", "roulette", "auto"))
    assert full < roulette < mean_4 < min(literal, mean_2)
    np.testing.assert_allclose([literal, roulette, full], [0.10, 0.018, 0.0012], rtol=0.4)
