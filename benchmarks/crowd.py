"""True labels from few or many annotators: accuracy on textual entailment, 800 items labelled by 164 annotators.

    NOISEWISE_DATA=folder python benchmarks/crowd.py [--draws 100]

For each number of annotators, drawn at random, the fraction of items they labelled that get their true label.
"""

import argparse

import numpy as np

from noisewise.datasets import load_crowd
from noisewise.labels import dawid_skene, majority_vote, shared_flips

COUNTS = (5, 10, 20, 41, 82, 123, 164)
METHODS = {
    "majority vote": majority_vote,
    "one flip matrix": shared_flips,
    "Dawid-Skene": lambda *annotations: dawid_skene(*annotations, pooled=False),
    "Dawid-Skene, pooled prior": dawid_skene,
}


def accuracy(crowd, n_annotators, rng):
    """Accuracy of every method with so many annotators."""
    kept = np.isin(crowd.annotators, rng.choice(np.unique(crowd.annotators), n_annotators, replace=False))
    annotations = crowd.items[kept], crowd.annotators[kept], crowd.labels[kept]
    results = [method(*annotations) for method in METHODS.values()]
    return [np.mean(result.labels == crowd.gold[result.items]) for result in results]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    try:
        crowd = load_crowd("rte")
    except FileNotFoundError as error:
        print(f"left out: {error}")
        return
    rng = np.random.default_rng(0)
    columns = [
        np.mean([accuracy(crowd, n, rng) for _ in range(draws if n < max(COUNTS) else 1)], axis=0) for n in COUNTS
    ]
    print(f"accuracy by number of annotators, {draws} draws of each")
    print(f"{'':26}" + "".join(f"{n:>8}" for n in COUNTS))
    for method, row in zip(METHODS, np.transpose(columns)):
        print(f"{method:26}" + "".join(f"{value:>8.3f}" for value in row))


if __name__ == "__main__":
    main()
