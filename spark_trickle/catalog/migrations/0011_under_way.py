"""What the scheduler has under way, and what people did through the page.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_lease", sa.Column("running", sa.Text))
    op.create_table(
        "trickle_interventions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("via", sa.String(32), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("detail", sa.Text),
        sa.Column("duration_ms", sa.Float(53)),
        sqlite_autoincrement=True,
    )
    op.create_index("trickle_interventions_by_subject", "trickle_interventions", ["subject", "id"])
