"""What refreshes of a stream table took, for AUTO to choose by.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_stream_tables", sa.Column("costs", sa.Text))
