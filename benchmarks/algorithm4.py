"""Speed of kernel learning from noisy features: fast against literal Algorithm 4, and against Fourier features.

Prints ratios measured in one run; `--rounds` and `--literal` set the sizes.
"""

import argparse
import time

import numpy as np

from noisewise import GaussianNoise
from noisewise.datasets import CopyOracle
from noisewise.features import NoisyKernelRegressor, RandomMap, UnknownNoiseKernelRegressor, loss_terms
from noisewise.kernels import Exponential, Gaussian, Polynomial, surrogate
from noisewise.losses import Squared


def quadratic(n, rng, d=3):
    X = rng.uniform(-1, 1, (n, d))
    return X, X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2


def seconds(run):
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def oracle(n, seed=0):
    X, y = quadratic(n, np.random.default_rng(seed))
    return CopyOracle(X, y, GaussianNoise(0.05), rng=seed)


def fast(n, kernel, estimator):
    model = UnknownNoiseKernelRegressor(kernel, None, estimator, step=0.01, ball=2.0, random_state=0)
    return model.partial_fit(oracle(n)).dual_coef_[:, 0]


def literal(n, kernel, estimator):
    """Algorithm 4 as written: all coefficients scaled, and the norm by its double sum, in every round."""
    rng, stream = np.random.default_rng(0), oracle(n)
    maps, length = RandomMap(kernel, estimator), loss_terms(Squared(), estimator)
    table, single = maps.terms.weighted(), maps.terms.single
    kept, alpha = [], np.zeros(0)

    def prod(x, z):
        if single:
            return table[len(x)] ** 2 * np.prod([a @ b for a, b in zip(x, z)]) if len(x) == len(z) else 0.0
        total, product = table[0] ** 2, 1.0
        for k, (a, b) in enumerate(zip(x, z), start=1):
            product *= a @ b
            total += table[k] ** 2 * product
        return total

    for y in stream:
        new = stream.copies(max(maps.draw(1, rng)[0, 1], 0))
        degree = length.degrees(1, rng)[0]
        factors = []
        for other in maps.draw(max(degree, 0), rng)[:, 1]:
            copies = stream.copies(max(other, 0))
            factors.append(sum(a * prod(old, copies) for a, old in zip(alpha, kept)) - y)
        kept.append(new)
        alpha = np.append(alpha, -0.01 * 2.0 * length.weights()[1] * (factors[0] if factors else 0.0))
        norm = sum(a * b * prod(x, z) for a, x in zip(alpha, kept) for b, z in zip(alpha, kept))
        if norm > 4.0:
            alpha = alpha * np.sqrt(4.0 / norm)
    return alpha


def algorithm_4(n_rounds, n_literal):
    fast(100, Exponential(), "roulette")  # compiles
    slow_time, slow = seconds(lambda: literal(n_literal, Exponential(), "roulette"))
    fast_time, quick = seconds(lambda: fast(n_literal, Exponential(), "roulette"))
    apart = np.abs(slow - quick).max() / np.abs(slow).max()
    ratio = slow_time / fast_time
    print(f"Algorithm 4, {n_literal} rounds: literal / fast = {ratio:.0f}, coefficients within {apart:.1e}")
    for kernel, estimator in (
        (Polynomial(2), "auto"),
        (Exponential(), "roulette"),
        (Exponential(), "geometric"),
        (Gaussian(2.0), "roulette"),
    ):
        times = [seconds(lambda n=n, k=kernel, e=estimator: fast(n, k, e))[0] for n in (n_rounds // 2, n_rounds)]
        growth = times[1] / times[0]
        print(f"  {kernel!r}, {estimator}: {n_rounds} rounds in {times[1]:.2f} s, {growth:.2f} times half of them")


def printed_algorithm_3(copies, y, kernel, step, ball):
    """Algorithm 3 as written: a kernel row, and the norm by its double sum, in every round."""
    alpha, gram = np.zeros(len(y)), np.zeros((len(y), len(y)))
    for t in range(len(y)):
        row = kernel.gram(copies[: t + 1, 0], copies[t])
        gram[t, : t + 1] = gram[: t + 1, t] = row[:, 0]
        alpha[t] = -2 * step * (alpha[:t] @ row[:t, 1] - y[t])
        norm = alpha[: t + 1] @ gram[: t + 1, : t + 1] @ alpha[: t + 1]
        if norm > ball**2:
            alpha *= ball / np.sqrt(norm)
    return alpha


def algorithm_3(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    noise = GaussianNoise(0.09)
    copies = noise.copies(X, 2, rng)

    def surrogate_descent(**options):
        return NoisyKernelRegressor(noise=noise, **options).fit(copies[:, 0], y, copies=copies[:, 1:])

    surrogate_descent()  # compiles
    tuned, _ = seconds(surrogate_descent)
    fixed, _ = seconds(lambda: surrogate_descent(kernel=Gaussian(1.0), step=0.1))
    hat = surrogate(Gaussian(1.0), noise)
    printed, alpha = seconds(lambda: printed_algorithm_3(copies, y - y.mean(), hat, 0.1, 100.0))
    same = surrogate_descent(kernel=Gaussian(1.0), step=0.1, ball=100.0, averaging=None)
    apart = np.abs(same.dual_coef_ - alpha).max() / np.abs(alpha).max()
    print(f"Algorithm 3, {n} rows: {fixed:.2f} s with a given kernel and step, {tuned:.2f} s choosing both")
    print(f"  printed / ours = {printed / fixed:.1f}, coefficients within {apart:.1e}")
    try:
        from noisewise.features import DeconvolvedFourierRegressor
    except ImportError:
        return
    DeconvolvedFourierRegressor(noise=noise, random_state=0).fit(copies[:, 0], y)
    fourier, _ = seconds(lambda: DeconvolvedFourierRegressor(noise=noise, random_state=0).fit(copies[:, 0], y))
    times = [
        f"{name} {taken / fourier:.1f}" for name, taken in (("printed", printed), ("ours", fixed), ("choosing", tuned))
    ]
    print(f"  in fits of DeconvolvedFourierRegressor, which chooses too: {', '.join(times)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=16_000)
    parser.add_argument("--literal", type=int, default=200)
    parser.add_argument("--rows", type=int, default=4000)
    options = parser.parse_args()
    algorithm_4(options.rounds, options.literal)
    algorithm_3(options.rows)


if __name__ == "__main__":
    main()
