"""A decision service that learns from noisy feedback, durably logged; ``noisewise serve`` runs it."""

try:
    import fastapi as _fastapi  # noqa: F401
    import prometheus_client as _prometheus_client  # noqa: F401
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ImportError as error:
    raise ImportError(f"the service needs {error.name}: pip install 'noisewise[serve]'") from error

from noisewise.serve import maintenance as maintenance
from noisewise.serve.api.keys import Key, new_key_in, read_keys
from noisewise.serve.api.monitoring import log_as_json
from noisewise.serve.app import create_app
from noisewise.serve.connections import BACKLOG as BACKLOG
from noisewise.serve.connections import connection_class as connection_class
from noisewise.serve.log.database import without_password as without_password
from noisewise.serve.log.store import Store, check_store
from noisewise.serve.models.offer_spec import OfferSpec
from noisewise.serve.models.replaying import replay
from noisewise.serve.models.spec import ModelSpec
from noisewise.serve.settings import Settings

__all__ = [
    "Key",
    "ModelSpec",
    "OfferSpec",
    "Settings",
    "Store",
    "check_store",
    "create_app",
    "log_as_json",
    "new_key_in",
    "read_keys",
    "replay",
]
__shared__ = ["BACKLOG", "connection_class", "maintenance", "without_password"]
