"""`noisewise fit` and `noisewise predict`: classifiers in model files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli._talk import say


def fit(
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, Parquet or JSON-lines file with a header; - reads CSV from stdin.")
    ],
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="Name of the column that holds the labels.")
    ] = None,
    estimator: Annotated[
        str, typer.Option("--estimator", "-e", help="A classifier of noisewise.labels, or a label recipe like arow.")
    ] = "RobustRidgeClassifier",
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")] = Path("model.nw"),
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Fit a classifier through noisy labels and keep it in a model file."""
    from sklearn.pipeline import make_pipeline

    from noisewise.audit import read_labelled
    from noisewise.datasets import TableEncoder
    from noisewise.persistence import save

    chosen = _estimator(estimator)
    X, y = read_labelled(data, label)
    say(f"fitting {type(chosen).__name__} to {len(y):,} rows ...")
    model = make_pipeline(TableEncoder(), chosen).fit(X, y)
    for note in model[0].notes_:
        say(f"note: {note}")
    save(model, out)
    noise = getattr(chosen, "noise_", None)
    found = {"model": str(out), "classes": [str(name) for name in model.classes_]}
    if noise is not None:
        found["flip_matrix"] = noise.matrix.round(4).tolist()
    typer.echo(json.dumps(found) if as_json else "\n".join(f"{name}: {value}" for name, value in found.items()))


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that `noisewise fit` wrote.")],
    data: Annotated[str, typer.Argument(help="File with the same columns; - reads CSV from stdin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of CSV.")] = False,
) -> None:
    """Print the most probable true label of every row of a table, and its probability where the model has one."""
    import numpy as np

    from noisewise.audit import read_table
    from noisewise.persistence import load

    fitted = load(model)
    frame = read_table(data)
    columns: dict[str, Any] = {"row": np.arange(frame.height), "predicted": fitted.predict(frame)}
    if hasattr(fitted, "predict_proba"):
        columns["probability"] = fitted.predict_proba(frame).max(axis=1)
    predictions = type(frame)({name: values.tolist() for name, values in columns.items()})
    typer.echo(predictions.write_ndjson() if as_json else predictions.write_csv(), nl=False)


def _estimator(name: str) -> Any:
    """A classifier by its public name, or a recipe that learns from labels."""
    from difflib import get_close_matches

    from noisewise import labels
    from noisewise.online import OnlineClassifier, recipes

    from_labels = ("perceptron", "mpa", "mcw", "mscw", "arow", "nherd")
    makers = {name: getattr(labels, name) for name in labels.__all__ if hasattr(getattr(labels, name), "fit")}
    makers |= {OnlineClassifier.__name__: OnlineClassifier} | {name: getattr(recipes, name) for name in from_labels}
    if name not in makers:
        near = get_close_matches(name, makers, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(makers)}"
        raise ValueError(f"there is no estimator {name!r}; {hint}")
    return makers[name]()
