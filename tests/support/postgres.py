"""A PostgreSQL server of our own for tests: made in a temporary folder, thrown away at the end."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

_USER = "trickle"
_PASSWORD = "secret"
_UNPRIVILEGED = ("postgres", "nobody")


class PostgresMissing(Exception):
    """There is no PostgreSQL server on this machine."""


@dataclass(frozen=True)
class Cluster:
    """A running server; who connects to it has to know the password."""

    port: int
    folder: Path

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://{_USER}:secret@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """The URL of an empty database of its own, dropped afterwards whoever is still connected."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        where = f"host=127.0.0.1 port={self.port} user={_USER} dbname=postgres password=secret"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running() -> Iterator[Cluster]:
    """Start a server, and stop it at the end."""
    binaries = _binaries()
    prefix = _as_somebody_else()
    folder = Path(tempfile.mkdtemp(prefix="trickle-pg-", dir="/tmp"))
    try:
        if prefix:
            shutil.chown(folder, _somebody_else())
        data = folder / "data"
        password = folder / "password"
        password.write_text(_PASSWORD)
        password.chmod(0o644)
        made_by = ["-U", _USER, "-A", "scram-sha-256", f"--pwfile={password}"]
        _run([*prefix, str(binaries / "initdb"), "-D", str(data), *made_by, "-E", "UTF8", "--no-sync"])
        port = _free_port()
        settings = {
            "port": str(port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "max_connections": "60",
        }
        options = [argument for key, value in settings.items() for argument in ("-c", f"{key}={value}")]
        log = folder / "log"
        with log.open("wb") as output:
            server = subprocess.Popen(
                [*prefix, str(binaries / "postgres"), "-D", str(data), *options], stdout=output, stderr=output, cwd="/"
            )
        cluster = Cluster(port, folder)
        try:
            _wait(cluster, server, log)
            yield cluster
        finally:
            _stop(data, server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries() -> Path:
    beside = [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)]
    on_path = shutil.which("initdb")
    for folder in [*([Path(on_path).parent] if on_path else []), *beside]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise PostgresMissing("no initdb on PATH or in /usr/lib/postgresql/*/bin")


def _somebody_else() -> str:
    for user in _UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(user).pw_name
    raise PostgresMissing("the server refuses to run as root, and there is no user postgres or nobody")


def _as_somebody_else() -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return []
    account = pwd.getpwnam(_somebody_else())
    setpriv = shutil.which("setpriv")
    if setpriv:
        # Unlike runuser it becomes the server instead of starting it, so signals reach the server.
        return [setpriv, f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    return ["runuser", "-u", account.pw_name, "--"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command} failed:\n{done.stdout}{done.stderr}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(cluster: Cluster, server: subprocess.Popen[bytes], log: Path) -> None:
    patience = time.monotonic() + 60
    while True:
        try:
            cluster.execute("SELECT 1")
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > patience:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}") from None
            time.sleep(0.05)


def _stop(data: Path, server: subprocess.Popen[bytes]) -> None:
    if server.poll() is None:
        # SIGINT is a fast shutdown: connections are ended, nothing is waited for.
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((data / "postmaster.pid").read_text().splitlines()[0]), 2)
    try:
        server.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(timeout=10)
