"""Doctests of optional packages run where these are installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/noisewise/torch/*"]
