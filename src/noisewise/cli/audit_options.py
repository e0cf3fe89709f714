"""Options that `audit` and `review` have in common."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from noisewise.cli import completion
from noisewise.cli.label_options import Missing


class LabelsAre(StrEnum):
    """What a label is: a judgement of what the row shows, or an outcome that the row only hints at."""

    judgements = "judgements"
    outcomes = "outcomes"


Separator = Annotated[
    str | None, typer.Option("--separator", help='What joins several tags in a label, as ";"; "" if nothing does.')
]
MergeLabels = Annotated[
    bool, typer.Option("--merge-labels", help="Merge labels that differ in case, spaces or a misspelt letter.")
]
Ordered = Annotated[
    str | None,
    typer.Option("--ordered", help="Classes from low to high, as none,mild,severe; or numbers, where they are."),
]
MissingLabels = Annotated[
    Missing | None, typer.Option("--missing", help="Rows without a label: leave them out, or predict their labels.")
]
Target = Annotated[
    str | None, typer.Option("--target", help="Column of numbers to audit.", autocompletion=completion.columns)
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Score rows out of fold by another classifier: of `fit -e`, of scikit-learn, or svc, knn, forest ...",
        autocompletion=completion.estimators,
    ),
]
Probabilities = Annotated[
    list[str] | None,
    typer.Option(
        "--probabilities",
        help="Out-of-fold probabilities of your own model, .npy, .npz, CSV or Parquet; several models one by one.",
    ),
]
Classes = Annotated[
    str | None, typer.Option("--classes", help="Text file: the classes in the order of the columns, one a line.")
]
LabelKind = Annotated[
    LabelsAre | None,
    typer.Option("--labels-are", help="What the labels are; without it both readings are shown."),
]
Encoder = Annotated[
    str | None,
    typer.Option("--encoder", help="What embeds texts or pictures: wordllama, words (hashed), hog, or an .onnx file."),
]
ImageColumn = Annotated[
    str | None,
    typer.Option(
        "--image-column",
        help="Column of the paths of pictures, where it is not found by itself.",
        autocompletion=completion.columns,
    ),
]
Annotator = Annotated[
    str | None,
    typer.Option("--annotator", "-a", help="Column of who gave each label.", autocompletion=completion.columns),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="Column of groups (patients, users): rows of one group never judge each other.",
        autocompletion=completion.columns,
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Random seed.")]


def check_labels(ordered: str | None, missing: Missing | None, otherwise: bool) -> None:
    """Refuse options on the classes of a label column where the labels are not such a column."""
    if otherwise and (ordered is not None or missing is not None):
        raise ValueError(
            "--ordered and --missing are for the classes of a label column, not for --separator, --target and "
            "--probabilities"
        )
