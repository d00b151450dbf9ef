"""How a measured process talks with the bench: numbers of batches in, lines of JSON out. Imports nothing of ours, so
that the peers' environments can read it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence

Row = Sequence[object]


class Wire:
    """The two lines to the bench. Whatever else is printed goes to the log."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def batches(self) -> Iterator[int]:
        """The numbers of the batches that are to be read, as they come."""
        for line in sys.stdin:
            yield int(line)

    def answer(self, rows: Sequence[Row]) -> None:
        """This is the answer now."""
        self._say({"answer": [[str(value) for value in row] for row in rows]})

    def done(self, batch: int) -> None:
        """All of this batch is in the answer; number 0 is the first answer."""
        self._say({"done": batch})

    def _say(self, event: dict[str, object]) -> None:
        print(json.dumps(event), file=self._out, flush=True)
