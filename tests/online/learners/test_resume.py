"""Every recipe, saved in mid-stream and loaded, goes on with the same bits."""

import json

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from noisewise import FlipMatrix, load, save
from noisewise.online import Decision, recipes

K, ROUNDS, HALF = 4, 1200, 700
NOISE = FlipMatrix.binary(0.1, 0.2)
FEEDBACK = {
    "banditron": {},
    "rcnbf": {"noise": NOISE},
    "rcine": {"block": 300},
    "bandit_pa": {"C": 0.1, "noise": NOISE},
    "soba": {},
    "confidit": {},
    "linucb": {"rates": "action"},
    "ucwl": {},
    "corrected_ucwl": {"block": 300},
}
LABELS = ["perceptron", "mpa", "mcw", "mscw", "arow", "nherd"]


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=ROUNDS)
    X = np.eye(K, 7)[y] + rng.normal(scale=0.4, size=(ROUNDS, 7))
    X[rng.random(X.shape) < 0.3] = 0
    return X, y


def same(one, other):
    """Whether two learners have the same arrays, to the bit."""
    parts = ("table_", "sigma_", "parameters_", "counters_", "rng_state_")
    return all(getattr(one, part).tobytes() == getattr(other, part).tobytes() for part in parts)


def test_no_recipe_is_left_out():
    assert {*FEEDBACK, *LABELS} == set(recipes.__all__)


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("name", FEEDBACK)
def test_a_feedback_learner_goes_on_after_a_break(name, kind, stream, tmp_path):
    X, y = stream
    X = sp.csr_array(X) if kind == "sparse" else X.astype(kind)
    made = [getattr(recipes, name)(K, random_state=5, **FEEDBACK[name]) for _ in range(2)]
    whole, broken = made
    expected = whole.play(X, y, noise=NOISE, rng=3)
    rng = np.random.default_rng(3)  # the noise goes on too
    broken.play(X[:HALF], y[:HALF], noise=NOISE, rng=rng)
    save(broken, tmp_path / "learner.noisewise")
    again = load(tmp_path / "learner.noisewise")
    assert same(again, broken)
    rest = again.play(X[HALF:], y[HALF:], noise=NOISE, rng=rng)
    assert rest.actions.tolist() == expected.actions[HALF:].tolist()
    assert same(again, whole)


@pytest.mark.parametrize("name", LABELS)
def test_a_label_learner_goes_on_after_a_break(name, stream, tmp_path):
    X, y = stream
    whole = getattr(recipes, name)().fit(X, y)
    save(getattr(recipes, name)().fit(X[:HALF], y[:HALF]), tmp_path / "learner.noisewise")
    again = load(tmp_path / "learner.noisewise").partial_fit(X[HALF:], y[HALF:])
    assert same(again, whole)
    assert again.mistakes_ == whole.mistakes_


@pytest.mark.parametrize(
    "options", [{"missing": "auto"}, {"rates": "action"}, {}], ids=["auto", "action", "annotators"]
)
def test_decisions_made_before_a_break_are_learnt_after_it(options, stream, tmp_path):
    X, y = stream
    annotators = None if options else ["ann", "bob", "cy"]

    def give_feedback(learner, i, decision):
        right = int(decision.action == y[i])
        observed = None if options.get("missing") and i % 5 == 0 else right
        learner.learn(decision, observed, **({"person": annotators[i % 3]} if annotators else {}))

    whole = recipes.linucb(K, random_state=1, **options)
    broken = recipes.linucb(K, random_state=1, **options)
    for learner in (whole, broken):
        for i in range(600):
            give_feedback(learner, i, learner.decide(X[i]))
    late = [(i, whole.decide(X[i])) for i in range(600, 620)]
    pending = [(i, broken.decide(X[i])) for i in range(600, 620)]
    save({"learner": broken, "pending": pending}, tmp_path / "learner.noisewise")
    kept = load(tmp_path / "learner.noisewise")
    again, pending = kept["learner"], kept["pending"]
    for (i, decision), (j, other) in zip(reversed(late), reversed(pending)):
        give_feedback(whole, i, decision)
        give_feedback(again, j, other)
    for i in range(620, 1100):
        give_feedback(whole, i, whole.decide(X[i]))
        give_feedback(again, i, again.decide(X[i]))
    assert same(again, whole)
    with pytest.raises(ValueError, match="already"):
        again.learn(pending[0][1], 1)


@pytest.mark.parametrize("recipe", ["banditron", "linucb"])
@pytest.mark.parametrize("as_row", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_decisions_may_be_kept_as_json(recipe, as_row, stream):
    X, y = stream
    direct, kept = (getattr(recipes, recipe)(K, random_state=1) for _ in range(2))
    rows = X[:60] * (np.random.default_rng(0).random(X[:60].shape) < 0.3)
    rows[7] = 0.0
    for row, label in zip(rows, y):
        decision, other = direct.decide(as_row(row[None])), kept.decide(as_row(row[None]))
        text = json.dumps(other._asdict(), default=np.ndarray.tolist)
        direct.learn(decision, decision.action == label)
        kept.learn(Decision(**json.loads(text)), decision.action == label)
    assert same(kept, direct)
    with pytest.raises(ValueError, match="as many values"):
        kept.learn(kept.decide(as_row(row[None]))._replace(features=[[0, 1], [1.0]]), 1)


def test_a_row_held_for_learning_is_not_learnt_in_place_of_another(stream):
    X, y = stream
    late, prompt = (recipes.ucwl(K) for _ in range(2))
    for i in range(0, 200, 2):
        first, second = late.decide(X[i]), late.decide(X[i + 1])  # the second row is held
        for learner, decision in ((late, first), (late, second)):
            learner.learn(decision, decision.action == y[i])
        first, second = prompt.decide(X[i]), prompt.decide(X[i + 1])
        prompt.decide(X[0])  # so that neither is held
        for decision in (first, second):
            prompt.learn(decision, decision.action == y[i])
    assert late.table_.tobytes() == prompt.table_.tobytes()


@pytest.mark.parametrize("make", [lambda: recipes.ucwl(3, random_state=0), lambda: recipes.rcine(3, random_state=0)])
def test_a_model_that_joblib_maps_for_reading_goes_on_and_its_file_stays(make, tmp_path):
    X, y = np.eye(3).repeat(20, axis=0), np.repeat(range(3), 20)
    model = make()
    model.play(X, y)
    joblib.dump(model, tmp_path / "model")
    kept = (tmp_path / "model").read_bytes()
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    for learner in (model, mapped):
        learner.play(X, y)
        decision = learner.decide(X[0])
        learner.learn(decision, 1)
    assert np.array_equal(model.table_, mapped.table_)
    assert (tmp_path / "model").read_bytes() == kept
