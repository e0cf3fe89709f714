"""How near the flip rates of right/wrong feedback are found, on 8x8 digits (and SynSep) at six noise settings.

    python benchmarks/feedback_rates.py [--online 20] [--moments 32] [--synsep 4] [--network 1] [--first-seed 1000]

--online: `corrected_ucwl` plays 100,000 rounds with 1 % of exploration (5 % in the first tenth) and finds the rates
itself. Beside its errors: those of the mean feedback of all wrong rounds if the truth were known, and their standard
deviation in theory, the least an estimate of rho0 can have (Cramer-Rao).
--moments, --synsep: `rates_from_moments` on logs of 50,000 rounds of a player who is right in six of ten.
--network: `NREst` with the paper's network of 70 epochs (extra torch), on the same logs of digits.
Each number says over how many seeds; 0 leaves a part out.
"""

import argparse
import time

import numpy as np
from feedback import NOISES, digits, unit_digits

from noisewise import FlipMatrix
from noisewise.datasets import make_synsep
from noisewise.noise import rates_from_moments
from noisewise.online import NREst, PrintedNetwork
from noisewise.online.recipes import corrected_ucwl

ROUNDS = 100_000


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
        means, spreads, most = np.mean(errors, axis=0), np.std(errors, axis=0), np.abs(errors).max(axis=0)
        cells = [f"{mean:+.3f} {spread:.4f} {worst:.4f}" for mean, spread, worst in zip(means, spreads, most)]
        print(f"{rates!s:14}{cells[0]:>24}{cells[1]:>24}{cells[2]:>26}{np.mean(least):>11.4f}", flush=True)


def logged(X, y, n_classes, rates, rng, n_rounds=50_000, share=0.1, skill=0.6):
    """A log of a player who guesses right with some skill and explores uniformly."""
    rows = rng.integers(len(X), size=n_rounds)
    guess = np.where(rng.random(n_rounds) < skill, y[rows], rng.integers(n_classes, size=n_rounds))
    actions = np.where(rng.random(n_rounds) < share, rng.integers(n_classes, size=n_rounds), guess)
    probabilities = share / n_classes + (1 - share) * (actions == guess)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--online", type=int, default=20)
    parser.add_argument("--moments", type=int, default=32)
    parser.add_argument("--synsep", type=int, default=4)
    parser.add_argument("--network", type=int, default=0)
    parser.add_argument("--first-seed", type=int, default=1000)
    chosen = parser.parse_args()
    first = chosen.first_seed
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
