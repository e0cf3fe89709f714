"""API keys: hashes in a file, with a role and a limit each; read again on SIGHUP."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from pathlib import Path
from typing import Literal, NamedTuple

KeyRole = Literal["admin", "decide", "teach", "read"]
ROLES: tuple[KeyRole, ...] = ("admin", "decide", "teach", "read")
LINE = re.compile(r"(\S+)\s+([0-9a-f]{64})(?:\s+(\S+))?(?:\s+(\d+(?:\.\d+)?))?\s*")
DECIDING = re.compile(r"/models/[^/]+/(decide|feedback)|/personalizer/(v1\.0/)?(multislot/)?(rank|events/.+)")
TEACHING = re.compile(r"/models/[^/]+/feedback|/personalizer/(v1\.0/)?(multislot/)?events/.+")
log = logging.getLogger("noisewise.serve")


class Key(NamedTuple):
    """Name, role and rate limit of a key.

    "admin" may do all, "decide" decide and give feedback, "teach" only give feedback, "read" only read.

    >>> Key("shop", "decide").may("POST", "/models/m/decide"), Key("shop", "decide").may("DELETE", "/models/m")
    (True, False)
    """

    name: str
    role: KeyRole = "admin"
    requests_per_second: float | None = None

    def may(self, method: str, path: str) -> bool:
        """Whether the role allows a call."""
        if self.role in ("decide", "teach"):
            allowed = DECIDING if self.role == "decide" else TEACHING
            return method == "POST" and allowed.fullmatch(path) is not None
        return self.role == "admin" or method in ("GET", "HEAD")


class KeyRing:
    """The keys of a service, by the SHA-256 of each; those of a file can be read again."""

    def __init__(self, keys: dict[str, Key], path: str | None = None) -> None:
        self.keys = keys
        self.path = path

    def find(self, given: bytes) -> Key | None:
        """The key with this text, if there is one."""
        return self.keys.get(hashlib.sha256(given).hexdigest())

    def reload(self) -> None:
        """Read the file again; if it can't be read, the present keys stay."""
        if self.path is None:
            log.info("SIGHUP: there is no file of keys to read again")
            return
        try:
            self.keys = read_keys(self.path)
        except (OSError, ValueError) as error:
            log.error("SIGHUP: the keys stay as they are: %s", error)
        else:
            log.info("SIGHUP: %d keys read", len(self.keys))


def read_keys(path: str | Path) -> dict[str, Key]:
    """API keys of a file, by SHA-256; a line has a name, a SHA-256, and may have a role and a rate limit."""
    keys = {}
    for number, line in enumerate(Path(path).read_text().splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            found = LINE.fullmatch(line)
            if found is None:
                raise ValueError(
                    f"{path}, line {number}: a name and the SHA-256 of its key are needed, e.g. by --new-key"
                )
            keys[found[2]] = Key(found[1], _role(found[3] or "admin"), float(found[4]) if found[4] else None)
    if not keys:
        raise ValueError(f"{path} holds no key; noisewise serve --keys {path} --new-key NAME makes one")
    return keys


def new_key_in(path: str | Path, name: str, role: str = "admin") -> str:
    """A new key, whose hash is added to the file; the key itself is stored nowhere."""
    if not re.fullmatch(r"\S{1,64}", name) or name.startswith("#"):
        raise ValueError(f"{name!r} can't name a key; a word would do")
    key = secrets.token_urlsafe(32)
    file = Path(path)
    if not file.exists():
        file.touch(mode=0o600)
    with file.open("a") as lines:
        more = "" if _role(role) == "admin" else f" {role}"
        lines.write(f"{name} {hashlib.sha256(key.encode()).hexdigest()}{more}\n")
    return key


def _role(given: str) -> KeyRole:
    if given not in ROLES:
        raise ValueError(f"{given!r} is no role of a key; it is {', '.join(ROLES)}")
    return given
