"""The command line: data on stdout, talk on stderr, exit code 2 and one clear sentence for bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisewise.audit import LabelAudit

app = typer.Typer(
    name="noisewise",
    help="Learn what is true from labels, clicks and sensors that are not.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def noisewise(version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False) -> None:
    """Learn what is true from labels, clicks and sensors that are not."""
    if version:
        import noisewise

        typer.echo(noisewise.__version__)
        raise typer.Exit


@app.command()
def audit(
    data: Annotated[
        str | None, typer.Argument(help="CSV, TSV, Parquet or JSON-lines file with a header; - reads CSV from stdin.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="Name of the column that holds the labels.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for audit.csv and audit.html.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the headline numbers as JSON.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Audit the digits of scikit-learn with 20 % wrong labels.")
    ] = False,
) -> None:
    """Find the rows of a table whose labels are probably wrong.

    Prints the worst rows, and writes all of them to audit.csv and a report to audit.html.
    """
    from noisewise.audit import audit_labels, read_labelled, write_whole

    if demo == (data is not None):
        raise ValueError("name one data file (noisewise audit data.csv --label y), or --demo")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; name a folder for audit.csv and audit.html")
    if demo:
        X, y, truth = _demonstration()
        say("scikit-learn's 1,797 handwritten digits, 20 % of the labels changed by chance")
    else:
        X, y = read_labelled(str(data), label)
        truth = None
    say(f"auditing {len(y):,} rows ...")
    result = audit_labels(X, y)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(result.to_frame("polars").write_csv(), out / "audit.csv")
    result.to_html(
        out / "audit.html", title="Label audit: " + ("digits" if demo else Path(str(data)).name), truth=truth
    )
    _print_audit(result, truth, as_json)
    say(
        f"wrote {out / 'audit.csv'} (all rows, worst first) and {out / 'audit.html'} (the report; open it in a browser)"
    )


@app.command()
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


@app.command()
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


def say(sentence: str) -> None:
    """Talk to the person, not to the pipe."""
    typer.echo(sentence, err=True)


def _demonstration() -> tuple[Any, Any, Any]:
    """Digits with exactly 20 % of the labels changed to another digit."""
    import numpy as np
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    changed = rng.choice(len(truth), round(0.2 * len(truth)), replace=False)
    y = truth.copy()
    y[changed] = (y[changed] + rng.integers(1, 10, len(changed))) % 10
    return X, y, truth


def _print_audit(result: LabelAudit, truth: Any, as_json: bool) -> None:
    found = None if truth is None else result.found(truth)
    if as_json:
        typer.echo(json.dumps(result.summary() | ({"demonstration": found} if found else {})))
        return
    for note in result.notes:
        say(f"note: {note}")
    wrong = result.expected_errors
    if wrong.low > 0:
        say(f"about {wrong:,.0f} labels look wrong ({wrong.low:,.0f} to {wrong.high:,.0f})")
        say(f"{len(result.picked):,} rows are worth a look; the worst are")
    else:
        say(f"label noise is not proven: between 0 and {wrong.high:,.0f} labels may be wrong; the most doubtful are")
    typer.echo(f"{'row':>8}  {'observed':<16}{'suggested':<16}P(label is right)")
    for row in result.order[:10]:
        observed, suggested = result.classes[result.observed[row]], result.suggested[row]
        typer.echo(f"{row:>8}  {observed!s:<16.15}{suggested!s:<16.15}{result.probability[row]:.3f}")
    if found:
        n = found["wrong"]
        say(f"{found['found']} of the {n} changed labels ({found['found'] / n:.0%}) are among the {n} worst rows")


def main() -> None:
    """Run a command; bad input ends with one sentence and exit code 2."""
    try:
        sys.exit(app(standalone_mode=False))
    except (ValueError, ImportError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if not hasattr(error, "format_message"):  # usage errors of the parser know how to say what is wrong
            raise
        _fail(error.format_message())


def _fail(sentence: str) -> None:
    say(f"noisewise: {' '.join(sentence.split())}")
    sys.exit(2)


if __name__ == "__main__":
    main()
