"""Who connects to PostgreSQL, and with which password, where the URL does not say: as libpq finds out.

Python's driver asks libpq; Java's has other habits. So it is found out here once, and told to both.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from pathlib import Path

_FIELD = re.compile(r"((?:\\.|[^:\\])*)(?::|$)")


def user_of(given: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The URL's, then PGUSER, then who runs the program."""
    if given:
        return given
    try:
        return environment.get("PGUSER") or getpass.getuser()
    except (KeyError, OSError):
        return None  # a process without a name, in a container: the server says what it thinks of that


def password_of(
    host: str,
    port: int,
    database: str,
    user: str | None,
    passfile: str | None,
    environment: Mapping[str, str] = os.environ,
) -> str | None:
    """PGPASSWORD, then the first line that fits of the password file: the URL's, PGPASSFILE's, or ~/.pgpass."""
    if environment.get("PGPASSWORD"):
        return environment["PGPASSWORD"]
    path = Path(passfile or environment.get("PGPASSFILE") or Path.home() / ".pgpass").expanduser()
    wanted = (host, str(port), database, user or "")
    for line in _lines(path):
        fields = [re.sub(r"\\(.)", r"\1", found) for found in _FIELD.findall(line)][:5]
        raw = _FIELD.findall(line)[:4]
        if len(fields) == 5 and all(
            pattern == "*" or field == value for pattern, field, value in zip(raw, fields, wanted, strict=False)
        ):
            return fields[4]
    return None


def _lines(path: Path) -> list[str]:
    """libpq does not read a file that others may read; then neither do we, so that both sides agree."""
    try:
        if not path.is_file() or (os.name == "posix" and path.stat().st_mode & 0o077):
            return []
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [line for line in lines if line and not line.startswith("#")]
