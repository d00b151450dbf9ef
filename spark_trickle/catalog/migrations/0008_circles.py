"""How many rounds a circle of stream tables took until it was at rest, and when.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_stream_tables", sa.Column("fixpoint_iterations", sa.Integer))
    op.add_column("trickle_stream_tables", sa.Column("fixpoint_at", sa.DateTime(timezone=True)))
    op.add_column("trickle_history", sa.Column("fixpoint_iteration", sa.Integer))
