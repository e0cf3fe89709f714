"""Signals s, one value per class: positive promotes, negative demotes; a rule then updates along s (x) x.

These functions are the definitions; the compiled loops compute the one or two entries that are not zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise._loops import state as codes
from noisewise._typing import Floats
from noisewise.noise import FlipMatrix
from noisewise.online.learners.decision import check_feedback, check_probabilities


def corrected_feedback(feedback: int, noise: FlipMatrix | None = None) -> float:
    """Unbiased feedback [h]: (f - rho0) / (1 - rho0 - rho1), whose expectation over the flips is the true feedback.

    References
    ----------
    .. [1] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Lemma 1 (Eq. 4).
    .. [2] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy labels. NeurIPS 26,
       1196-1204.

    Examples
    --------
    >>> round(corrected_feedback(1, FlipMatrix.binary(false_positive=0.2, false_negative=0.3)), 3)
    1.6
    """
    observed = check_feedback(feedback)
    if noise is None:
        return float(observed)
    return float(noise.unbiased_targets(np.array([observed]))[0, 1])


def label_signal(n_classes: int, true: int, greedy: int) -> Floats:
    """e_true - e_greedy, the multiclass Perceptron's; zero where the guess was right.

    References
    ----------
    .. [1] Crammer, K., Singer, Y. (2003). Ultraconservative online algorithms for multiclass problems. Journal of
       Machine Learning Research 3, 951-991.

    Examples
    --------
    >>> label_signal(3, true=2, greedy=0)
    array([-1.,  0.,  1.])
    """
    return _one_hot(n_classes, true, 1) - _one_hot(n_classes, greedy, 1)


def rival_signal(scores: ArrayLike, true: int) -> Floats:
    """e_true - e_rival, with the rival argmax_{k != true} score_k (the max-score prediction-based update).

    References
    ----------
    .. [1] Crammer, K., Singer, Y. (2003). Ultraconservative online algorithms for multiclass problems. Journal of
       Machine Learning Research 3, 951-991.

    Examples
    --------
    >>> rival_signal([0.1, 0.7, 0.3], true=1)
    array([ 0.,  1., -1.])
    """
    others = np.array(scores, dtype=float)
    others[_one_hot(len(others), true, 1) > 0] = -np.inf
    return label_signal(len(others), true, int(np.argmax(others)))


def importance_signal(
    n_classes: int, action: int, greedy: int, probability: float, feedback: int, noise: FlipMatrix | None = None
) -> Floats:
    """h(f) / P(action) e_action - e_greedy: Banditron's and RCNBF's; its expectation is `label_signal`.

    References
    ----------
    .. [1] Kakade, S. M., Shalev-Shwartz, S., Tewari, A. (2008). Efficient bandit algorithms for online multiclass
       prediction. ICML 25, 440-447. Algorithm 1.
    .. [2] Agarwal, M., Manwani, N. (2021). Learning multiclass classifier under noisy bandit feedback. PAKDD 25.
       Algorithm 1 (Eq. 5).

    Examples
    --------
    >>> importance_signal(3, action=2, greedy=0, probability=0.25, feedback=1)
    array([-1.,  0.,  4.])
    """
    weight = corrected_feedback(feedback, noise) / float(check_probabilities(probability))
    return _one_hot(n_classes, action, weight) - _one_hot(n_classes, greedy, 1)


def sign_signal(n_classes: int, action: int, feedback: int) -> Floats:
    """+e_action after positive feedback, -e_action after negative feedback.

    With noise the steps of both signs are mixed by h and 1 - h, since a rule need not be linear in the signal.

    References
    ----------
    .. [1] Ngo, H., Luciw, M., Vien, N. A., Schmidhuber, J. (2013). Upper confidence weighted learning for efficient
       exploration in multiclass prediction with binary feedback. IJCAI 23. Algorithm 1.

    Examples
    --------
    >>> sign_signal(3, action=1, feedback=0)
    array([ 0., -1.,  0.])
    """
    return _one_hot(n_classes, action, 1 if check_feedback(feedback) else -1)


def _one_hot(n_classes: int, index: int, value: float) -> Floats:
    if not 0 <= index < n_classes:
        raise ValueError(f"a class is {index}; the {n_classes} classes are numbered from 0 to {n_classes - 1}")
    signal = np.zeros(n_classes)
    signal[index] = value
    return signal


SIGNALS = {
    "label": codes.LABEL,
    "rival": codes.RIVAL,
    "importance": codes.IMPORTANCE,
    "sign": codes.SIGN,
    "value": codes.VALUE,
    "importance_rival": codes.IMPORTANCE_RIVAL,
}
LABEL_SIGNALS = ("label", "rival")
FEEDBACK_SIGNALS = ("importance", "sign", "value", "importance_rival")
OWN_RULES = {codes.VALUE: codes.LEAST_SQUARES, codes.IMPORTANCE_RIVAL: codes.SECOND_ORDER}  # whose steps they take


def signal_code(signal: str | Callable[..., Any], known: tuple[str, ...]) -> int:
    """The loop's code of a signal, by its name or its function."""
    name = signal if isinstance(signal, str) else str(getattr(signal, "__name__", signal)).removesuffix("_signal")
    if name not in known:
        raise ValueError(f"signal is {name!r}; known are {', '.join(map(repr, known))}")
    return SIGNALS[name]


def check_pair(signal: int, code: int, rule: Any) -> None:
    """Refuse a rule whose steps a signal does not take."""
    if code != OWN_RULES.get(signal, code) or (code == codes.SECOND_ORDER and signal not in OWN_RULES):
        name = next(name for name, known in SIGNALS.items() if known == signal)
        raise ValueError(
            f"the signal {name!r} does not go with {rule!r}; 'value' takes LeastSquares(), 'importance_rival' takes "
            "SecondOrderPerceptron(), and all others any rule but that"
        )
