"""Fuses: how sensitive they are and what they remember, and stream tables that somebody let diverge from their query.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_stream_tables", sa.Column("fuse_sensitivity", sa.Float(53)))
    op.add_column("trickle_stream_tables", sa.Column("fuse_state", sa.Text))
    op.add_column("trickle_stream_tables", sa.Column("diverged", sa.Text))
