"""The tables of the catalog, ours and Iceberg's, as SQLAlchemy sees them. How they came to be is in `migrations`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment: aware in Python, UTC in the database, also where that has no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


_NAME = String(255)
_CHOICE = String(32)

OURS = MetaData()
ICEBERG = MetaData()
"""Iceberg's JDBC catalog, schema V1. It would make these itself, but not before the first JVM runs."""

STREAM_TABLES = Table(
    "trickle_stream_tables",
    OURS,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("query", Text, nullable=False),
    Column("normalized_query", Text, nullable=False),
    Column("schedule", Text, nullable=False),
    Column("refresh_mode", _CHOICE, nullable=False),
    Column("diamond_consistency", _CHOICE, nullable=False),
    Column("diamond_schedule_policy", _CHOICE, nullable=False),
    Column("bootstrap_gating", _CHOICE, nullable=False),
    Column("strict", Boolean, nullable=False),
    Column("fuse", _CHOICE, nullable=False),
    Column("fuse_ceiling", BigInteger),
    Column("status", _CHOICE, nullable=False),
    Column("status_reason", Text),
    Column("effective_mode", _CHOICE, nullable=False),
    Column("mode_reason", Text),
    Column("internal_tables", Text, nullable=False),
    Column("explanation", Text, nullable=False),
    Column("frontier", Text, nullable=False),
    Column("published", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("consecutive_errors", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_refresh_at", UtcDateTime),
    Column("data_timestamp", UtcDateTime),
    Column("notices", Text, nullable=False),
    Column("costs", Text),
    Column("status_since", UtcDateTime),
    Column("meaning", Text),
    Column("reads_clock", Boolean),
    Column("reading", Text),
    Column("functions", Text),
    Column("fixpoint_iterations", Integer),
    Column("fixpoint_at", UtcDateTime),
    Column("fuse_sensitivity", Float(53)),
    Column("fuse_state", Text),
    Column("diverged", Text),
)

SOURCES = Table(
    "trickle_sources",
    OURS,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("source_namespace", _NAME, nullable=False),
    Column("source_name", _NAME, nullable=False),
    Column("kind", _CHOICE, nullable=False),
    ForeignKeyConstraint(
        ["namespace", "name"], ["trickle_stream_tables.namespace", "trickle_stream_tables.name"], ondelete="CASCADE"
    ),
    Index("trickle_sources_by_source", "source_namespace", "source_name"),
)

REFRESH_GROUPS = Table(
    "trickle_refresh_groups",
    OURS,
    Column("name", _NAME, primary_key=True),
    Column("isolation", _CHOICE, nullable=False),
    Column("snapshot_timeout_ms", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

REFRESH_GROUP_MEMBERS = Table(
    "trickle_refresh_group_members",
    OURS,
    # The key is the stream table: it cannot be in two groups.
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("group_name", _NAME, nullable=False),
    Column("position", Integer, nullable=False),
    ForeignKeyConstraint(["group_name"], ["trickle_refresh_groups.name"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["namespace", "name"], ["trickle_stream_tables.namespace", "trickle_stream_tables.name"], ondelete="CASCADE"
    ),
)

GROUPS = Table(
    "trickle_groups",
    OURS,
    Column("id", Text, primary_key=True),
    Column("epoch", BigInteger, nullable=False),
)
"""How often each group was published, declared ones and those of diamonds alike."""

HISTORY = Table(
    "trickle_history",
    OURS,
    # SQLite numbers rows by itself only where the column is called INTEGER.
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("name", Text, nullable=False),
    Column("action", _CHOICE, nullable=False),
    Column("status", _CHOICE, nullable=False),
    Column("mode", _CHOICE),
    Column("reason", Text),
    Column("error", Text),
    Column("started_at", UtcDateTime, nullable=False),
    Column("duration_ms", Float(53), nullable=False),
    Column("rows_inserted", BigInteger, nullable=False),
    Column("rows_deleted", BigInteger, nullable=False),
    Column("frontier", Text, nullable=False),
    Column("cut", Text),
    Column("group_name", Text),
    Column("epoch", Integer, nullable=False),
    Column("jobs", Integer, nullable=False),
    Column("commits", Integer, nullable=False),
    Column("initiated_by", _CHOICE, nullable=False),
    Column("fixpoint_iteration", Integer),
    Column("generation", BigInteger),
    Index("trickle_history_by_name", "name", "id"),
    Index("trickle_history_by_time", "started_at"),
    # Numbers of pruned rows are not given out again, so the order of rows stays the order of writing.
    sqlite_autoincrement=True,
)

GATES = Table(
    "trickle_gates",
    OURS,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("gated", Boolean, nullable=False),
    Column("gated_at", UtcDateTime, nullable=False),
    Column("ungated_at", UtcDateTime),
    Column("gated_by", Text, nullable=False),
    Column("auto_ungate_on_watermark", Boolean, nullable=False),
    Column("location", Text),
)

GATE_HISTORY = Table(
    "trickle_gate_history",
    OURS,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("namespace", _NAME, nullable=False),
    Column("name", _NAME, nullable=False),
    Column("gated", Boolean, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("by", Text, nullable=False),
    Index("trickle_gate_history_by_source", "namespace", "name", "id"),
    sqlite_autoincrement=True,
)

WATERMARKS = Table(
    "trickle_watermarks",
    OURS,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("watermark", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("advanced_by", Text, nullable=False),
    Column("location", Text, nullable=False),
)

WATERMARK_LOG = Table(
    "trickle_watermark_log",
    OURS,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("namespace", _NAME, nullable=False),
    Column("name", _NAME, nullable=False),
    Column("watermark", UtcDateTime, nullable=False),
    Column("location", Text, nullable=False),
    Index("trickle_watermark_log_by_source", "namespace", "name", "id"),
    sqlite_autoincrement=True,
)
"""Which version of a source reached which watermark."""

WATERMARK_GROUPS = Table(
    "trickle_watermark_groups",
    OURS,
    Column("name", _NAME, primary_key=True),
    Column("tolerance_seconds", Float(53), nullable=False),
    Column("mode", _CHOICE, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

WATERMARK_GROUP_SOURCES = Table(
    "trickle_watermark_group_sources",
    OURS,
    Column("group_name", _NAME, primary_key=True),
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("position", Integer, nullable=False),
    ForeignKeyConstraint(["group_name"], ["trickle_watermark_groups.name"], ondelete="CASCADE"),
)

WATERMARK_COLUMNS = Table(
    "trickle_watermark_columns",
    OURS,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("column_name", Text, nullable=False),
    Column("delay_seconds", Float(53), nullable=False),
    Column("looked_at", Text),
)

WATERMARKS_STUCK = Table(
    "trickle_watermarks_stuck",
    OURS,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
)
"""Sources of which it was told that they do not go on."""

GENERATION = Table(
    "trickle_generation",
    OURS,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
)
"""One row."""

STANDINGS = Table(
    "trickle_standings",
    OURS,
    Column("namespace", _NAME, primary_key=True),
    Column("name", _NAME, primary_key=True),
    Column("held", Text),
    Column("held_since", UtcDateTime),
    Column("retry_at", UtcDateTime),
    Column("error", Text),
    Column("slowed", Integer, nullable=False),
    ForeignKeyConstraint(
        ["namespace", "name"], ["trickle_stream_tables.namespace", "trickle_stream_tables.name"], ondelete="CASCADE"
    ),
)
"""What the scheduler remembers; a stream table without a row has nothing to remember."""

LEASE = Table(
    "trickle_lease",
    OURS,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("token", BigInteger, nullable=False),
    Column("holder", Text),
    Column("expires_at", UtcDateTime),
    Column("ticked_at", UtcDateTime),
    Column("running", Text),
)
"""One row."""

INTERVENTIONS = Table(
    "trickle_interventions",
    OURS,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("action", _CHOICE, nullable=False),
    Column("subject", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("via", _CHOICE, nullable=False),
    Column("began_at", UtcDateTime, nullable=False),
    Column("status", _CHOICE, nullable=False),
    Column("detail", Text),
    Column("duration_ms", Float(53)),
    Index("trickle_interventions_by_subject", "subject", "id"),
    sqlite_autoincrement=True,
)
"""What people did by hand."""

ICEBERG_TABLES = Table(
    "iceberg_tables",
    ICEBERG,
    Column("catalog_name", _NAME, nullable=False),
    Column("table_namespace", _NAME, nullable=False),
    Column("table_name", _NAME, nullable=False),
    Column("metadata_location", String(1000)),
    Column("previous_metadata_location", String(1000)),
    Column("iceberg_type", String(5)),
    PrimaryKeyConstraint("catalog_name", "table_namespace", "table_name"),
)

ICEBERG_NAMESPACES = Table(
    "iceberg_namespace_properties",
    ICEBERG,
    Column("catalog_name", _NAME, nullable=False),
    Column("namespace", _NAME, nullable=False),
    Column("property_key", _NAME),
    Column("property_value", String(1000)),
    PrimaryKeyConstraint("catalog_name", "namespace", "property_key"),
)
