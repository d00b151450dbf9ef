"""The measured process of our engine: one strict stream table, refreshed for each batch. The bench has written the
batch into the lake before it says so."""

from __future__ import annotations

import sys
from pathlib import Path

import spark_trickle as trickle
from bench.peers.wire import Wire
from bench.tpch import queries
from spark_trickle.model.refresh import Action
from spark_trickle.refresh.decide import NOTHING_CHANGED


def main(lake: Path, number: int, scale: float, memory: str) -> None:
    """Make the stream table if it is not there; then refresh it whenever a batch is there."""
    wire = Wire()
    name = queries.stream_table(number)
    with trickle.connect(str(lake), spark_driver_memory=memory) as engine:
        if name not in {str(table.name) for table in engine.stream_tables()}:
            engine.create_stream_table(name, queries.text(number, scale), strict=True)
        wire.done(0)
        for batch in wire.batches():
            outcome = engine.refresh_stream_table(name)
            if outcome.action is not Action.DIFFERENTIAL and outcome.reason == NOTHING_CHANGED:
                raise SystemExit(f"{name} ran {outcome.action}: {outcome.reason}")
            wire.done(batch)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
