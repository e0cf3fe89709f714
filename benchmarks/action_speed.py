"""Speed with features of actions, as ratios to Vowpal Wabbit, one thread, CPU time, all from one run.

    python benchmarks/action_speed.py [rounds of the log, 1,000,000 by default] [those Vowpal Wabbit reads, 50,000]

First `decide` and `learn` from Python, 20 actions with 30 features and 5 of the context, against predict and learn of
Vowpal Wabbit, from lines that are formatted from the same arrays, and from lines that were there before. Then a log:
ours from arrays, theirs from its cache, per round, with the same interactions; a round of theirs takes the same time
whatever their number.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from vowpalwabbit import Workspace

from noisewise.online import ContextualBandit

N_ACTIONS, N_FEATURES, N_CONTEXT = 20, 30, 5
LOGGED_ACTIONS, LOGGED_FEATURES = 10, 10
REPEATS, ROUNDS = 5, 200


def formatted(context, actions):
    lines = ["shared |c " + " ".join(f"{column}:{value:.4f}" for column, value in enumerate(context))]
    return lines + ["|a " + " ".join(f"{column}:{value:.4f}" for column, value in enumerate(row)) for row in actions]


def learn_as_logged(model, lines, played, probability, reward):
    lines = list(lines)
    lines[played + 1] = f"0:{-reward}:{probability} {lines[played + 1]}"
    model.learn(lines)


def cpu_time(run):
    start = time.process_time()
    run()
    return time.process_time() - start


def one_round():
    """Microseconds of a round from Python."""
    rng = np.random.default_rng(0)
    rounds = [(rng.normal(size=N_CONTEXT), rng.normal(size=(N_ACTIONS, N_FEATURES))) for _ in range(ROUNDS)]
    texts = [formatted(*one) for one in rounds]
    bandit = ContextualBandit(random_state=0)

    def ours():
        for context, actions in rounds:
            decision = bandit.decide(context, actions)
            bandit.learn(decision, decision.position % 2)

    def theirs(model, from_arrays):
        for one, text in zip(rounds, texts):
            lines = formatted(*one) if from_arrays else text
            probabilities = model.predict(lines)
            played = int(np.argmax(probabilities))
            learn_as_logged(model, lines, played, probabilities[played], played % 2)

    runs = {"ours": ours}
    for options in ("--squarecb", "--squarecb -q ca", "--squarecb -q ::"):
        model = Workspace(f"--cb_explore_adf {options} --quiet")
        runs[f"vw {options}"] = lambda model=model: theirs(model, True)
        runs[f"vw {options}, lines ready"] = lambda model=model: theirs(model, False)
    ours()
    ours()
    shortest = {name: min(cpu_time(run) for _ in range(REPEATS)) / ROUNDS * 1e6 for name, run in runs.items()}
    print(f"decide + learn, {N_ACTIONS} actions x {N_FEATURES} features, {N_CONTEXT} of the context, all products")
    for name, micros in shortest.items():
        print(f"  {name:34}{micros:8.0f} us" + ("" if name == "ours" else f"   ours {micros / shortest['ours']:.1f} x"))


def a_log(n_ours, n_theirs, folder):
    """Microseconds of a round of a log."""
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(n_ours, N_CONTEXT))
    played, rewards = rng.normal(size=(n_ours, LOGGED_FEATURES)), (rng.random(n_ours) < 0.5).astype(float)
    ContextualBandit().learn_logged(contexts[:100], played[:100], rewards[:100])  # compiles
    mine = cpu_time(lambda: ContextualBandit().learn_logged(contexts, played, rewards)) / n_ours * 1e6
    print(f"\na log of {n_ours:,} rounds, {N_CONTEXT} features of the context, {LOGGED_FEATURES} of each action")
    print(f"  ours {mine:.2f} us a round, {mine * n_ours / 1e6:.1f} s in all")
    text = Path(folder) / "log.txt"
    with text.open("w") as file:
        for number in range(n_theirs):
            actions = rng.normal(size=(LOGGED_ACTIONS, LOGGED_FEATURES))
            lines = formatted(contexts[number], actions)
            lines[1 + number % LOGGED_ACTIONS] = f"0:{-rewards[number]}:0.1 {lines[1 + number % LOGGED_ACTIONS]}"
            file.write("\n".join(lines) + "\n\n")
    for options in ("--squarecb -q ca", "--epsilon 0.05 -q ca"):
        command = f"--cb_explore_adf {options} --quiet -d {text} --cache_file {folder}/log.cache"
        Workspace(command).finish()  # writes the cache
        theirs = cpu_time(lambda command=command: Workspace(command).finish()) / n_theirs * 1e6
        print(f"  vw {options:24}{theirs:8.1f} us a round, {LOGGED_ACTIONS} actions: ours {theirs / mine:.0f} x")


if __name__ == "__main__":
    n_ours = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    n_theirs = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    one_round()
    with tempfile.TemporaryDirectory() as folder:
        a_log(n_ours, n_theirs, folder)
