"""Models of an earlier version: the rows and the feedback they go on with, and how what they say is compared.

Rows, labels and feedback are drawn from fixed seeds. Arguments are passed by index, and nothing but public methods is
called, so that the same lines go on with a model whatever its insides are called.
"""

from datetime import timedelta

import numpy as np
import scipy.sparse as sp

from noisewise import FlipMatrix

CLOSE = 1e-9  # of the largest number: sums in another order, on another machine
EXACT = ("probabilities", "draws")  # made without any sums of many numbers
DERIVED = ("probabilities of ranking",)  # of the played action's, for the others
ANNOTATORS = {"ann": 0.05, "bob": 0.35, "cy": 0.8, "dee": 0.1}  # fraction of feedback that each gets wrong
UNEVEN = (0.45, 0.02, 0.02)  # the same by action
FLIPS = FlipMatrix.binary(0.1, 0.2)


def labelled(n, seed, d=3, k=2, flipped=0.15):
    """Rows of k classes, one cloud each, and their labels as codes, some of them wrong."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    X = 2.0 * np.eye(k, d)[y] + rng.normal(scale=0.8, size=(n, d))
    return X, np.where(rng.random(n) < flipped, (y + 1) % k, y)


def measured(n, seed, d=2, copies=2):
    """Clean rows, a target that bends, and noisy copies of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, -1] + rng.normal(scale=0.1, size=n)
    return X, y, X[:, None, :] + rng.normal(scale=0.3, size=(n, copies, d))


def stream(n, seed, d=4, k=3):
    """Situations for a learner, with gaps as sparse rows have them, the right action of each, and what noise draws."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = np.eye(k, d)[y] + rng.normal(scale=0.4, size=(n, d))
    X[rng.random(X.shape) < 0.2] = 0.0
    return X, y, rng.random(n)


def table(n, seed):
    """Columns of a mixed table: numbers with gaps, names, dates, times, durations, truth values and text."""
    rng = np.random.default_rng(seed)
    words = np.array(["red", "green", "blue", "round", "flat", "heavy", "light", "old", "new", "cheap"])
    return {
        "size": [None if gap else float(value) for gap, value in zip(rng.random(n) < 0.2, rng.normal(size=n))],
        "kind": words[rng.integers(3, size=n)].tolist(),
        "day": [f"2024-0{month}-1{day}" for month, day in rng.integers(1, 9, size=(n, 2))],
        "hour": [f"{hour:02}:{minute:02}" for hour, minute in rng.integers(0, 24, size=(n, 2))],
        "lasted": [timedelta(minutes=int(minutes)) for minutes in rng.integers(1, 500, size=n)],
        "sold": (rng.random(n) < 0.5).tolist(),
        "note": [" ".join([*words[rng.integers(10, size=4)], f"lot{index}"]) for index in range(n)],
    }


def uniform_noise(w):
    """Characteristic function of noise that is uniform between -1/2 and 1/2."""
    return np.sinc(w / (2 * np.pi)).prod(axis=-1)


def as_given(X, sparse=False, single=False, named=False):
    """The rows in the form a model has learnt from."""
    X = X.astype(np.float32) if single else X
    if named:
        import pandas as pd

        return pd.DataFrame(X, columns=[f"column {index}" for index in range(X.shape[1])])
    return sp.csr_array(X) if sparse else X


def judged(model, X, y):
    """All that a classifier says about rows and their labels."""
    said = {"predicted": model.predict(X)}
    if hasattr(model, "predict_proba"):
        said["posterior"] = model.predict_proba(X)
    if hasattr(model, "decision_function"):
        said["scores"] = model.decision_function(X)
    if hasattr(model, "label_quality"):
        said |= {"quality": model.label_quality(X, y), "suggested": model.suggest(X, y)}
    return said


def classifier(model, **form):
    """New rows are classified and their labels judged."""
    classes = list(model.classes_)
    X, codes = labelled(12, 101, model.n_features_in_, len(classes))
    said = judged(model, as_given(X, **form), [classes[code] for code in codes])
    return said | ({"noise": model.noise_.matrix} if hasattr(model, "noise_") else {})


def precomputed(model, n_rows):
    """New rows of a Gram matrix are classified."""
    gram = np.random.default_rng(102).uniform(size=(8, n_rows))
    return judged(model, gram, [model.classes_[index % 2] for index in range(8)])


def neighbors(model, **form):
    """New rows are classified, come in and go out; with each change the noise is found again."""
    classes = list(model.classes_)
    said = classifier(model, **form) | {"left out": model.leave_one_out_proba()[:8]}
    X, codes = labelled(20, 103, model.n_features_in_, len(classes))
    model.partial_fit(as_given(X, **form), [classes[code] for code in codes])
    said |= {f"{name} after more rows": value for name, value in classifier(model, **form).items()}
    model.forget(model.rows_[3:9])
    said |= {f"{name} after fewer rows": value for name, value in classifier(model, **form).items()}
    return said


def crowd(model, **form):
    """New rows are classified, and labels judged by who gave them."""
    classes, annotators = list(model.classes_), list(model.annotators_)
    X, codes = labelled(12, 101, model.n_features_in_, len(classes))
    names = [annotators[index % len(annotators)].name for index in range(12)]
    own = model.label_quality(as_given(X, **form), [classes[code] for code in codes], names)
    return classifier(model, **form) | {
        "own quality": own,
        "names": [str(one.name) for one in annotators],
        "accuracy": [[float(one.accuracy), *one.accuracy.interval] for one in annotators],
        "flips": [one.flips for one in annotators],
        "posterior of fit": model.posterior_[:8],
        "labels": model.labels_[:8],
    }


def regressor(model, copies=0, more=True):
    """New rows get their numbers, before and after the model has learnt from more rows."""
    d = model.n_features_in_
    X, y, noisy = measured(30, 104, d)
    said = {"predicted": model.predict(X[:10])}
    if more:
        model.partial_fit(noisy[:, 0], y, noisy if copies else None)
        said["predicted after more rows"] = model.predict(X[:10])
    if hasattr(model, "noise_") and not copies and hasattr(model.noise_, "matrix"):
        said["noise"] = model.noise_.matrix(d)
    return said


def noisy_copies(model):
    """New noisy rows get their numbers too."""
    X, _, noisy = measured(10, 104, model.n_features_in_)
    return {"predicted": model.predict(X), "predicted of noisy rows": model.predict(noisy[:, 0], True)}


def feature_classifier(model, copies=0):
    """New rows are classified, before and after the model has learnt from more rows."""
    d, classes = model.n_features_in_, list(model.classes_)
    X, codes = labelled(30, 105, d, len(classes))
    said = judged(model, X[:10], None)
    noisy = X[:, None, :] + np.random.default_rng(106).normal(scale=0.3, size=(30, max(copies, 1), d))
    model.partial_fit(noisy[:, 0], [classes[code] for code in codes], classes, noisy if copies else None)
    return said | {f"{name} after more rows": value for name, value in judged(model, X[:10], None).items()}


def feedback_on(index, code, right, draw, annotators=False, missing=False, uneven=False):
    """Observed feedback, flipped at the rate of its annotator or action, or missing; and its annotator."""
    who = list(ANNOTATORS)[index * 7 // 3 % len(ANNOTATORS)]
    wrong = ANNOTATORS[who] if annotators else UNEVEN[code] if uneven else 0.15
    feedback = int(right != (draw < wrong))
    if missing and (draw * 7 % 1) < (0.2 if right else 0.7):
        feedback = None
    return feedback, (who if annotators else None)


def play_rounds(learner, classes, indices, X, y, draws, form, noise):
    """Decide and learn; feedback comes after three rounds, the last first. What was decided, and what still waits."""
    made, waiting = [], []
    for index in indices:
        some = None if index % 7 else classes[1:]  # not all actions are there in every round
        decision = learner.decide(as_given(X[index : index + 1], **form), some)
        made.append(decision)
        waiting.append((index, decision))
        if index % 3 == 2:
            learn_late(learner, classes, waiting, y, draws, noise)
            waiting = []
    return made, waiting


def learn_late(learner, classes, waiting, y, draws, noise):
    """Learn from the feedback on decisions that wait for it, the last first."""
    for index, decision in reversed(waiting):
        code = classes.index(decision.action)
        learner.learn(decision, *feedback_on(index, code, code == y[index], draws[index], **noise))


def learner(kept, rounds=60, d=4, plays=True, report=False, sparse=False, single=False, named=False, **noise):
    """A learner gets the delayed feedback, and continues for sixty rounds and a stream more."""
    model, classes, form = kept["learner"], kept["classes"], {"sparse": sparse, "single": single, "named": named}
    learn_late(model, classes, kept["waiting"], *stream(kept["rounds"], kept["seed"], d, len(classes))[1:], noise)
    X, y, draws = stream(rounds, 107, d, len(classes))
    made, _ = play_rounds(model, classes, range(rounds), X, y, draws, form, noise)
    said = {
        "actions": [classes.index(one.action) for one in made],
        "probabilities": [one.probability for one in made],
        "numbers": [one.id for one in made[:1]],
    }
    if plays:
        history = model.play(as_given(X, **form), [classes[code] for code in y], FLIPS, 108)
        said |= {
            "played": [classes.index(action) for action in history.actions.tolist()],
            "feedback": history.feedback,
            "probabilities of the stream": history.probabilities,
        }
        logged = model.learn_logged(as_given(X[:9], **form), [classes[code] for code in y[:9]], [1, 0, 1] * 3, 0.5)
        assert logged is model
    noises = model.noise_ if isinstance(model.noise_, list) else [model.noise_]
    rows = as_given(X[:6], **form)
    said |= {
        "scores": model.decision_function(rows),
        "predicted": [classes.index(label) for label in model.predict(rows).tolist()],
        "noise": [one.matrix for one in noises],
        "counts": [model.n_rounds_, model.n_updates_, model.mistakes_],
    }
    if report:
        said["report"] = model.report("pandas").select_dtypes("number").to_numpy(float)
    return said


def label_learner(model, **form):
    """A learner from labels goes on for sixty rows."""
    classes = list(model.classes_)
    X, codes = labelled(60, 109, model.n_features_in_, len(classes))
    rows = as_given(X, **form)
    model.partial_fit(rows, [classes[code] for code in codes])
    return judged(model, rows[:8], None) | {
        "counts": [model.n_rounds_, model.n_updates_, model.mistakes_],
        "weights": model.coef_,
    }


def watched_rounds(n, seed, d=2, k=3):
    """A log of uniform play: rows, actions, their probabilities, and feedback that is wrong now and then."""
    X, y, draws = stream(n, seed, d, k)
    actions = np.random.default_rng(seed + 1).integers(k, size=n)
    return X, actions, np.full(n, 1 / k), ((actions == y) != (draws < 0.15)).astype(int)


def rate_tracker(tracker, d=2):
    """More rounds are observed and the rates estimated."""
    tracker.observe(*watched_rounds(120, 110, d))
    found = tracker.estimate()
    noises = found.noise if isinstance(found.noise, list) else [found.noise]
    return {"noise": [one.matrix for one in noises], "estimated": numbers_of(found)}


def missing_tracker(tracker):
    """More rounds with missing feedback are observed and judged."""
    X, actions, _, feedback = watched_rounds(120, 110)
    tracker.observe(X, actions, np.where(np.arange(120) % 4 == 0, 2, feedback))
    tracker.refit()
    return {"estimated": numbers_of(tracker.report), "targets": tracker.table.targets}


def annotator_tracker(tracker):
    """More feedback is weighed by who gave it, and everybody judged."""
    X, actions, _, feedback = watched_rounds(60, 111)
    scores, names, weighed = np.random.default_rng(112).uniform(size=(60, 3)), [*ANNOTATORS, "eve"], []
    for i in range(60):
        weighed.append(tracker.weigh(X[i], int(actions[i]), int(feedback[i]), names[i % 5], scores[i]))
        if i == 40:
            tracker.refit()
    return {"weighed": weighed, "estimated": numbers_of(tracker.report())}


def numbers_of(report):
    """All floats of a report, column by column."""
    columns = [np.asarray(column) for column in report.columns().values()]
    return [column for column in columns if column.dtype.kind == "f"]


def printed_network(tracker):
    """A network that is still to be trained, which takes another library, has its settings."""
    settings = tracker.classifier.get_params()
    return {"settings": [[name, settings[name]] for name in sorted(settings)], "n classes": [tracker.n_classes]}


def kernels(kept):
    """Kernels compare rows."""
    X, _ = labelled(5, 113, 3)
    return {repr(one): one.gram(X / 6, X[:3] / 6) for one in kept}


def losses(kept):
    """Losses and their derivatives."""
    a = np.linspace(-1.5, 1.5, 7)
    return {repr(one): [one.value(a), one.derivative(a)] for one in kept}


def parts(kept):
    """Rules, policies and other parts that say what they are."""
    return {"parts": [repr(one) for one in kept]}


def noises(kept):
    """Noises are drawn from, and say what they are."""
    X, _, _ = measured(4, 114, 2)
    said = {f"flips {index}": one.corrupt(np.arange(30) % one.n_classes, 5) for index, one in enumerate(kept["flips"])}
    said |= {f"inverse {index}": one.inverse for index, one in enumerate(kept["flips"])}
    for name in ("plain", "laplace", "masks"):
        said[f"copies of {name}"] = kept[name].copies(X, 2, 5)
    return said | {"covariances": [one.matrix(2) for one in kept["covariances"]]}


def symmetric_noise(kept):
    """A noise distribution of the user's own keeps its characteristic function, and a model continues with it."""
    w = np.array([[0.0, 0.5], [1.0, 2.0]])
    return {"characteristic": kept["noise"].characteristic(w)} | regressor(kept["model"])


def random_states(kept):
    """Random states go on with the same draws."""
    return {"draws": [[one.random(4).tolist(), one.normal(size=3).tolist()] for one in kept]}


def functions(kept):
    """Functions come back by their names."""
    return {"names": [one.__name__ for one in kept]}


def transformer(model, **form):
    """New rows are transformed."""
    X, _ = labelled(8, 115, model.n_features_in_)
    return {"transformed": model.transform(as_given(X, **form))}


def encoder(model):
    """New rows of a table become numbers."""
    import polars as pl

    rows = model.transform(pl.DataFrame(table(8, 116)))
    return {"width": [model.width_], "encoded": rows.toarray()[:, :12], "sums": np.asarray(rows.sum(axis=1))}


def array_encoder(model):
    """New rows of an array have their gaps filled."""
    X, _ = labelled(8, 117)
    X[::3, 1] = np.nan
    return {"encoded": model.transform(X)}


def records(kept):
    """Logs, decisions and data sets have the same contents."""
    log, history, dataset, labels = kept["log"], kept["history"], kept["dataset"], kept["crowd"]
    first, second = log.rounds()
    return {
        "rows": log.X,
        "played": log.actions,
        "feedback": log.feedback,
        "probabilities": log.probabilities,
        "offered": [[choice.action, sorted(choice.features), choice.probability] for choice in first.offered],
        "round": [second.action, second.feedback, second.id, sorted(second.features)],
        "listed": [kept["listing"].name, kept["listing"].rows, list(kept["listing"].papers)],
        "data": [dataset.name, dataset.source, dataset.X.tolist(), dataset.y.tolist()],
        "crowd": [labels.name, *(part.tolist() for part in labels)],
        "history": [history.mistake_rate, history.actions.tolist(), history.feedback.tolist()],
        "estimate": kept["estimate"].noise.matrix,
        "interval": kept["estimate"].false_positive_interval,
        "identified": [kept["estimate"].identified],
    }


HOW = {
    one.__name__.replace("_", " "): one
    for one in (
        *(classifier, precomputed, neighbors, crowd, regressor, noisy_copies, feature_classifier, learner),
        *(label_learner, rate_tracker, missing_tracker, annotator_tracker, printed_network, kernels, losses, parts),
        *(noises, symmetric_noise, random_states, functions, transformer, encoder, array_encoder, records),
    )
}


def plain(value):
    """A value as JSON has it; its floats are written with all their digits."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def assert_said(said, expected, close=CLOSE):
    """Labels, numbers of rounds and probabilities of actions are the same; other floats nearly so."""
    assert said.keys() == expected.keys()
    for name, value in said.items():
        now, before = plain(value), expected[name]
        floats = _floats(before)
        if (name.startswith(EXACT) and name not in DERIVED) or not floats:
            assert now == before, name
            continue
        assert _shape(now) == _shape(before), name
        scale = max(1e-300, *(abs(one) for one in floats))
        np.testing.assert_allclose(_floats(now), floats, rtol=close, atol=close * scale, err_msg=name)


def _floats(value):
    if isinstance(value, list):
        return [one for part in value for one in _floats(part)]
    return [value] if isinstance(value, float) else []


def _shape(value):
    """The value with its floats left out."""
    if isinstance(value, list):
        return [_shape(part) for part in value]
    return "float" if isinstance(value, float) else value
