"""A store of an earlier version is opened, and its models go on as they would have gone on then.

The intervals of few annotated rounds are from 0 to 1 since; `expected.json` has them so.
"""

import gzip
import json
import logging
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from earlier_models import assert_said
from earlier_stores import ROUNDS, SPECS, go_on, good, state_of
from noisewise import load
from noisewise.serve import ModelSpec, Store, replay
from noisewise.serve.models.recipes import new_learner
from serve_app import serving

FOLDER = Path(__file__).parent / "earlier_stores"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
BEFORE_THE_LAST_RUN = 0.8  # fraction of the rounds that are in the newest snapshots


@pytest.fixture
def path(tmp_path):
    """A copy of the store."""
    path = tmp_path / "log.db"
    path.write_bytes(gzip.decompress((FOLDER / "store.db.gz").read_bytes()))
    return path


@contextmanager
def opened(path, caplog, **settings):
    """A client of a service that opens the store, and passes over nothing that is in it."""
    with serving(f"sqlite:///{path}", **settings) as client:
        yield client
    warned = [one for one in caplog.records if one.name.startswith("noisewise") and one.levelno >= logging.WARNING]
    assert not [one.getMessage() for one in warned]


def change(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for one in statements:
            connection.execute(one)


def test_a_store_of_the_first_version_goes_on_identically(path, caplog):
    with opened(path, caplog) as client:
        assert_said(go_on(client), EXPECTED)


def test_a_log_of_the_first_version_goes_on_identically_without_its_states(path, caplog):
    change(path, "DELETE FROM snapshots")
    with opened(path, caplog) as client:
        assert_said(go_on(client), EXPECTED)


def test_states_of_the_first_version_go_on_identically_without_the_log_before_them(path, caplog):
    newest = "(SELECT max(position) FROM snapshots)"
    learnt = f"decision_id IN (SELECT decision_id FROM events WHERE kind = 1 AND position <= {newest})"
    asked_again = ("%-0", "%-3", "closing-%", "event-%")
    others = " AND ".join(f"decision_id NOT LIKE '{one}'" for one in asked_again)
    change(path, f"DELETE FROM events WHERE {learnt} AND {others}")
    with opened(path, caplog) as client:
        outputs = go_on(client)
    outputs, expected = ({k: v for k, v in one.items() if not k.startswith("exported")} for one in (outputs, EXPECTED))
    assert_said(outputs, expected)


def test_a_log_of_the_first_version_replays_to_the_models_that_are_served(path, caplog, tmp_path, rng):
    with opened(path, caplog) as client:
        files = {name: client.get(f"/models/{name}/file").content for name in [*ROUNDS, "personalizer"]}
    store = Store(f"sqlite:///{path}")
    for name, data in files.items():
        for number, one in enumerate((data, replay(store, name).model_file())):
            (tmp_path / f"{number}.nw").write_bytes(one)
        served, replayed = (load(tmp_path / f"{number}.nw") for number in range(2))
        assert (served.n_rounds_, served.n_updates_) == (replayed.n_rounds_, replayed.n_updates_)
        X = rng.normal(size=(5, served.n_features_in_))
        np.testing.assert_allclose(served.decision_function(X), replayed.decision_function(X), rtol=1e-9, atol=1e-9)
    store.close()


def test_a_process_that_only_decides_goes_on_from_the_states_of_the_first_version(path, caplog):
    with opened(path, caplog, role="api") as client:
        for name, n in ROUNDS.items():
            assert good(client.get(f"/models/{name}"))["counts"]["decisions"] == n
            points = EXPECTED[f"curve before of {name}"][:-1]  # the last one had only begun
            assert state_of(client, name)["curve"][: len(points)] == points


def test_a_client_may_create_an_earlier_model_again_and_it_stays_what_it_is(path, caplog):
    with opened(path, caplog) as client:
        for name in ("linucb", "missing-is-wrong"):
            created = client.put(f"/models/{name}", json=SPECS[name])
            assert created.status_code == 200, created.text
            assert good(client.get(f"/models/{name}"))["spec"]["revision"] == 1
        changed = SPECS["missing-is-wrong"] | {"options": {"variant": "published"}}
        assert client.put("/models/missing-is-wrong", json=changed).status_code == 409


def test_new_models_have_an_intercept_and_the_published_soba(tmp_path, caplog):
    spec = {"actions": ["a", "b"], "features": {"count": 2}}
    with opened(tmp_path / "new.db", caplog) as client:
        for name, more in (("plain", {}), ("constant", {"features": {"count": 2, "constant": 1.0}})):
            good(client.put(f"/models/{name}", json=spec | more))
            features = [one["feature"] for one in good(client.get(f"/models/{name}"))["coefficients"]]
            assert features == ["0", "1", "(constant)"]
    learner = new_learner(ModelSpec.model_validate(spec | {"recipe": "soba"}))
    assert learner.rule.variant == "published"
    earlier = new_learner(ModelSpec.stored(json.dumps(spec | {"recipe": "soba"})))
    assert earlier.rule.variant == "recursive"
