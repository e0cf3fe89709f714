"""A decision service that learns from unreliable feedback and loses nothing; ``noisewise serve`` runs it."""

try:
    import fastapi as _fastapi  # noqa: F401
    import prometheus_client as _prometheus_client  # noqa: F401
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ImportError as error:
    raise ImportError(f"the service needs {error.name}: pip install 'noisewise[serve]'") from error

from noisewise.serve._app import create_app
from noisewise.serve._learner import replay
from noisewise.serve._observe import log_as_json
from noisewise.serve._schemas import ModelSpec
from noisewise.serve._security import new_key_in, read_keys
from noisewise.serve._settings import Settings
from noisewise.serve._store import Store, check_store

__all__ = [
    "ModelSpec",
    "Settings",
    "Store",
    "check_store",
    "create_app",
    "log_as_json",
    "new_key_in",
    "read_keys",
    "replay",
]
