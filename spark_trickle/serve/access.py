"""Who may come in: where the server listens, its token, sessions of browsers, and how often anybody may ask.

Values and small machines without HTTP; `guard` asks them for each request.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spark_trickle.errors import ConfigError

TOKEN_VARIABLE = "TRICKLE_TOKEN"
SHORTEST_TOKEN = 16
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, repr=False)
class Door:
    """What the server was started with. Has no `repr`: a token must not be in a log."""

    host: str
    port: int
    token: str | None = None
    read_only: bool = False
    more_hosts: tuple[str, ...] = ()
    """Names that a proxy in front of it is called by."""

    @property
    def local(self) -> bool:
        return is_loopback(self.host)

    def knows_token(self, given: str) -> bool:
        """Compares in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def answers_to(self, host: str) -> bool:
        """Whether a `Host` header names this server. A name that only resolves to it may be somebody's trap."""
        name = host_name(host)
        if name in LOOPBACK_NAMES or name in {host_name(each) for each in (self.host, *self.more_hosts)}:
            return True
        if self.local:
            return False
        # An address cannot be made to lead elsewhere, and the machine's own name is the owner's.
        return _is_address(name) or name == socket.gethostname().lower()


def open_door(
    host: str, port: int, token_file: Path | None, environment: str | None, read_only: bool, more_hosts: tuple[str, ...]
) -> Door:
    """Check what a server is started with. ConfigError: it must not start so."""
    token = _token(token_file, environment)
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"'{host}' can be reached by others, and there is no token",
            hint=f"Give --token-file or set {TOKEN_VARIABLE}, or leave --host as 127.0.0.1",
            facts={"host": host},
        )
    return Door(host, port, token, read_only, more_hosts)


def is_loopback(host: str) -> bool:
    """Whether only this machine can get there.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """A `Host` without its port, and as it is compared.

    >>> host_name("LocalHost:8080"), host_name("[::1]:80"), host_name("::1")
    ('localhost', '[::1]', '[::1]')
    """
    text = host.strip().lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    if text.count(":") > 1:
        return f"[{text}]"
    return text.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _token(file: Path | None, environment: str | None) -> str | None:
    if file is None and environment is None:
        return None
    where = f"the file '{file}'" if file is not None else TOKEN_VARIABLE
    try:
        token = (file.read_text(encoding="utf-8") if file is not None else environment or "").strip()
    except (OSError, UnicodeDecodeError) as err:
        raise ConfigError(f"{where} cannot be read: {err}") from err
    if len(token) < SHORTEST_TOKEN or not token.isascii() or any(char.isspace() for char in token):
        raise ConfigError(
            f"the token in {where} is not usable",
            hint=f"It has at least {SHORTEST_TOKEN} characters of ASCII and no spaces; "
            'python -c "import secrets; print(secrets.token_urlsafe(32))" makes one',
        )
    return token


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who may come in."""

    name: str
    via: str
    """`page` or `api`."""


class BrowserSessions:
    """Browsers that were let in, by what their cookie says. Forgotten after a while, and when there are many."""

    def __init__(self, clock: Callable[[], float], seconds: float = 12 * 3600.0, most: int = 1000) -> None:
        self._clock = clock
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def begin(self, name: str) -> str:
        """What the cookie says from now on."""
        made = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._known) >= self._most:
                self._known.popitem(last=False)
            self._known[made] = (self._clock() + self._seconds, name)
        return made

    def visitor(self, cookie: str) -> Visitor | None:
        with self._lock:
            found = self._known.get(cookie)
            if found is None:
                return None
            if found[0] < self._clock():
                del self._known[cookie]
                return None
        return Visitor(found[1], "page")

    def end(self, cookie: str) -> None:
        with self._lock:
            self._known.pop(cookie, None)


class Rate:
    """So many a second from one address, and so many at once. A bucket for each that fills again."""

    def __init__(self, clock: Callable[[], float], per_second: float, burst: float, most: int = 10_000) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._most = most
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> bool:
        """Whether one more is allowed."""
        now = self._clock()
        with self._lock:
            left, at = self._buckets.pop(address, (self._burst, now))
            left = min(self._burst, left + (now - at) * self._per_second)
            allowed = left >= 1
            self._buckets[address] = (left - 1 if allowed else left, now)
            while len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        return allowed
