"""The service conforms to its OpenAPI document, for valid and invalid requests."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS, load_all_checks

from serve_app import serving

load_all_checks()
WANTED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)


def fuzz(store, examples):
    """Send valid and invalid requests to every call."""
    with serving(store) as client:
        for name in ("m", "personalizer"):
            features = {"count": 2} if name == "m" else {"hashed": 16}
            spec = {"actions": ["a", "b"], "features": features, "exploration": 0.5}
            client.put(f"/models/{name}", json=spec).raise_for_status()
        made = client.post("/models/m/decide", json={"features": [1.0, 2.0], "decision_id": "known"})
        made.raise_for_status()
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        schema.config.update(base_url=str(client.base_url), request_timeout=60)  # a busy machine is slow
        checks = [CHECKS.get_one(name) for name in WANTED]
        requests = 0
        for operation in schema.get_all_operations():
            requests += send(operation.ok(), examples, checks)
        return requests


def send(call, examples, checks):
    count = 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=call.as_strategy())
    def one(case):
        nonlocal count
        count += 1
        use_known_names(case)
        case.call_and_validate(checks=checks)

    one()
    return count


def use_known_names(case):
    """Half of the requests are about models and decisions that exist."""
    given = case.path_parameters or {}
    for parameter, known in (("name", "m"), ("decision_id", "known"), ("eventId", "known")):
        if parameter in given and len(str(given[parameter])) % 2:
            given[parameter] = known


def test_nothing_breaks_the_service_or_its_description(tmp_path):
    assert fuzz(f"sqlite:///{tmp_path}/log.db", 5) > 50


@pytest.mark.slow
def test_many_requests_break_nothing(tmp_path):
    assert fuzz(f"sqlite:///{tmp_path}/log.db", 100) > 1000
