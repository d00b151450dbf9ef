"""What told the bodies of users' functions when a stream table was computed, so that a change of one is noticed.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_stream_tables", sa.Column("functions", sa.Text))
