"""`noisewise audit`: data on stdout, talk on stderr, one sentence and exit code 2 for bad input."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier


@pytest.mark.parametrize("name", ["iris.csv", "iris.parquet", "iris.jsonl", "iris.tsv"])
def test_every_kind_of_file_gives_the_same_audit(run, iris, name):
    done = run("audit", name, "--label", "species", cwd=iris)
    assert done.returncode == 0, done.stderr
    assert "'grower' has 50 missing values" in done.stderr
    audit = pl.read_csv(iris / "audit.csv")
    assert audit.columns == ["row", "observed", "suggested", "probability"]
    assert audit.height == 150
    assert {3, 110} <= set(audit["row"][:5])
    assert "<title>Label audit" in (iris / "audit.html").read_text()


def test_json_is_all_there_is_on_stdout(run, iris):
    done = run("audit", "-", "--label", "species", "--json", cwd=iris, stdin=(iris / "iris.csv").read_text())
    summary = json.loads(done.stdout)
    assert summary["rows"] == 150
    assert summary["classes"] == ["setosa", "versicolor", "virginica"]
    low, high = summary["expected_errors_interval"]
    assert low <= summary["expected_errors"] <= high
    assert summary["files"] == ["audit.csv", "patch.csv", "audit.html"]
    assert summary["picked_rows"] == pl.read_csv(iris / "patch.csv")["row"].to_list()
    assert len(summary["picked_rows"]) == summary["picked"]


def test_the_demonstration_knows_the_true_labels(run, tmp_path):
    done = run("audit", "--demo", "--json", "--out", "report", cwd=tmp_path)
    found = json.loads(done.stdout)["demonstration"]
    assert found["wrong"] == 359
    assert found["found"] >= 0.9 * found["wrong"]
    assert "labels were changed on purpose" in (tmp_path / "report" / "audit.html").read_text()


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (
            "a,y\n1,p\n2,q\n",
            ["data.csv", "--label", "z"],
            "no column 'z' in data.csv; the columns are 'a', 'y'",
        ),
        ("a,kind\n1,p\n2,q\n", ["data.csv", "--label", "knd"], "did you mean 'kind'?"),
        ("a,y\n1,p\n2,q\n", ["data.csv"], "which column holds the labels?"),
        ("a,y\n1,p\n2,p\n", ["data.csv", "--label", "y"], "1 class only"),
        ("a,y\n1,p\n2,\n3,q\n", ["data.csv", "--label", "y"], "1 of 3 rows has no label in column 'y'"),
        ("a,y\n1,p\n2,q\n3,r\n4,s\n", ["data.csv", "--label", "y"], "4 distinct values in 4 rows"),
        ("a,y\n", ["data.csv", "--label", "y"], "no rows"),
        ("", ["data.csv", "--label", "y"], "empty"),
        ("a,y,y\n1,p,p\n2,q,q\n", ["data.csv", "--label", "y"], "two columns called 'y'"),
        ("y\np\nq\np\nq\np\nq\n", ["data.csv", "--label", "y"], "one column only"),
        ("a,y\n1,p\n2,q,8,9\n", ["data.csv", "--label", "y"], "can't be read as a table"),
        ("a,y\n1,p\n", ["nowhere.csv", "--label", "y"], "there is no file 'nowhere.csv'"),
        ("a,y\n1,p\n", ["data.csv", "--lable", "y"], "No such option"),
        ("a,y\n1,p\n", ["data.csv", "--label", "y", "--demo"], "name one data file"),
        ("a,y\n1,p\n", ["data.csv", "--label", "y", "--out", "data.csv"], "name a folder"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_writes_nothing(run, tmp_path, content, arguments, sentence):
    (tmp_path / "data.csv").write_text(content)
    done = run("audit", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_precision_cuts_the_rows_everywhere(run, iris):
    done = run("audit", "iris.csv", "-l", "species", "--precision", "0.3", "--seed", "1", "--json", cwd=iris)
    summary = json.loads(done.stdout)
    patch = pl.read_csv(iris / "patch.csv")
    assert patch["row"].to_list() == summary["picked_rows"]
    assert {3, 60, 110} <= set(summary["picked_rows"])
    assert 1 - patch["probability"].mean() >= 0.3
    assert "at 30 % precision" in (iris / "audit.html").read_text()


def test_annotators_have_error_rates_and_are_no_feature(run, iris):
    done = run("audit", "iris.parquet", "-l", "species", "--annotator", "grower", "--json", cwd=iris)
    annotators = json.loads(done.stdout)["annotators"]
    assert {one["annotator"]: one["labels"] for one in annotators} == {"a": 50, "b": 50, "(nobody)": 50}
    assert "grower" not in done.stderr.partition("next:")[0]
    assert "Error rate by annotator" in (iris / "audit.html").read_text()


@pytest.mark.parametrize("model", ["logistic", "RobustKNeighborsClassifier", "svc"])
def test_other_models_judge_out_of_fold(run, iris, model):
    done = run("audit", "iris.parquet", "-l", "species", "--model", model, "--seed", "0", "--json", cwd=iris)
    assert done.returncode == 0, done.stderr
    assert {3, 110} <= set(pl.read_csv(iris / "audit.csv")["row"][:8])


def test_long_labels_are_shown_whole(run, iris):
    names = {"setosa": "the bristly one from the far north", "versicolor": "v", "virginica": "w"}
    pl.read_csv(iris / "iris.csv").with_columns(pl.col("species").replace(names)).write_csv(iris / "long.csv")
    done = run("audit", "long.csv", "-l", "species", cwd=iris)
    assert done.stdout.count("the bristly one from the far north") >= 2
    lines = done.stdout.splitlines()
    assert len({line.rstrip()[:-5].rstrip() and line.index(line.split()[-1]) for line in lines[1:]}) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["iris.csv", "-l", "species", "--precision", "2"], "--precision is 2"),
        (["iris.csv", "-l", "species", "--annotator", "growr"], "did you mean 'grower'?"),
        (["iris.csv", "-l", "species", "--annotator", "species"], "both the labels and who gave them"),
        (["iris.csv", "-l", "species", "--model", "LogisticRegresion"], "did you mean 'LogisticRegression'?"),
        (["iris.csv", "-l", "species", "--model", "arow"], "has no predict_proba"),
        (["iris.csv", "-l", "species", "--engine", "dask"], "--engine dask audits a Parquet file"),
        (["iris.csv", "-l", "species", "--scheduler", "tcp://nobody:1"], "--scheduler is for --engine dask"),
        (["iris.csv", "-l", "species", "--out", "iris.csv/there"], "iris.csv is a file"),
        (["--demo", "--annotator", "who"], "the demonstration has none"),
        (["--demo", "--next", "5", "--precision", "0.5"], "--precision picks the rows of patch.csv, and so do --next"),
        (["--demo", "--reviewed", "nowhere.csv"], "there is no file 'nowhere.csv'"),
        (["iris.csv", "-l", "species", "--reviewed", "iris.csv"], "the columns 'row' and 'decision' are needed"),
    ],
)
def test_options_that_cannot_be_get_one_sentence(run, iris, arguments, sentence):
    before = sorted(iris.iterdir())
    done = run("audit", *arguments, cwd=iris)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(iris.iterdir()) == before


@pytest.fixture
def scored(iris):
    """Beside the iris table: out-of-fold probabilities of two models, its labels, and its classes, as files."""
    table = pl.read_parquet(iris / "iris.parquet")
    X, y = table.drop("species", "grower").to_numpy(), table["species"].to_numpy()
    models = LogisticRegression(max_iter=1000), KNeighborsClassifier(9)
    p, q = (cross_val_predict(model, X, y, cv=5, method="predict_proba") for model in models)
    codes = np.unique(y, return_inverse=True)[1]
    np.save(iris / "p.npy", p)
    np.save(iris / "q.npy", q.astype(np.float16))
    np.save(iris / "y.npy", y.astype(str))
    np.save(iris / "codes.npy", codes)
    np.savez(iris / "one.npz", p)
    np.savez(iris / "both.npz", p_first=p, p_second=q.astype(np.float16), y=y.astype(str))
    np.savez(iris / "other.npz", a=p, b=q)
    pl.DataFrame(p, schema=["setosa", "versicolor", "virginica"]).write_csv(iris / "p.csv")
    pl.DataFrame(p, schema=["setosa", "versicolor", "virginica"]).write_parquet(iris / "p.parquet")
    pl.DataFrame({"species": y}).write_csv(iris / "y.csv")
    pl.DataFrame({"species": y}).write_parquet(iris / "y.parquet")
    (iris / "names.txt").write_text("setosa\nversicolor\nvirginica\n")
    (iris / "text.npy").write_text("no array")
    np.savetxt(iris / "bare.csv", p, delimiter=",")  # NumPy writes no header
    np.savetxt(iris / "bare_codes.txt", codes, fmt="%d")
    pd.DataFrame(p, columns=["setosa", "versicolor", "virginica"]).to_csv(iris / "indexed.csv")
    (iris / "bare_names.csv").write_text("\n".join(y))
    np.save(iris / "column.npy", y.astype(str)[:, None])
    np.save(iris / "bytes.npy", y.astype("S"))
    np.save(iris / "objects.npy", y.astype(object), allow_pickle=True)
    np.save(iris / "models.npy", np.stack([p, q]))
    return iris


@pytest.mark.parametrize(
    "arguments",
    [
        ["--probabilities", "p.npy", "--labels", "y.npy"],
        ["--probabilities", "one.npz", "--labels", "both.npz"],
        ["--probabilities", "p.csv", "--labels", "y.csv"],
        ["--probabilities", "p.parquet", "--labels", "y.parquet"],
        ["--probabilities", "p.npy", "--labels", "codes.npy", "--classes", "names.txt"],
        ["--probabilities", "p.npy", "--labels", "y.npy", "--classes", "names.txt"],
        ["--probabilities", "bare.csv", "--labels", "bare_names.csv"],
        ["--probabilities", "bare.csv", "--labels", "bare_codes.txt", "--classes", "names.txt"],
        ["--probabilities", "models.npy", "--labels", "column.npy"],
        ["--probabilities", "indexed.csv", "--labels", "y.csv"],
        ["--probabilities", "p.npy", "--labels", "bytes.npy"],
        ["iris.csv", "--probabilities", "p.npy", "--label", "species"],
        ["--probabilities", "p.npy", "iris.parquet", "--label", "species", "--annotator", "grower"],
    ],
    ids=" ".join,
)
def test_probabilities_and_labels_come_in_every_kind_of_file(run, scored, arguments):
    done = run("audit", *arguments, "--json", cwd=scored)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["classes"] == ["setosa", "versicolor", "virginica"]
    assert summary["labels_are"] is None
    assert set(summary["readings"]) == {"judgements", "outcomes"}
    assert {3, 110} <= set(pl.read_csv(scored / "audit.csv")["row"][:5])
    text = (scored / "audit.html").read_text()
    assert "Two readings of a wrong label" in text
    assert ("petal length" in text) == ("--label" in arguments)
    assert ("annotators" in summary) == ("--annotator" in arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--probabilities", "p.npy", "q.npy", "--labels", "y.npy"],
        ["--probabilities", "p.npy", "--probabilities", "q.npy", "--labels", "y.npy"],
        ["--probabilities", "both.npz", "--labels", "y.npy"],
        ["--probabilities", "p.npy", "q.npy", "iris.csv", "--label", "species"],
    ],
    ids=" ".join,
)
def test_several_models_are_audited_together(run, scored, arguments):
    from noisewise import audit_probabilities

    done = run("audit", *arguments, "--labels-are", "judgements", "--json", cwd=scored)
    assert done.returncode == 0, done.stderr
    arrays = [np.load(scored / "p.npy"), np.load(scored / "q.npy")]
    wanted = audit_probabilities(arrays, np.load(scored / "y.npy"), labels_are="judgements").summary()
    found = json.loads(done.stdout)
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize("labels_are", [None, "judgements", "outcomes"])
def test_the_screen_tells_both_numbers_unless_a_reading_is_chosen(run, scored, labels_are):
    chosen = [] if labels_are is None else ["--labels-are", labels_are]
    done = run("audit", "--probabilities", "p.npy", "--labels", "y.npy", *chosen, cwd=scored)
    both = labels_are is None
    assert ("if labels are judgements of what the row shows, about" in done.stderr) == both
    assert ("if labels are outcomes that the row only hints at, about" in done.stderr) == both
    assert ("ranked as judgements" in done.stderr) == both
    assert ("Two readings" in (scored / "audit.html").read_text(encoding="utf-8")) == both
    n_picked = pl.read_csv(scored / "patch.csv").height
    assert len(done.stdout.splitlines()) == (1 + min(n_picked, 10) if n_picked else 0)


@pytest.mark.parametrize("labels_are", [[], ["--labels-are", "outcomes"]])
def test_where_no_row_is_worth_a_look_none_is_shown(run, scored, monkeypatch, labels_are):
    from noisewise.audit import LabelAudit

    monkeypatch.setattr(LabelAudit, "picked", np.array([], dtype=np.intp))
    arguments = ("audit", "--probabilities", "p.npy", "iris.csv", "--label", "species", *labels_are)
    done = run(*arguments, cwd=scored)
    assert done.returncode == 0, done.stderr
    assert "no row is worth a look; audit.csv has all of them" in done.stderr
    assert done.stdout == ""
    patch = pl.read_csv(scored / "patch.csv")
    assert patch.height == 0
    assert {"row", "observed", "suggested", "decision"} <= set(patch.columns)
    assert pl.read_csv(scored / "audit.csv").height == 150
    assert (scored / "audit.html").exists()
    summary = json.loads(run(*arguments, "--json", cwd=scored).stdout)
    assert (summary["picked"], summary["picked_rows"]) == (0, [])


def test_no_more_rows_are_shown_than_are_picked(run, iris):
    done = run("audit", "iris.csv", "-l", "species", "--precision", "0.5", cwd=iris)
    n_picked = pl.read_csv(iris / "patch.csv").height
    assert 0 < n_picked < 10
    assert len(done.stdout.splitlines()) == 1 + n_picked


def test_a_file_without_a_header_loses_no_row(run, scored):
    done = run("audit", "--probabilities", "bare.csv", "--labels", "bare_codes.txt", "--json", cwd=scored)
    assert "bare.csv has no header" in done.stderr
    assert "bare_codes.txt has no header" in done.stderr
    with_header = run("audit", "--probabilities", "p.npy", "--labels", "codes.npy", "--json", cwd=scored)
    assert done.stdout == with_header.stdout
    assert "header" not in run("audit", "--probabilities", "p.csv", "--labels", "y.csv", cwd=scored).stderr


@pytest.mark.parametrize("first", [[0, 0, 1], [0.5, 0.5, 0]])
def test_a_file_without_a_header_may_begin_with_equal_numbers(run, scored, first):
    p = np.load(scored / "p.npy")
    p[0] = first
    np.save(scored / "p.npy", p)
    np.savetxt(scored / "bare.csv", p, delimiter=",")
    bare, plain = (
        run("audit", "--probabilities", name, "--labels", "codes.npy", "--json", cwd=scored)
        for name in ("bare.csv", "p.npy")
    )
    assert bare.returncode == 0, bare.stderr
    assert "bare.csv has no header" in bare.stderr
    assert bare.stdout == plain.stdout


def test_numbers_with_decimals_are_no_classes(run, tmp_path):
    rows = "".join(f"{i},{i % 5 / 2}\n" for i in range(60))
    (tmp_path / "prices.csv").write_text("x,price\n" + rows)
    done = run("audit", "prices.csv", "--label", "price", cwd=tmp_path)
    assert done.returncode == 2
    assert "holds numbers with decimals, as 0.5, which are no classes; --target price" in done.stderr


def test_rows_of_a_table_with_probabilities_are_reviewed_with_them(run, scored):
    done = run("audit", "--probabilities", "p.npy", "q.npy", "iris.csv", "--label", "species", cwd=scored)
    assert "noisewise review iris.csv --label species --probabilities p.npy --probabilities q.npy" in done.stderr


def test_a_model_that_saw_the_labels_is_noted(run, scored):
    np.save(scored / "seen.npy", 0.97 * np.eye(3)[np.load(scored / "codes.npy")] + 0.01)
    done = run("audit", "--probabilities", "seen.npy", "--labels", "y.npy", cwd=scored)
    assert done.returncode == 0
    assert "note: the probabilities agree with 100.00 % of the labels" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--probabilities", "p.npy"], "--labels y.npy, or from a column of the rows"),
        (["--probabilities", "p.npy", "iris.csv", "--label", "species", "--labels", "y.npy"], "give one of them"),
        (["--probabilities", "p.npy", "--label", "species"], "one data file; 0 are given"),
        (["--probabilities", "p.csv", "p.csv", "iris.csv", "-l", "species"], "2 are given; tables of more models go"),
        (["--probabilities", "nowhere.npy", "--labels", "y.npy"], "there is no file 'nowhere.npy'"),
        (["--probabilities", "text.npy", "--labels", "y.npy"], "text.npy can't be read as an array"),
        (["--probabilities", "other.npz", "--labels", "y.npy"], "none of them called p_"),
        (["--probabilities", "p.npy", "--labels", "other.npz"], "none of them called y"),
        (["--probabilities", "p.npy", "--labels", "iris.csv"], "iris.csv has 6 columns; one column of labels"),
        (["--probabilities", "p.npy", "--labels", "y.npy", "--annotator", "grower"], "--annotator names a column"),
        (["--probabilities", "p.npy", "--labels", "y.npy", "--classes", "nowhere.txt"], "nowhere.txt: No such file"),
        (["--probabilities", "p.npy", "--labels", "y.npy", "--model", "svc"], "scored rows already"),
        (["--probabilities", "p.npy", "--labels", "p.npy"], "y should be a 1d array"),
        (["--probabilities", "codes.npy", "--labels", "y.npy"], "codes.npy holds an array of shape (150,)"),
        (["--probabilities", "p.npy", "--labels", "objects.npy"], "it holds Python objects, or is no array"),
        (["--probabilities", "p.npy", "--labels", "y.npy", "--issues"], "--issues looks at the rows of a table"),
        (["--probabilities", "p.npy", "--labels", "y.npy", "--merge-labels"], "leave it out"),
        (["iris.csv", "-l", "species", "--labels", "y.npy"], "--labels and --classes are for --probabilities"),
        (["iris.csv", "iris.tsv", "-l", "species"], "name one data file"),
    ],
)
def test_files_of_probabilities_that_cannot_be_get_one_sentence(run, scored, arguments, sentence):
    before = sorted(scored.iterdir())
    done = run("audit", *arguments, cwd=scored)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(scored.iterdir()) == before


@pytest.mark.parametrize("labels_are", [None, "judgements", "outcomes"])
def test_labels_of_a_table_are_read_as_is_said(run, iris, labels_are):
    chosen = ["--labels-are", labels_are] if labels_are else []
    summary = json.loads(run("audit", "iris.csv", "-l", "species", *chosen, "--json", cwd=iris).stdout)
    assert summary["labels_are"] == labels_are
    assert list(summary["readings"]) == ([] if labels_are == "outcomes" else ["judgements", "outcomes"])


def test_decisions_are_taken_in_and_kept_and_the_next_rows_are_others(run, iris):
    first = json.loads(run("audit", "iris.csv", "--label", "species", "--next", "12", "--json", cwd=iris).stdout)
    patch = pl.read_csv(iris / "patch.csv", schema_overrides={"decision": pl.String})
    assert patch["row"].to_list() == first["picked_rows"]
    assert patch.height == 12
    decided = patch.with_columns(decision=pl.when(pl.int_range(12) < 10).then("suggested").otherwise(pl.lit("?")))
    decided.write_csv(iris / "patch.csv")
    done = run("audit", "iris.csv", "--label", "species", "--reviewed", "patch.csv", "--next", "5", "--json", cwd=iris)
    assert done.returncode == 0, done.stderr
    second = json.loads(done.stdout)
    assert second["review"]["reviewed"] == 10
    assert second["review"]["remaining"] <= second["expected_errors"]
    assert not set(second["picked_rows"]) & set(first["picked_rows"])
    again = pl.read_csv(iris / "patch.csv")
    assert again["row"].to_list()[:5] == second["picked_rows"]
    kept = dict(again.drop_nulls("decision").select("row", "decision").iter_rows())
    assert kept == dict(decided.select("row", "decision").iter_rows())


def test_the_screen_tells_how_far_a_review_is(run, iris):
    (iris / "verdicts.json").write_text('{"3": "setosa", "110": "virginica"}')
    done = run("audit", "iris.csv", "--label", "species", "--reviewed", "verdicts.json", cwd=iris)
    assert "2 of 150 rows were reviewed" in done.stderr
    assert "50 rows to review next" in done.stderr
    assert done.stdout.splitlines()[0].split()[0] == "row"


@pytest.mark.slow
def test_a_cluster_writes_the_same_files(run, tmp_path):
    pytest.importorskip("dask.distributed", reason="dask is an extra")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5000)
    X = rng.normal(size=(5000, 3)) + 2 * y[:, None]
    pl.DataFrame(X).with_columns(y=pl.Series(np.where(rng.random(5000) < 0.1, 0, y))).write_parquet(
        tmp_path / "a.parquet"
    )
    for engine in ("local", "dask"):
        done = run("audit", "a.parquet", "-l", "y", "--engine", engine, "--out", engine, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for name in ("audit.csv", "patch.csv", "audit.html"):
        assert (tmp_path / "local" / name).read_text() == (tmp_path / "dask" / name).read_text()


@pytest.fixture
def pictures(tmp_path):
    """Pictures of stripes in a folder for each class, one of them in the wrong one, and a table of their paths."""
    image = pytest.importorskip("PIL.Image")
    rng, lines = np.random.default_rng(0), ["file,kind,camera"]
    for i in range(40):
        wave = np.tile(np.sin(np.arange(20) + rng.uniform(0, 6)) * 60 + 128, (20, 1)) + rng.normal(0, 20, (20, 20))
        stripes = np.clip(wave if i % 2 else wave.T, 0, 255).astype(np.uint8)
        kind = ("across", "down")[(i + (i == 7)) % 2]
        (tmp_path / "images" / kind).mkdir(parents=True, exist_ok=True)
        image.fromarray(stripes).save(tmp_path / "images" / kind / f"{i}.png")
        lines.append(f"{kind}/{i}.png,{kind},c{i % 3}")
    (tmp_path / "images" / "table.csv").write_text("\n".join(lines))
    return tmp_path


def test_a_folder_of_pictures_is_audited(run, pictures):
    done = run("audit", "images", cwd=pictures)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[0] == "images/across/7.png"
    audit = pl.read_csv(pictures / "audit.csv")
    assert audit["image"][0] == "images/across/7.png"
    assert (pictures / "audit.html").read_text().count("<img") == 20


def test_a_column_of_pictures_that_are_not_there_is_named(run, iris):
    table = pl.read_csv(iris / "iris.csv").with_row_index("photo")
    table.with_columns(pl.format("photos/{}.png", "photo").alias("photo")).write_csv(iris / "photos.csv")
    done = run("audit", "photos.csv", "--label", "species", cwd=iris)
    assert done.returncode == 0, done.stderr
    assert "column 'photo' names pictures, but there is no file 'photos/0.png'" in done.stderr


def test_decisions_about_pictures_go_into_a_table_of_them(run, pictures):
    (pictures / "images" / "across" / "0broken.png").write_text("no picture")
    done = run("audit", "images", cwd=pictures)
    assert "next: noisewise review images, which shows the rows one by one" in done.stderr
    assert "noisewise apply images patch.csv --out mended.csv" in done.stderr
    patch = pl.read_csv(pictures / "patch.csv", infer_schema=False)
    patch.with_columns(decision=pl.col("suggested")).write_csv(pictures / "patch.csv")
    done = run("apply", "images", "patch.csv", "--out", "mended.csv", "--json", cwd=pictures)
    assert done.returncode == 0, done.stderr
    mended = pl.read_csv(pictures / "mended.csv")
    assert mended.height == 40
    assert dict(mended.iter_rows())["images/across/7.png"] == "down"


@pytest.mark.parametrize("named", [[], ["--image-column", "file"]])
def test_a_column_of_paths_is_found_and_relative_to_its_table(run, pictures, named):
    done = run("audit", "images/table.csv", "--label", "kind", *named, cwd=pictures)
    assert done.returncode == 0, done.stderr
    assert "the pictures of column 'file' are audited; the other columns are shown, and not used" in done.stderr
    assert pl.read_csv(pictures / "audit.csv")["row"][0] == 7
    page = (pictures / "audit.html").read_text()
    assert page.count("<img") == 20
    assert '<th scope="col"><button type="button">camera</button></th>' in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["images", "--label", "kind"], "its sub-folders"),
        (["images/down"], "pictures, but no sub-folders"),
        (["images/table.csv", "--label", "kind", "--image-column", "path"], "no column 'path'"),
        (["images", "--encoder", "clip"], "encoder is 'clip'"),
        (["images", "--encoder", "clip.onnx"], "clip.onnx"),
    ],
)
def test_pictures_that_cant_be_audited_get_a_sentence(run, pictures, arguments, sentence):
    done = run("audit", *arguments, cwd=pictures)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2  # what is being done, and the sentence


def test_missing_pictures_of_a_table_are_named(run, pictures):
    (pictures / "images" / "down" / "1.png").unlink()
    done = run("audit", "images/table.csv", "--label", "kind", cwd=pictures)
    assert done.returncode == 2
    assert "1 of 40 pictures can't be read: images/down/1.png (no such file)" in done.stderr


def test_the_encoder_of_texts_is_an_option(run, tmp_path):
    lines = ["text,topic"]
    for i in range(60):
        lines.append(f"refund case {i} of my bill,billing" if i % 2 else f"the app crashes at step {i},bug")
    (tmp_path / "tickets.csv").write_text("\n".join(lines))
    done = run("audit", "tickets.csv", "--label", "topic", "--encoder", "words", cwd=tmp_path)
    assert "its words are hashed" in done.stderr
