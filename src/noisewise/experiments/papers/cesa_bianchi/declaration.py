"""Cesa-Bianchi, Shalev-Shwartz and Shamir: online learning of noisy data."""

from __future__ import annotations

from noisewise.experiments.harness.spec import Experiment, Paper
from noisewise.experiments.papers.cesa_bianchi import other_noises, tables, tasks
from noisewise.experiments.papers.formulas.tables import formulas
from noisewise.experiments.papers.formulas.tasks import FORMULAS, feature_formula

TEN = list(range(10))
PAPER = Paper(
    "cesa_bianchi",
    "online learning of noisy data (Cesa-Bianchi, Shalev-Shwartz, Shamir)",
    [
        Experiment("figure-1", "Figure 1: a kernel and its cut mixture", tasks.two_worlds, {}, tables.figure_1),
        Experiment("figure-2", "Figure 2: smoothed losses", tasks.two_worlds, {}, tables.figure_2),
        Experiment(
            "gradients",
            "T1, T2: gradients without bias",
            tasks.gradient_bias,
            {
                "noise": ["gauss", "laplace"],
                "method": ["two copies", "same copy twice", "one copy, 2 Sigma w", "one copy, Sigma w as printed"],
                "draws": [400_000],
            },
            tables.gradients,
        ),
        Experiment(
            "formulas",
            "T3 to T9 and T21: formulas, right and as printed",
            feature_formula,
            {"formula": list(FORMULAS)},
            formulas,
        ),
        Experiment(
            "p1",
            "P1: regret on clean rows",
            tasks.regret_on_clean_rows,
            {
                "method": ["clean", "two copies", "one copy", "one copy as printed", "naive"],
                "rounds": [2000, 4000, 8000, 16_000, 32_000],
                "repeat": TEN,
            },
            tables.p1,
        ),
        Experiment(
            "p1-noises",
            "P1 with other noise: Laplace, masking, heteroscedastic",
            other_noises.regret_by_noise,
            {
                "noise": ["laplace", "masking", "heteroscedastic"],
                "method": ["clean", "two copies", "one copy", "naive"],
                "rounds": [32_000],
                "repeat": TEN,
            },
            tables.p1_noises,
        ),
        Experiment(
            "bounds",
            "Theorems 3, 5, 6 and 7: regret beside its bound",
            tasks.kernel_regret,
            {"theorem": list(tables.THEOREMS), "rounds": [500, 2000], "repeat": list(range(5))},
            tables.bounds,
            quick={"rounds": [500], "repeat": [0]},
        ),
        Experiment(
            "p2",
            "P2: excess risk and the step",
            tasks.excess_risk,
            {"method": list(tables.P2), "rounds": [16_000], "repeat": TEN},
            tables.p2,
        ),
        Experiment(
            "p3",
            "P3: linear rules on real rows",
            tasks.clean_score,
            {
                "dataset": ["diabetes_progression", "make_california_like"],
                "noise": [0.3, 0.6, 1.0],
                "method": ["clean", "noisy", "mean of 2", "one copy", "two copies"],
                "repeat": list(range(20)),
            },
            tables.p3,
            keep=lambda settings: settings["dataset"] == "diabetes_progression" or settings["repeat"] < 8,
        ),
        Experiment(
            "p4",
            "P4: smooth functions",
            tasks.smooth,
            {
                "dataset": ["make_sine", "make_noisy_moons", "make_friedman_small"],
                "noise": [0.3, 0.4],
                "method": [*tables.P4, *tables.P4_KERNELS],
                "repeat": list(range(3)),
            },
            tables.p4,
            keep=lambda settings: settings["noise"] == (0.4 if settings["dataset"] == "make_noisy_moons" else 0.3),
        ),
        Experiment(
            "p5",
            "P5: Algorithm 4, noise unknown",
            tasks.unknown_noise,
            {
                "method": [*tables.P5, "roulette, absolute loss"],
                "rounds": [20_000],
                "repeat": list(range(6)),
            },
            tables.p5,
            quick={"repeat": [0]},
        ),
        Experiment(
            "p5-labels",
            "P5 with classes: losses of the margin",
            other_noises.unknown_noise_labels,
            {
                "method": ["exponential", "hinge", "logistic", *other_noises.MEANS],
                "rounds": [20_000],
                "repeat": list(range(6)),
            },
            tables.p5_labels,
            quick={"repeat": [0], "rounds": [5000]},
        ),
        Experiment(
            "p6",
            "P6: what one copy can't do",
            tasks.two_worlds,
            {
                "world": ["A", "B"],
                "method": ["one copy", "two copies"],
                "rounds": [20_000],
                "repeat": list(range(20)),
            },
            tables.p6,
            quick={"repeat": [0, 1]},
        ),
    ],
    notes="""The paper prints no tables. Its two figures are drawn from its formulas, and its algorithms are run by six
protocols (P1 to P6) with numbers that were checked by an independent implementation. Rows come from generators of
`noisewise.datasets` or come with scikit-learn: no data folder is needed. The limits of the two batch learners in P2 are
set here.""",
)
