"""Invalid values of functions and parameters are refused with a sentence."""

import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.noise import rates_from_moments
from noisewise.online import (
    Additive,
    BanditClassifier,
    Confidence,
    FeedbackLog,
    LeastSquares,
    NREst,
    OnlineClassifier,
    RateTracker,
    SecondOrderPerceptron,
    corrected_feedback,
    importance_signal,
    label_signal,
    off_policy_value,
    recipes,
    rival_signal,
    sign_signal,
    theory,
)

NOISE = FlipMatrix.binary(0.1, 0.2)
LOG = FeedbackLog(np.eye(2), [0, 1], [1, 0], [0.5, 0.5])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: corrected_feedback(2), "feedback is 2; it must be 1 or True"),
        (lambda: corrected_feedback(0.5, NOISE), "feedback is 0.5; it must be"),
        (lambda: corrected_feedback(None), "feedback is None; it must be"),
        (lambda: sign_signal(3, 1, 0.5), "feedback is 0.5; it must be"),
        (lambda: sign_signal(3, 3, 1), "a class is 3; the 3 classes are numbered from 0 to 2"),
        (lambda: importance_signal(3, 1, 0, 0, 1), "a probability is 0.0; what was played"),
        (lambda: importance_signal(3, 1, 0, 2, 1), "a probability is 2.0; what was played"),
        (lambda: importance_signal(3, -1, 0, 0.5, 1), "a class is -1"),
        (lambda: label_signal(3, -1, 0), "a class is -1; the 3 classes"),
        (lambda: label_signal(3, 0, 5), "a class is 5; the 3 classes"),
        (lambda: rival_signal([1.0, 2.0], 7), "a class is 7; the 2 classes"),
    ],
)
def test_of_signals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("ridge", [0, -1, np.inf, np.nan, 1e-320, "x"])
def test_a_ridge_that_is_no_variance_is_refused(ridge):
    for recipe in (recipes.linucb, recipes.confidit, recipes.soba):
        with pytest.raises(ValueError, match=r"ridge is .*; it must be positive"):
            recipe(3, ridge=ridge)


@pytest.mark.parametrize("ridge", [1e-30, 1e30])
def test_any_other_ridge_gives_scores_that_are_numbers(ridge):
    X, y = np.eye(3).repeat(3, axis=0), np.repeat(range(3), 3)
    for dtype in (np.float64, np.float32):
        for recipe in (recipes.linucb, recipes.confidit, recipes.soba):
            learner = recipe(3, ridge=ridge, random_state=0)
            learner.play(X.astype(dtype), y)
            assert np.isfinite(learner.decision_function(X)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: recipes.arow(np.inf), "regularisation is inf; it must be positive and finite"),
        (lambda: recipes.corrected_ucwl(3, exploration="x"), "exploration is 'x'; it is a fraction"),
        (lambda: recipes.corrected_ucwl(3, exploration=None), "exploration is None; it is a fraction"),
        (lambda: RateTracker(3, exploration="x"), "exploration is 'x'; a fraction"),
        (lambda: RateTracker(3, n_kept=2.5), "n_kept is 2.5; it is a number of rounds"),
        (lambda: NREst(3, quantile="x"), "quantile is 'x'; it must lie"),
        (lambda: theory.mistake_bound("x", 9, 0.1), "horizon is 'x'; it must be positive"),
        (lambda: theory.mistake_bound(10, 9, "x"), "gamma is 'x'; the exploration rate"),
        (lambda: theory.mistake_bound(10, 9, 0.1, hinge_loss="x"), "hinge_loss is 'x'; it is a sum"),
        (lambda: theory.noise_floor(9, NOISE, gamma="x"), "gamma is 'x'; the exploration rate"),
        (lambda: off_policy_value(LOG, [0, 1], confidence="x"), "confidence is 'x'; it is a probability"),
        (lambda: rates_from_moments(np.eye(2), [0, 1], [1, 0], [1, 1], 2, ridge="x"), "ridge is 'x'; it must be"),
        (lambda: rates_from_moments(np.eye(2), [0, 1], [1, 0], [1, 1], 2, ridge=np.inf), "ridge is inf; it must be"),
    ],
)
def test_of_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "model",
    [
        BanditClassifier(rule=Additive(), signal="value", n_classes=2),
        BanditClassifier(rule=Confidence(), signal="value", n_classes=2),
        BanditClassifier(rule=LeastSquares(), signal="importance_rival", n_classes=2),
        BanditClassifier(rule=SecondOrderPerceptron(), signal="sign", n_classes=2),
        BanditClassifier(rule=SecondOrderPerceptron(), signal="value", n_classes=2),
        OnlineClassifier(SecondOrderPerceptron()),
    ],
)
def test_a_rule_whose_steps_the_signal_does_not_take_is_refused(model):
    learn = model.play if isinstance(model, BanditClassifier) else model.fit
    with pytest.raises(ValueError, match=r"does not go with .*; 'value' takes LeastSquares\(\)"):
        learn(np.eye(2), [0, 1])
    assert not hasattr(model, "table_")
