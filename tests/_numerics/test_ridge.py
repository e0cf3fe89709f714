import numpy as np
import pytest
from sklearn.linear_model import Ridge

from noisewise._numerics.ridge import fit_per_action, leave_one_out_per_action, ridge_weights


def test_leave_one_out_scores_are_those_of_a_fit_without_the_round():
    rng = np.random.default_rng(21)
    X, actions, targets, importance = rng.normal(size=(60, 4)), rng.integers(3, size=60), rng.random(60), rng.random(60)
    fit = fit_per_action(X, actions, targets, 3, ridge=0.7, importance=importance)
    scores, baseline = leave_one_out_per_action(fit, X, actions, targets, importance)
    for t in (0, 30, 59):
        others = (np.arange(60) != t) & (actions == actions[t])
        for values, found in ((targets, scores), (np.ones(60), baseline)):
            model = Ridge(alpha=0.7, fit_intercept=False).fit(X[others], values[others], importance[others])
            assert found[t, actions[t]] == pytest.approx(model.predict(X[t : t + 1])[0])
            elsewhere = (actions[t] + 1) % 3
            mine = actions == elsewhere
            model = Ridge(alpha=0.7, fit_intercept=False).fit(X[mine], values[mine], importance[mine])
            assert found[t, elsewhere] == pytest.approx(model.predict(X[t : t + 1])[0])


@pytest.mark.parametrize("n", [0, 3, 6, 40])
def test_weights_are_those_of_ridge_with_fewer_and_with_more_rows_than_columns(n):
    rng = np.random.default_rng(22)
    X, targets, importance = rng.normal(size=(n, 6)), rng.random((2, n)), rng.random(n)
    found = ridge_weights(X, targets, 0.7, importance)
    assert found.shape == (2, 6)
    if n:
        model = Ridge(alpha=0.7, fit_intercept=False).fit(X, targets.T, importance)
        np.testing.assert_allclose(found, model.coef_)
    else:
        assert not found.any()
