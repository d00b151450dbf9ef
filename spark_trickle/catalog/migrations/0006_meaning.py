"""What a definition means besides its text: namespace and settings, the clock, and how it reads its sources.

Definitions from before have none of it written down, and mean what they mean in a session of ours.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_stream_tables", sa.Column("meaning", sa.Text))
    op.add_column("trickle_stream_tables", sa.Column("reads_clock", sa.Boolean))
    op.add_column("trickle_stream_tables", sa.Column("reading", sa.Text))
