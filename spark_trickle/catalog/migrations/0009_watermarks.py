"""Watermarks of sources, the versions that reached them, groups of sources, and columns that advance them.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trickle_watermarks",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("watermark", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("advanced_by", sa.Text, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
    )
    op.create_table(
        "trickle_watermark_log",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("watermark", sa.DateTime(timezone=True), nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("trickle_watermark_log_by_source", "trickle_watermark_log", ["namespace", "name", "id"])
    op.create_table(
        "trickle_watermark_groups",
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("tolerance_seconds", sa.Float(53), nullable=False),
        sa.Column("mode", sa.String(32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "trickle_watermark_group_sources",
        sa.Column("group_name", sa.String(255), primary_key=True),
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["group_name"], ["trickle_watermark_groups.name"], ondelete="CASCADE"),
    )
    op.create_table(
        "trickle_watermark_columns",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("column_name", sa.Text, nullable=False),
        sa.Column("delay_seconds", sa.Float(53), nullable=False),
        sa.Column("looked_at", sa.Text),
    )
    op.create_table(
        "trickle_watermarks_stuck",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
    )
