"""`fit` and `predict`: classifiers by name, kept in model files."""

import json

import polars as pl
import pytest

from noisewise import load
from noisewise.cli.estimators import estimator_named


@pytest.mark.parametrize("estimator", ["RobustRidgeClassifier", "arow", "logistic"])
def test_a_fitted_model_predicts_the_same_later(run, iris, estimator):
    done = run("fit", "iris.csv", "-l", "species", "-e", estimator, "-o", "new/iris.nw", "--json", cwd=iris)
    assert json.loads(done.stdout)["classes"] == ["setosa", "versicolor", "virginica"]
    done = run("predict", "new/iris.nw", "iris.parquet", cwd=iris)
    predicted = pl.read_csv(done.stdout.encode())["predicted"].to_list()
    loaded = load(iris / "new" / "iris.nw")
    assert predicted == loaded.predict(pl.read_csv(iris / "iris.csv")).tolist()
    if estimator == "RobustRidgeClassifier":
        assert predicted[3] == "setosa"
    done = run("predict", "new/iris.nw", "iris.csv", "--json", cwd=iris)
    assert [json.loads(line)["predicted"] for line in done.stdout.splitlines()] == predicted


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "iris.csv", "-l", "species", "-e", "RobustRidge"], "did you mean 'RobustRidgeClassifier'?"),
        (["fit", "iris.csv", "-l", "species", "-e", "CrowdLabelling"], "there is no estimator 'CrowdLabelling'"),
        (["fit", "iris.csv", "-l", "species", "-o", "iris.csv/model.nw"], "iris.csv is a file"),
        (["fit", "iris.csv", "-l", "species", "-o", "."], "name a file for the model"),
        (["fit", "iris.csv", "-l", "species", "-e", "RandomForestClassifier"], "can't hold RandomForestClassifier; "),
        (["fit", "iris.csv", "-l", "species", "-e", "svc"], "a model file can't hold svc; classifiers of noisewise"),
        (["predict", "iris.csv", "iris.csv"], "iris.csv"),
    ],
)
def test_fit_and_predict_refuse_with_one_sentence(run, iris, arguments, sentence):
    done = run(*arguments, cwd=iris)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert "fitting" not in done.stderr  # before any work is done


def test_predict_takes_what_is_no_number_as_missing(run, iris):
    run("fit", "iris.csv", "-l", "species", "-o", "iris.nw", cwd=iris)
    rows = pl.read_csv(iris / "iris.csv")[:3].drop("species")
    width = pl.col("sepal width")
    rows.with_columns(width.cast(pl.String).replace("3.0", "?")).write_csv(iris / "odd.csv")
    rows.with_columns(pl.when(width == 3.0).then(None).otherwise(width).alias("sepal width")).write_csv(
        iris / "gap.csv"
    )
    odd, gap = run("predict", "iris.nw", "odd.csv", cwd=iris), run("predict", "iris.nw", "gap.csv", cwd=iris)
    assert odd.returncode == 0
    assert odd.stdout == gap.stdout
    assert odd.stderr == "note: column 'sepal width' holds 1 value other than numbers ('?'): taken as missing\n"
    assert not gap.stderr


def test_classifiers_have_names():
    assert type(estimator_named("RobustKNeighborsClassifier")).__module__.startswith("noisewise")
    assert type(estimator_named("knn")).__name__ == "KNeighborsClassifier"
    assert estimator_named("RandomForestClassifier", seed=3).random_state == 3
    assert hasattr(estimator_named("svc"), "predict_proba")
    with pytest.raises(ValueError, match="did you mean 'LogisticRegression'"):
        estimator_named("LogisticRegresion")
