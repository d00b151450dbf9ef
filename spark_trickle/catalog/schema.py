"""Which version of our tables a database has, and bringing it up to date.

Every open asks, so asking costs one statement; Alembic is imported only where there is something to do.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from spark_trickle.errors import ConfigError

HEAD = "0012"
"""The newest revision in `migrations`; a test compares."""

VERSION_TABLE = "trickle_schema_version"
MIGRATIONS = Path(__file__).parent / "migrations"
_ALEMBIC = threading.Lock()


def is_current(connection: Connection) -> bool:
    """Whether nothing has to be done. A database that a newer version of this program made is refused."""
    found = revision(connection)
    # Revisions are numbered with equally many digits, so they compare as text.
    if found is not None and found > HEAD:
        raise ConfigError(
            f"the catalog is of schema {found}, and this version of spark-trickle knows schemas up to {HEAD}",
            hint="Use the newer version that made it",
            facts={"found": found, "known": HEAD},
        )
    return found == HEAD


def revision(connection: Connection) -> str | None:
    """The revision of the database; None: it has none of our tables yet."""
    if not _exists(connection):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return None if found is None else str(found)


def migrate(connection: Connection) -> None:
    """Run the missing migrations, in the caller's write transaction."""
    if is_current(connection):
        # Somebody else did it while this process waited for its turn.
        return
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)])

    def missing(found: Any, _: object) -> Any:
        return scripts._upgrade_revs("head", found)

    # Alembic hands the connection to migrations through a module, so one thread of a process at a time.
    with _ALEMBIC, EnvironmentContext(Config(), scripts, fn=missing) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE, transactional_ddl=True)
        environment.run_migrations()


def _exists(connection: Connection) -> bool:
    if connection.dialect.name == "sqlite":
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"
        return connection.execute(text(query), {"name": VERSION_TABLE}).first() is not None
    # Follows the search path, as the statements after it do.
    return connection.execute(text("SELECT to_regclass(:name)"), {"name": VERSION_TABLE}).scalar() is not None
