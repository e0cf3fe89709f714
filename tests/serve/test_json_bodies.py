"""JSON bodies: names that are there twice are found, and a body that is parsed in parts means the same as whole."""

import json
import random

import pytest

from noisewise.serve.api import json_bodies
from noisewise.serve.api.json_bodies import parsed, repeated_name

ODD = ["}, {", "},{", "[{", "}]", '"actions": [{', "actions", '"', "\\", "{}", "[]", ", ", ":", "a: b", '":', "ü", "\n"]


@pytest.fixture(autouse=True)
def every_body_is_long(monkeypatch):
    monkeypatch.setattr(json_bodies, "LONG", 24)
    monkeypatch.setattr(json_bodies, "MANY", 0)
    monkeypatch.setattr(json_bodies, "MOST_KNOWN", 20)
    json_bodies._known.clear()


def a_text(rng):
    return "".join(rng.choice([*ODD, "id", "price", "x"]) for _ in range(rng.randint(1, 3)))


def a_value(rng, depth=0):
    kind = rng.randrange(9 if depth < 2 else 6)
    if kind < 6:
        return [1.5, -3, True, None, "word", a_text(rng)][kind]
    if kind == 6:
        return [a_value(rng, depth + 1) for _ in range(rng.randrange(3))]
    return an_object(rng, depth + 1)


def an_object(rng, depth=0):
    return {rng.choice(["id", "price", "actions", a_text(rng)]): a_value(rng, depth) for _ in range(rng.randrange(4))}


def a_body(rng):
    catalogue = [an_object(rng, 1) for _ in range(3)]
    request = {"context": an_object(rng), "actions": [rng.choice(catalogue) for _ in range(rng.randint(1, 4))]}
    if rng.random() < 0.3:
        request = dict(reversed(request.items()))
    if rng.random() < 0.2:
        request["more"] = a_value(rng)
    separators = rng.choice([None, (",", ":"), (" , ", " : ")])
    return json.dumps(request, separators=separators, ensure_ascii=rng.random() < 0.5).encode()


def damaged(rng, body):
    """The same with a part left out, doubled, or replaced by another; or with an object that says a thing twice."""
    if rng.random() < 0.2:
        begins = rng.choice([at for at, letter in enumerate(body) if letter == ord("{")])
        return body[: begins + 1] + b'"q": 1, "q": 2, ' + body[begins + 1 :]
    for _ in range(rng.randrange(3)):
        low = rng.randrange(len(body) + 1)
        high = min(len(body), low + rng.randrange(12))
        other = rng.choice([b"", body[low:high] * 2, rng.choice(ODD).encode(), b'"price": 4, "price": 5', b"}, {"])
        body = body[:low] + other + body[high:]
    return body


def read_plainly(body):
    """What a body says by a plain parser, and whether it says a thing twice; None if it is no JSON."""
    twice = []

    def checked(pairs):
        twice.append(len({name for name, _ in pairs}) < len(pairs))
        return dict(pairs)

    try:
        return json.loads(body.decode(), object_pairs_hook=checked, parse_constant=int), any(twice)
    except ValueError:
        return None


@pytest.mark.parametrize("seed", range(8))
def test_bodies_in_parts_mean_what_they_mean_whole(seed):
    rng, met = random.Random(seed), {"in parts": 0, "twice": 0, "no JSON": 0}
    for _ in range(1500):
        body = damaged(rng, a_body(rng))
        plain = read_plainly(body)
        name = repeated_name(body)
        met["in parts"] += json_bodies._parsed_in_parts(body) is not None
        if plain is None:
            met["no JSON"] += 1
            with pytest.raises(ValueError):
                parsed(bytes(bytearray(body)))
        elif plain[1]:
            met["twice"] += 1
            assert name is not None, body
        else:
            assert name is None, body
            assert parsed(body) == plain[0], body
    assert all(met.values()), met


def test_actions_that_come_again_are_the_same_objects():
    body = b'{"context": {}, "actions": [{"id": "a", "price": 4}, {"id": "b", "price": 5}]}'
    first, second = (parsed(one) for one in (body, bytes(bytearray(body))) if repeated_name(one) is None)
    assert all(one is other for one, other in zip(first["actions"], second["actions"]))
    assert first["actions"][0].without("id") == {"price": 4}
    assert first["actions"][0] == {"id": "a", "price": 4}


def test_what_is_remembered_is_bounded():
    for number in range(100):
        repeated_name(b'{"actions": [{"id": "%d"}]}' % number)
        assert len(json_bodies._known) <= 20
