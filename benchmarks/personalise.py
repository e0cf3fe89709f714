"""A simulated service that recommends meals, against Vowpal Wabbit's explorers, with clean and flipped feedback.

    python benchmarks/personalise.py [seeds, 0:10 by default] [rounds, 4000 by default] [folder of rows]

As in Personalizer's quickstart, a context has the time of day, the weather, a diet and an age; a meal its cuisine,
taste, price, spice and nutrition. Whether a user likes a meal depends on products of both, drawn anew for each seed,
and slightly on the meal itself. Of 20 meals on offer one leaves every 40 rounds, and another arrives. The reward is 1
or 0; flipped feedback is what the learners get, the average of the true probability of a reward is what is reported.
Vowpal Wabbit has all interactions (-q ::) and its usual settings otherwise; ours has its defaults, and the rates of
the flips. Its runs are stored in a folder if one is given, and not run again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from noisewise import FlipMatrix
from noisewise.online import ContextualBandit

TIMES, WEATHERS, DIETS = (
    ["morning", "noon", "evening", "night"],
    ["sun", "rain", "snow"],
    ["any", "vegetarian", "vegan"],
)
CUISINES, TASTES = ["thai", "greek", "french", "indian", "mexican", "local"], ["salty", "sweet", "sour", "bitter"]
N_OFFERED, ROUNDS_PER_CHANGE = 20, 40
FLIPS = (0.0, 0.2, 0.3)
EXPLORERS = {
    "epsilon .05": "--epsilon 0.05",
    "epsilon .02": "--epsilon 0.02",
    "squarecb": "--squarecb",
    "regcb": "--regcb --cb_min_cost -1 --cb_max_cost 0",
    "regcb opt": "--regcbopt --cb_min_cost -1 --cb_max_cost 0",
    "cover 3": "--cover 3",
    "cover 16": "--cover 16",
    "bag 5": "--bag 5",
    "softmax": "--softmax --lambda 10",
}


class Meals:
    """Contexts, meals on offer, and the probability that each is liked."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 2026])
        n_context, n_action = 1 + len(TIMES) + len(WEATHERS) + len(DIETS) + 1, 1 + len(CUISINES) + len(TASTES) + 3
        self.weights = self.rng.normal(0, 0.7, size=(n_context, n_action))
        self.n_made = 0
        self.meals = [self.new_meal() for _ in range(N_OFFERED)]

    def new_meal(self) -> dict:
        """A meal that was never on offer before."""
        self.n_made += 1
        rng = self.rng
        return {
            "id": f"meal{self.n_made}",
            "cuisine": str(rng.choice(CUISINES)),
            "taste": str(rng.choice(TASTES)),
            "price": round(float(rng.gamma(4, 3)), 2),
            "spice": int(rng.integers(6)),
            "nutrition": int(rng.integers(11)),
            "_own": float(rng.normal(0, 0.5)),
        }

    def rounds(self, n: int):
        """Context, meals, and P(reward) of each, round by round."""
        rng = self.rng
        for number in range(n):
            if number % ROUNDS_PER_CHANGE == ROUNDS_PER_CHANGE - 1:
                self.meals[rng.integers(N_OFFERED)] = self.new_meal()
            context = {
                "time": str(rng.choice(TIMES)),
                "weather": str(rng.choice(WEATHERS)),
                "diet": str(rng.choice(DIETS)),
                "age": int(rng.integers(18, 80)),
            }
            yield context, [dict(meal) for meal in self.meals], self.probabilities(context)

    def probabilities(self, context: dict) -> np.ndarray:
        """P(reward) of each meal on offer."""
        c = [1.0, *one_hot(context["time"], TIMES), *one_hot(context["weather"], WEATHERS)]
        c += [*one_hot(context["diet"], DIETS), (context["age"] - 49) / 18]
        scores = []
        for meal in self.meals:
            a = [1.0, *one_hot(meal["cuisine"], CUISINES), *one_hot(meal["taste"], TASTES)]
            a += [(meal["price"] - 12) / 6, (meal["spice"] - 2.5) / 1.7, (meal["nutrition"] - 5) / 3.2]
            scores.append(np.array(c) @ self.weights @ np.array(a) / 2 + meal["_own"] - 1.0)
        return 1 / (1 + np.exp(-np.array(scores)))


def one_hot(value, values):
    return [float(value == other) for other in values]


def features_only(meal):
    return {name: value for name, value in meal.items() if not name.startswith("_")}


class Ours:
    """Our learner, from dicts."""

    def __init__(self, flips, seed, **options):
        noise = FlipMatrix.binary(flips, flips) if flips else None
        self.bandit = ContextualBandit(noise=noise, random_state=seed, **options)

    def decide(self, context, meals):
        """The position of the meal that is played."""
        self.decision = self.bandit.decide(context, [features_only(meal) for meal in meals])
        return self.decision.position

    def learn(self, feedback):
        """Learn from 1 or 0 for the last meal."""
        self.bandit.learn(self.decision, feedback)


class VowpalWabbit:
    """An explorer of Vowpal Wabbit, from lines of text."""

    def __init__(self, options, seed):
        from vowpalwabbit import Workspace

        self.model = Workspace(f"--cb_explore_adf -q :: --quiet --random_seed {seed + 1} {options}")
        self.rng = np.random.default_rng([seed, 7])

    def decide(self, context, meals):
        """The position of the meal that is played."""
        lines = [f"shared |u {text(context)}"]
        lines += [
            f"|m {text({name: meal[name] for name in meal if name[0] != '_' and name != 'id'})}" for meal in meals
        ]
        probabilities = np.array(self.model.predict(lines))
        played = int(self.rng.choice(len(meals), p=probabilities / probabilities.sum()))
        self.round = lines, played, probabilities[played]
        return played

    def learn(self, feedback):
        """Learn from 1 or 0 for the last meal."""
        lines, played, probability = self.round
        lines[played + 1] = f"0:{-feedback}:{probability} {lines[played + 1]}"
        self.model.learn(lines)


def text(features):
    return " ".join(
        f"{name}={value}" if isinstance(value, str) else f"{name}:{value}" for name, value in features.items()
    )


def average_reward(method, flips, seed, n_rounds):
    """The mean probability of a reward of what a method plays."""
    world, feedback_rng = Meals(seed), np.random.default_rng([seed, 1])
    total = best = uniform = 0.0
    for context, meals, probabilities in world.rounds(n_rounds):
        played = method.decide(context, meals)
        liked = feedback_rng.random() < probabilities[played]
        method.learn(int(liked != (feedback_rng.random() < flips)))
        total += probabilities[played]
        best += probabilities.max()
        uniform += probabilities.mean()
    return total / n_rounds, best / n_rounds, uniform / n_rounds


def stored(folder, name, flips, seed, n_rounds, run):
    """What a run gave, from the folder if it is there."""
    if folder is None:
        return run()
    path = Path(folder) / f"{name}-{flips}-{seed}-{n_rounds}.json".replace(" ", "_")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run()))
    return json.loads(path.read_text())


def table(flips, seeds, n_rounds, folder=None, ours=None):
    """Average rewards of all methods on all seeds; printed with the differences of ours from their best."""
    methods = {name: lambda seed, options=options: VowpalWabbit(options, seed) for name, options in EXPLORERS.items()}
    mine = {"ours": {}} if ours is None else ours
    methods |= {name: lambda seed, options=options: Ours(flips, seed, **options) for name, options in mine.items()}
    rewards = {
        name: np.array(
            [
                stored(
                    folder if name in EXPLORERS else None,
                    name,
                    flips,
                    seed,
                    n_rounds,
                    lambda make=make, seed=seed: average_reward(make(seed), flips, seed, n_rounds),
                )
                for seed in seeds
            ]
        )
        for name, make in methods.items()
    }
    first = next(iter(rewards.values()))
    print(f"\nfeedback flipped: {flips:.0%}; {n_rounds} rounds, {len(seeds)} seeds; always the best meal ", end="")
    print(f"{first[:, 1].mean():.3f}, a random one {first[:, 2].mean():.3f}")
    for name, values in rewards.items():
        print(f"{name:14}{values[:, 0].mean():7.3f}   " + " ".join(f"{value:.3f}" for value in values[:, 0]))
    best = max(EXPLORERS, key=lambda name: rewards[name][:, 0].mean())
    best_each = np.max([rewards[name][:, 0] for name in EXPLORERS], axis=0)
    for name in mine:
        gaps = rewards[name][:, 0] - rewards[best][:, 0]
        print(f"{name} - {best} (their best on average): {gaps.mean():+.3f}, least {gaps.min():+.3f}; ", end="")
        print(f"- best of all on each seed: least {(rewards[name][:, 0] - best_each).min():+.3f}")
    return rewards


if __name__ == "__main__":
    low, high = map(int, (sys.argv[1] if len(sys.argv) > 1 else "0:10").split(":"))
    n_rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    for flips in FLIPS:
        table(flips, range(low, high), n_rounds, sys.argv[3] if len(sys.argv) > 3 else None)
