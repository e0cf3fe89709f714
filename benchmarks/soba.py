"""SOBA as published beside a plain NumPy version of its pseudo-code, its recursive variant, and RCNBF with known rates.

python benchmarks/soba.py [--data synsep] [--rounds 40000] [--gamma 0.1] [--streams 5] [--plain 1]

Every learner plays the same rows with random numbers of its own; the plain version is slow and plays fewer streams.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

from noisewise import FlipMatrix
from noisewise.datasets import make_synsep
from noisewise.online import recipes

NOISES = [(0.0, 0.0), (0.15, 0.15), (0.25, 0.25), (0.4, 0.4), (0.28, 0.08)]


class Plain:
    """Algorithm 1 of Beygelzimer, Orabona and Zhang (2017) with the diagonal of A, line by line."""

    def __init__(self, n_classes, gamma, seed, a=1.0):
        self.n_classes, self.gamma, self.a, self.rng = n_classes, gamma, a, np.random.default_rng(seed)
        self.running = 0.0

    def play(self, X, y, noise, rng):
        """Fraction of mistakes of the played label."""
        flips, rates, K = np.random.default_rng(rng).random(len(y)), noise.matrix, self.n_classes
        A, theta = np.full((K, X.shape[1]), self.a), np.zeros((K, X.shape[1]))
        mistakes = 0
        for x, true, u in zip(X, y, flips):
            W = theta / A
            scores = W @ x
            p = np.full(K, self.gamma / K)
            p[scores.argmax()] += 1 - self.gamma
            played = self.rng.choice(K, p=p)
            mistakes += played != true
            positive = u < rates[int(played == true), 1]
            if not positive:
                continue
            rival = np.where(np.arange(K) == played, -np.inf, scores).argmax()
            w_g = (scores[rival] - scores[played]) / p[played]
            z_z = x * x / p[played]
            m = (p[played] * w_g**2 + 2 * w_g) / (1 + (z_z / A[played] + z_z / A[rival]).sum())
            if m + self.running >= 0:
                self.running += m
                A[[played, rival]] += z_z
                theta[played] += x / p[played]
                theta[rival] -= x / p[played]
        return mistakes / len(y)


def rows(name, rounds, seed):
    rng = np.random.default_rng([seed, 0])
    if name == "synsep":
        return make_synsep(rounds, rng)
    X, y = load_digits(return_X_y=True)
    drawn = rng.integers(len(X), size=rounds)
    return (X / np.linalg.norm(X, axis=1, keepdims=True))[drawn], y[drawn]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=["synsep", "digits"], default="synsep")
    parser.add_argument("--rounds", type=int, default=40_000)
    parser.add_argument("--gamma", type=float, default=0.1)
    parser.add_argument("--streams", type=int, default=5)
    parser.add_argument("--plain", type=int, default=1, help="streams of the plain version")
    parser.add_argument("--noise", type=float, nargs=2, action="append", help="rho0 rho1, instead of all")
    given = parser.parse_args()
    n = 9 if given.data == "synsep" else 10
    makers = {
        "soba": lambda noise, seed: recipes.soba(n, gamma=given.gamma, random_state=seed),
        "plain": lambda noise, seed: Plain(n, given.gamma, seed),
        "recursive": lambda noise, seed: recipes.soba(n, gamma=given.gamma, variant="recursive", random_state=seed),
        "rcnbf": lambda noise, seed: recipes.rcnbf(n, gamma=given.gamma, noise=noise, random_state=seed),
    }
    print(f"{given.data}, {given.rounds:,} rounds, gamma {given.gamma:g}: mistakes, mean and deviation over streams")
    print(f"{'(rho0, rho1)':16}" + "".join(f"{name:>16}" for name in makers))
    for rates in map(tuple, given.noise or NOISES):
        noise, found = FlipMatrix.binary(*rates), {name: [] for name in makers}
        for seed in range(given.streams):
            X, y = rows(given.data, given.rounds, seed)
            for name, make in makers.items():
                if name != "plain" or seed < given.plain:
                    played = make(noise, seed).play(X, y, noise=noise, rng=[seed, 1])
                    found[name].append(getattr(played, "mistake_rate", played))
        cells = (f"{np.mean(some):.3f} ±{np.std(some):.3f}" if some else "" for some in found.values())
        print(f"{rates!s:16}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
