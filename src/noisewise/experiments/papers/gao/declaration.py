"""Gao, Yang and Zhou: On the Robustness of Nearest Neighbor with Noisy Data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisewise.experiments.harness.spec import Experiment, Paper
from noisewise.experiments.papers.gao import checked, choices, figures, protocol, tables
from noisewise.experiments.papers.gao.density_ratio import CENTRES
from noisewise.experiments.papers.gao.folds import CUTS, FOLDS, NOISES
from noisewise.experiments.papers.gao.methods import CAPACITY, CHOSEN_BY, HERDING, METHODS
from noisewise.experiments.papers.gao.protocol import CLASSES, EITHER_WAY
from noisewise.experiments.papers.gao.tables import (
    ALL_ROWS,
    BIG,
    OURS,
    REVERSED,
    SMALL,
    SMALL_ROWS,
)
from noisewise.experiments.papers.gao.tasks import accuracy, grouping, influence, rates_by_voters, soft_chessboard
from noisewise.experiments.papers.gao.weak_ridge import weak_ridge

BENCHMARK: dict[str, list[Any]] = {
    "dataset": [*SMALL, *BIG],
    "noise": [*NOISES, *(noise[::-1] for noise in NOISES[:2])],
    "method": [*METHODS, "rnn-oracle"],
    "repeat": list(range(40)),
    "rows": [SMALL_ROWS, ALL_ROWS],
}
SPLITS = {name: values for name, values in BENCHMARK.items() if name != "method"}
BESIDE = {
    "ir-llog-ridge": BIG,
    "nherd-chosen": BIG,
    "ld-ksvm-default": ["landsat", "letter"],
}  # other forms on larger sets
QUICK: dict[str, list[Any]] = {"dataset": SMALL, "repeat": [0, 1]}


def _affordable(settings: Mapping[str, Any]) -> bool:
    """Forms of the baselines that print does not have: the smaller sets, one repetition; some once on larger sets."""
    name, method = settings["dataset"], settings.get("method", "rnn")
    rows = ALL_ROWS if name in BIG else SMALL_ROWS
    noise = tuple(settings["noise"])[:: -1 if name in REVERSED else 1]
    beside = method in OURS and settings["repeat"] >= (FOLDS if name in SMALL else name in BESIDE.get(method, ()))
    wanted = noise in NOISES or (name in EITHER_WAY and settings.get("method") == "ir-llog" and noise[::-1] in NOISES)
    return bool(settings["rows"] == rows and wanted and not beside)


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
            revision=6,
        ),
        Experiment(
            "protocol",
            "What the numbers of Table 2 tell of its protocol",
            accuracy,
            BENCHMARK,
            protocol.protocol,
            quick=QUICK,
            keep=_affordable,
            revision=6,
        ),
        Experiment(
            "table-2-check",
            "Table 2: means over ten sets as an independent check had them",
            checked.checked,
            {
                "dataset": SMALL,
                "noise": NOISES,
                "method": checked.CHECKED,
                "repeat": list(range(40)),
                "rows": [SMALL_ROWS],
            },
            checked.means,
            quick={"repeat": [0, 1, 2, 3]},
        ),
        Experiment(
            "table-2-ue",
            "Table 2: UE-LLog with a weak ridge",
            weak_ridge,
            SPLITS,
            tables.table_2_weak_ridge,
            quick=QUICK,
            keep=_affordable,
            revision=5,
        ),
        Experiment(
            "figure-2",
            "Figure 2: Nemenyi's test",
            accuracy,
            BENCHMARK,
            figures.figure_2,
            quick=QUICK,
            keep=_affordable,
            revision=6,
        ),
        Experiment(
            "table-3",
            "Table 3: noise found",
            accuracy,
            BENCHMARK,
            tables.table_3,
            quick=QUICK,
            keep=_rnn_only,
            revision=6,
        ),
        Experiment(
            "table-3-voters",
            "Table 3 against the number of voters k'",
            rates_by_voters,
            SPLITS,
            tables.table_3_by_voters,
            quick={"dataset": SMALL, "repeat": list(range(4))},
            keep=_affordable,
            revision=5,
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
            revision=5,
        ),
        Experiment(
            "selection",
            "What k and k' are selected on",
            choices.selection,
            SPLITS,
            choices.selections,
            quick=QUICK,
            keep=_affordable,
        ),
        Experiment(
            "herding",
            "NHERD against its C",
            choices.herding,
            SPLITS,
            choices.herdings,
            quick=QUICK,
            keep=_affordable,
        ),
        Experiment(
            "cuts",
            "Where the prices of housing are cut",
            choices.cuts,
            {"dataset": ["housing"], "cut": choices.CUTS_TRIED, "noise": NOISES, "repeat": list(range(40))},
            choices.cut_prices,
            quick={"repeat": list(range(8))},
        ),
        Experiment(
            "scales",
            "Columns in [0, 1] or in [-1, 1]",
            choices.scales,
            {"dataset": choices.TOLD, "noise": NOISES, "repeat": [0], "rows": [ALL_ROWS]},
            choices.either_scale,
        ),
        Experiment(
            "groupings",
            "Which classes make up the two of a set with more",
            grouping,
            {"dataset": list(CLASSES)},
            protocol.groupings,
            revision=6,
        ),
    ],
    notes=f"""Means over folds of four, ten repetitions in the full protocol; IR, LD and UE get the true noise rates, as
in the paper. What print leaves out was looked for in its numbers (`noisewise reproduce gao protocol`, `groupings`,
`scales`, `selection`, `herding`, `cuts`):

- Importance reweighting has its posterior from density ratios: P(y) p(x|y) / p(x), the ratio of either class fitted
  by KLIEP with {CENTRES} Gaussians, at the training rows themselves. With a posterior of left-out rows it does not
  break down at (0.4, 0.4) as in print (the rows "ridge").
- Kernel machines have C = {CAPACITY:g} and LIBSVM's default width, by the number of columns; the weights of LD are
  alpha and 1 - alpha. With the width that is best on clean labels, which print names, fourclass is at 1.00 and not at
  0.81 (the rows "tuned"); with C = 1 german and splice are above print, landsat and letter below it ("default").
- Logistic regression has hardly a ridge: C = {CAPACITY:g} with density ratios, and 0.1 to 10 for UE-LLog, by held-out
  labels.
- AROW and NHERD are those of LIBOL: two classes, one weight vector, a full covariance, no intercept. r of AROW is from
  2^-4 to 2^4, by four-fold cross-validation on observed labels; C of NHERD is {1 / HERDING:g} throughout, which is
  as near to print as what cross-validation chooses (the rows "nherd-chosen", which have fewer repeats: in the same ones
  51 and 52 of 57 cells are near), and nearer than any other (the part on its C).
- Columns are in [-1, 1] (in [0, 1] for magic04, mushroom, optdigits, usps and w8a), but standardised in german,
  housing, landsat, pendigits and segment, where print's AROW hardly depends on which label is flipped more often:
  columns of mean zero make it so without an intercept. vehicle has principal components, each in [-1, 1]. cancer has
  a constant for print's tenth column, the number of the sample in the LIBSVM file, which hardly varies in [-1, 1].
- vehicle are buses and saabs, optdigits the digits 1 and 3, letter has its first 15,000 rows: the only ones with the
  numbers of rows that print shows. The positive class of diabetes is the healthy one, as in the LIBSVM file.
  housing is cut at a price of {CUTS["housing"]:g}, which is nearest to print; its median is 21.2.
- pendigits is taken as 5 to 9 against 0 to 4; segment, of seven classes, as the first three and the second half of
  the fourth against the others; shuttle as the classes with odd numbers; landsat, usps and letter have the nearest to
  print.
- k and k' of RNN are selected on the clean test labels, as print seems to have done: with held-out observed labels, and
  with held-out clean labels of the training rows, RNN stays below print (the part on what k and k' are selected on).
  RNN with held-out selection, which alone is a fair method, stands beside it with its difference from print and its
  verified bounds.
- Each printed number is compared once: RNN with the selection of print, UE-LLog with a ridge by held-out labels. RNN
  with held-out selection and UE-LLog with one weak ridge are shown beside print without a verdict on it, and the page
  says how many of their cells would agree.
- Table 2 is printed with four digits and shown so; one rule judges it and counts the cells of every form. Half of the
  last digit, by which a printed mean and a printed deviation may be off, would change no verdict.
- Means over the ten smaller sets were verified by an independent check with all columns in [-1, 1]. Its notes do not
  name the two groups of vehicle and optdigits; the first declaration of this experiment, of the same days, drew halves
  of all their classes at random and cut housing at the median. The part on the check has its sets so, apart from those
  of Table 2.

Groups were chosen by 15-NN, a linear method and AROW at (0.1, 0.2) and (0.3, 0.1) (the table of groupings); columns by
RNN and AROW, after some twenty looks at all noises; [0, 1] by LD and AROW of three sets, in twenty looks; the grid of
AROW is LIBOL's. The form of IR, LD and UE was chosen by every second set of Table 1 (heart, housing, diabetes,
fourclass, splice, segment, mushroom, pendigits, magic04, shuttle): some 25 forms of the weights, 80 pairs of C and
width, eight grids for UE; the positive group of pendigits and segment by IR-LLog. C of NHERD was chosen by the same
sets, of nine, after 18 looks at ranges of C with cross-validation and with LIBOL's count of online errors, none of
which is nearer, nor is for AROW. Looked at and left as they were: eight ways to select k and k', seven to get
Table 3 (the last, k' as the oracle has it, is near in half of the cells), nine scales of magic04, landsat and vehicle,
the groups of usps, pendigits and landsat with a kernel machine beside, and r of AROW and C of NHERD selected on the
test labels, in one look, which explain none of vehicle, magic04 and landsat.
The cut of housing was chosen by RNN, UE-LLog and AROW, by three looks at nine cuts each: repeats 0 to 15 and repeats 16
to 39, which both have their minimum at 20.5 (the full run of the part on cuts), and columns in [-1, 1], further from
print than standardised ones with every cut from 19.5; some thirty looks before had left it at the median. IR-KSVM,
IR-LLog, LD-KSVM and NHERD, which served no choice, agreed in 11 of 12 cells with 20.5, and in 9 with the median, in ten
repeats; Table 3 in 6 of 6 with either. The half of segment's grass was chosen by the table of groupings, which has the
nearest grouping, and its positive group by IR-LLog, in three looks; of what served no choice, in three repeats Table 3
gained a cell by it and LD-KSVM lost one, and so did RNN at (0.4, 0.4).
Ten further looks changed no choice. r of AROW up to 2^12 on eleven sets has no value that brings vehicle to print in
ten repeats; in forty it is within print's std with the r chosen here. C of IR-LLog from 1 to 10^5, and KLIEP's search
of a width down to 0.001, as its published code has it, change no verdict on the ten sets by which the forms were chosen
(IR-KSVM of shuttle was not tried); IR-LLog without an intercept is further from print on fourclass and splice. IR-LLog
of shuttle and w8a has not all of print with the other group as the positive one, nor without weights. Groups by RNN,
UE-LLog and AROW themselves over four folds, a look for each set: of landsat, pendigits and shuttle the nearest is the
group here, its complement, or one that differs in classes of a few rows; of usps it is 0 2 6 8 9, but of 17 cells of
IR, NHERD, UE-LLog and Table 3, which served no choice, 7 are near print with it and 14 with the group here, in two
repeats, so that it was left. NHERD against C on five sets: six of the cells that differ have print's mean with C = 16,
the largest of the grid, and say so; no one C has all sets.
A mean of more repeats is allowed to be off by less: with ten on the smaller sets and one to three on larger ones 514 of
573 numbers were within tolerance, and with these, forty, as print says, and one to ten, there are fewer.
What served no choice and judges them: IR and LD on the other sets (but LD of optdigits and usps, and IR-LLog of
ionosphere and optdigits, at which C = {CAPACITY:g} was looked at too), NHERD on the other sets, and Table 3. All rows
are used; parameters of UE-LLog and AROW are chosen by at most {CHOSEN_BY:,}.
Tolerances set here: 0.03 for means over ten sets, 0.06 for rates beside print.""",
)
