"""Refresh groups that users declare, with their members; and how often each group was published.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trickle_refresh_groups",
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("isolation", sa.String(32), nullable=False),
        sa.Column("snapshot_timeout_ms", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "trickle_refresh_group_members",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("group_name", sa.String(255), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["group_name"], ["trickle_refresh_groups.name"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["namespace", "name"],
            ["trickle_stream_tables.namespace", "trickle_stream_tables.name"],
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "trickle_groups",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
    )
