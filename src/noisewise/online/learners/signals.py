"""What a round says about each class: positive promotes, negative demotes, zero says nothing.

These functions are the definitions; the compiled loops use the same numbers for the one or two classes that matter.
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
    """Feedback whose mean over the noise is the true one [h]: (f - rho0) / (1 - rho0 - rho1).

    >>> round(corrected_feedback(1, FlipMatrix.binary(false_positive=0.2, false_negative=0.3)), 3)
    1.6
    """
    heard = check_feedback(feedback)
    if noise is None:
        return float(heard)
    return float(noise.unbiased_targets(np.array([heard]))[0, 1])


def label_signal(n_classes: int, true: int, greedy: int) -> Floats:
    """e_true - e_greedy: the Perceptron's; nothing where the guess was right.

    >>> label_signal(3, true=2, greedy=0)
    array([-1.,  0.,  1.])
    """
    return _only(n_classes, true, 1) - _only(n_classes, greedy, 1)


def rival_signal(scores: ArrayLike, true: int) -> Floats:
    """e_true - e_rival, the rival being the best of the wrong classes.

    >>> rival_signal([0.1, 0.7, 0.3], true=1)
    array([ 0.,  1., -1.])
    """
    others = np.array(scores, dtype=float)
    others[_only(len(others), true, 1) > 0] = -np.inf
    return label_signal(len(others), true, int(np.argmax(others)))


def importance_signal(
    n_classes: int, action: int, greedy: int, probability: float, feedback: int, noise: FlipMatrix | None = None
) -> Floats:
    """h(f) / P(action) e_action - e_greedy: Banditron's and RCNBF's; its mean is that of `label_signal`.

    >>> importance_signal(3, action=2, greedy=0, probability=0.25, feedback=1)
    array([-1.,  0.,  4.])
    """
    weight = corrected_feedback(feedback, noise) / float(check_probabilities(probability))
    return _only(n_classes, action, weight) - _only(n_classes, greedy, 1)


def sign_signal(n_classes: int, action: int, feedback: int) -> Floats:
    """+e_action if it was called right, -e_action if it was called wrong.

    With noise the steps of both answers are mixed by h and 1 - h, since a rule need not be linear in the signal.

    >>> sign_signal(3, action=1, feedback=0)
    array([ 0., -1.,  0.])
    """
    return _only(n_classes, action, 1 if check_feedback(feedback) else -1)


def _only(n_classes: int, place: int, value: float) -> Floats:
    if not 0 <= place < n_classes:
        raise ValueError(f"a class is {place}; the {n_classes} classes are numbered from 0 to {n_classes - 1}")
    signal = np.zeros(n_classes)
    signal[place] = value
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
