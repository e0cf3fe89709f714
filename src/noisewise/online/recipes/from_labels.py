"""Recipes of online classifiers that learn from labels."""

from __future__ import annotations

from noisewise.online.learners.online_classifier import OnlineClassifier
from noisewise.online.learners.rules import Adaptive, Additive, Confidence, Herd, PassiveAggressive


def perceptron() -> OnlineClassifier:
    """Multiclass Perceptron: after a mistake, w_true += x and w_guess -= x.

    References
    ----------
    .. [1] Rosenblatt, F. (1958). The perceptron: a probabilistic model for information storage and organization in the
       brain. Psychological Review 65(6), 386-408.
    .. [2] Crammer, K., Singer, Y. (2003). Ultraconservative online algorithms for multiclass problems. Journal of
       Machine Learning Research 3, 951-991.

    Examples
    --------
    >>> perceptron().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1]).mistakes_
    1
    """
    return OnlineClassifier(Additive(), signal="label")


def mpa(C: float = 1.0, variant: str = "I") -> OnlineClassifier:
    """Multiclass passive-aggressive learning (PA-I, PA-II; PA for C = inf), against the best wrong class.

    References
    ----------
    .. [1] Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S., Singer, Y. (2006). Online passive-aggressive
       algorithms. Journal of Machine Learning Research 7, 551-585.

    Examples
    --------
    >>> mpa(C=0.1).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).coef_
    array([[ 0.1, -0.1],
           [-0.1,  0.1]])
    """
    return OnlineClassifier(PassiveAggressive(C, variant))


def mcw(confidence: float = 0.75, covariance: str = "diagonal") -> OnlineClassifier:
    """Multiclass confidence-weighted learning, for clean labels: rows are right with probability `confidence` [eta].

    References
    ----------
    .. [1] Dredze, M., Crammer, K., Pereira, F. (2008). Confidence-weighted linear classification. ICML 25, 264-271.
    .. [2] Crammer, K., Dredze, M., Kulesza, A. (2009). Multi-class confidence weighted algorithms. EMNLP, 496-504.

    Examples
    --------
    >>> mcw(confidence=0.9).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).predict([[2.0, 1.0]]).tolist()
    ['a']
    """
    return OnlineClassifier(Confidence(confidence), covariance=covariance)


def mscw(
    confidence: float = 0.75, C: float = 1.0, variant: str = "I", covariance: str = "diagonal"
) -> OnlineClassifier:
    """Multiclass soft confidence-weighted learning (SCW-I, SCW-II): `mcw` with slack, for noisy labels.

    References
    ----------
    .. [1] Dredze, M., Crammer, K., Pereira, F. (2008). Confidence-weighted linear classification. ICML 25, 264-271.
    .. [2] Crammer, K., Dredze, M., Kulesza, A. (2009). Multi-class confidence weighted algorithms. EMNLP, 496-504.
    .. [3] Wang, J., Zhao, P., Hoi, S. C. H. (2012). Exact soft confidence-weighted learning. ICML 29.

    Examples
    --------
    >>> mscw(C=0.03).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).n_updates_
    2
    """
    return OnlineClassifier(Confidence(confidence, C, variant), covariance=covariance)


def arow(regularisation: float = 1.0, covariance: str = "diagonal", variant: str = "drop") -> OnlineClassifier:
    """Adaptive regularisation of weights (AROW); raise `regularisation` [r] with the noise.

    `variant` "drop" or "project" says how a diagonal covariance stays diagonal; see `Adaptive`.

    References
    ----------
    .. [1] Crammer, K., Kulesza, A., Dredze, M. (2009). Adaptive regularization of weight vectors. NeurIPS 22, 414-422.

    Examples
    --------
    >>> arow(regularisation=10.0).fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).predict([[1.0, 2.0]]).tolist()
    ['b']
    """
    return OnlineClassifier(Adaptive(regularisation, variant), covariance=covariance)


def nherd(C: float = 1.0, variant: str = "project", covariance: str = "diagonal") -> OnlineClassifier:
    """Gaussian herding (NHERD); `variant` "project", "drop" or "exact" for a diagonal covariance, or "full".

    References
    ----------
    .. [1] Crammer, K., Lee, D. D. (2010). Learning via Gaussian herding. NeurIPS 23, 451-459.

    Examples
    --------
    >>> nherd(C=0.1, variant="full").covariance
    'full'
    """
    if variant == "full":
        variant, covariance = "drop", "full"
    return OnlineClassifier(Herd(C, variant), covariance=covariance)
