"""`noisewise fit` and `noisewise predict`: classifiers in model files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli import completion
from noisewise.cli.talk import noting, say, working


def fit(
    data: completion.Data,
    label: completion.Label = None,
    estimator: Annotated[
        str,
        typer.Option(
            "--estimator",
            "-e",
            help="A classifier of noisewise.labels, a simple one of scikit-learn, or a label recipe like arow.",
            autocompletion=completion.estimators,
        ),
    ] = "RobustRidgeClassifier",
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")] = Path("model.nw"),
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Fit a noise-robust classifier to noisy labels and save it to a model file."""
    from sklearn.pipeline import make_pipeline

    from noisewise._files import check_folder
    from noisewise._progress import reporting
    from noisewise.cli.estimators import estimator_named
    from noisewise.persistence import save
    from noisewise.tables import TableEncoder, read_labelled

    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file for the model, such as {out / 'model.nw'}")
    check_folder(out.parent, "the model file")
    chosen = estimator_named(estimator, seed)
    _check_storable(chosen, estimator)
    table = read_labelled(data, label, say=say)
    with working(f"fitting {type(chosen).__name__} to {len(table.labels):,} rows") as progress, reporting(progress, ""):
        model = make_pipeline(TableEncoder(), chosen).fit(table.features, table.labels)
    for note in model[0].notes_:
        say(f"note: {note}")
    out.parent.mkdir(parents=True, exist_ok=True)
    save(model, out)
    noise = getattr(chosen, "noise_", None)
    found = {"model": str(out), "classes": [str(name) for name in model.classes_]}
    if noise is not None:
        found["flip_matrix"] = noise.matrix.round(4).tolist()
    typer.echo(json.dumps(found) if as_json else "\n".join(f"{name}: {value}" for name, value in found.items()))


def _check_storable(chosen: Any, name: str) -> None:
    """Refuse what a model file can't hold before it is fitted."""
    from tempfile import TemporaryDirectory

    from noisewise.persistence import save

    with TemporaryDirectory() as folder:
        try:
            save(chosen, Path(folder) / "model.nw")
        except ValueError:
            raise ValueError(
                f"a model file can't hold {name}; classifiers of noisewise, label recipes like arow, and simple ones "
                "of scikit-learn such as LogisticRegression can be stored"
            ) from None


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that `noisewise fit` wrote.")],
    data: Annotated[str, typer.Argument(help="File with the same columns; - reads stdin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of CSV.")] = False,
) -> None:
    """Print the most probable true label of every row of a table, and its probability where the model has one.

    Where the model learnt numbers or dates, what can't be read as such is taken as missing, with a note.
    """
    import numpy as np

    from noisewise.persistence import load
    from noisewise.tables import read_table

    fitted = load(model)
    frame = read_table(data, say)
    columns: dict[str, Any] = {"row": np.arange(frame.height)}
    with noting():
        columns["predicted"] = fitted.predict(frame)
        if hasattr(fitted, "predict_proba"):
            columns["probability"] = fitted.predict_proba(frame).max(axis=1)
    predictions = type(frame)({name: values.tolist() for name, values in columns.items()})
    typer.echo(predictions.write_ndjson() if as_json else predictions.write_csv(), nl=False)
