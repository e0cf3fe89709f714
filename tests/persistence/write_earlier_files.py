"""Writes the model files that later versions must load, and what their models say when they go on.

The files in `earlier_files` are those of version 0.1.0 as it was first kept, and stay as they are. They were written
in the root of the project by

    PYTHONPATH=src:tests python tests/persistence/write_earlier_files.py tests/persistence/earlier_files

into an empty folder. Of `expected.json` two things are later: a tie of two classes of `knn-single-precision` is class
1, as in print, and `rules-and-policies` say which variant of their rule they have always been. At the end it names what
a model file may hold and none of these files does.
"""

import json
import sys
import warnings
from importlib import import_module
from inspect import isclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import earlier_models as earlier
from noisewise import FlipMatrix, GaussianNoise, datasets, features, kernels, labels, load, losses, online, save
from noisewise.online import recipes

BY_CLASS = [FlipMatrix.binary(0.3, 0.05), FlipMatrix.binary(0.05, 0.2), FlipMatrix.none(2)]
SINGLE = 1e-5  # what is computed in single precision
# abstract classes, pictures, sources of data, what can't be kept, and a float with an interval
NEVER_IN_A_FILE = {
    *(f"noisewise.kernels.{name}" for name in ("Kernel", "DotProduct", "Radial")),
    "noisewise.losses.Loss",
    *(f"noisewise.labels.{name}" for name in ("FlipMatrixDisplay", "KernelWeightsDisplay", "LabelQualityDisplay")),
    "noisewise.labels.CrowdLabelling",
    "noisewise.datasets.Oracle",
    "noisewise.datasets.CopyOracle",
    "noisewise.noise.Estimate",
}


def main(folder):
    """Write every model to a file of its own, and what they say to one file for all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if list(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; files of earlier versions are not written again")
    expected = {}
    for name, model, how, options in all_models():
        extra, close = [earlier.uniform_noise] if how == "symmetric noise" else [], options.pop("close", earlier.CLOSE)
        save(model, folder / f"{name}.nw", extra=extra)
        again = load(folder / f"{name}.nw", extra=extra)
        said = {key: shortened(key, earlier.plain(value)) for key, value in earlier.HOW[how](again, **options).items()}
        assert name not in expected, name
        expected[name] = {"how": how, "options": options, "close": close, "said": said}
    compact = {"allow_nan": False, "separators": (",", ":")}
    lines = (f"{json.dumps(name)}: {json.dumps(one, **compact)}" for name, one in sorted(expected.items()))
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    check_names(folder)


def shortened(name, value):
    """The value with as many digits as are compared."""
    if isinstance(value, list):
        return [shortened(name, one) for one in value]
    return float(f"{value:.11g}") if isinstance(value, float) and not name.startswith(earlier.EXACT) else value


def check_names(folder):
    """Say which names of noisewise's own classes and functions are in no file, besides those that never are."""
    from noisewise.persistence._registry import known_names

    known = {name for name in known_names() if name.startswith("noisewise.")}
    held = {name for path in folder.glob("*.nw") for name in names_in(document_of(path)["state"])}
    print(f"{len(held & known)} of {len(known)} names are in a file")
    print("in no file:", sorted(known - held))
    assert known - held <= NEVER_IN_A_FILE


def document_of(path):
    """The JSON document of a model file, as safetensors keeps it."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["noisewise"])


def names_in(node):
    """All names of classes and functions in a node of a document."""
    if isinstance(node, list):
        return {name for one in node for name in names_in(one)}
    if not isinstance(node, dict):
        return set()
    own = {node["class"]} if "class" in node else {node["name"]} if node.get("kind") == "function" else set()
    return own.union(*(names_in(one) for one in node.values()))


def all_models():
    """Name of the file, model, how it goes on, and with what options."""
    for one in (label_models, feature_models, label_learners, feedback_learners, weighing_learners, trackers, others):
        yield from one()


def fitted(model, n=40, seed=1, d=3, k=2, names=None, weighted=False, sparse=False, single=False, named=False):
    """A classifier fitted to a few rows."""
    X, codes = earlier.labelled(n, seed, d, k)
    y = codes if names is None else np.array(names)[codes]
    weights = {"sample_weight": np.random.default_rng(seed + 1).integers(0, 4, n)} if weighted else {}
    return model.fit(earlier.as_given(X, sparse, single, named), y, **weights)


def label_models():
    """Classifiers for noisy labels."""
    yes, abc = ["no", "yes"], ["a", "b", "c"]
    sparse, quiet = {"sparse": True}, FlipMatrix.symmetric(0.2, 3)
    rng = np.random.default_rng(5)
    yield "knn-two", fitted(labels.RobustKNeighborsClassifier(), names=yes, weighted=True), "neighbors", {}
    three = fitted(labels.RobustKNeighborsClassifier(5, max_judged=30, random_state=rng), k=3, names=abc, sparse=True)
    three.partial_fit(sp.csr_array(earlier.labelled(12, 2, k=3)[0]), ["a", "b", "c"] * 4).forget([0, 3, 50])
    yield "knn-three-sparse", three, "neighbors", sparse
    single = fitted(labels.RobustKNeighborsClassifier(noise=FlipMatrix.binary(0.1, 0.3), index="exact"), single=True)
    yield "knn-single-precision", single, "neighbors", {"single": True}
    yield "knn-cv-three", fitted(labels.RobustKNeighborsClassifierCV(), k=3, names=abc), "neighbors", {}
    for criterion in ("noisy", "corrected"):
        chosen = labels.RobustKNeighborsClassifierCV([3, 7], [5, 9], criterion=criterion, cv=3)
        yield f"knn-cv-{criterion}", fitted(chosen, names=yes), "neighbors", {}
    told = labels.RobustKNeighborsClassifierCV([3, 5, 9], noise=quiet, metric="manhattan", random_state=3)
    yield "knn-cv-told", fitted(told, k=3, sparse=True), "neighbors", sparse
    yield "logistic-two", fitted(labels.RobustLogisticRegression(), names=yes, weighted=True), "classifier", {}
    yield "logistic-three", fitted(labels.RobustLogisticRegression(C=2.0), k=3, sparse=True), "classifier", sparse
    told = labels.RobustLogisticRegression("confident", fit_intercept=False)
    yield "logistic-named-columns", fitted(told, k=3, names=abc, named=True), "classifier", {"named": True}
    yield "unbiased-two", fitted(labels.UnbiasedLogisticRegression(), names=yes, weighted=True), "classifier", {}
    yield "unbiased-three", fitted(labels.UnbiasedLogisticRegression(quiet), k=3, sparse=True), "classifier", sparse
    yield from kernel_machines(yes, abc)
    ridge = labels.RobustRidgeClassifier
    coarse = {"close": SINGLE}  # it leaves rows out in single precision
    yield "ridge-two", fitted(ridge(n_landmarks=8), names=yes, weighted=True), "classifier", {**coarse}
    yield "ridge-four", overlapping(ridge(None, 8, np.random.RandomState(1))), "classifier", {**coarse}
    yield "ridge-sparse", fitted(ridge(quiet, 8, 4), k=3, sparse=True), "classifier", {**coarse, **sparse}
    told = FlipMatrix.binary(0.1, 0.2)
    yield "ridge-single-precision", fitted(ridge(told, 8), single=True), "classifier", {**coarse, "single": True}
    yield "ridge-texts", counted_texts(ridge(told, 4)), "classifier", {**coarse, **sparse}
    few = [labels.RobustRidgeClassifier(n_landmarks=8), labels.RobustLogisticRegression()]
    yield "voting", fitted(labels.RobustVotingClassifier(), n=16, names=yes), "classifier", {}
    voters = labels.RobustVotingClassifier(few, noise=quiet)
    yield "voting-of-two", fitted(voters, k=3, names=abc, sparse=True), "classifier", sparse
    yield "importance", fitted(labels.ImportanceReweightedClassifier(), k=3, names=abc), "classifier", {}
    bayes = labels.ImportanceReweightedClassifier(GaussianNB(), FlipMatrix.binary(0.1, 0.2), LogisticRegression())
    yield "importance-bayes", fitted(bayes, weighted=True), "classifier", {}
    yield "label-dependent", fitted(labels.LabelDependentClassifier(), names=yes), "classifier", {}
    yield from crowds()
    scaled = make_pipeline(StandardScaler(), labels.RobustLogisticRegression())
    yield "pipeline", fitted(scaled, k=3, names=abc), "classifier", {}
    columns = make_column_transformer((StandardScaler(), [0, 2]), ("passthrough", [1]))
    yield "pipeline-of-columns", fitted(make_pipeline(columns, ridge(told, 8))), "classifier", {**coarse}


def kernel_machines(yes, abc):
    """Classifiers with kernels."""
    sparse, quiet = {"sparse": True}, FlipMatrix.symmetric(0.2, 3)
    machine, several = labels.RobustKernelLogisticRegression, labels.RobustMultiKernelLogisticRegression
    yield "kernel-logistic-two", fitted(machine(), names=yes, weighted=True), "classifier", {}
    rng, square = np.random.default_rng(2), kernels.Polynomial(2)
    polynomial = machine(None, square, norm="function", low_rank=9, random_state=rng)
    yield "kernel-logistic-three", fitted(polynomial, k=3, names=abc), "classifier", {}
    by_name = machine(quiet, "rbf", penalty=0.3, solver="em", max_iter=3000)
    yield "kernel-logistic-sparse", fitted(by_name, k=3, sparse=True), "classifier", sparse
    X, codes = earlier.labelled(30, 1)
    gram = kernels.Gaussian(2.0).gram(X)
    yield "kernel-logistic-precomputed", machine(kernel="precomputed").fit(gram, codes), "precomputed", {"n_rows": 30}
    yield "multikernel-two", fitted(several(), names=yes), "classifier", {}
    groups = [kernels.Grouped(kernels.Gaussian(1.5), [0, 1]), kernels.Linear(), 0.5 * kernels.Laplacian(2.0)]
    yield "multikernel-groups", fitted(several(quiet, groups), k=3, names=abc, weighted=True), "classifier", {}
    yield "multikernel-printed", fitted(several(None, algorithm="printed", max_iter=3)), "classifier", {}
    fisher, process = labels.RobustKernelFisherClassifier, labels.RobustGaussianProcessClassifier
    yield "fisher-two", fitted(fisher(), 16, names=yes), "classifier", {}
    told = fisher(quiet, kernels.RationalQuadratic(1.0, 4.0), max_iter=4)
    yield "fisher-three", fitted(told, 24, k=3, names=abc), "classifier", {}
    yield "fisher-sparse", fitted(fisher(low_rank=9, random_state=3), sparse=True), "classifier", sparse
    yield "process-two", fitted(process(low_rank=8), names=yes, weighted=True), "classifier", {}
    yield "process-three", fitted(process(quiet, 6, random_state=1), k=3, names=abc), "classifier", {}
    yield "process-sparse", fitted(process("fisher", 6), sparse=True), "classifier", sparse


def overlapping(model):
    """A classifier of two classes that overlap and two apart: some candidate noise models have one scale a class."""
    rng, y = np.random.default_rng(0), np.arange(120) % 4
    centres = np.array([[0.0, 0.0], [0.6, 0.0], [6.0, 6.0], [6.0, -6.0]])
    return model.fit(centres[y] + 0.8 * rng.normal(size=(120, 2)), np.array(["a", "b", "c", "d"])[y])


def counted_texts(model):
    """A classifier of rows of counts, of so many columns that they are brought to length one."""
    rng = np.random.default_rng(8)
    X = sp.random_array((24, 1001), density=0.005, format="csr", rng=rng)
    y = np.arange(24) % 2
    return model.fit(X + sp.csr_array((np.ones(24), (np.arange(24), y)), shape=X.shape), y)


def crowds():
    """Classifiers that learn from many annotators."""
    rng = np.random.default_rng(6)
    X, codes = earlier.labelled(40, 3, flipped=0.0)
    wrong = rng.random((40, 3)) < [0.05, 0.3, 0.45]
    told = np.where(wrong, 1 - codes[:, None], codes[:, None])
    told[rng.random((40, 3)) < 0.3] = -1
    yield "crowd", labels.CrowdClassifier(missing=-1).fit(X, told), "crowd", {}
    items, who = np.nonzero(told >= 0)
    named = np.array(["ann", "bob", "cy"])[who], np.array(["no", "yes"])[told[items, who]]
    bayes = labels.CrowdClassifier(GaussianNB(), cv=None, random_state=2, tol=0.01)
    yield "crowd-bayes", bayes.fit(X, named[1], named[0], items), "crowd", {}
    three, codes = earlier.labelled(40, 4, k=3)
    model = labels.CrowdClassifier(cv=3, random_state=np.random.default_rng(1))
    yield "crowd-sparse", model.fit(sp.csr_array(three), np.array(["a", "b", "c"])[codes]), "crowd", {"sparse": True}


def feature_models():
    """Learners from noisy features."""
    X, y, noisy = earlier.measured(60, 11)
    rows, one = noisy[:, 0], GaussianNoise(0.09)
    regressor, online_one = features.NoisyFeatureRegressor, features.OnlineNoisyRegressor
    yield "linear", regressor(one, n_folds=4).fit(rows, y), "regressor", {}
    yield "linear-copies", regressor(n_folds=4).fit(rows, y, noisy), "regressor", {"copies": 2}
    ball = regressor(features.LaplaceNoise([0.2, 0.1]), "ball", n_folds=3, standard_errors=1.0)
    yield "linear-laplace", ball.partial_fit(rows, y), "regressor", {}
    masks = features.MaskingNoise(0.8)
    yield "linear-masks", regressor(masks, strength=0.1, n_folds=3).fit(masks.corrupt(X, 1), y), "regressor", {}
    yield "linear-target-noise", regressor(one, n_folds=3, target_noise=0.2).fit(rows, y), "regressor", {}
    own = regressor(n_folds=3).fit(rows, y, None, np.full((60, 2), 0.09))
    yield "linear-row-covariances", own, "regressor", {"more": False}
    for k, names in ((2, ["left", "right"]), (3, ["a", "b", "c"])):
        A, codes = earlier.labelled(60, 12, k=k)
        copies = A[:, None, :] + np.random.default_rng(13).normal(scale=0.3, size=(60, 2, 3))
        linear = features.NoisyFeatureClassifier(None if k == 3 else one, n_folds=3)
        linear.fit(copies[:, 0], np.array(names)[codes], copies if k == 3 else None)
        yield f"linear-classifier-{k}", linear, "feature classifier", {"copies": 2 * (k == 3)}
        fourier = features.DeconvolvedFourierClassifier(one, n_components=6, n_folds=2, random_state=k)
        fourier.fit(copies[:, 0], np.array(names)[codes])
        yield f"fourier-classifier-{k}", fourier, "feature classifier", {}
        unknown = features.UnknownNoiseKernelClassifier(random_state=np.random.default_rng(k))
        unknown.fit(copies[:, 0], np.array(names)[codes], np.repeat(copies, 8, axis=1))
        yield f"unknown-noise-classifier-{k}", unknown, "feature classifier", {"copies": 16}
    fourier = features.DeconvolvedFourierRegressor
    first = fourier(one, n_components=8, n_folds=2, random_state=np.random.RandomState(0)).fit(rows, y)
    yield "fourier", first, "regressor", {}
    noise_model = fourier(features.LaplaceNoise(0.2), kernels.Laplacian(2.0), 6, 0.01, n_folds=2, random_state=1)
    yield "fourier-laplace", noise_model.partial_fit(rows, y), "regressor", {}
    seen = fourier(kernel=kernels.Gaussian(1.5), n_components=6, n_folds=2, random_state=np.random.default_rng(1))
    yield "fourier-copies", seen.fit(rows, y, noisy), "regressor", {"copies": 2}
    kernel = features.NoisyKernelRegressor
    yield "kernel", kernel(noise=one, random_state=0).fit(rows, y), "noisy copies", {}
    rational = kernel(kernels.RationalQuadratic(2.0, 3.0), step=0.2, ball=2.0, averaging=None, budget=20)
    yield "kernel-rational", rational.fit(rows, y, noisy), "noisy copies", {}
    yield "kernel-theory", kernel(noise=one, step="theory", random_state=1).fit(rows, y), "noisy copies", {}
    yield "online", online_one(one).fit(rows, y), "regressor", {}
    root = online_one(step="root", averaging="last")
    yield "online-root", root.partial_fit(rows, y, noisy), "regressor", {"copies": 2}
    theory = online_one(features.LaplaceNoise(0.2), "theory", radius=2.0, fit_intercept=False, horizon=90)
    yield "online-theory", theory.fit(rows, y), "regressor", {}
    printed = online_one(step="constant", rate=0.05, symmetrised=False)
    yield "online-two-copies", printed.partial_fit(rows, y, noisy), "regressor", {"copies": 2}
    yield from unknown_noise(y)
    noise_model = features.SymmetricNoise(earlier.uniform_noise, 1 / 12)
    model = fourier(noise_model, n_components=6, n_folds=2, random_state=3).fit(rows, y)
    yield "symmetric-noise", {"noise": noise_model, "model": model}, "symmetric noise", {}


def unknown_noise(y):
    """Learners that ask for more copies by a draw; with one column their series are short."""
    learner = features.UnknownNoiseKernelRegressor
    X, y, noisy = earlier.measured(40, 14, d=1)
    many = np.repeat(noisy, 60, axis=1)
    wide = learner(kernels.Gaussian(2.0), random_state=7).fit(noisy[:, 0], y, many)
    yield "unknown-noise-gaussian", wide, "regressor", {}
    by_draw = learner(kernels.Exponential(), losses.SmoothedAbsolute(1.0), "roulette", 3.0, 0.01, 1.0, None, 8)
    yield "unknown-noise-roulette", by_draw.fit(X, y), "regressor", {}
    oracle = datasets.CopyOracle(X, y, GaussianNoise(0.05), rng=1)
    both = learner(kernels.Linear() + kernels.Polynomial(2), estimator="geometric", random_state=9)
    yield "unknown-noise-oracle", both.partial_fit(oracle), "regressor", {}


def label_learners():
    """Learners from labels, one pass in order."""
    made = {
        "perceptron": recipes.perceptron(),
        "mpa": recipes.mpa(0.1),
        "mpa-soft": recipes.mpa(0.5, "II"),
        "mpa-hard": recipes.mpa(np.inf),
        "mcw": recipes.mcw(0.9),
        "mcw-full": recipes.mcw(covariance="full"),
        "mscw": recipes.mscw(C=0.3),
        "mscw-full": recipes.mscw(0.8, 0.5, "II", "full"),
        "arow": recipes.arow(2.0),
        "arow-full": recipes.arow(covariance="full"),
        "nherd": recipes.nherd(0.1),
        "nherd-drop": recipes.nherd(0.2, "drop"),
        "nherd-exact": recipes.nherd(variant="exact"),
        "nherd-full": recipes.nherd(variant="full"),
    }
    for place, (name, model) in enumerate(made.items()):
        k, form = 2 + place % 2, ({}, {"sparse": True}, {"single": True})[place % 3]
        close = {"close": SINGLE} if "single" in form else {}
        names = None if place % 4 else ["no", "yes", "perhaps"]
        yield name, fitted(model, 100, k=k, names=names, **form), "label learner", {**form, **close}


def kept(model, n=152, seed=21, d=4, classes=(0, 1, 2), form=(), **options):
    """A learner in the middle of its stream, two decisions waiting for their feedback, and all it needs to go on."""
    classes = list(classes)
    X, y, draws = earlier.stream(n, seed, d, len(classes))
    _, waiting = earlier.play_rounds(model, classes, range(n), X, y, draws, dict(form), options)
    assert len(waiting) == n % 3
    return {"learner": model, "classes": classes, "waiting": waiting, "rounds": n, "seed": seed}


def feedback_learners():
    """Learners from right or wrong."""
    flips, pets = earlier.FLIPS, ["cat", "dog", "eel"]
    sparse, single = {"sparse": True}, {"single": True}
    by_name = dict(zip(pets, BY_CLASS))
    generator, state = np.random.default_rng(3), np.random.RandomState(4)
    full = {"covariance": "full"}
    yield "banditron", kept(recipes.banditron(3, gamma=0.2, random_state=1)), "learner", {}
    one = recipes.banditron(classes=pets, gamma=0.1, random_state=generator)
    yield "banditron-sparse", kept(one, classes=pets, form=sparse), "learner", {**sparse}
    yield "rcnbf", kept(recipes.rcnbf(3, gamma=0.2, noise=flips, random_state=2)), "learner", {}
    one = recipes.rcnbf(classes=pets, gamma=0.2, noise=by_name, random_state=state)
    yield "rcnbf-by-class", kept(one, classes=pets), "learner", {}
    one = recipes.rcine(3, gamma=0.3, block=60, random_state=3)
    yield "rcine", kept(one), "learner", {"report": True}
    one = recipes.rcine(3, gamma=0.3, block=60, tracker=online.RateTracker(3, n_kept=20), random_state=3)
    yield "rcine-sparse", kept(one, form=sparse), "learner", {**sparse}
    one = recipes.rcine(3, gamma=0.5, block=70, tracker=online.NREst(3, GaussianNB(), random_state=1), random_state=4)
    yield "rcine-examples", kept(one), "learner", {}
    told = kept(recipes.rcine(3, gamma=0.3, block=60, random_state=5))
    told["learner"].use_noise(flips)
    yield "rcine-told-later", told, "learner", {}
    yield "bandit-pa", kept(recipes.bandit_pa(3, C=0.1, noise=flips, random_state=1)), "learner", {}
    one = recipes.bandit_pa(3, gamma=0.1, random_state=6)
    yield "bandit-pa-single-precision", kept(one, form=single), "learner", {**single, "close": SINGLE}
    yield "soba", kept(recipes.soba(3, gamma=0.2, random_state=1)), "learner", {}
    one = recipes.soba(classes=pets, random_state=2, noise=flips, **full)
    yield "soba-full", kept(one, classes=pets), "learner", {}
    yield "confidit", kept(recipes.confidit(3, random_state=1)), "learner", {}
    yield "confidit-full", kept(recipes.confidit(3, projection=False, noise=BY_CLASS, **full)), "learner", {}
    yield "ucwl", kept(recipes.ucwl(classes=[("a", 1), "b", 3]), classes=[("a", 1), "b", 3]), "learner", {}
    yield "ucwl-full", kept(recipes.ucwl(3, noise=flips, **full)), "learner", {}
    yield "ucwl-sparse", kept(recipes.ucwl(3, confidence=0.9), form=sparse), "learner", {**sparse}
    yield "ucwl-single-precision", kept(recipes.ucwl(3), form=single), "learner", {**single, "close": SINGLE}
    one = recipes.ucwl(2, width_in_std=2.0)
    yield "ucwl-named-columns", kept(one, classes=[0, 1], form={"named": True}), "learner", {"named": True}
    yield "corrected-ucwl", kept(recipes.corrected_ucwl(3, block=60, exploration=0.1, random_state=1)), "learner", {}
    one = recipes.corrected_ucwl(3, noise=flips, scale_step=False, **full)
    yield "corrected-ucwl-told", kept(one), "learner", {}
    yield "linucb", kept(recipes.linucb(classes=pets, exploration=0.1, random_state=7), classes=pets), "learner", {}
    yield "linucb-by-class", kept(recipes.linucb(3, noise=BY_CLASS, random_state=8)), "learner", {}
    one = recipes.linucb(3, covariance="diagonal", random_state=9)
    yield "linucb-diagonal-single-precision", kept(one, form=single), "learner", {**single, "close": SINGLE}
    useless = [FlipMatrix.binary(0.5, 0.4), FlipMatrix.none(2), FlipMatrix.none(2)]
    yield "linucb-useless-feedback", kept(recipes.linucb(3, noise=useless)), "learner", {}
    for name, chosen in (("number", 12), ("generator", np.random.default_rng(12)), ("nothing", None)):
        fresh = recipes.linucb(3, exploration=0.0 if chosen is None else 0.2, random_state=chosen)
        nothing = {"learner": fresh, "classes": [0, 1, 2], "waiting": [], "rounds": 0, "seed": 0}
        yield f"linucb-fresh-{name}", nothing, "learner", {}
    own = online.BanditClassifier(online.Greedy(), online.Adaptive(2.0), online.sign_signal, 3)
    yield "own-adaptive", kept(own), "learner", {}
    policy, rule = online.UniformExploration(0.2), online.Herd(0.5, "drop")
    own = online.BanditClassifier(policy, rule, "importance", 3, random_state=1)
    yield "own-herd", kept(own), "learner", {}


def weighing_learners():
    """Learners that find out what feedback is worth, shortly before and after they have.

    Rows are short: each of these learners keeps room for 1024 of them.
    """
    short, everybody, missing, uneven = {"d": 2}, {"annotators": True}, {"missing": True}, {"uneven": True}
    told, named = {**short, "report": True}, ["a", "b", "c"]
    one = recipes.linucb(3, random_state=1)
    yield "linucb-annotators", kept(one, 977, **short, **everybody), "learner", {**told, **everybody, "plays": False}
    one = recipes.linucb(3, random_state=2)
    known = kept(one, 1010, **short, **everybody)
    yield "linucb-annotators-known", known, "learner", {**told, **everybody, "plays": False}
    one = recipes.linucb(3, missing="auto", random_state=3)
    yield "linucb-missing", kept(one, 476, **short, **missing), "learner", {**told, **missing}
    one = recipes.linucb(3, missing="auto", random_state=4)
    known = kept(one, 521, **short, **missing, form={"sparse": True})
    yield "linucb-missing-known", known, "learner", {**told, **missing, "sparse": True}
    one = recipes.linucb(3, missing="no", random_state=5)
    yield "linucb-missing-is-wrong", kept(one, **missing), "learner", {**missing}
    yield "ucwl-missing", kept(recipes.ucwl(3), **missing), "learner", {**missing}
    one = recipes.linucb(3, rates="action", random_state=6)
    yield "linucb-rates", kept(one, 476, **short, **uneven), "learner", {**told, **uneven}
    one = recipes.linucb(classes=named, rates="action", exploration=0.1, random_state=7)
    known = kept(one, 521, classes=named, **short, **uneven)
    yield "linucb-rates-known", known, "learner", {**told, **uneven}


def trackers():
    """What follows the noise of feedback, by itself."""
    X, actions, probabilities, feedback = earlier.watched_rounds(150, 31)
    tracker = online.RateTracker(3, n_kept=90)
    for seed in (33, 34):
        tracker.observe(*earlier.watched_rounds(450, seed))
    yield "rate-tracker", tracker, "rate tracker", {}
    yield "rate-tracker-fresh", online.RateTracker(3, 0.02, 0.1, 500), "rate tracker", {}
    by_action = online.ActionRateTracker(3, first=100)
    by_action.observe(X, actions, probabilities, feedback)
    by_action.estimate()
    yield "action-rate-tracker", by_action, "rate tracker", {}
    examples = online.NREst(3, LogisticRegression(), quantile=0.9, counterfactual=False)
    examples.observe(X, actions, probabilities, feedback)
    yield "example-tracker", examples, "rate tracker", {}
    missing = online.MissingTracker(3, first=100)
    missing.observe(X, actions, np.where(np.arange(150) % 3 == 0, 2, feedback))
    missing.refit()
    yield "missing-tracker", missing, "missing tracker", {}
    annotators, names = online.PeopleTracker(3, first=100), list(earlier.ANNOTATORS)
    scores = np.random.default_rng(32).uniform(size=(150, 3))
    for i in range(150):
        annotators.weigh(X[i], int(actions[i]), int(feedback[i]), names[i % 4], scores[i])
    annotators.refit()
    yield "annotator-tracker", annotators, "annotator tracker", {}


def others():
    """Kernels, losses, noises, random states, tables, logs and functions."""
    one, correlated = GaussianNoise([0.2, 0.1, 0.3]), GaussianNoise(np.diag([0.1, 0.2, 0.3]) + 0.05)
    wide = kernels.Gaussian(2.0)
    every = [kernels.Linear(), kernels.Polynomial(3, 0.5), kernels.Exponential(), kernels.Binomial(1.5), wide]
    every += [kernels.Laplacian(1.5), kernels.RationalQuadratic(1.0, 2.0), kernels.Grouped(wide, [0, 2])]
    every += [wide + 2 * kernels.Linear(), kernels.surrogate(wide, one), kernels.blurred(wide, correlated)]
    every += [kernels.surrogate(kernels.Laplacian(1.5), correlated)]
    yield "kernels", every, "kernels", {}
    every = [losses.Squared(), losses.Exponential(), losses.SmoothedAbsolute(2.0), losses.SmoothedHinge()]
    yield "losses", [*every, losses.Logistic()], "losses", {}
    rules = [online.Additive(), online.PassiveAggressive(0.5, "II"), online.Confidence(0.9, 2.0), online.Adaptive(3.0)]
    rules += [online.Herd(0.3, "exact"), online.LeastSquares(2.0, True), online.SecondOrderPerceptron(0.5)]
    policies = [online.Greedy(), online.UniformExploration(0.1), online.UpperConfidence(1.5, 0.1, 0.2)]
    yield "rules-and-policies", rules + policies, "parts", {}
    flips = [FlipMatrix.none(3), FlipMatrix.binary(0.1, 0.3), FlipMatrix.symmetric(0.4, 5)]
    flips += [FlipMatrix([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.2, 0.0, 0.8]])]
    plain, laplace = GaussianNoise([0.25, 0.5]), features.LaplaceNoise([0.2, 0.3])
    noises = {"plain": plain, "laplace": laplace, "masks": features.MaskingNoise([0.5, 0.9])}
    covariances = [GaussianNoise(0.5), plain, GaussianNoise([[2.0, 1.0], [1.0, 2.0]]), laplace]
    yield "noises", {"flips": flips, **noises, "covariances": covariances}, "noises", {}
    bits = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]
    states = [np.random.Generator(one([1, 2])) for one in bits] + [np.random.RandomState(3)]
    for one in states:
        one.normal()
    yield "random-states", states, "random states", {}
    X, _ = earlier.labelled(30, 41)
    fourier = kernels.FourierFeatures(kernels.RationalQuadratic(1.0, 3.0), 6, np.random.RandomState(2)).fit(X)
    yield "fourier-features", fourier, "transformer", {}
    some = kernels.NystroemFeatures(n_components=6, random_state=np.random.default_rng(1)).fit(sp.csr_array(X))
    yield "nystroem-features", some, "transformer", {"sparse": True}
    import polars as pl

    yield "table-encoder", datasets.TableEncoder().fit(pl.DataFrame(earlier.table(60, 42))), "encoder", {}
    X[::4, 1] = np.nan
    yield "array-encoder", datasets.TableEncoder().fit(X), "array encoder", {}
    yield "records", all_records(), "records", {}
    yield "functions", all_functions(), "functions", {}
    yield "printed-network", online.NREst(3, online.PrintedNetwork((8,), epochs=2)), "printed network", {}


def all_records():
    """What passes between learners and the world."""
    first = (online.Choice("a", {"p": 0.1}, 0.5), online.Choice("b", {"p": 2.0}, 0.5))
    second = (online.Choice("a", {"q": 1.0}, 0.25), online.Choice("b", {"p": 1.0}, 0.75))
    rounds = [
        online.LoggedRound({"age": 3.25, "day": 1.0}, "b", 1, 0.5, first, "e1"),
        online.LoggedRound({"age": -2.0}, "a", 0, 0.25, second, "e2"),
    ]
    log = online.FeedbackLog.from_rounds(rounds)
    X, y, _ = earlier.stream(20, 43)
    history = recipes.banditron(3, random_state=1).play(X, y, earlier.FLIPS, 2)
    tracker = online.RateTracker(3)
    tracker.observe(*earlier.watched_rounds(150, 44))
    return {
        "log": log,
        "rounds": rounds,
        "history": history,
        "listing": datasets.names()[0],
        "dataset": datasets.Dataset(X[:3], y[:3], "three", "drawn"),
        "crowd": datasets.CrowdLabels(y[:4], y[4:8], y[8:12], y[:2], "few", "drawn"),
        "estimate": tracker.estimate(),
    }


def all_functions():
    """Every public function that a model file may hold by its name."""
    from noisewise.persistence._registry import known_names

    things = (name.rpartition(".") for name in known_names() if name.startswith("noisewise."))
    members = [getattr(import_module(module), name) for module, _, name in things]
    return [one for one in members if not isclass(one)]


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=Warning)
    main(sys.argv[1])
