"""How single formulas are set beside what they should be."""

from __future__ import annotations

from noisewise.experiments.harness.blocks import Block, Comparison, Entry, Printed, Text
from noisewise.experiments.harness.rows import Rows

LEMMAS = {  # what, greatest or least over the settings, limit, side
    "bias_h": ("Lemma 1: bias of h", max, 1e-12, "most"),
    "bias_h_printed": ("the algorithms' h as printed: greatest bias", max, 0.5, "least"),
    "bias_H": ("Lemma 2: bias of H", max, 1e-12, "most"),
    "bias_H_printed": ("the algorithms' H as printed: least bias", min, 0.5, "least"),
    "off_moments": ("Lemma 3: exact second moments, distance from enumeration", max, 1e-9, "most"),
    "looseness": ("Lemma 3: printed bound over the exact moment, least", min, 1.0, "least"),
}
LIMITS: dict[str, tuple[float, float, str]] = {  # limit, tolerance, side
    "T3 surrogate kernel, full covariance: z": (3.5, 0.0, "most"),
    "T4 eq. (8) with the variance: z": (3.5, 0.0, "most"),
    "T4 eq. (8) with the deviation, as printed: z": (20.0, 0.0, "least"),
    "T5 Lemma 1, mean: z": (3.5, 0.0, "most"),
    "T5 Lemma 1, mean of N at p = 2": (1.0, 0.01, "near"),
    "T5 Lemma 1, second moment over its formula": (1.0, 0.03, "near"),
    "T6 five series, 60 terms: greatest error": (1e-6, 0.0, "most"),
    "T7 map of (1 + t)^3: z": (3.5, 0.0, "most"),
    "T7 map of exp(t): z": (3.5, 0.0, "most"),
    "T7 map of the Gaussian kernel: z": (3.5, 0.0, "most"),
    "T7 map of the Gaussian kernel, as printed: z": (20.0, 0.0, "least"),
    "T8 copies in a round, Gaussian kernel, p = 2": (6.0, 0.12, "near"),
    "T9 squared length of a map over its formula": (1.0, 0.03, "near"),
    "T21 variance of one random term": (5.00, 0.5, "near"),
    "T21 variance by roulette": (0.70, 0.07, "near"),
}


def lemmas(rows: Rows, printed: Printed) -> list[Block]:
    """Lemmas 1 to 3 over all noises and exploration rates, five labels."""
    entries = [
        Entry(
            (what,),
            ours=float(chosen(rows.values(name))) if len(rows) else None,
            verified=limit,
            side=side,
        )
        for name, (what, chosen, limit, side) in LEMMAS.items()
    ]
    said = """The claim of O(√T) "in the high noise case" does not hold: its condition is that the rates vanish with the
horizon. With constant rates the bound grows as T^(2/3) at best (`noisewise.online.theory.corollary`)."""
    return [Comparison("Enumerated over labels and flips", ["formula"], entries), Text(said)]


def formulas(rows: Rows, printed: Printed) -> list[Block]:
    """Right forms stay within 3.5 standard errors (z), printed ones leave 20."""
    entries = [
        Entry(
            (name,),
            ours=rows.where(formula=name).mean("value"),
            verified=limit,
            tolerance=tolerance,
            side=side,
        )
        for name, (limit, tolerance, side) in LIMITS.items()
    ]
    said = """T20, equal weights by the literal and the fast form of Algorithm 4 and its speed, is a test of the library
(`tests/features/test_unknown_noise.py`)."""
    return [Comparison("Formulas against closed forms", ["formula"], entries), Text(said)]
