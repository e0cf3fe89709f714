"""A client that reports clicks only: fraction of right decisions in the last quarter, beside one that sends zeros too.

Digits of scikit-learn are guessed among three; a reward comes when the guess is right. "clicks, no wait" is a model
that is never told what the absence of a reward means; "clicks, waited for" closes decisions with a reward of 0 after a
wait, as models of Personalizer do (here a quarter of a second, in place of ten minutes).
"""

import argparse
import asyncio
import tempfile

import numpy as np
from sklearn.datasets import load_digits

from noisewise.serve import ModelSpec, Settings
from noisewise.serve.models.service import Service
from noisewise.serve.models.spec import DecideRequest

FEATURES = {"count": 64, "unit_norm": True, "constant": 1.0}
WAITED = {"wait_seconds": 0.25, "default_right": 0.0}
CLIENTS = {
    "clicks and zeros": (True, {}),
    "clicks, waited for": (False, WAITED),
    "clicks, no wait": (False, {}),
}


async def play(service, name, zeros, more, rounds, seed):
    """The fraction of right decisions in the last quarter, and what the model says of its accuracy."""
    spec = {"actions": ["a", "b", "c"], "features": FEATURES, "exploration": 0.1, "seed": seed, **more}
    model, _ = await service.create(name, ModelSpec.model_validate(spec))
    X, y = load_digits(return_X_y=True)
    rng, right = np.random.default_rng(seed), []
    for index in rng.integers(len(y), size=rounds):
        made = await service.decide(model, DecideRequest(features=X[index].tolist()))
        right.append(made.code == y[index] % 3)
        if zeros or right[-1]:
            await service.feedback(model, made.decision_id, bool(right[-1]))
        await asyncio.sleep(0)
    return float(np.mean(right[-rounds // 4 :])), model.progress.accuracy()


async def compare(rounds, seeds):
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Settings(f"sqlite:///{folder}/log.db"))
        await asyncio.to_thread(service.start, asyncio.get_running_loop())
        for name, (zeros, more) in CLIENTS.items():
            found = [
                await play(service, f"{name[-4:].strip()}-{seed}", zeros, more, rounds, seed) for seed in range(seeds)
            ]
            said = [one["value"] if one else None for _, one in found]
            shown = ", ".join("not told" if one is None else f"{one:.2f}" for one in said)
            print(
                f"{name:<20} {np.mean([one for one, _ in found]):.3f} right (uniform 0.333); accuracy it tells: {shown}"
            )
        await service.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    asyncio.run(compare(options.rounds, options.seeds))


if __name__ == "__main__":
    main()
