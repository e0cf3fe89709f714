"""How far to move: configuration of the rules whose arithmetic lives in the compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import NamedTuple

from noisewise._loops import state as codes
from noisewise._validation import check_number


class RuleNumbers(NamedTuple):
    """What a loop needs to know of a rule."""

    rule: int
    variant: int = codes.PLAIN
    shrink: int = codes.DROP
    project: bool = False
    step: float = inf
    phi: float = 0.0
    ridge: float = 1.0
    variance: float = 1.0
    second_order: bool = True


@dataclass(frozen=True)
class Additive:
    """Add the signal times the example: Perceptron, Banditron.

    >>> Additive()
    Additive()
    """

    def numbers(self) -> RuleNumbers:
        """The rule as numbers."""
        return RuleNumbers(codes.ADDITIVE, second_order=False)


@dataclass(frozen=True)
class PassiveAggressive:
    """Move just far enough for a margin of one; `variant` "I" caps the step at `C`, "II" softens it by 1/(2C).

    >>> PassiveAggressive(C=0.02)
    PassiveAggressive(C=0.02, variant='I')
    """

    C: float = inf
    variant: str = "I"

    def __post_init__(self) -> None:
        _check_positive("C", self.C)
        _check_variant(self.variant, ("I", "II"))

    def numbers(self) -> RuleNumbers:
        """The rule as numbers."""
        kind = codes.PLAIN if inf == self.C else codes.CAPPED if self.variant == "I" else codes.SQUARED
        return RuleNumbers(codes.PASSIVE_AGGRESSIVE, kind, step=self.C, second_order=False)


@dataclass(frozen=True)
class Confidence:
    """Change the weights' distribution least so that the margin is right with probability `confidence` [eta].

    `C` limits the step: infinite is confidence-weighted learning (CW), finite its soft form (SCW-I or SCW-II).

    >>> Confidence(confidence=0.75, C=0.125)
    Confidence(confidence=0.75, C=0.125, variant='I')
    """

    confidence: float = 0.75
    C: float = inf
    variant: str = "I"

    def __post_init__(self) -> None:
        wanted = "it is a probability above 0.5 and below 1"
        check_number("confidence", self.confidence, lambda chance: 0.5 < chance < 1, wanted)
        _check_positive("C", self.C)
        _check_variant(self.variant, ("I", "II"))

    def numbers(self) -> RuleNumbers:
        """The rule as numbers."""
        kind = codes.CAPPED if self.variant == "I" or inf == self.C else codes.SQUARED
        return RuleNumbers(codes.CONFIDENCE, kind, step=self.C, phi=NormalDist().inv_cdf(self.confidence))


@dataclass(frozen=True)
class Adaptive:
    """Adaptive regularisation of weights (AROW); a larger `regularisation` [r] takes smaller steps.

    >>> Adaptive(regularisation=10.0)
    Adaptive(regularisation=10.0)
    """

    regularisation: float = 1.0

    def __post_init__(self) -> None:
        _check_finite("regularisation", self.regularisation)

    def numbers(self) -> RuleNumbers:
        """The rule as numbers."""
        return RuleNumbers(codes.ADAPTIVE, ridge=self.regularisation)


@dataclass(frozen=True)
class Herd:
    """Gaussian herding (NHERD): each weight vector of a normal herd takes its own softened step of strength `C`.

    `variant` says how a diagonal covariance stays diagonal: "project" (the diagonal of its inverse), "drop" (the
    diagonal of the full update) or "exact" (the best diagonal map). A full covariance needs none of them.

    >>> Herd(C=0.1, variant="exact")
    Herd(C=0.1, variant='exact')
    """

    C: float = 1.0
    variant: str = "project"

    def __post_init__(self) -> None:
        _check_finite("C", self.C)
        _check_variant(self.variant, ("project", "drop", "exact"))

    def numbers(self) -> RuleNumbers:
        """The rule as numbers."""
        shrink = {"project": codes.INVERSE, "drop": codes.DROP, "exact": codes.EXACT}[self.variant]
        return RuleNumbers(codes.HERD, shrink=shrink, step=self.C)


@dataclass(frozen=True)
class LeastSquares:
    """Recursive least squares with a `ridge` penalty [lambda]; `projection` keeps scores within [-1, 1] (Confidit).

    With a diagonal covariance every feature is regressed as if it were alone.

    >>> LeastSquares(ridge=1.0, projection=True)
    LeastSquares(ridge=1.0, projection=True)
    """

    ridge: float = 1.0
    projection: bool = False

    def __post_init__(self) -> None:
        _check_ridge(self.ridge)

    def numbers(self) -> RuleNumbers:
        """The rule as numbers."""
        return RuleNumbers(
            codes.LEAST_SQUARES, shrink=codes.ALONE, project=bool(self.projection), variance=1 / self.ridge
        )


@dataclass(frozen=True)
class SecondOrderPerceptron:
    """Perceptron steps along the inverse correlation of past updates, from `ridge` times the identity [a] (SOBA).

    >>> SecondOrderPerceptron()
    SecondOrderPerceptron(ridge=1.0)
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        _check_ridge(self.ridge)

    def numbers(self) -> RuleNumbers:
        """The rule as numbers."""
        return RuleNumbers(codes.SECOND_ORDER, variance=1 / self.ridge)


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
