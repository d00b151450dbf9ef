"""The generation of the cut of a refresh, which says what it knew of gates; the version at which a gate was closed.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_history", sa.Column("generation", sa.BigInteger))
    op.add_column("trickle_gates", sa.Column("location", sa.Text))
