"""Wrong labels of pictures and texts: embeddings against pixels and tf-idf, noisewise beside cleanlab on the same rows.

    NOISEWISE_DATA=... python benchmarks/audit_embeddings.py                 every set, two seeds: some minutes
    NOISEWISE_DATA=... python benchmarks/audit_embeddings.py --sets usps     one set
    python benchmarks/audit_embeddings.py --sets fortunes --fortunes DIR     texts by fortune-mod's files in a folder

Pictures are written as PNG files into a folder for each label and audited from there. `mnist` and `debian` (short
descriptions of packages by section, from `apt-cache dumpavail`) were looked at while the features were chosen;
`fashion_mnist`, `usps`, `fortunes` and `tickets` were not. Sets that are not there are left out.

cleanlab gets the probabilities of scikit-learn's LogisticRegression from 5 shuffled stratified folds: on the same
embeddings, standardised, and on pixels or tf-idf of words.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from PIL import Image
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noisewise import FlipMatrix, audit_images, audit_labels
from noisewise.embeddings import embed_images, embed_texts

PICTURES = ("mnist", "fashion_mnist", "usps")
SECTIONS = (
    "games", "sound", "graphics", "science", "math", "fonts", "mail", "web", "editors", "admin", "net", "database",
)  # fmt: skip
FORTUNES = ("computers", "science", "politics", "love", "food", "sports", "medicine", "law", "startrek", "men-women")
TICKETS = {  # what a ticket is about: how people put it
    "billing": "charged twice|refund|invoice is wrong|the amount on my bill|payment was declined|"
    "cancel my subscription|price went up|receipt for taxes|credit card expired|got billed after I left",
    "bug": "app crashes|error after the update|page stays blank|button does nothing|it freezes|wrong result is shown|"
    "file is corrupted|keeps restarting|broken since yesterday|exception on save",
    "account": "forgot my password|can't log in|change my email|delete my profile|two-factor code never comes|"
    "locked out|add a colleague|verify my identity|user name is taken|merge two logins",
    "feature": "please add dark mode|would be nice to export|support for tablets|wish I could sort|an option to undo|"
    "integrate with our calendar|keyboard shortcuts|idea for the next version|more languages|allow several tags",
    "shipping": "parcel has not arrived|wrong address|courier left it outside|track my delivery|damaged in transit|"
    "customs held it|when will it be dispatched|half of the order is missing|return label|late again",
}
FILLERS = (
    "hello", "thanks in advance", "this is urgent", "as I wrote last week", "on my phone", "at our office",
    "since Monday", "for the third time", "I like your product otherwise", "please answer soon",
    "my colleague sees the same",
)  # fmt: skip
KEYS = ("AUROC", "AP", "F1", "count / errors", "holds", "CPU s")


def picture_set(name, n, rng):
    """Grey pictures (n, side, side) and their classes."""
    stored = np.load(Path(os.environ["NOISEWISE_DATA"]) / f"{name}.npz")
    X, y = stored["X"], stored["y"].astype(int)
    chosen = rng.permutation(len(X))[:n]
    X, side = X[chosen].astype(float), int(np.sqrt(X.shape[1]))
    grey = 255 * (X - X.min()) / np.ptp(X)
    return grey.round().astype(np.uint8).reshape(n, side, side), np.unique(y[chosen], return_inverse=True)[1]


def debian(n, rng, arguments):
    """Short descriptions of packages, and their sections."""
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    found = {}
    for entry in listed.split("\n\n"):
        text, section = re.search(r"^Description: (.*)$", entry, re.M), re.search(r"^Section: (.*)$", entry, re.M)
        if text and section and section[1] in SECTIONS:
            found[text[1]] = SECTIONS.index(section[1])
    return sampled(list(found.items()), n, rng)


def fortunes(n, rng, arguments):
    """Short texts of fortune-mod, and the files that they stand in."""
    entries = []
    for code, name in enumerate(FORTUNES):
        text = (Path(arguments.fortunes) / name).read_text(encoding="utf-8")
        entries += [(entry, code) for entry in text.split("\n%\n") if entry.strip()]
    return sampled(entries, n, rng)


def tickets(n, rng, arguments):
    """Made-up messages: a phrase of the topic among others that say nothing, some words misspelt."""
    y = rng.integers(len(TICKETS), size=n)
    texts = []
    for topic in y:
        own = list(TICKETS.values())[topic].split("|")
        parts = [*rng.choice(FILLERS, 3, replace=False), rng.choice(own)]
        words = " ".join(rng.permutation(parts)).split()
        texts.append(" ".join(word[:-1] if rng.random() < 0.1 else word for word in words))
    return texts, y


def sampled(entries, n, rng):
    chosen = [entries[i] for i in rng.permutation(len(entries))[:n]]
    return [text for text, _ in chosen], np.array([code for _, code in chosen])


TEXTS = {make.__name__: make for make in (debian, fortunes, tickets)}


def corrupted(truth, rng):
    """One label in five is wrong: half of these any other, half of these the next class."""
    k = truth.max() + 1
    matrix = 0.5 * FlipMatrix.symmetric(0.2, n_classes=k).matrix + 0.5 * (
        0.8 * np.eye(k) + 0.2 * np.eye(k)[np.r_[1:k, 0]]
    )
    return FlipMatrix(matrix).corrupt(truth, rng)


def measured(wrong, score, picked, count, interval, seconds):
    n_wrong = wrong.sum()
    return {
        "AUROC": roc_auc_score(wrong, score),
        "AP": average_precision_score(wrong, score),
        "F1": 2 * wrong[picked].sum() / (len(picked) + n_wrong),
        "count / errors": count / n_wrong,
        "holds": np.nan if interval is None else float(interval[0] <= n_wrong <= interval[1]),
        "CPU s": seconds,
    }


def ours(run, wrong):
    start = time.process_time()
    audit = run()
    seconds, expected = time.process_time() - start, audit.expected_errors
    return measured(wrong, 1 - audit.probability, audit.picked, float(expected), expected.interval, seconds)


def cleanlab(rows, y, wrong, scale):
    start = time.process_time()
    model = (
        LogisticRegression(max_iter=500) if not scale else make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = cross_val_predict(model, rows, y, cv=folds, method="predict_proba")
        picked = np.flatnonzero(find_label_issues(y, p))
    score = -get_label_quality_scores(y, p)
    return measured(wrong, score, picked, len(picked), None, time.process_time() - start)


def audit_pictures(name, n, rng):
    pictures, truth = picture_set(name, n, rng)
    y = corrupted(truth, rng)
    with tempfile.TemporaryDirectory() as folder:
        for i, picture in enumerate(pictures):
            (Path(folder) / str(y[i])).mkdir(exist_ok=True)
            Image.fromarray(picture).save(Path(folder) / str(y[i]) / f"{i:06}.png")
        order = np.argsort(np.array([f"{label}/{i:06}" for i, label in enumerate(y)]), kind="stable")
        wrong = (y != truth)[order]  # a folder is audited in the order of its paths
        found = {"HOG and pixels: noisewise": ours(lambda: audit_images(folder), wrong)}
    wrong, pixels, embedded = y != truth, pictures.reshape(len(pictures), -1).astype(float), embed_images(pictures)
    found["pixels: noisewise"] = ours(lambda: audit_labels(pixels, y), wrong)
    found["HOG and pixels: cleanlab"] = cleanlab(embedded, y, wrong, scale=True)
    found["pixels: cleanlab"] = cleanlab(pixels, y, wrong, scale=True)
    return found


def audit_of_texts(name, n, rng, arguments):
    texts, truth = TEXTS[name](n, rng, arguments)
    y = corrupted(truth, rng)
    wrong = y != truth
    found = {"embeddings: noisewise": ours(lambda: audit_labels(texts, y, encoder="wordllama"), wrong)}
    found["hashed words: noisewise"] = ours(lambda: audit_labels(texts, y, encoder="words"), wrong)
    found["embeddings: cleanlab"] = cleanlab(embed_texts(texts, "wordllama"), y, wrong, scale=True)
    tf_idf = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    found["tf-idf: cleanlab"] = cleanlab(tf_idf, y, wrong, scale=False)
    return found


def is_there(name, arguments):
    if name in PICTURES:
        return (Path(os.environ.get("NOISEWISE_DATA", "nowhere")) / f"{name}.npz").is_file()
    if name == "debian":
        return shutil.which("apt-cache") is not None
    return name == "tickets" or all((Path(arguments.fortunes) / file).is_file() for file in FORTUNES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=[*PICTURES, *TEXTS])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--fortunes", default="/usr/share/games/fortunes")
    arguments = parser.parse_args()
    print(f"{'set':15} {'rows and method':28} " + " ".join(f"{key:>14}" for key in KEYS))
    for name in arguments.sets:
        if not is_there(name, arguments):
            print(f"{name:15} is not there: left out")
            continue
        runs = []
        for seed in arguments.seeds:
            rng = np.random.default_rng(seed)
            if name in PICTURES:
                runs.append(audit_pictures(name, arguments.rows, rng))
            else:
                runs.append(audit_of_texts(name, arguments.rows, rng, arguments))
        for method in runs[0]:
            means = [np.mean([run[method][key] for run in runs]) for key in KEYS]
            print(f"{name:15} {method:28} " + " ".join(f"{mean:14.3f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
