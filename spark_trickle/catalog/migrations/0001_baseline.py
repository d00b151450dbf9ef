"""Stream tables, their sources, history; Iceberg's tables and the two namespaces, where they are missing.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Word for word what Iceberg 1.11 runs, but for IF NOT EXISTS.
ICEBERG_TABLES = """
CREATE TABLE IF NOT EXISTS iceberg_tables(
  catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
  metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5),
  PRIMARY KEY (catalog_name, table_namespace, table_name))
"""
ICEBERG_NAMESPACES = """
CREATE TABLE IF NOT EXISTS iceberg_namespace_properties(
  catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255),
  property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))
"""
# What JdbcCatalog.createNamespace writes for a namespace without properties.
NAMESPACE = """
INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)
VALUES ('lake', :namespace, 'exists', 'true') ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    _iceberg()
    _stream_tables()
    _sources()
    _history()


def _iceberg() -> None:
    connection = op.get_bind()
    op.execute(ICEBERG_TABLES)
    op.execute(ICEBERG_NAMESPACES)
    columns = {column["name"] for column in sa.inspect(connection).get_columns("iceberg_tables")}
    if "iceberg_type" not in columns:
        # A catalog of Iceberg's older schema, without views.
        op.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
    for namespace in ("default", "trickle_internal"):
        connection.execute(sa.text(NAMESPACE), {"namespace": namespace})


def _stream_tables() -> None:
    op.create_table(
        "trickle_stream_tables",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("normalized_query", sa.Text, nullable=False),
        sa.Column("schedule", sa.Text, nullable=False),
        sa.Column("refresh_mode", sa.String(32), nullable=False),
        sa.Column("diamond_consistency", sa.String(32), nullable=False),
        sa.Column("diamond_schedule_policy", sa.String(32), nullable=False),
        sa.Column("bootstrap_gating", sa.String(32), nullable=False),
        sa.Column("strict", sa.Boolean, nullable=False),
        sa.Column("fuse", sa.String(32), nullable=False),
        sa.Column("fuse_ceiling", sa.BigInteger),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("status_reason", sa.Text),
        sa.Column("effective_mode", sa.String(32), nullable=False),
        sa.Column("mode_reason", sa.Text),
        sa.Column("internal_tables", sa.Text, nullable=False),
        sa.Column("explanation", sa.Text, nullable=False),
        sa.Column("frontier", sa.Text, nullable=False),
        sa.Column("published", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("consecutive_errors", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_refresh_at", sa.DateTime(timezone=True)),
        sa.Column("data_timestamp", sa.DateTime(timezone=True)),
        sa.Column("notices", sa.Text, nullable=False),
    )


def _sources() -> None:
    op.create_table(
        "trickle_sources",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("source_namespace", sa.String(255), nullable=False),
        sa.Column("source_name", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "name"],
            ["trickle_stream_tables.namespace", "trickle_stream_tables.name"],
            ondelete="CASCADE",
        ),
    )
    op.create_index("trickle_sources_by_source", "trickle_sources", ["source_namespace", "source_name"])


def _history() -> None:
    op.create_table(
        "trickle_history",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("mode", sa.String(32)),
        sa.Column("reason", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Float(53), nullable=False),
        sa.Column("rows_inserted", sa.BigInteger, nullable=False),
        sa.Column("rows_deleted", sa.BigInteger, nullable=False),
        sa.Column("frontier", sa.Text, nullable=False),
        sa.Column("cut", sa.Text),
        sa.Column("group_name", sa.Text),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("jobs", sa.Integer, nullable=False),
        sa.Column("commits", sa.Integer, nullable=False),
        sa.Column("initiated_by", sa.String(32), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("trickle_history_by_name", "trickle_history", ["name", "id"])
    op.create_index("trickle_history_by_time", "trickle_history", ["started_at"])
