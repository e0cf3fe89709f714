"""The scikit-learn classes a model file may hold predict bit for bit as before; others are refused."""

import numpy as np
import pytest
from sklearn import (
    compose,
    decomposition,
    discriminant_analysis,
    dummy,
    ensemble,
    impute,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    naive_bayes,
    neighbors,
    pipeline,
    preprocessing,
    svm,
)
from sklearn.datasets import load_iris

from noisewise.noise import FlipMatrix
from noisewise.persistence import load, registry, save

X, Y = load_iris(return_X_y=True)
MIXED = np.array([[row[0], ["red", "blue"][int(row[1] > 3)]] for row in X.tolist()], dtype=object)
SCIKIT_LEARN = [
    compose.ColumnTransformer([("number", preprocessing.StandardScaler(), [0, 1])], remainder="passthrough"),
    decomposition.PCA(2),
    decomposition.TruncatedSVD(2, random_state=0),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    discriminant_analysis.QuadraticDiscriminantAnalysis(),
    dummy.DummyClassifier(),
    dummy.DummyRegressor(),
    impute.SimpleImputer(add_indicator=True),
    impute.MissingIndicator(features="all"),
    kernel_approximation.Nystroem(n_components=20, random_state=0),
    kernel_approximation.RBFSampler(random_state=np.random.RandomState(0)),
    kernel_ridge.KernelRidge(kernel="rbf"),
    linear_model.ElasticNet(alpha=0.01),
    linear_model.Lasso(alpha=0.01),
    linear_model.LinearRegression(),
    linear_model.LogisticRegression(max_iter=500),
    linear_model.Ridge(),
    linear_model.RidgeClassifier(),
    naive_bayes.BernoulliNB(),
    naive_bayes.GaussianNB(),
    naive_bayes.MultinomialNB(),
    pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    preprocessing.FunctionTransformer(),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.Normalizer(),
    preprocessing.OneHotEncoder(handle_unknown="ignore"),
    preprocessing.OrdinalEncoder(),
    preprocessing.PolynomialFeatures(),
    preprocessing.RobustScaler(),
    preprocessing.StandardScaler(),
    svm.LinearSVC(random_state=0),
    svm.LinearSVR(random_state=0, max_iter=10_000, tol=1e-2),
]


def predictions(model, X):
    """What a fitted model says, as dense arrays."""
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, method):
            prediction = getattr(model, method)(X)
            yield np.asarray(prediction.toarray() if hasattr(prediction, "toarray") else prediction)


@pytest.mark.parametrize("model", SCIKIT_LEARN, ids=lambda model: type(model).__name__)
def test_scikit_learn_models_predict_bit_for_bit(model, through):
    back = through(model.fit(X, Y))
    new = X[::-1].copy()  # numpy multiplies an array by itself, and by its copy, to other bits
    before = list(predictions(model, new))
    assert before
    for ours, theirs in zip(predictions(back, new), before, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
    assert through(model.__class__(**model.get_params(deep=False))).get_params().keys() == model.get_params().keys()


def test_label_coders_come_back(through):
    names = np.array(["a", "b", "c"])[Y]
    for coder in (preprocessing.LabelEncoder(), preprocessing.LabelBinarizer()):
        assert (through(coder.fit(names)).transform(names) == coder.transform(names)).all()


def test_every_scikit_learn_class_on_the_list_is_tested_here():
    listed = {f"{module}.{name}" for module, names in registry.SCIKIT_LEARN.items() for name in names.split()}
    tested = {registry.Registry().name(type(model)) for model in SCIKIT_LEARN}
    assert listed - tested == {"sklearn.preprocessing.LabelEncoder", "sklearn.preprocessing.LabelBinarizer"}


def test_a_pipeline_over_mixed_columns_predicts_bit_for_bit(through):
    columns = compose.make_column_transformer(
        (preprocessing.OneHotEncoder(dtype=np.float32), [1]),
        (pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()), [0]),
    )
    model = pipeline.make_pipeline(columns, linear_model.LogisticRegression()).fit(MIXED, Y)
    assert through(model).predict_proba(MIXED).tobytes() == model.predict_proba(MIXED).tobytes()


@pytest.mark.parametrize(
    "model", [ensemble.RandomForestClassifier(2), neighbors.KNeighborsClassifier(), svm.SVC()], ids=lambda m: repr(m)
)
def test_other_scikit_learn_models_are_refused(model, through):
    with pytest.raises(ValueError, match=r"model is a sklearn\..* would do"):
        through(model.fit(X, Y))


def test_another_scikit_learn_version_gives_a_warning(tmp_path, monkeypatch):
    save([FlipMatrix.none(2)], tmp_path / "noise.model")
    save(preprocessing.StandardScaler().fit(X), tmp_path / "scaler.model")
    monkeypatch.setattr("noisewise.persistence.files.version", lambda package: "0.1.0")
    load(tmp_path / "noise.model")  # nothing of scikit-learn in it
    with pytest.warns(RuntimeWarning, match=r"loaded with 0\.1\.0.*install that version or fit again"):
        load(tmp_path / "scaler.model")
