"""
New items arrive
================

A service recommends one of ten articles. Every hundred rounds one of them leaves and a new one arrives, which nobody
has seen before. A learner that knows articles by their features knows a new one at once by its topic; when the topics
that readers like best have gone, it has to learn what they like next. A learner that knows articles by name alone
starts again and again.
"""

import matplotlib.pyplot as plt
import numpy as np

from noisewise.online import ContextualBandit

TOPICS = ["politics", "sport", "science", "music", "food"]
rng = np.random.default_rng(0)
taste = rng.normal(0, 1.5, size=(3, len(TOPICS)))  # of three kinds of readers


def new_article(number):
    return {"id": f"article {number}", "topic": str(rng.choice(TOPICS))}


def probability(reader, article):
    return 1 / (1 + np.exp(-taste[reader, TOPICS.index(article["topic"])]))


# %%
# The same readers and articles for both learners; the reward is a click.

learners = {
    "by features": ContextualBandit(random_state=0),
    "by name": ContextualBandit(per_action=True, random_state=0),
}
articles = [new_article(number) for number in range(10)]
clicks = {name: [] for name in [*learners, "best possible"]}
for number in range(4000):
    if number % 100 == 99:
        articles[rng.integers(10)] = new_article(number)
    reader = int(rng.integers(3))
    context = {"reader": f"kind {reader}"}
    likely = [probability(reader, article) for article in articles]
    for name, learner in learners.items():
        offered = (
            articles
            if name == "by features"
            else [{"id": one["id"]} for one in articles]
        )
        decision = learner.decide(context, offered)
        clicks[name].append(likely[decision.position])
        learner.learn(decision, int(rng.random() < likely[decision.position]))
    clicks["best possible"].append(max(likely))

# %%
# Probability of a click, averaged over the last 200 rounds.

window = np.ones(200) / 200
for name, values in clicks.items():
    averages = np.convolve(values, window, mode="valid")
    plt.plot(np.arange(200, len(values) + 1), averages, label=name)
plt.xlabel("round")
plt.ylabel("probability of a click")
plt.legend()
plt.grid(alpha=0.3)
