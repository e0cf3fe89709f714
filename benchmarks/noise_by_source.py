"""LinUCB where the noise is not the same for all: rates by action, by annotator, and missing feedback.

    python benchmarks/noise_by_source.py [--rounds 30000]

8x8 digits drawn with replacement, all ten or even against odd, one seed: error of the greedy label in the end /
mistakes of the played label, and which fraction of the intervals of `report()` hold the true rate.
"""

import argparse

import numpy as np
from feedback import digits

from noisewise import FlipMatrix
from noisewise.online.recipes import linucb

BY_ACTION = {
    "(.5, .1) and (.05, .6)": [(0.5, 0.1), (0.05, 0.6)],
    "(.3, .1) and (.1, .3)": [(0.3, 0.1), (0.1, 0.3)],
    "all (.2, .2)": [(0.2, 0.2)],
}
CAREFUL, CARELESS, SPITEFUL, YES, NO = (0.02, 0.02), (0.3, 0.3), (0.8, 0.8), (0.97, 0.03), (0.03, 0.97)
ANNOTATORS = {
    "half careful, all kinds": [CAREFUL] * 10 + [CARELESS] * 5 + [SPITEFUL] * 2 + [YES] * 2 + [NO],
    "4 careful, 10 careless, 3 yes, 3 no": [CAREFUL] * 4 + [CARELESS] * 10 + [YES] * 3 + [NO] * 3,
    "all (.15, .15)": [(0.15, 0.15)] * 20,
}
MISSING = {"half, at random": (0.5, 0.5), "70 % of wrong, 10 % of right": (0.7, 0.1), "all of wrong": (1.0, 0.2)}


def rate(learner, X, y, mistakes):
    return f"{np.mean(learner.predict(X[:20_000]) != y[:20_000]):.3f} / {np.mean(mistakes):.3f}"


def held(report, rates):
    """The fraction of the intervals that hold the rates (rho0, rho1) of those the report is about."""
    inside = [
        (report[f"{name}_low"] <= true) & (true <= report[f"{name}_high"])
        for name, true in zip(("false_positive", "false_negative"), np.asarray(rates).T)
    ]
    return float(np.mean(inside))


def by_action(X, y, n_actions):
    title = f"rates of half of the {n_actions} actions"
    print(f"\n{title:40}{'raw':>16}{'rates known':>16}{'rates found':>16}{'held':>8}")
    for name, kinds in BY_ACTION.items():
        which = np.random.default_rng(0).permutation(n_actions) % len(kinds)
        noise = [FlipMatrix.binary(*kinds[kind]) for kind in which]
        n = n_actions
        options = {"intercept": False}, {"intercept": False, "noise": noise}, {"intercept": False, "rates": "action"}
        learners = [linucb(n, random_state=0, **one) for one in options]  # the rows have a constant
        played = [learner.play(X, y, noise=noise, rng=3).mistakes for learner in learners]
        cells = "".join(f"{rate(one, X, y, wrong):>16}" for one, wrong in zip(learners, played))
        print(f"{name:40}{cells}{held(learners[2].report('pandas'), np.array(kinds)[which]):8.2f}")


def error_after(learner, X, y, feedback, who=None):
    """Decide and learn row by row; `feedback` gives that on a right or wrong action."""
    wrong = np.zeros(len(y), dtype=bool)
    for i, (x, true) in enumerate(zip(X, y)):
        decision = learner.decide(x)
        wrong[i] = decision.action != true
        learner.learn(decision, feedback(i, not wrong[i]), person=None if who is None else who[i])
    return rate(learner, X, y, wrong)


def by_annotator(X, y, n_actions):
    rng = np.random.default_rng(1)
    print(f"\n{f'20 annotators, {n_actions} actions':40}{'raw':>16}{'person=':>16}{'held':>8}")
    for name, kinds in ANNOTATORS.items():
        rates, activity = np.array(kinds)[rng.permutation(20)], 1 / np.arange(1, 21)
        who, u = rng.choice(20, size=len(y), p=activity / activity.sum()).tolist(), rng.random(len(y))

        def feedback(i, right, rates=rates, who=who, u=u):
            return int(u[i] >= rates[who[i], 1]) if right else int(u[i] < rates[who[i], 0])

        raw, weighted = (linucb(n_actions, intercept=False) for _ in range(2))
        cells = f"{error_after(raw, X, y, feedback):>16}{error_after(weighted, X, y, feedback, who):>16}"
        report = weighted.report("pandas")
        print(f"{name:40}{cells}{held(report, rates[report['person'].to_numpy().astype(int)]):8.2f}")


def missing_feedback(X, y):
    rng = np.random.default_rng(2)
    print(
        f"\n{'missing feedback (else flips of .15, .15)':40}"
        + "".join(f"{mode:>16}" for mode in ("drop", "no", "auto"))
    )
    for name, absent in MISSING.items():
        u, v = rng.random(len(y)), rng.random(len(y))

        def feedback(i, right, absent=absent, u=u, v=v):
            return None if u[i] < absent[right] else int(right != (v[i] < 0.15))

        cells = [
            error_after(linucb(10, missing=mode, intercept=False), X, y, feedback) for mode in ("drop", "no", "auto")
        ]
        print(f"{name:40}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30_000)
    X, y = digits(parser.parse_args().rounds)
    by_action(X, y, 10)
    by_action(X, y % 2, 2)
    by_annotator(X[:20_000], y[:20_000], 10)
    by_annotator(X[:20_000], y[:20_000] % 2, 2)
    missing_feedback(X, y)
