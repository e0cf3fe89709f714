"""Every rule against a slow version written from the papers, one array operation at a time."""

import numpy as np
import pytest
from scipy.stats import norm

from noisewise import FlipMatrix
from noisewise.online import LeastSquares, OnlineClassifier, recipes

K, D = 4, 6
NOISE = FlipMatrix.binary(false_positive=0.2, false_negative=0.1)
RHO0, RHO1 = 0.2, 0.1


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(3)
    y = rng.integers(K, size=400)
    X = np.eye(K, D)[y] + rng.normal(scale=0.6, size=(400, D))
    X[rng.random(X.shape) < 0.2] = 0
    return X, y


def pa(C, m, v):
    return max(0, 1 - m) / v if C is None else min(C, max(0, 1 - m) / v), 0


def pa2(C, m, v):
    return max(0, 1 - m) / (v + 1 / (2 * C)), 0


def scw(eta, C, m, v):
    phi = norm.ppf(eta)
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    if m >= phi * np.sqrt(v):
        return 0, 0
    alpha = min(C, max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)))
    u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
    return alpha, alpha * phi / (np.sqrt(u) + v * alpha * phi)


def scw2(eta, C, m, v):
    phi = norm.ppf(eta)
    if m >= phi * np.sqrt(v):
        return 0, 0
    n = v + 1 / (2 * C)
    root = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
    alpha = max(0, (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2)))
    u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
    return alpha, alpha * phi / (np.sqrt(u) + v * alpha * phi)


def arow(r, m, v):
    return (max(0, 1 - m) / (v + r), 1 / (v + r)) if m < 1 else (0, 0)


def herd(C, m, v):
    return ((1 - m) / (v + 1 / C), (C**2 * v + 2 * C) / (1 + C * v) ** 2) if m < 1 else (0, 0)


def least_squares(m, v):
    return (1 - m) / (v + 1), 1 / (v + 1)


class Plain:
    """Means and full covariances of all classes; `diagonal` drops what is off the diagonal after each step."""

    def __init__(self, second=True, diagonal=True, ridge=1.0):
        self.mean = np.zeros((K, D))
        self.sigma = np.stack([np.eye(D) / ridge] * K)
        self.second, self.diagonal = second, diagonal

    def scores(self, x):
        return self.mean @ x

    def variances(self, x):
        return np.array([x @ s @ x for s in self.sigma])

    def move(self, k, x, alpha, beta):
        gain = self.sigma[k] @ x
        self.mean[k] += alpha * gain
        if self.second:
            self.sigma[k] -= beta * np.outer(gain, gain)
            if self.diagonal:
                self.sigma[k] = np.diag(np.diag(self.sigma[k]))


def learn_labels(X, y, rule, second, diagonal, herding=None):
    plain = Plain(second, diagonal)
    for x, true in zip(X, y):
        m, v = plain.scores(x), plain.variances(x)
        others = np.where(np.arange(K) == true, -np.inf, m)
        rival = others.argmax()
        alpha, beta = rule(m[true] - m[rival], v[true] + v[rival])
        if alpha or beta:
            for k, s in ((true, 1), (rival, -1)):
                before = np.diag(plain.sigma[k]).copy()
                plain.move(k, x, alpha * s, beta)
                if herding:
                    plain.sigma[k] = np.diag(herding(before, x, v[true] + v[rival]))
    return plain.mean


LABEL_CASES = {
    "mpa": (recipes.mpa(C=np.inf), lambda m, v: pa(None, m, v), False, True),
    "mpa_I": (recipes.mpa(C=0.3), lambda m, v: pa(0.3, m, v), False, True),
    "mpa_II": (recipes.mpa(C=0.3, variant="II"), lambda m, v: pa2(0.3, m, v), False, True),
    "mcw": (recipes.mcw(0.8), lambda m, v: scw(0.8, np.inf, m, v), True, True),
    "mscw_I": (recipes.mscw(0.8, 0.3), lambda m, v: scw(0.8, 0.3, m, v), True, True),
    "mscw_I_full": (recipes.mscw(0.8, 0.3, covariance="full"), lambda m, v: scw(0.8, 0.3, m, v), True, False),
    "mscw_II": (recipes.mscw(0.8, 0.3, "II"), lambda m, v: scw2(0.8, 0.3, m, v), True, True),
    "arow": (recipes.arow(2.0), lambda m, v: arow(2.0, m, v), True, True),
    "arow_full": (recipes.arow(2.0, "full"), lambda m, v: arow(2.0, m, v), True, False),
    "least_squares": (OnlineClassifier(LeastSquares()), least_squares, True, True),
    "least_squares_full": (OnlineClassifier(LeastSquares(), covariance="full"), least_squares, True, False),
    "nherd_drop": (recipes.nherd(0.7, "drop"), lambda m, v: herd(0.7, m, v), True, True),
    "nherd_full": (recipes.nherd(0.7, "full"), lambda m, v: herd(0.7, m, v), True, False),
}


@pytest.mark.parametrize("name", LABEL_CASES)
def test_label_rule_equals_its_plain_version(name, stream):
    model, rule, second, diagonal = LABEL_CASES[name]
    expected = learn_labels(*stream, rule, second, diagonal)
    np.testing.assert_allclose(model.fit(*stream).coef_, expected, rtol=1e-9, atol=1e-12)


def test_herding_projects_the_inverse_or_takes_the_best_diagonal_map(stream):
    C = 0.7
    forms = {
        "project": lambda s, x, v: 1 / (1 / s + (2 * C + C**2 * v) * x**2),
        "exact": lambda s, x, v: s / (1 + C * x**2 * s) ** 2,
    }
    for variant, form in forms.items():
        expected = learn_labels(*stream, lambda m, v: herd(C, m, v), True, True, form)
        np.testing.assert_allclose(recipes.nherd(C, variant).fit(*stream).coef_, expected, rtol=1e-9, atol=1e-12)


def test_projected_arow_adds_to_the_inverse(stream):
    form = lambda s, x, v: 1 / (1 / s + x**2 / 2.0)  # noqa: E731
    expected = learn_labels(*stream, lambda m, v: arow(2.0, m, v), True, True, form)
    np.testing.assert_allclose(recipes.arow(2.0, variant="project").fit(*stream).coef_, expected, rtol=1e-9, atol=1e-12)


def test_perceptron_equals_its_plain_version(stream):
    W = np.zeros((K, D))
    for x, true in zip(*stream):
        guess = (W @ x).argmax()
        W[true] += x
        W[guess] -= x
    np.testing.assert_allclose(recipes.perceptron().fit(*stream).coef_, W, rtol=1e-9, atol=1e-12)


def h(f):
    return (f - RHO0) / (1 - RHO0 - RHO1)


def play_both(learner, X, y, update):
    """Play with the learner and repeat every update in NumPy by `update`, which also checks the decisions."""
    flips = np.random.default_rng(5).random(len(y))
    for x, true, u in zip(X, y, flips):
        decision = learner.decide(x)
        f = int(u >= RHO1) if decision.action == true else int(u >= 1 - RHO0)
        update(x, decision, f)
        learner.learn(decision, f)


def test_rcnbf_equals_its_plain_version(stream):
    learner = recipes.rcnbf(K, gamma=0.3, noise=NOISE, random_state=1)
    W = np.zeros((K, D))

    def update(x, decision, f):
        greedy = (W @ x).argmax()
        assert decision.probability == pytest.approx(0.7 * (decision.action == greedy) + 0.3 / K)
        W[decision.action] += h(f) / decision.probability * x
        W[greedy] -= x

    play_both(learner, *stream, update)
    np.testing.assert_allclose(learner._weights().T, W, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_corrected_ucwl_equals_its_plain_version(covariance, stream):
    learner = recipes.corrected_ucwl(K, width_in_std=0.8, confidence=0.8, C=0.4, covariance=covariance, noise=NOISE)
    plain = Plain(diagonal=covariance == "diagonal")
    C = 0.4 * (1 - RHO0 - RHO1)

    def update(x, decision, f):
        m, v = plain.scores(x), plain.variances(x)
        a = (m + 0.8 * np.sqrt(v)).argmax()
        assert decision.action == a
        (up, up_beta), (down, down_beta) = scw(0.8, C, m[a], v[a]), scw(0.8, C, -m[a], v[a])
        plain.move(a, x, h(f) * up - (1 - h(f)) * down, up_beta if f else down_beta)

    play_both(learner, *stream, update)
    np.testing.assert_allclose(learner._weights().T, plain.mean, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("C", [np.inf, 0.2])
def test_bandit_pa_equals_its_plain_version(C, stream):
    learner = recipes.bandit_pa(K, gamma=0.2, C=C, random_state=0)
    W = np.zeros((K, D))

    def update(x, decision, f):
        loss = max(0, 1 + (1 - 2 * f) * (W @ x)[decision.action])
        W[decision.action] += (2 * f - 1) * min(C, loss / (x @ x)) * x

    play_both(learner, *stream, update)
    np.testing.assert_allclose(learner._weights().T, W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_linucb_equals_ridge_regressions_corrected_afterwards(intercept, stream):
    noises = [FlipMatrix.binary(0.1 * k, 0.05 * k) for k in range(K)]
    learner = recipes.linucb(K, width_in_std=0.7, ridge=2.0, noise=noises, intercept=intercept)
    d = D + intercept
    A, b1, b0 = np.stack([2 * np.eye(d)] * K), np.zeros((K, d)), np.zeros((K, d))
    rho0 = 0.1 * np.arange(K)
    beta = 1 - 0.15 * np.arange(K)

    def row(x):
        return np.append(x, 1.0) if intercept else x

    def scores(x):
        w1, w0 = np.linalg.solve(A, b1[:, :, None])[..., 0], np.linalg.solve(A, b0[:, :, None])[..., 0]
        return (w1 @ x - rho0 * (w0 @ x)) / beta

    def update(x, decision, f):
        x = row(x)
        width = 0.7 * np.sqrt(np.array([x @ np.linalg.solve(a, x) for a in A])) / beta
        assert decision.action == (scores(x) + width).argmax()
        a = decision.action
        A[a] += np.outer(x, x)
        b1[a] += f * x
        b0[a] += x

    play_both(learner, *stream, update)
    X = stream[0][:50]
    np.testing.assert_allclose(learner.decision_function(X), [scores(row(x)) for x in X], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_confidit_equals_its_plain_version(covariance, projection, stream):
    learner = recipes.confidit(K, width_in_std=0.3, projection=projection, covariance=covariance)
    A, w = np.stack([np.eye(D)] * K), np.zeros((K, D))

    def update(x, decision, f):
        inverse = np.linalg.inv(A)
        v = np.array([x @ s @ x for s in inverse])
        m = np.clip(w @ x, -1, 1) if projection else w @ x
        a = (m + 0.3 * np.sqrt(v)).argmax()
        assert decision.action == a
        inside = w[a] + (m[a] - w[a] @ x) / v[a] * inverse[a] @ x
        before = A[a].copy()
        A[a] += np.diag(x * x) if covariance == "diagonal" else np.outer(x, x)
        w[a] = np.linalg.solve(A[a], before @ inside + (2 * f - 1) * x)

    play_both(learner, *stream, update)
    np.testing.assert_allclose(learner._weights().T, w, rtol=1e-7, atol=1e-9)


class PrintedSoba:
    """Algorithm 1 of Beygelzimer, Orabona and Zhang line by line, over the weights of all classes as one vector.

    `diagonal` keeps the diagonal of A alone, as their code does.
    """

    def __init__(self, gamma, a, diagonal):
        self.gamma, self.diagonal = gamma, diagonal
        self.A, self.theta, self.W = a * np.eye(K * D), np.zeros(K * D), np.zeros((K, D))
        self.running, self.skipped = 0.0, 0

    def probabilities(self, x):
        p = np.full(K, self.gamma / K)
        p[(self.W @ x).argmax()] += 1 - self.gamma
        return p

    def learn(self, x, played, right):
        if not right:
            return
        p = self.probabilities(x)[played]
        rival = np.where(np.arange(K) == played, -np.inf, self.W @ x).argmax()
        g = np.kron((np.eye(K)[rival] - np.eye(K)[played]) / p, x)
        z = np.sqrt(p) * g
        w = self.W.ravel()
        m = ((w @ z) ** 2 + 2 * (w @ g)) / (1 + z @ np.linalg.solve(self.A, z))
        if m + self.running < 0:
            self.skipped += 1
            return
        self.running += m
        self.A += np.diag(z * z) if self.diagonal else np.outer(z, z)
        self.theta -= g
        self.W = np.linalg.solve(self.A, self.theta).reshape(K, D)


@pytest.mark.parametrize("ridge", [1.0, 0.3])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_soba_equals_the_algorithm_as_printed(covariance, ridge, stream):
    learner = recipes.soba(K, gamma=0.3, ridge=ridge, covariance=covariance, random_state=2)
    plain = PrintedSoba(0.3, ridge, covariance == "diagonal")

    def update(x, decision, f):
        assert decision.probability == pytest.approx(plain.probabilities(x)[decision.action])
        plain.learn(x, decision.action, f)

    play_both(learner, *stream, update)
    np.testing.assert_allclose(learner._weights().T, plain.W, rtol=1e-8, atol=1e-10)
    assert plain.skipped > 0


def test_recursive_soba_equals_its_plain_version(stream):
    learner = recipes.soba(K, gamma=0.3, variant="recursive", covariance="full", random_state=2)
    A, theta, running = np.stack([np.eye(D)] * K), np.zeros((K, D)), [0.0]
    skipped = [0]

    def update(x, decision, f):
        if not f:
            return
        w = np.linalg.solve(A, theta[:, :, None])[..., 0]
        a, p = decision.action, decision.probability
        others = np.where(np.arange(K) == a, -np.inf, w @ x)
        rival = others.argmax()
        m = (w[a] - w[rival]) @ x
        v = sum(x @ np.linalg.solve(A[k], x) for k in (a, rival))
        gained = (m**2 / p - 2 * m / p) / (1 + v / p)
        if running[0] + gained < 0:
            skipped[0] += 1
            return
        running[0] += gained
        w_a, w_r = w[a] + np.linalg.solve(A[a], x) * (1 - m) / (p + v), w[rival].copy()
        w_r -= np.linalg.solve(A[rival], x) * (1 - m) / (p + v)
        # block by block: Sigma -= Sigma z z' Sigma / (1 + z' Sigma z), z over both blocks
        for k, weights in ((a, w_a), (rival, w_r)):
            gain = np.linalg.solve(A[k], x)
            A[k] = np.linalg.inv(np.linalg.inv(A[k]) - np.outer(gain, gain) / (p + v))
            theta[k] = A[k] @ weights

    play_both(learner, *stream, update)
    w = np.linalg.solve(A, theta[:, :, None])[..., 0]
    np.testing.assert_allclose(learner._weights().T, w, rtol=1e-6, atol=1e-8)
    assert skipped[0] > 0
