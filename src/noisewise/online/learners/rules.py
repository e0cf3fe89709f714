"""Update rules: their objectives and parameters; the arithmetic is in `_loops.rules`.

With the signed example phi = s (x) x, a rule maps the margin m = mu.phi and its variance v = phi' Sigma phi to a step
(alpha, beta): mu += alpha Sigma phi and Sigma -= beta (Sigma phi)(Sigma phi)'. First-order rules have Sigma = I.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import NamedTuple

from noisewise._deprecation import renamed
from noisewise._loops import state as codes
from noisewise._validation import check_number


class RuleParameters(NamedTuple):
    """A rule as the loops read it."""

    rule: int
    variant: int = codes.PLAIN
    shrink: int = codes.DROP
    project: bool = False
    step: float = inf
    phi: float = 0.0
    ridge: float = 1.0
    variance: float = 1.0
    second_order: bool = True
    joint: bool = False


class _OldNames:
    numbers = renamed("numbers", "parameters")


@dataclass(frozen=True)
class Additive(_OldNames):
    """Add the signal times the example, mu += phi: Perceptron, Banditron.

    References
    ----------
    .. [1] Rosenblatt, F. (1958). The perceptron: a probabilistic model for information storage and organization in the
       brain. Psychological Review 65(6), 386-408.

    Examples
    --------
    >>> Additive()
    Additive()
    """

    def parameters(self) -> RuleParameters:
        """The parameters that the loops read."""
        return RuleParameters(codes.ADDITIVE, second_order=False)


@dataclass(frozen=True)
class PassiveAggressive(_OldNames):
    """Passive-aggressive step (PA): the least change of the weights to a margin of one.

    Minimises 1/2 ||w - mu||^2 + C xi ("I") or + C xi^2 ("II") subject to w.phi >= 1 - xi and xi >= 0. With the hinge
    loss l = max(0, 1 - m), alpha is min(C, l / v) or l / (v + 1 / (2C)); PA has C = inf.

    References
    ----------
    .. [1] Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S., Singer, Y. (2006). Online passive-aggressive
       algorithms. Journal of Machine Learning Research 7, 551-585. Figure 1.

    Examples
    --------
    >>> PassiveAggressive(C=0.02)
    PassiveAggressive(C=0.02, variant='I')
    """

    C: float = inf
    variant: str = "I"

    def __post_init__(self) -> None:
        _check_positive("C", self.C)
        _check_variant(self.variant, ("I", "II"))

    def parameters(self) -> RuleParameters:
        """The parameters that the loops read."""
        kind = codes.PLAIN if inf == self.C else codes.CAPPED if self.variant == "I" else codes.SQUARED
        return RuleParameters(codes.PASSIVE_AGGRESSIVE, kind, step=self.C, second_order=False)


@dataclass(frozen=True)
class Confidence(_OldNames):
    """Confidence-weighted step (CW, SCW): the margin is right with probability `confidence` [eta].

    Minimises KL(N(w, S) || N(mu, Sigma)) + C l ("I") or + C l^2 ("II") with the loss l = max(0, q sqrt(phi' S phi) -
    w.phi), q being the eta-quantile of the normal distribution. C = inf is confidence-weighted learning, finite `C` its
    soft form.

    References
    ----------
    .. [1] Dredze, M., Crammer, K., Pereira, F. (2008). Confidence-weighted linear classification. ICML 25, 264-271.
    .. [2] Crammer, K., Dredze, M., Kulesza, A. (2009). Multi-class confidence weighted algorithms. EMNLP, 496-504.
    .. [3] Wang, J., Zhao, P., Hoi, S. C. H. (2012). Exact soft confidence-weighted learning. ICML 29. Propositions 1
       and 2.

    Examples
    --------
    >>> Confidence(confidence=0.75, C=0.125)
    Confidence(confidence=0.75, C=0.125, variant='I')
    """

    confidence: float = 0.75
    C: float = inf
    variant: str = "I"

    def __post_init__(self) -> None:
        wanted = "it is a probability above 0.5 and below 1"
        check_number("confidence", self.confidence, lambda probability: 0.5 < probability < 1, wanted)
        _check_positive("C", self.C)
        _check_variant(self.variant, ("I", "II"))

    def parameters(self) -> RuleParameters:
        """The parameters that the loops read."""
        kind = codes.CAPPED if self.variant == "I" or inf == self.C else codes.SQUARED
        return RuleParameters(codes.CONFIDENCE, kind, step=self.C, phi=NormalDist().inv_cdf(self.confidence))


@dataclass(frozen=True)
class Adaptive(_OldNames):
    """Adaptive regularisation of weights (AROW); a larger `regularisation` [r] takes smaller steps.

    Minimises KL(N(w, S) || N(mu, Sigma)) + max(0, 1 - w.phi)^2 / (2r) + phi' S phi / (2r). `variant` says how a
    diagonal covariance stays diagonal: "drop" (the diagonal of the full update) or "project" (the diagonal of its
    inverse, which minimises the objective over diagonal S). A full covariance needs neither.

    References
    ----------
    .. [1] Crammer, K., Kulesza, A., Dredze, M. (2009). Adaptive regularization of weight vectors. NeurIPS 22, 414-422.

    Examples
    --------
    >>> Adaptive(regularisation=10.0)
    Adaptive(regularisation=10.0, variant='drop')
    """

    regularisation: float = 1.0
    variant: str = "drop"

    def __post_init__(self) -> None:
        _check_finite("regularisation", self.regularisation)
        _check_variant(self.variant, ("drop", "project"))

    def parameters(self) -> RuleParameters:
        """The parameters that the loops read."""
        shrink = codes.INVERSE if self.variant == "project" else codes.DROP
        return RuleParameters(codes.ADAPTIVE, shrink=shrink, ridge=self.regularisation)


@dataclass(frozen=True)
class Herd(_OldNames):
    """Gaussian herding (NHERD): the linear map of N(mu, Sigma) by which each weight vector takes its own PA-II step.

    Each vector w of the distribution moves to the minimum of 1/2 (z - w)' inv(Sigma) (z - w) + C/2 max(0, 1 - z.phi)^2.
    `variant` says how a diagonal covariance stays diagonal: "project" (the diagonal of its inverse), "drop" (the
    diagonal of the full update) or "exact" (the best diagonal map). A full covariance needs none of them.

    References
    ----------
    .. [1] Crammer, K., Lee, D. D. (2010). Learning via Gaussian herding. NeurIPS 23, 451-459.

    Examples
    --------
    >>> Herd(C=0.1, variant="exact")
    Herd(C=0.1, variant='exact')
    """

    C: float = 1.0
    variant: str = "project"

    def __post_init__(self) -> None:
        _check_finite("C", self.C)
        _check_variant(self.variant, ("project", "drop", "exact"))

    def parameters(self) -> RuleParameters:
        """The parameters that the loops read."""
        shrink = {"project": codes.INVERSE, "drop": codes.DROP, "exact": codes.EXACT}[self.variant]
        return RuleParameters(codes.HERD, shrink=shrink, step=self.C)


@dataclass(frozen=True)
class LeastSquares(_OldNames):
    """Recursive least squares with a `ridge` penalty [lambda]; `projection` keeps scores within [-1, 1] (Confidit).

    Minimises sum_t (y_t - w.x_t)^2 + lambda ||w||^2 over the rounds of each class. With a diagonal covariance every
    feature is regressed as if it were alone.

    References
    ----------
    .. [1] Li, L., Chu, W., Langford, J., Schapire, R. E. (2010). A contextual-bandit approach to personalized news
       article recommendation. WWW 19, 661-670. Algorithm 1.
    .. [2] Crammer, K., Gentile, C. (2013). Multiclass classification with bandit feedback using adaptive
       regularization. Machine Learning 90(3), 347-383.

    Examples
    --------
    >>> LeastSquares(ridge=1.0, projection=True)
    LeastSquares(ridge=1.0, projection=True)
    """

    ridge: float = 1.0
    projection: bool = False

    def __post_init__(self) -> None:
        _check_ridge(self.ridge)

    def parameters(self) -> RuleParameters:
        """The parameters that the loops read."""
        return RuleParameters(
            codes.LEAST_SQUARES, shrink=codes.ALONE, project=bool(self.projection), variance=1 / self.ridge
        )


@dataclass(frozen=True)
class SecondOrderPerceptron(_OldNames):
    """Perceptron steps along the inverse correlation matrix of past updates plus `ridge` times the identity [a] (SOBA).

    With the sum theta of the updates g and the matrix A = a I + sum z z' of their scaled outer products, the weights of
    all classes are inv(A) theta. `variant` "published" keeps A whole (a full covariance: memory and time grow with the
    square of classes times features) or its diagonal, so that each weight is theta / A. "recursive" updates the weights
    themselves, mu += (1 - m) beta Sigma phi, with a matrix for each class or its diagonal: the same where A is whole,
    but with a diagonal the steps shrink as a row's margin m nears 1, which withstands false positives far better.

    References
    ----------
    .. [1] Cesa-Bianchi, N., Conconi, A., Gentile, C. (2005). A second-order perceptron algorithm. SIAM Journal on
       Computing 34(3), 640-668.
    .. [2] Beygelzimer, A., Orabona, F., Zhang, C. (2017). Efficient online bandit multiclass learning with
       O(sqrt(T)) regret. ICML 34, 488-497. Algorithm 1.

    Examples
    --------
    >>> SecondOrderPerceptron()
    SecondOrderPerceptron(ridge=1.0, variant='published')
    """

    ridge: float = 1.0
    variant: str = "published"

    def __post_init__(self) -> None:
        _check_ridge(self.ridge)
        _check_variant(self.variant, ("published", "recursive"))

    def parameters(self) -> RuleParameters:
        """The parameters that the loops read."""
        published = self.variant == "published"
        shrink = codes.RATIO if published else codes.DROP
        return RuleParameters(codes.SECOND_ORDER, shrink=shrink, variance=1 / self.ridge, joint=published)


Rule = Additive | PassiveAggressive | Confidence | Adaptive | Herd | LeastSquares | SecondOrderPerceptron


def _check_positive(name: str, number: float) -> None:
    check_number(name, number, lambda number: number > 0, "it must be positive")


def _check_finite(name: str, number: float) -> None:
    check_number(name, number, lambda number: 0 < number < inf, "it must be positive and finite")


def _check_ridge(ridge: float) -> None:
    wanted = "it must be positive, and at least 1e-30 and at most 1e+30"  # its inverse is a variance, also in float32
    check_number("ridge", ridge, lambda ridge: 1e-30 <= ridge <= 1e30, wanted)


def _check_variant(variant: str, known: tuple[str, ...]) -> None:
    if variant not in known:
        raise ValueError(f"variant is {variant!r}; known are {', '.join(map(repr, known))}")
