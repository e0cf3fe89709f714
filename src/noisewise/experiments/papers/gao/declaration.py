"""Gao, Yang and Zhou: On the Robustness of Nearest Neighbor with Noisy Data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisewise.experiments.harness.spec import Experiment, Paper
from noisewise.experiments.papers.gao import figures, tables
from noisewise.experiments.papers.gao.methods import METHODS
from noisewise.experiments.papers.gao.tables import (
    ALL_ROWS,
    BIG,
    CLASSES,
    KERNEL_CAPPED,
    MOST_ROWS,
    NEIGHBORS,
    NOISES,
    OURS,
    REVERSED,
    SMALL,
)
from noisewise.experiments.papers.gao.tasks import accuracy, grouping, influence, rates_by_voters, soft_chessboard
from noisewise.experiments.papers.gao.weak_ridge import weak_ridge

BENCHMARK: dict[str, list[Any]] = {
    "dataset": [*SMALL, *BIG],
    "noise": [*NOISES, *(noise[::-1] for noise in NOISES[:2])],
    "method": [*METHODS, "rnn-oracle"],
    "repeat": list(range(40)),
    "rows": [MOST_ROWS, ALL_ROWS],
}
SPLITS = {name: values for name, values in BENCHMARK.items() if name != "method"}
QUICK: dict[str, list[Any]] = {"dataset": SMALL, "repeat": [0, 1]}


def _different(settings: Mapping[str, Any]) -> bool:
    """Groupings that are no mirror image of another; of ten classes into five and five, as the paper says."""
    n_classes, group = CLASSES[settings["dataset"]], settings["group"]
    return bool(group < 2 ** (n_classes - 1) and (n_classes < 10 or group.bit_count() == n_classes // 2))


def _affordable(settings: Mapping[str, Any]) -> bool:
    """All rows, but for searches for neighbours in 300 columns and for kernel machines of the largest sets."""
    name, method = settings["dataset"], settings.get("method", "rnn")
    slow = (name == "w8a" and method in NEIGHBORS) or (name in KERNEL_CAPPED and "ksvm" in method)
    rows = ALL_ROWS if name in BIG and not slow else MOST_ROWS
    noise = tuple(settings["noise"])[:: -1 if name in REVERSED else 1]
    return bool(settings["rows"] == rows and noise in NOISES and not (name in BIG and method in OURS))


def _rnn_only(settings: Mapping[str, Any]) -> bool:
    return settings["method"] == "rnn" and _affordable(settings)


PAPER = Paper(
    "gao",
    "robust nearest neighbours (Gao, Yang, Zhou)",
    [
        Experiment(
            "figure-1",
            "Figure 1: k-NN on the soft chessboard",
            soft_chessboard,
            {"noise": figures.CHESSBOARD, "rows": [4000], "repeat": list(range(40))},
            figures.figure_1,
            quick={"repeat": list(range(20))},
        ),
        Experiment(
            "figure-1c",
            "Figure 1 (c): 1-NN as rows grow",
            soft_chessboard,
            {"noise": figures.SYMMETRIC, "rows": [500, 1000, 2000, 4000, 8000], "repeat": list(range(40))},
            figures.figure_1c,
            quick={"repeat": list(range(3))},
        ),
        Experiment("table-1", "Table 1: the sets", accuracy, {}, tables.table_1),
        Experiment(
            "table-2",
            "Table 2: accuracy",
            accuracy,
            BENCHMARK,
            tables.table_2,
            quick=QUICK,
            keep=_affordable,
            revision=2,
        ),
        Experiment(
            "table-2-ue",
            "Table 2: UE-LLog with a weak ridge",
            weak_ridge,
            SPLITS,
            tables.table_2_weak_ridge,
            quick=QUICK,
            keep=_affordable,
        ),
        Experiment(
            "figure-2",
            "Figure 2: Nemenyi's test",
            accuracy,
            BENCHMARK,
            figures.figure_2,
            quick=QUICK,
            keep=_affordable,
            revision=2,
        ),
        Experiment(
            "table-3",
            "Table 3: noise found",
            accuracy,
            BENCHMARK,
            tables.table_3,
            quick=QUICK,
            keep=_rnn_only,
            revision=2,
        ),
        Experiment(
            "table-3-voters",
            "Table 3 against the number of voters k'",
            rates_by_voters,
            SPLITS,
            tables.table_3_by_voters,
            quick={"dataset": SMALL, "repeat": list(range(4))},
            keep=_affordable,
        ),
        Experiment(
            "figure-3",
            "Figures 3 to 5: influence of k, of k' and of the number of rows",
            influence,
            {
                "dataset": ["fourclass", "landsat", "letter", "magic04"],
                "noise": NOISES,
                "repeat": list(range(40)),
                "rows": [ALL_ROWS],
            },
            figures.figures_3_to_5,
            quick={"repeat": [0]},
        ),
        Experiment(
            "groupings",
            "Which classes make up the two of a set with more",
            grouping,
            {"dataset": list(CLASSES), "group": list(range(1, 512))},
            tables.groupings,
            keep=_different,
        ),
        Experiment(
            "bundled",
            "The same methods on sets that come with scikit-learn",
            accuracy,
            {**BENCHMARK, "dataset": ["breast_cancer", "digits"], "repeat": list(range(8))},
            tables.bundled,
            quick={"repeat": [0]},
            keep=_affordable,
            revision=2,
        ),
    ],
    notes=f"""Means over folds of four, ten repetitions in the full protocol; columns in [-1, 1]; IR, LD and UE get the
true noise rates, as in the paper. IR-KSVM and LD-KSVM have LIBSVM's default width, with which fourclass is at 0.8 as
printed; with width and C chosen on clean labels after noisy training, as print says of the width, it is at 1.00: the
rows "tuned". C is 10: on seven small sets 1, 3 and 10 are equally near to print, vehicle, german and pendigits
decided. AROW and NHERD have no intercept: with one fourclass would be at 0.77 instead of the printed 0.69, the rows
"intercept". Width and C were chosen after two looks at all sets but mushroom, usps, magic04, w8a and shuttle, the
intercept after one at fourclass, german, splice, w8a, usps, heart and magic04, the weak ridge of UE-LLog after one at
optdigits, ionosphere, heart, splice and landsat. All rows are used, but for {MOST_ROWS:,} of w8a by neighbours and
kernel machines, and of shuttle by kernel machines. optdigits are the digits 1 and 3: no other two have the paper's
1,143 rows; letter has its first 15,000. The positive class of diabetes is that of the LIBSVM file, the healthy ones:
with the other one the rates of Table 3 are exchanged. Which classes make up the two of a larger set was looked for at
(0.1, 0.2) by 15-NN and logistic regression (the table of groupings, 2,500 rows), then among the nearest with all
rows; the other noises and methods judge it. k and k' are selected on held-out observed labels in the column RNN; the
oracle picks them on the clean test labels. Tolerances set here: 0.03 for means over ten sets, 0.06 for rates beside
print.""",
)
