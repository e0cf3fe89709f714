"""The rules solve the problems they are named after."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from noisewise._loops.rules import adaptive, confidence, herd, passive_aggressive, second_order, step
from noisewise._loops.state import CAPPED, DROP, PLAIN, SQUARED

CASES = [(m, v) for m in (-3.0, -0.5, 0.0, 0.2) for v in (0.3, 1.0, 5.0)]


@pytest.mark.parametrize(("m", "v"), CASES)
@pytest.mark.parametrize("eta", [0.6, 0.75, 0.95])
def test_confidence_weighted_step_meets_its_constraint_with_equality(m, v, eta):
    phi = norm.ppf(eta)
    alpha, beta = confidence(CAPPED, phi, np.inf, m, v)
    if m >= phi * np.sqrt(v):
        assert (alpha, beta) == (0, 0)
        return
    m_after, v_after = m + alpha * v, v - beta * v * v
    assert alpha > 0
    assert m_after == pytest.approx(phi * np.sqrt(v_after), abs=1e-12)


@pytest.mark.parametrize(("m", "v"), CASES[:8])
@pytest.mark.parametrize("variant", [CAPPED, SQUARED])
def test_no_other_step_has_a_lower_soft_confidence_objective(m, v, variant):
    phi, C = norm.ppf(0.8), 0.4

    def objective(step):
        mean, log_variance = m + step[0] * v, step[1]
        variance = np.exp(log_variance)
        kl = 0.5 * (variance / v - log_variance + np.log(v) - 1) + 0.5 * (mean - m) ** 2 / v
        loss = max(0.0, phi * np.sqrt(variance) - mean)
        return kl + C * (loss if variant == CAPPED else loss**2)

    alpha, beta = confidence(variant, phi, C, m, v)
    ours = objective([alpha, np.log(v - beta * v * v)])
    best = minimize(
        objective, [alpha + 0.05, np.log(v)], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}
    )
    assert ours <= best.fun + 1e-9


def test_passive_aggressive_steps_reach_a_margin_of_one_or_their_cap():
    assert passive_aggressive(PLAIN, np.inf, -0.5, 2.0) * 2.0 - 0.5 == pytest.approx(1)
    assert passive_aggressive(CAPPED, 0.1, -0.5, 2.0) == 0.1
    assert passive_aggressive(PLAIN, np.inf, 1.5, 2.0) == 0
    alpha = passive_aggressive(SQUARED, 0.3, -0.5, 2.0)
    costs = [0.5 * a * a * 2.0 + 0.3 * max(0, 1 + 0.5 - a * 2.0) ** 2 for a in (alpha - 1e-4, alpha, alpha + 1e-4)]
    assert costs[1] < min(costs[0], costs[2])


@pytest.mark.parametrize(("m", "v"), CASES)
def test_adaptive_step_minimises_its_objective(m, v):
    r = 0.7
    alpha, beta = adaptive(DROP, r, m, v)

    def mean_cost(a):
        return 0.5 * a * a * v + max(0, 1 - m - a * v) ** 2 / (2 * r)

    assert mean_cost(alpha) <= min(mean_cost(alpha * 0.999), mean_cost(alpha * 1.001))
    after = v - beta * v * v
    assert 1 / after == pytest.approx(1 / v + 1 / r)


@pytest.mark.parametrize(("m", "v"), CASES)
def test_every_member_of_the_herd_takes_its_softened_step(m, v):
    C = 0.9
    alpha, beta = herd(DROP, C, m, v)
    shrink = 1 - C * v / (1 + C * v)  # each member's score moves towards one by this factor
    assert 1 - (m + alpha * v) == pytest.approx((1 - m) * shrink)
    assert v - beta * v * v == pytest.approx(v * shrink**2)


def test_rules_do_nothing_where_nothing_can_be_learnt():
    assert adaptive(DROP, 1.0, 1.0, 1.0) == (0, 0)
    assert herd(DROP, 1.0, 1.2, 1.0) == (0, 0)
    assert second_order(4.0, 0.0, 1.0, 1.0) == (0, 0, 0)  # the right side of zero: margins that are fine
    counters, parameters = np.array([2, 2, 3, 2, 1, 1, 0, 0]), np.array([0, 0, 1.0, 0.67, 1.0, 0])
    assert step(counters, parameters, 1.0, 0.0, 0.0) == (0, 0)
