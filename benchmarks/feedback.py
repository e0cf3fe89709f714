"""Mistake rates of the feedback learners on 8x8 digits at six noise settings: all rounds, and the last tenth.

python benchmarks/feedback.py [--rounds 100000]
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

from noisewise import FlipMatrix
from noisewise.online import recipes

NOISES = [(0.0, 0.0), (0.15, 0.15), (0.25, 0.25), (0.4, 0.4), (0.2, 0.4), (0.4, 0.2)]
LEARNERS = {
    "banditron": lambda noise: recipes.banditron(10, gamma=0.05, random_state=0),
    "soba": lambda noise: recipes.soba(10, gamma=0.05, random_state=0),
    "soba, rates known": lambda noise: recipes.soba(10, gamma=0.05, noise=noise, random_state=0),
    "soba, recursive": lambda noise: recipes.soba(10, gamma=0.05, variant="recursive", random_state=0),
    "rcnbf, rates known": lambda noise: recipes.rcnbf(10, gamma=0.1, noise=noise, random_state=0),
    "bandit_pa": lambda noise: recipes.bandit_pa(10, random_state=0),
    "bandit_pa, C=.02": lambda noise: recipes.bandit_pa(10, C=0.02, random_state=0),
    "bandit_pa, rates known": lambda noise: recipes.bandit_pa(10, noise=noise, random_state=0),
    "bandit_pa, C=.02, known": lambda noise: recipes.bandit_pa(10, C=0.02, noise=noise, random_state=0),
    "confidit": lambda noise: recipes.confidit(10),
    "confidit, rates known": lambda noise: recipes.confidit(10, noise=noise),
    "ucwl": lambda noise: recipes.ucwl(10),
    "corrected_ucwl, rates known": lambda noise: recipes.corrected_ucwl(10, noise=noise, random_state=0),
    "corrected_ucwl, rates found": lambda noise: recipes.corrected_ucwl(10, random_state=0),
    "linucb": lambda noise: recipes.linucb(10, intercept=False),  # the rows have a constant
}


def unit_digits():
    """Rows of length one, with a constant feature."""
    X, y = load_digits(return_X_y=True)
    return np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.full(len(X), 0.3)]), y


def digits(rounds, seed=1):
    """The same, drawn with replacement."""
    X, y = unit_digits()
    drawn = np.random.default_rng(seed).integers(len(X), size=rounds)
    return np.ascontiguousarray(X[drawn]), y[drawn]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000)
    rounds = parser.parse_args().rounds
    X, y = digits(rounds)
    print(f"8x8 digits, {rounds:,} rounds, one seed; mistakes of the played label: all rounds / last tenth")
    print(f"{'(rho0, rho1)':28}" + "".join(f"{rates!s:>15}" for rates in NOISES) + f"{'us a round':>12}")
    for name, make in LEARNERS.items():
        cells, started = [], time.process_time()
        for rates in NOISES:
            noise = FlipMatrix.binary(*rates)
            mistakes = make(noise).play(X, y, noise=noise, rng=2).mistakes
            cells.append(f"{mistakes.mean():.3f} / {mistakes[-rounds // 10 :].mean():.3f}")
        cost = (time.process_time() - started) / rounds / len(NOISES) * 1e6
        print(f"{name:28}" + "".join(f"{cell:>15}" for cell in cells) + f"{cost:>12.1f}", flush=True)


if __name__ == "__main__":
    main()
