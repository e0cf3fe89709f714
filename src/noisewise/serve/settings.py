"""Settings of a process of the service: store, role, limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from noisewise.serve.api.keys import Key

Role = Literal["all", "api", "learner"]


@dataclass(frozen=True)
class Settings:
    """Settings of one process of the service.

    Parameters
    ----------
    store : address of the log: sqlite:///file or postgresql://user@host/name
    role : "all" decides and learns; "api" decides and follows what others write; "learner" learns
    keys : API keys by the SHA-256 of the key, as `read_keys` gives them; without any, no key is needed
    requests_per_second : limit for one key or address, 0 for none
    largest_body : limit of a request's size in bytes
    state_seconds : between two snapshots that the learner process stores
    personalizer : name of the model behind Personalizer's calls
    demo : whether simulated annotators teach a model
    keys_file : file of the keys, which is read again on SIGHUP
    hosts : names that the service may be called by, "*" for any; None for this machine's, or any where keys are needed
    body_seconds : time in which a body must have come
    max_models : most models of the store
    max_bytes : most memory of all models together
    largest_import : limit of the size of an imported state in bytes
    traces : whether each request is a span of OpenTelemetry
    max_models_per_key : most models that one key may have created, 0 for any
    """

    store: str = "sqlite:///noisewise.db"
    role: Role = "all"
    keys: dict[str, Key] = field(default_factory=dict)
    requests_per_second: float = 0.0
    largest_body: int = 1_000_000
    state_seconds: float = 10.0
    personalizer: str = "personalizer"
    demo: bool = False
    keys_file: str | None = None
    hosts: tuple[str, ...] | None = None
    body_seconds: float = 30.0
    max_models: int = 100
    max_bytes: int = 2_000_000_000
    largest_import: int = 512_000_000
    traces: bool = False
    max_models_per_key: int = 0
