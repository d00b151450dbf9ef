"""Gates of sources with their history, and the number by which another process sees that something was changed.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trickle_gates",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("gated", sa.Boolean, nullable=False),
        sa.Column("gated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ungated_at", sa.DateTime(timezone=True)),
        sa.Column("gated_by", sa.Text, nullable=False),
        sa.Column("auto_ungate_on_watermark", sa.Boolean, nullable=False),
    )
    op.create_table(
        "trickle_gate_history",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("gated", sa.Boolean, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("trickle_gate_history_by_source", "trickle_gate_history", ["namespace", "name", "id"])
    op.create_table(
        "trickle_generation",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    op.execute("INSERT INTO trickle_generation (id, value) VALUES (1, 0)")
