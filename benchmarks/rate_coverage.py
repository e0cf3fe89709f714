"""How often the stated 95 % intervals of flip rates hold the truth, and what rates by action cost, on other data sets.

    python benchmarks/rate_coverage.py [--sets segment vehicle ...] [--runs 20] [--rounds 30000] [--only tracker]
    python benchmarks/rate_coverage.py --quick

Each run draws a pair of rates between 0 and .4 (below .7 together) that nothing was tuned on; rows are drawn with
replacement, columns standardised, rows of length one with a constant feature; of images, 40 principal components of
10,000. Intervals of estimates that say "not identified" are counted apart.
--only moments: `rates_from_moments` on the log of a player who is right in six of ten. tracker: `corrected_ucwl` as it
plays. action: `report()` of `linucb(rates="action")`, with a pair for each action. person: `report()` of `linucb` with
eight annotators. nrest: `NREst` with trees. gate: mistakes played by `linucb` as it comes and with `rates="action"`,
where all rates are equal, where those of half of the actions differ, and where one action is uninformative. right:
how often `report()` of `linucb` with eight annotators says that the rates are identified, where one action is right for
a row, where several may be, and where none is in a third of the rounds. several: how often `rates_from_moments` says
so where one, two or half of the actions are right for every row.
"""

import argparse

import numpy as np
from feedback import unit_digits
from feedback_rates import logged
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier

from noisewise import FlipMatrix
from noisewise.datasets import load
from noisewise.noise import rates_from_moments
from noisewise.online import NREst
from noisewise.online.rates.overlap import NONE, SEVERAL
from noisewise.online.rates.per_annotator import NOBODY_TELLS
from noisewise.online.recipes import corrected_ucwl, linucb

SETS = ["pendigits", "segment", "vehicle", "landsat", "letter", "optdigits"]
WIDEST, N_COMPONENTS, MOST_ROWS = 64, 40, 10_000  # images are reduced to principal components
NAMES = "false_positive", "false_negative"
GATE = {
    "equal (.2, .2)": [(0.2, 0.2)],
    "(.3, .1) and (.1, .3)": [(0.3, 0.1), (0.1, 0.3)],
    "(.5, .1) and (.05, .6)": [(0.5, 0.1), (0.05, 0.6)],
    "one (.5, .49), others (.1, .1)": None,
}
RIGHT = [
    "one",
    "several by features",
    "several by class",
    "sets by class",
    "none by region",
    "none by class",
    "none softly",
]
REASONS = {"several": SEVERAL, "none": NONE, "nobody tells": NOBODY_TELLS}  # the others: classes overlap


def rows_of(name):
    """Rows of length one with a constant feature, and codes of the labels."""
    if name == "digits":
        return unit_digits()
    dataset = load(name)
    X, y = np.asarray(dataset.X, dtype=float), np.unique(dataset.y, return_inverse=True)[1]
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if X.shape[1] > WIDEST:
        X = PCA(N_COMPONENTS, random_state=0).fit_transform(X[:MOST_ROWS])
        y = y[:MOST_ROWS]
    lengths = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return np.column_stack([X / lengths, np.full(len(X), 0.3)]), y


def pair(rng):
    """Two rates that leave some signal."""
    while True:
        rates = rng.uniform(0, 0.4, size=2)
        if rates.sum() < 0.7:
            return rates


def drawn(X, y, rounds, rng):
    chosen = rng.integers(len(X), size=rounds)
    return np.ascontiguousarray(X[chosen]), y[chosen]


def moments(X, y, rounds, seed):
    rng = np.random.default_rng([seed, 1])
    rates, k = pair(rng), int(y.max()) + 1
    return _one(rates_from_moments(*logged(X, y, k, rates, rng, rounds), k), rates)


def tracker(X, y, rounds, seed):
    rng = np.random.default_rng([seed, 2])
    rates, learner = pair(rng), corrected_ucwl(int(y.max()) + 1, random_state=seed)
    learner.play(*drawn(X, y, rounds, rng), noise=FlipMatrix.binary(*rates), rng=rng)
    return _one(learner.tracker_.estimate(), rates)


def nrest(X, y, rounds, seed):
    rng = np.random.default_rng([seed, 3])
    rates, k = pair(rng), int(y.max()) + 1
    found = NREst(k, ExtraTreesClassifier(50, min_samples_leaf=20, random_state=0))
    rows, actions, feedback, probabilities = logged(X, y, k, rates, rng, min(rounds, 20_000))
    found.observe(rows, actions, probabilities, feedback)
    return _one(found.estimate(), rates)


def _one(found, rates):
    return [(found.identified, *found.false_positive_interval, *found.false_negative_interval, *rates)]


def action(X, y, rounds, seed):
    rng = np.random.default_rng([seed, 4])
    k = int(y.max()) + 1
    rates, learner = np.array([pair(rng) for _ in range(k)]), linucb(k, rates="action", random_state=seed)
    learner.play(*drawn(X, y, rounds, rng), noise=[FlipMatrix.binary(*each) for each in rates], rng=rng)
    return _each(learner.report("pandas"), rates)


def person(X, y, rounds, seed):
    rng = np.random.default_rng([seed, 5])
    rates, learner = np.array([pair(rng) for _ in range(8)]), linucb(int(y.max()) + 1, random_state=seed)
    for x, true in zip(*drawn(X, y, rounds, rng)):
        decision, who = learner.decide(x), int(rng.integers(8))
        right = decision.action == true
        learner.learn(decision, int(right != (rng.random() < rates[who, int(right)])), person=who)
    report = learner.report("pandas")
    return _each(report, rates[report["person"].to_numpy()])


def _each(report, rates):
    limits = [report[f"{name}_{end}"].to_numpy() for name in NAMES for end in ("low", "high")]
    return list(zip(report["identified"], *limits, *rates.T))


def coverage(part, names, runs, rounds, first):
    print(
        f"\n{part}: fraction of intervals that hold the truth, and their mean width; {runs} runs of {rounds:,} rounds; "
        "on the right those of rates that are not identified"
    )
    heads = f"{'rho0':>10}{'width':>8}{'rho1':>10}{'width':>8}"
    print(f"{'':14}{'identified':>12}{heads}{heads}")
    for name in names:
        found = np.array(
            [one for seed in range(first, first + runs) for one in PARTS[part](*rows_of(name), rounds, seed)]
        )
        said = found[:, 0] > 0
        print(f"{name:14}{said.mean():12.2f}{_cells(found[said])}{_cells(found[~said])}", flush=True)


def _cells(found):
    cells = ""
    for low, high, true in ((1, 2, 5), (3, 4, 6)) if len(found) else ():
        inside = (found[:, low] <= found[:, true]) & (found[:, true] <= found[:, high])
        cells += f"{inside.mean():10.3f}{np.mean(found[:, high] - found[:, low]):8.3f}"
    return f"{cells:36}"


def gate(names, runs, rounds, first):
    print(
        f"\ngate: mistakes played, raw and with rates='action', and how often these are used; {runs} runs of {rounds:,}"
    )
    for name in names:
        X, y = rows_of(name)
        k = int(y.max()) + 1
        for setting, kinds in GATE.items():
            found = [_played(X, y, k, kinds, rounds, seed) for seed in range(first, first + runs)]
            raw, by_action, used = np.mean(found, axis=0)
            costs = [each[1] - each[0] for each in found]
            error = np.std(costs) / np.sqrt(runs)
            print(
                f"{name:12}{setting:32}{raw:8.3f}{by_action:8.3f}{used:8.2f}  cost {np.mean(costs):+.4f} +- {error:.4f}"
                f", at most {max(costs):+.3f}",
                flush=True,
            )


def _played(X, y, k, kinds, rounds, seed):
    rng = np.random.default_rng([seed, 6])
    if kinds is None:
        pairs = np.full((k, 2), 0.1)
        pairs[rng.integers(k)] = 0.5, 0.49
    else:
        pairs = np.array(kinds)[rng.permutation(k) % len(kinds)]
    noise, stream = [FlipMatrix.binary(*each) for each in pairs], drawn(X, y, rounds, rng)
    learners = linucb(k, random_state=seed), linucb(k, rates="action", random_state=seed)
    raw, by_action = (learner.play(*stream, noise=noise, rng=seed).mistake_rate for learner in learners)
    return raw, by_action, bool(learners[1].tracker_.report.on)


def right(names, runs, rounds, first):
    print(f"\nright: reports by annotator that say identified, and why others do not; {runs} runs of {rounds:,} rounds")
    for name in names:
        X, y = rows_of(name)
        for kind in RIGHT:
            found = [_reported(X, y, kind, rounds, seed) for seed in range(first, first + runs)]
            n_right = np.mean([each[0] for each in found])
            reasons = [reason for _, reason in found]
            cells = "".join(f"  {said} {reasons.count(text)}" for said, text in REASONS.items())
            print(f"{name:12}{kind:22}{n_right:6.2f} right  identified {reasons.count('')}{cells}", flush=True)


def _reported(X, y, kind, rounds, seed):
    """Mean number of right actions of a row, and the reason why the rates of annotators are not identified."""
    rng = np.random.default_rng([seed, 7, RIGHT.index(kind)])
    k = int(y.max()) + 1
    rates, p_right, learner = np.array([pair(rng) for _ in range(8)]), p_right_of(kind, X, y, k, rng), linucb(k)
    draws = zip(rng.integers(len(X), size=rounds), rng.integers(8, size=rounds).tolist(), rng.random((rounds, 2)))
    for row, who, (u, flip) in draws:
        decision = learner.decide(X[row])
        is_right = u < p_right[row, decision.action]
        learner.learn(decision, int(is_right != (flip < rates[who, int(is_right)])), person=who)
    return p_right.sum(axis=1).mean(), learner.report("pandas")["reason"].iloc[0]


def p_right_of(kind, X, y, k, rng):
    """P(right | row) of each action: of several, a tenth to four tenths of the actions are right on average."""
    one, fraction = np.eye(k)[y], rng.uniform(0.1, 0.4)
    directions = (X - X.mean(axis=0)) @ rng.normal(size=(X.shape[1], k))
    directions /= directions.std(axis=0)
    if kind == "several by features":
        logits = directions * rng.uniform(1.5, 4) + rng.normal(scale=0.7, size=k)
        return expit(logits + brentq(lambda shift: expit(logits + shift).mean() - fraction, -20, 20))
    if kind == "several by class":
        return rng.beta(2 * fraction, 2 * (1 - fraction), size=(k, k))[y]
    if kind == "sets by class":  # a row's class has some actions that are always right, and the others never are
        chosen = rng.random((k, k)) < fraction
        chosen[np.arange(k), rng.integers(k, size=k)] = True
        return chosen[y].astype(float)
    if kind == "none by region":
        return one * (directions[:, :1] < np.quantile(directions[:, 0], 2 / 3))
    if kind == "none by class":
        return one * ~np.isin(y, rng.permutation(k)[: max(1, round(k / 3))])[:, None]
    return one * expit(2 * directions[:, :1] + 1.2) if kind == "none softly" else one


def several(names, runs, rounds, first):
    print(
        f"\nseveral: logs of which `rates_from_moments` says identified; {runs} of {rounds:,} rounds, a fifth uniform"
    )
    for name in names:
        X, y = rows_of(name)
        k = int(y.max()) + 1
        for n_right in (1, 2, k // 2):
            found = [_moments_of_several(X, y, k, n_right, rounds, seed) for seed in range(first, first + runs)]
            print(f"{name:12}{n_right:3} of {k:2} actions right  identified {sum(found):3}", flush=True)


def _moments_of_several(X, y, k, n_right, rounds, seed):
    """Whether rates are said to be identified where as many actions are right for every row, by a circle of classes."""
    rng = np.random.default_rng([seed, 8])
    rates, (rows, true) = pair(rng), drawn(X, y, rounds, rng)
    guesses = np.where(rng.random(rounds) < 0.6, true, rng.integers(k, size=rounds))
    actions = np.where(rng.random(rounds) < 0.2, rng.integers(k, size=rounds), guesses)
    propensities = 0.2 / k + 0.8 * (0.6 * (actions == true) + 0.4 / k)
    is_right = (actions - true) % k < n_right
    feedback = FlipMatrix.binary(*rates).corrupt(is_right.astype(int), rng)
    return rates_from_moments(rows, actions, feedback, propensities, k).identified


PARTS = {"moments": moments, "tracker": tracker, "action": action, "person": person, "nrest": nrest}
TABLES = {"gate": gate, "right": right, "several": several}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=30_000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *TABLES], default=[*PARTS, *TABLES])
    parser.add_argument("--quick", action="store_true", help="two runs of 10,000 rounds on digits")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sets, chosen.runs, chosen.rounds = ["digits"], 2, 10_000
    for part in chosen.only:
        if part in TABLES:
            TABLES[part](chosen.sets, chosen.runs, chosen.rounds, chosen.first_seed)
        else:
            coverage(part, chosen.sets, chosen.runs, chosen.rounds, chosen.first_seed)


if __name__ == "__main__":
    main()
