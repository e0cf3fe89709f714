"""How near the flip rates of right/wrong feedback are found, on 8x8 digits (and SynSep) at six noise settings.

    python benchmarks/feedback_rates.py [--online 20] [--moments 32] [--synsep 4] [--network 1] [--first-seed 1000]
    python benchmarks/feedback_rates.py --only coverage [--coverage 40]

--online: `corrected_ucwl` plays 100,000 rounds with 1 % of exploration (5 % in the first tenth) and finds the rates
itself. Beside its errors: those of the mean feedback of all wrong rounds if the truth were known, and their standard
deviation in theory, the least an estimate of rho0 can have (Cramer-Rao).
--moments, --synsep: `rates_from_moments` on logs of 50,000 rounds of a player who is right in six of ten.
--network: `NREst` with the paper's network of 70 epochs (extra torch), on the same logs of digits.
--coverage: how often the stated 95 % intervals hold the true rates, how wide they are, and the deviation of the
estimates as a fraction of what the intervals allow for (1: as wide as needed).
Each number says over how many seeds; 0 leaves a part out, and --only all parts but one.
"""

import argparse
import time

import numpy as np
from feedback import NOISES, digits, unit_digits

from noisewise import FlipMatrix
from noisewise.datasets import make_synsep
from noisewise.noise import rates_from_moments
from noisewise.online import NREst, PrintedNetwork
from noisewise.online.recipes import corrected_ucwl, rcine

ROUNDS = 100_000
PARTS = {"online": 20, "moments": 32, "synsep": 4, "network": 0, "coverage": 4}  # and their seeds
COVERED = [(0.0, 0.0), (0.1, 0.1), (0.1, 0.3), (0.25, 0.25), (0.3, 0.1), (0.4, 0.2)]


def online(seeds):
    print(f"on line, {ROUNDS:,} rounds, {len(seeds)} seeds: error of rho0 and rho1 as mean, deviation, largest")
    print(f"{'(rho0, rho1)':14}{'rho0':>24}{'rho1':>24}{'rho0, truth known':>26}{'in theory':>11}")
    for rates in NOISES:
        noise, errors, least = FlipMatrix.binary(*rates), [], []
        for seed in seeds:
            X, y = digits(ROUNDS, seed)
            learner = corrected_ucwl(10, random_state=seed)
            history = learner.play(X, y, noise=noise, rng=seed + 10_000)
            known = history.feedback[history.mistakes].mean()
            found = learner.noise_.matrix
            errors.append([found[0, 1] - rates[0], found[1, 0] - rates[1], known - rates[0]])
            least.append(np.sqrt(rates[0] * (1 - rates[0]) / history.mistakes.sum()))
        means, stds, most = np.mean(errors, axis=0), np.std(errors, axis=0), np.abs(errors).max(axis=0)
        cells = [f"{mean:+.3f} {std:.4f} {worst:.4f}" for mean, std, worst in zip(means, stds, most)]
        print(f"{rates!s:14}{cells[0]:>24}{cells[1]:>24}{cells[2]:>26}{np.mean(least):>11.4f}", flush=True)


def logged(X, y, n_classes, rates, rng, n_rounds=50_000, exploration=0.1, skill=0.6):
    """A log of a player who guesses right with some skill and explores uniformly."""
    rows = rng.integers(len(X), size=n_rounds)
    guess = np.where(rng.random(n_rounds) < skill, y[rows], rng.integers(n_classes, size=n_rounds))
    actions = np.where(rng.random(n_rounds) < exploration, rng.integers(n_classes, size=n_rounds), guess)
    probabilities = exploration / n_classes + (1 - exploration) * (actions == guess)
    feedback = FlipMatrix.binary(*rates).corrupt((actions == y[rows]).astype(int), rng)
    return X[rows], actions, feedback, probabilities


def report(name, find, data, seeds):
    """Mean and largest error of both rates at each setting, and the seconds a log takes."""
    errors, seconds = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = data(seed)
        for rates in NOISES:
            log = logged(X, y, int(y.max()) + 1, rates, rng)
            started = time.process_time()
            found = find(*log, int(y.max()) + 1)
            seconds.append(time.process_time() - started)
            errors.append(np.abs([found.false_positive - rates[0], found.false_negative - rates[1]]))
    each = np.reshape(errors, (len(seeds), len(NOISES), 2))
    print(f"{name}, {len(errors)} logs of 50,000 rounds: mean {each.mean():.4f}, largest {each.max():.4f}")
    print(f"  by setting, mean (largest): {'  '.join(_cell(each[:, i]) for i in range(len(NOISES)))}")
    print(f"  {np.median(seconds):.2f} s a log", flush=True)


def _cell(errors):
    return f"{errors.mean():.4f} ({errors.max():.4f})"


def by_network(X, actions, feedback, probabilities, n_classes):
    nrest = NREst(n_classes, PrintedNetwork())
    nrest.observe(X, actions, probabilities, feedback)
    return nrest.estimate()


def coverage(seeds):
    """Fraction of intervals that hold the truth: of logs, and of learners that find the rates themselves."""
    logs = range(seeds.start, seeds.stop + len(seeds) // 2)
    print(
        "rho0, rho1: fraction of intervals that hold the truth, mean width, deviation / what it allows, largest error"
    )
    for name, find, chosen in [
        ("moments, 50,000 logged rounds", logged_estimate, logs),
        ("corrected_ucwl, 100,000 rounds", lambda *run: played_estimate(corrected_ucwl, *run), seeds),
        ("rcine, 100,000 rounds", lambda *run: played_estimate(rcine, *run), seeds),
    ]:
        print(f"{name}, {len(chosen)} seeds", flush=True)
        held, far = [], 0
        for rates in COVERED:
            found = [find(rates, seed) for seed in chosen]
            cells = [_interval_cell([one[i] for one in found], rates[i]) for i in (0, 1)]
            held += [cell[0] for cell in cells]
            far += sum(max(abs(one[i][0] - rates[i]) for i in (0, 1)) > 0.02 for one in found)
            print(f"  {rates!s:14}" + "".join(f"{fraction:>9.3f} {rest}" for fraction, rest in cells), flush=True)
        fraction = f"{np.mean(held):>9.3f}, least {min(held):.3f}"
        print(f"  {'all':14}{fraction}; off by more than .02: {far} of {len(chosen) * len(COVERED)}", flush=True)


def logged_estimate(rates, seed):
    """Both rates of one log, each with its interval."""
    rng = np.random.default_rng([seed, *(round(100 * rate) for rate in rates)])
    return _both(rates_from_moments(*logged(*unit_digits(), 10, rates, rng), 10))


def played_estimate(recipe, rates, seed):
    """The same as a learner has found them in the end."""
    learner = recipe(10, random_state=seed)
    learner.play(*digits(ROUNDS, seed), noise=FlipMatrix.binary(*rates), rng=seed + 10_000)
    return _both(learner.tracker_.estimate())


def _both(found):
    rates = found.false_positive, found.false_negative
    intervals = found.false_positive_interval, found.false_negative_interval
    return [(rate, *interval) for rate, interval in zip(rates, intervals)]


def _interval_cell(found, truth):
    values, low, high = np.transpose(found)
    errors, allowed = values - truth, (high - low) / (2 * 1.96)
    ratio = np.sqrt(np.mean(np.square(errors / np.maximum(allowed, 1e-9))))
    held = np.mean((low <= truth) & (truth <= high))
    return held, f"{np.mean(high - low):.4f} {ratio:.2f} {np.abs(errors).max():.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for part, seeds in PARTS.items():
        parser.add_argument(f"--{part}", type=int, default=seeds)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--only", choices=PARTS)
    chosen = parser.parse_args()
    first = chosen.first_seed
    if chosen.only:
        vars(chosen).update({part: 0 for part in PARTS if part != chosen.only})
    if chosen.coverage:
        coverage(range(first, first + chosen.coverage))
    if chosen.online:
        online(range(first, first + chosen.online))
    if chosen.moments:
        seeds = range(first, first + chosen.moments)
        report("moments, digits", rates_from_moments, lambda seed: unit_digits(), seeds)
    if chosen.synsep:
        seeds = range(first, first + chosen.synsep)
        report("moments, SynSep", rates_from_moments, lambda seed: make_synsep(20_000, random_state=seed), seeds)
    if chosen.network:
        seeds = range(first, first + chosen.network)
        report("the paper's network, digits", by_network, lambda seed: unit_digits(), seeds)


if __name__ == "__main__":
    main()
