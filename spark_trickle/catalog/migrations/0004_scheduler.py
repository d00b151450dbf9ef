"""The scheduler: its lease, what it remembers of stream tables, and since when one has been suspended.

A migration is never edited after a release, so it spells out its tables and imports nothing of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trickle_stream_tables", sa.Column("status_since", sa.DateTime(timezone=True)))
    op.create_table(
        "trickle_standings",
        sa.Column("namespace", sa.String(255), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("held", sa.Text),
        sa.Column("held_since", sa.DateTime(timezone=True)),
        sa.Column("retry_at", sa.DateTime(timezone=True)),
        sa.Column("error", sa.Text),
        sa.Column("slowed", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "name"], ["trickle_stream_tables.namespace", "trickle_stream_tables.name"], ondelete="CASCADE"
        ),
    )
    op.create_table(
        "trickle_lease",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("ticked_at", sa.DateTime(timezone=True)),
    )
    op.execute("INSERT INTO trickle_lease (id, token) VALUES (1, 0)")
