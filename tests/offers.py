"""Offers for tests: meals whose taste is liked at one time of day, and services that are taught it."""

from noisewise.serve.models.offer_spec import OfferRequest, OfferSpec
from serve_app import settled

TASTES = ("sweet", "salty")


def meals(rng, n=6, first=0):
    return [{"id": f"meal {first + k}", "taste": rng.choice(TASTES), "price": rng.random() * 10} for k in range(n)]


def situation(rng, first=0):
    return {"time": rng.choice(["noon", "evening"]), "age": rng.random() * 50}, meals(rng, first=first)


def liked(context, action):
    return float((action["taste"] == "sweet") == (context["time"] == "noon"))


async def make_offers(one, name="meals", **spec):
    return (await one.create(name, OfferSpec(actions="features", **spec)))[0]


async def play(one, model, n, rng, learner=None, person=None):
    """Rounds in which items come and go; `learner` is taught the same. The rewards."""
    rewards = []
    for number in range(n):
        context, actions = situation(rng, first=number // 20)
        made = await one.decide(model, OfferRequest(context=context, actions=actions))
        played = actions[made.code]
        rewards.append(liked(context, played))
        await one.feedback(model, made.decision_id, rewards[-1], person)
        await settled(model)
        if learner is not None:
            decision = learner.decide(context, actions)
            assert (decision.action, decision.probability) == (played["id"], made.probability)
            learner.learn(decision, rewards[-1])
    return rewards
