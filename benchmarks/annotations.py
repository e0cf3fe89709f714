"""Labels by several annotators: audit_annotations against cleanlab's multiannotator module, on the same probabilities.

    NOISEWISE_DATA=... python benchmarks/annotations.py                    simulated annotators on tables, all settings
    NOISEWISE_DATA=... python benchmarks/annotations.py --sets held-out    sets that were not used for any choice
    NOISEWISE_DATA=... python benchmarks/annotations.py --only people      RTE and CIFAR-10N, labelled by people
    NOISEWISE_DATA=... python benchmarks/annotations.py --only asking      questions: which item, and whom

Simulated annotators have confusion matrices of their own and, in most settings, err more on hard rows, often as a
strong classifier would. Forest and logistic regression are fitted to the majority vote, out of fold. Accuracy is that
of the consensus; AUROC and AP rank wrong consensus labels, each method's own, and wrong single labels; correlation is
Spearman's, of estimated and true accuracy of the annotators; coverage is that of 90 % intervals.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from cleanlab import multiannotator
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noisewise import audit_annotations
from noisewise.labels import dawid_skene, majority_vote

SETS = {
    "development": ("digits", "vehicle", "segment", "landsat", "raetsch_waveform", "raetsch_banana", "iris"),
    "held-out": ("letter", "pendigits", "optdigits", "usps", "german_numeric", "ionosphere", "raetsch_twonorm"),
}
SETTINGS = {  # annotators, fewest and most labels an item, how far errors follow the row, accuracies
    "few": (3, 1, 3.0, 0.0, (0.5, 0.95)),
    "one": (10, 1, 1.15, 0.5, (0.5, 0.95)),
    "sparse": (50, 1, 3.0, 0.5, (0.4, 0.95)),
    "crowd": (30, 2, 5.0, 0.7, (0.3, 0.9)),
    "good": (5, 1, 2.0, 0.7, (0.8, 0.97)),
    "plain": (15, 3, 5.0, 0.0, (0.3, 0.8)),
}
MODELS = {
    "forest": lambda: RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
}
METRICS = ("accuracy", "AUROC", "AP", "AUROC of labels", "AP of labels", "correlation", "Brier", "count / wrong")
LEAST = 1e-6  # cleanlab takes the logarithm of the probabilities


@dataclass
class Crowd:
    """Labels of items in long form, the truth, and how the annotators would answer."""

    X: np.ndarray
    truth: np.ndarray
    items: np.ndarray
    annotators: np.ndarray
    labels: np.ndarray
    answer: object = None

    @property
    def n_classes(self):
        """Number of classes."""
        return int(self.truth.max()) + 1

    def votes(self):
        """Number of labels of each class for each item."""
        votes = np.zeros((len(self.truth), self.n_classes))
        np.add.at(votes, (self.items, self.labels), 1)
        return votes

    def wide(self):
        """The labels as a table of items and annotators, NaN where there is none."""
        table = np.full((len(self.truth), self.annotators.max() + 1), np.nan)
        table[self.items, self.annotators] = self.labels
        return table

    def with_answers(self, items, annotators):
        """More labels: what these annotators answer for these items."""
        labels = np.array([self.answer(*each) for each in zip(items, annotators)], dtype=int)
        columns = (self.items, items), (self.annotators, annotators), (self.labels, labels)
        return Crowd(self.X, self.truth, *(np.concatenate(each).astype(int) for each in columns), self.answer)


def table(name, n, seed):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        with np.load(Path(os.environ["NOISEWISE_DATA"]) / f"{name}.npz") as data:
            X, y = data["X"].reshape(len(data["y"]), -1).astype(float), data["y"]
    some = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[some], np.unique(y[some], return_inverse=True)[1]


def out_of_fold(model, X, y, n_classes):
    """Out-of-fold probabilities; a class that a fold does not know keeps a little."""
    p = np.full((len(y), n_classes), 1e-4)
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        fitted = model().fit(X[train], y[train])
        p[np.ix_(test, fitted.classes_)] += fitted.predict_proba(X[test])
    return p / p.sum(axis=1, keepdims=True)


def simulate(name, setting, n, seed):
    """Annotators of a setting on a table."""
    X, truth = table(name, n, seed)
    n_annotators, fewest, most, hardness, (low, high) = SETTINGS[setting]
    rng, n_classes = np.random.default_rng(1000 + seed), truth.max() + 1
    strong = out_of_fold(lambda: ExtraTreesClassifier(60, random_state=1), X, truth, n_classes)
    hard = 1 - strong[np.arange(len(truth)), truth]
    skill = rng.uniform(low, high, n_annotators)
    if not hardness:
        skill = np.maximum(skill, 1 / n_classes + 0.1)
    elsewhere = rng.dirichlet(np.full(n_classes, 0.5), size=(n_annotators, n_classes)) + 1e-9

    def answer(item, annotator):
        if rng.random() < skill[annotator] * (1 - hardness * hard[item]):
            return truth[item]
        odds = elsewhere[annotator, truth[item]].copy()
        odds[truth[item]] = 0
        odds /= odds.sum()
        if hardness:  # half of these errors are what the row looks like
            looks = strong[item] + 1e-3
            looks[truth[item]] = 0
            odds = (odds + looks / looks.sum()) / 2
        return rng.choice(n_classes, p=odds)

    asked = []
    for item in range(len(truth)):
        n_labels = rng.integers(fewest, int(most) + 1) + (rng.random() < most % 1)
        asked += [(item, annotator) for annotator in rng.choice(n_annotators, min(n_labels, n_annotators), False)]
    items, annotators = np.array(asked).T
    nothing = np.empty(0, dtype=int)
    return Crowd(X, truth, nothing, nothing, nothing, answer).with_answers(items, annotators)


def probabilities(crowd):
    """Out-of-fold probabilities of models that learn the majority vote."""
    votes = crowd.votes() + 0.1 * np.random.default_rng(0).random((len(crowd.truth), crowd.n_classes))
    return {name: out_of_fold(model, crowd.X, votes.argmax(axis=1), crowd.n_classes) for name, model in MODELS.items()}


def of_cleanlab(crowd, p):
    """Consensus, its quality, that of each label and each annotator, by CROWDLAB; of several models by its ensemble."""
    function = multiannotator.get_label_quality_multiannotator
    if isinstance(p, list):
        function, p = multiannotator.get_label_quality_multiannotator_ensemble, np.stack(p)
    p = np.clip(p, LEAST, 1)
    names, columns = np.unique(crowd.annotators, return_inverse=True)
    found = function(pd.DataFrame(crowd.wide()[:, names]), p / p.sum(axis=-1, keepdims=True), verbose=False)
    consensus = found["label_quality"]
    of_labels = found["detailed_label_quality"].to_numpy()[crowd.items, columns]
    of_annotators = found["annotator_stats"]["annotator_quality"].sort_index().to_numpy()
    return (
        consensus["consensus_label"].to_numpy(),
        consensus["consensus_quality_score"].to_numpy(),
        of_labels,
        of_annotators,
    )


def of_labelling(crowd, method):
    """The same by a method that sees the labels alone."""
    found = method(crowd.items, crowd.annotators, crowd.labels)
    posterior = np.zeros((len(crowd.truth), crowd.n_classes))
    posterior[np.ix_(found.items, found.classes)] = found.posterior
    of_labels = posterior[crowd.items, crowd.labels]
    return posterior.argmax(axis=1), posterior.max(axis=1), of_labels, found.annotators.accuracy


def of_audit(crowd, **rows):
    """The same by audit_annotations, and the audit."""
    audit = audit_annotations(crowd.items, crowd.annotators, crowd.labels, **rows)
    return (audit.consensus, audit.probability, audit.label_probability, audit.annotators.accuracy), audit


def area(score, wrong, quality):
    return score(wrong, -quality) if 0 < wrong.sum() < len(wrong) else np.nan


def measure(crowd, consensus, quality, of_labels, of_annotators):
    wrong, wrong_labels = consensus != crowd.truth, crowd.labels != crowd.truth[crowd.items]
    names, who = np.unique(crowd.annotators, return_inverse=True)
    accuracies = 1 - np.bincount(who, wrong_labels) / np.bincount(who)
    return {
        "accuracy": 1 - wrong.mean(),
        "AUROC": area(roc_auc_score, wrong, quality),
        "AP": area(average_precision_score, wrong, quality),
        "AUROC of labels": area(roc_auc_score, wrong_labels, of_labels),
        "AP of labels": area(average_precision_score, wrong_labels, of_labels),
        "correlation": spearmanr(of_annotators, accuracies)[0] if len(names) > 2 else np.nan,
        "Brier": np.mean((quality - ~wrong) ** 2),
        "count / wrong": (1 - quality).sum() / max(wrong.sum(), 1),
    }


def holds(audit, crowd):
    """Whether the intervals hold the truth: number of wrong labels, of wrong consensus labels, each accuracy."""
    wrong_labels = crowd.labels != crowd.truth[crowd.items]
    counts = (
        (audit.expected_errors, wrong_labels.sum()),
        (
            audit.expected_consensus_errors,
            (audit.consensus != crowd.truth).sum(),
        ),
    )
    found = [estimate.low <= count <= estimate.high for estimate, count in counts]
    who = np.unique(crowd.annotators, return_inverse=True)[1]
    accuracies = 1 - np.bincount(who, wrong_labels) / np.bincount(who)
    known = audit.annotators
    within = (known.accuracy_low <= accuracies) & (accuracies <= known.accuracy_high)
    names = ("holds: labels", "holds: consensus", "holds: annotators")
    return dict(zip(names, [*map(float, found), within.mean()]))


def rows(crowd, models, with_rows=True):
    """All methods on one crowd."""
    yield {"method": "majority vote", **measure(crowd, *of_labelling(crowd, majority_vote))}
    yield {"method": "Dawid-Skene", **measure(crowd, *of_labelling(crowd, dawid_skene))}
    given = {**models, "both": list(models.values())} if len(models) > 1 else models
    for name, p in given.items():
        for method in ("cleanlab", "noisewise"):
            start = time.process_time()
            if method == "cleanlab":
                found, more = of_cleanlab(crowd, p), {}
            else:
                found, audit = of_audit(crowd, probabilities=p, classes=np.arange(crowd.n_classes))
                more = holds(audit, crowd)
            seconds = time.process_time() - start
            yield {"method": f"{method}, {name}", **measure(crowd, *found), **more, "CPU s": seconds}
    if with_rows:
        start = time.process_time()
        found, audit = of_audit(crowd, X=crowd.X)
        seconds = time.process_time() - start
        yield {"method": "noisewise, rows", **measure(crowd, *found), **holds(audit, crowd), "CPU s": seconds}


def of_people(most):
    """RTE (no rows) and CIFAR-10N (worst and aggregate label as two annotators; both are made of the same three)."""
    folder = Path(os.environ["NOISEWISE_DATA"])
    with np.load(folder / "crowd_rte.npz") as data:
        columns = (data[name].astype(int) for name in ("items", "annotators", "labels"))
        crowd = Crowd(np.zeros((800, 1)), data["gold"].astype(int), *columns)
    yield "rte", rows(crowd, {"no model": np.full((800, 2), 0.5)}, with_rows=False)
    with np.load(folder / "real_noise/cifar10n_worst.npz") as worst:
        with np.load(folder / "real_noise/cifar10n_aggregate.npz") as aggregate:
            given = np.stack([worst["y"][:most], aggregate["y"][:most]], axis=1).astype(int)
        truth = worst["truth"][:most].astype(int)
        models = {name[2:]: worst[name][:most].astype(float) for name in worst.files if name.startswith("p_")}
    models = {name: p / p.sum(axis=1, keepdims=True) for name, p in models.items()}
    items, annotators = np.indices(given.shape).reshape(2, -1)
    yield "cifar10n", rows(Crowd(np.zeros((len(truth), 1)), truth, items, annotators, given.ravel()), models, False)


def asking(crowd, model, rounds=3):
    """Accuracy of the consensus after as many questions as a third of the items, in rounds, by each way of choosing."""
    budget = len(crowd.truth) // (3 * rounds)
    for way in ("nothing asked", "random", "ActiveLab, random annotator", "ActiveLab, our annotator", "noisewise"):
        rng, now = np.random.default_rng(0), crowd
        for _ in range(rounds if way != "nothing asked" else 0):
            p = out_of_fold(MODELS[model], now.X, now.votes().argmax(axis=1), now.n_classes)
            audit = of_audit(now, probabilities=p, classes=np.arange(now.n_classes))[1]
            if way == "noisewise":
                questions = audit.next(budget, backend="pandas")
                now = now.with_answers(questions["item"].to_numpy(), questions["annotator"].to_numpy())
                continue
            if way == "random":
                items = rng.choice(len(now.truth), budget, replace=False)
            else:
                clipped = np.clip(p, LEAST, 1)
                scores = multiannotator.get_active_learning_scores(
                    pd.DataFrame(now.wide()), clipped / clipped.sum(axis=1, keepdims=True)
                )[0]
                items = np.argsort(scores, kind="stable")[:budget]
            left = np.isnan(now.wide()[items])
            items, left = items[left.any(axis=1)], left[left.any(axis=1)]
            merit = audit.annotators.accuracy if way.endswith("our annotator") else rng.random(left.shape)
            now = now.with_answers(items, np.where(left, merit, -1).argmax(axis=1))
        p = out_of_fold(MODELS[model], now.X, now.votes().argmax(axis=1), now.n_classes)
        ours = of_audit(now, probabilities=p, classes=np.arange(now.n_classes))[0][0]
        yield {
            "method": way,
            "accuracy": np.mean(ours == now.truth),
            "accuracy by cleanlab": np.mean(of_cleanlab(now, p)[0] == now.truth),
            "labels": len(now.labels),
        }


def show(title, frame, by):
    columns = [name for name in frame.columns if name not in ("set", "setting", "method")]
    print(f"\n{title}\n\n| {' | '.join([*by, *columns])} |\n|{'---|' * (len(by) + len(columns))}")
    for key, row in frame.groupby(by, sort=False)[columns].mean().iterrows():
        cells = ["-" if np.isnan(value) else f"{value:.3f}" for value in row]
        print(f"| {' | '.join([*(key if isinstance(key, tuple) else (key,)), *cells])} |", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("tables", "people", "asking"), default="tables")
    parser.add_argument("--sets", nargs="+", default=["development"], help="development, held-out, or names")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--rows", type=int, default=600, help="items of each table")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args(arguments)
    if "NOISEWISE_DATA" not in os.environ:
        raise SystemExit("set NOISEWISE_DATA to the folder of the data")
    warnings.simplefilter("ignore")
    if options.only == "people":
        frames = [pd.DataFrame([{"set": name, **row} for row in found]) for name, found in of_people(options.rows * 20)]
        show("Labelled by people", pd.concat(frames), ["set", "method"])
        return
    names = [name for each in options.sets for name in SETS.get(each, (each,))]
    found = []
    for name in names:
        for setting in options.settings:
            for seed in options.seeds:
                crowd = simulate(name, setting, options.rows, seed)
                made = asking(crowd, "forest") if options.only == "asking" else rows(crowd, probabilities(crowd))
                found += [{"set": name, "setting": setting, **row} for row in made]
    frame = pd.DataFrame(found)
    show("By setting", frame, ["setting", "method"])
    show("By set", frame, ["set", "method"])
    show("Mean", frame, ["method"])


if __name__ == "__main__":
    main()
